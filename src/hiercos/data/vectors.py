"""Labelled vectors of the user: an .npz file with `features`, `labels` and perhaps `split` and `taxonomy`."""

from pathlib import Path

from hiercos.data.dataset import check_inputs
from hiercos.data.errors import DataError
from hiercos.data.npz import array_row_name, feature_matrix, read_npz
from hiercos.data.rows import AnyArray
from hiercos.data.samples import Samples
from hiercos.taxonomy import Taxonomy, TaxonomyError
from hiercos.taxonomy.formats.nested import read_json


def read_vectors(path: Path) -> Samples:
    """The rows of a file; `taxonomy` is a text, the tree as JSON, whose classes integer labels count.

    Raises:
        DataError: for a missing array, features that are no finite numbers, arrays of another length, or a taxonomy
            that cannot be read.
    """
    arrays = read_npz(path, arrays=("features", "labels"), optional=("split", "taxonomy"))
    features = feature_matrix(path, arrays["features"])
    check_inputs(features, source=str(path))
    for name in ("labels", "split"):
        if name in arrays and arrays[name].shape != (len(features),):
            raise DataError(
                f"{path}: expected {name!r} of shape ({len(features)},) like the rows of 'features', "
                f"got {arrays[name].shape}"
            )
    taxonomy = _taxonomy(path, arrays["taxonomy"]) if "taxonomy" in arrays else None
    return Samples(features, arrays["labels"], arrays.get("split"), array_row_name, taxonomy=taxonomy)


def _taxonomy(path: Path, array: AnyArray) -> Taxonomy:
    if array.dtype.kind != "U" or array.size != 1:
        raise DataError(f"{path}: expected 'taxonomy' to be one text of JSON, got {array.dtype} of shape {array.shape}")
    try:
        return read_json(str(array.reshape(-1)[0]))
    except TaxonomyError as error:
        raise DataError(f"{path}: 'taxonomy': {fault}" for fault in error.faults) from error
