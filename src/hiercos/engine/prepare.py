"""A data set as vectors on which any method can be trained."""

from dataclasses import dataclass

import torch

from hiercos.data import Dataset
from hiercos.data.features import TextFeatures, features_of
from hiercos.engine.batches import LabelledVectors
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class PreparedData:
    """A data set with its features; texts carry the map that made them, so that it can travel with a model.

    Attributes:
        dataset: the data as read.
        features: shape (M, F), float32.
        text_features: what made the features of texts; None for vectors.
    """

    dataset: Dataset
    features: torch.Tensor
    text_features: TextFeatures | None

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree of the data set."""
        return self.dataset.taxonomy

    def vectors(self, split: str) -> LabelledVectors:
        """The samples of one split: "train", "val" or "test"."""
        rows = torch.from_numpy(self.dataset.rows(split))
        return LabelledVectors(self.features[rows], torch.tensor(self.dataset.labels)[rows])

    def summary(self) -> dict[str, object]:
        """Name, source, fingerprint and sizes, for a record."""
        sizes = {split: len(self.dataset.rows(split)) for split in ("train", "val", "test")}
        return {
            "name": self.dataset.name,
            "source": self.dataset.source,
            "kind": self.dataset.kind,
            "fingerprint": self.dataset.fingerprint,
            "features": int(self.features.shape[1]),
            "sizes": sizes,
        }


def prepare(dataset: Dataset, *, dim: int = 256, seed: int = 0) -> PreparedData:
    """Turn texts into `dim` features fitted on the training split; vectors stay as they are."""
    features, text_features = features_of(dataset, dim=dim, seed=seed)
    return PreparedData(dataset, torch.tensor(features), text_features)


def taxonomy_summary(taxonomy: Taxonomy) -> dict[str, object]:
    """Fingerprint and shape of a taxonomy, for a record."""
    return {
        "fingerprint": taxonomy.fingerprint,
        "nodes": taxonomy.num_nodes,
        "classes": taxonomy.num_classes,
        "height": taxonomy.height,
    }
