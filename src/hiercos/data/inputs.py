"""Inputs without labels, for prediction."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from hiercos.data.dataset import Inputs, Kind, check_inputs
from hiercos.data.errors import DataError
from hiercos.data.npz import feature_matrix, read_npz
from hiercos.data.sources import existing_suffix
from hiercos.data.table import read_table
from hiercos.data.table_files import TABLES


@dataclass(frozen=True)
class UnlabelledInputs:
    """What to predict.

    Attributes:
        rows: the number of each input as people count, M of them: the line of a text file, else from 1.
        inputs: vectors, shape (M, F), or M texts.
    """

    rows: tuple[int, ...]
    inputs: Inputs


def read_inputs(
    path: str | Path, *, kind: Kind, text_column: str = "text", stdin: TextIO | None = None
) -> UnlabelledInputs:
    """Read vectors from an .npz file, or texts from a table or (`-`) line by line from standard input.

    Args:
        path: the file, or "-".
        kind: what the model takes.
        text_column: the column of texts in a table.
        stdin: read for "-"; standard input by default.

    Raises:
        DataError: for another kind of file, an empty text, or a number that is not finite.
    """
    if str(path) == "-":
        if kind == "vectors":
            raise DataError("this model takes vectors: expected an .npz file, got texts on standard input")
        return _lines(stdin or sys.stdin)
    file = Path(path)
    suffixes: Sequence[str] = (".npz",) if kind == "vectors" else TABLES
    if file.is_file() and file.suffix.lower() not in suffixes:
        expected = "an .npz" if kind == "vectors" else f"a table ({', '.join(TABLES)})"
        raise DataError(f"expected {expected} of {kind} because this model takes {kind}, got {file}")
    existing_suffix(file, suffixes, known=f"because this model takes {kind}")
    return _vectors(file) if kind == "vectors" else _texts(file, text_column)


def _lines(stream: TextIO) -> UnlabelledInputs:
    """Every line that is not blank, with its number."""
    try:
        numbered = [(number, line.rstrip("\r\n")) for number, line in enumerate(stream, 1) if line.strip()]
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: expected text in UTF-8 ({error.reason})") from error
    if not numbered:
        raise DataError("standard input: expected at least one line of text, got none")
    rows, texts = zip(*numbered, strict=True)
    return UnlabelledInputs(rows, texts)


def _texts(path: Path, text_column: str) -> UnlabelledInputs:
    table = read_table(path, columns=(text_column,))
    texts = table.columns[text_column]
    check_inputs(texts, source=str(path), row_name=table.row_name)
    return UnlabelledInputs(table.numbers, texts)


def _vectors(path: Path) -> UnlabelledInputs:
    features = feature_matrix(path, read_npz(path, arrays=("features",))["features"])
    check_inputs(features, source=str(path))
    return UnlabelledInputs(tuple(range(1, len(features) + 1)), features)
