"""Save estimators to model folders and load them, in the format of `hiercos train`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hiercos.errors import listed
from hiercos.model import Classifier, ModelError, model_files, read_model_json
from hiercos.records import RECORD_FILE
from hiercos.taxonomy import AnyArray, LabelCodec, Taxonomy, label_codec

ESTIMATOR = "estimator.json"
PLAIN = (bool, int, float, str, type(None))  # parameter types that JSON can represent
MOST_SHOWN = 3  # names of other files in a message
COLUMNS = WIDTH, NAMES = "n_features_in_", "feature_names_in_"  # fitted attributes about the columns of X


@dataclass(frozen=True)
class StoredEstimator:
    """The content of a model folder that an estimator needs."""

    model: Classifier  # model with its rule and temperature
    codec: LabelCodec  # converter between labels and classes
    parameters: dict[str, Any]  # constructor parameters by name; empty for a folder of `hiercos train`
    columns: dict[str, Any]  # number of columns of X and their names, by fitted attribute


def save_estimator(folder: Path, estimator: Any) -> None:
    """Write a fitted estimator to a model folder, created if missing; parameters that JSON lacks are left out."""
    _check_folder(folder)
    labels = estimator.labels_.labels
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if _is_plain(value)}
    values = {
        "labels": labels.tolist(),
        "labels_type": labels.dtype.str if labels.dtype != object else "object",
        "flat": estimator.labels_.flat,
        "parameters": parameters,
        **{name: np.asarray(vars(estimator)[name]).tolist() for name in COLUMNS if name in vars(estimator)},
    }
    estimator.classifier_.save(folder, {ESTIMATOR: json.dumps(values) + "\n"})


def _check_folder(folder: Path) -> None:
    """Raise a `ModelError` unless the folder is missing, empty, or holds an estimator that may be replaced."""
    if (folder / RECORD_FILE).exists():
        raise ModelError(f"{folder}: holds the record of a training run; choose another folder")
    if folder.is_file():
        raise ModelError(f"{folder}: expected a folder, got a file")
    found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    names = [name for name in found if not name.startswith(".")]  # without temporary files of a killed process
    if names and ESTIMATOR not in names:
        raise ModelError(f"{folder}: holds other files ({listed(names, MOST_SHOWN)}); choose a new or an empty folder")


def load_estimator(folder: Path) -> StoredEstimator:
    """Load a folder that `save_estimator` or `hiercos train` wrote."""
    files = model_files(folder)
    model = Classifier.load(files)
    if ESTIMATOR not in files:
        codec = label_codec(_class_labels(model.model.taxonomy), model.model.taxonomy)
        return StoredEstimator(model, codec, {}, {WIDTH: model.model.input_width} if model.kind == "vectors" else {})
    values = read_model_json(files, ESTIMATOR)
    try:
        labels = np.array(values["labels"], dtype=values["labels_type"])
        codec = label_codec(labels, None if values["flat"] else model.model.taxonomy)
        columns = {WIDTH: values[WIDTH]} if WIDTH in values else {}
        columns |= {NAMES: np.array(values[NAMES], dtype=object)} if NAMES in values else {}
        return StoredEstimator(model, codec, dict(values["parameters"]), columns)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{folder / ESTIMATOR}: not a saved estimator ({error})") from error


def _class_labels(taxonomy: Taxonomy) -> AnyArray:
    """The names of the classes, or their paths if two classes share a name."""
    names = list(taxonomy.class_names)
    if len(set(names)) < len(names):
        names = [taxonomy.path_text(int(leaf)) for leaf in taxonomy.leaves]
    return np.array(names, dtype=object)


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    return isinstance(value, PLAIN) or (isinstance(value, list) and all(map(_is_plain, value)))
