"""From scores to answers."""

from hiercos.decisions.paths import predicted_classes, predicted_paths

__all__ = ["predicted_classes", "predicted_paths"]
