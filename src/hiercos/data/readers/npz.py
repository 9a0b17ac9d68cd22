"""The user's own vectors: an .npz file with `features`, `labels` and, if there is one, `split`."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.npyio import NpzFile

from hiercos.data.dataset import FloatArray, check_inputs
from hiercos.data.samples import Samples
from hiercos.errors import DataError
from hiercos.taxonomy import AnyArray, Taxonomy, TaxonomyError
from hiercos.taxonomy.formats import read_json


def read_npz(path: Path, *, arrays: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, AnyArray]:
    """The named arrays of a file, texts as text; pickled objects are refused.

    Raises:
        DataError: for a file that is not .npz, a missing array, or an array of Python objects.
    """
    with path.open("rb") as stream, _opened(path, stream) as file:
        if missing := [name for name in arrays if name not in file.files]:
            raise DataError(f"{path}: expected an array {name!r}, got {_listed(file.files)}" for name in missing)
        return {name: _array(path, name, file) for name in (*arrays, *optional) if name in file.files}


def _opened(path: Path, stream: BinaryIO) -> NpzFile:
    try:
        file = np.load(stream, allow_pickle=False)
    except (zipfile.BadZipFile, EOFError, ValueError) as error:
        raise DataError(f"{path}: expected an .npz file as numpy.savez writes it ({error})") from error
    if not isinstance(file, NpzFile):
        raise DataError(f"{path}: expected an .npz file as numpy.savez writes it, got a single array")
    return file


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names) or "nothing"


def _array(path: Path, name: str, file: NpzFile) -> AnyArray:
    try:
        array = file[name]
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: array {name!r} is damaged ({error})") from error
    except ValueError as error:
        raise DataError(
            f"{path}: array {name!r} holds Python objects, which are never unpickled here; "
            "expected numbers or texts, such as array.astype(str)"
        ) from error
    try:
        return np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: array {name!r}: expected UTF-8 texts ({error.reason})") from error


def feature_matrix(path: Path, features: AnyArray) -> FloatArray:
    """The features as float32, shape (M, F); a DataError for any other shape or for anything but real numbers."""
    if features.dtype.kind not in "fiub":
        raise DataError(f"{path}: expected numbers in 'features', got the type {features.dtype}")
    if features.ndim != 2 or 0 in features.shape:
        raise DataError(f"{path}: expected 'features' of shape (samples, features), got {features.shape}")
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf, and inf is reported by row and column
        return features.astype(np.float32)


def array_row_name(row: int) -> str:
    """What messages call the row of an array: both as people count and as Python does."""
    return f"row {row + 1} (index {row})"


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
