"""Predictions for FiftyOne, as its type FiftyOneImageClassificationDataset reads them."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

FIFTYONE = "fiftyone"


def fiftyone_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """A JSON object with a label for each image by its absolute path.

    Args:
        rows: with `image`, `class` and `confidence`; the levels and the id become attributes of the label.
    """
    labels = {
        os.path.abspath(row["image"]): {
            "label": row["class"],
            "confidence": row["confidence"],
            "attributes": {key: value for key, value in row.items() if value and _is_attribute(key)},
        }
        for row in rows
    }
    return json.dumps({"labels": labels}, indent=2, ensure_ascii=False) + "\n"


def _is_attribute(key: str) -> bool:
    return key == "id" or key.startswith("level_")
