"""Rows of several columns: texts, categories, numbers, vectors, images, and columns of groups, times and weights."""

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

import numpy as np

from hiercos.checks import TEXT_CHARACTERS, limit_fault
from hiercos.data.images.collections import ImageFiles
from hiercos.data.images.decoding import SUFFIXES
from hiercos.data.inputs import Inputs, Rows
from hiercos.data.splits import folded
from hiercos.errors import DataError, RowName, row_name, suggestion
from hiercos.taxonomy import AnyArray, Floats

TEXT, CATEGORY, NUMBER, VECTOR, IMAGE = INPUT_KINDS = ("text", "category", "number", "vector", "image")
GROUP, TIME, WEIGHT = ROLES = ("group", "time", "weight")  # of rows, which no model reads
COLUMN_KINDS = (*INPUT_KINDS, *ROLES)
TEXTS_OF = (TEXT, CATEGORY, GROUP)  # kinds whose cells are texts
MOST_WORDS, LEAST_REPEATS = 4, 2  # mean words of a category, and mean rows that share one
MOST_SHOWN = 60  # characters of a cell in a message

ColumnKinds = Mapping[str, str]  # kind of each column by name, "" for one to guess


def column_kinds(text: str) -> dict[str, str]:
    """Columns of an option, `title,price:number`, with their kinds; names with a comma are in quotes, as in CSV.

    Example:
        >>> column_kinds("title,brand:category")
        {'title': '', 'brand': 'category'}
    """
    found: dict[str, str] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
        name, colon, kind = part.strip().rpartition(":")
        name, kind = (name.strip(), kind.strip()) if colon else (kind, "")
        if not name or (colon and kind not in COLUMN_KINDS):
            raise DataError(f"--columns {part}: expected NAME or NAME:KIND{suggestion(kind, COLUMN_KINDS)}")
        if name in found:
            raise DataError(f"--columns {part}: the column {name!r} appears twice")
        found[name] = kind
    return checked_kinds(found, "--columns")


def checked_kinds(kinds: ColumnKinds, source: str) -> dict[str, str]:
    """Kinds of columns, of which at least one is of inputs and at most one of each role."""
    if unknown := [kind for kind in kinds.values() if kind not in ("", *COLUMN_KINDS)]:
        raise DataError(
            f"{source}: expected a kind of a column, got {unknown[0]!r}{suggestion(unknown[0], COLUMN_KINDS)}"
        )
    if not any(kind not in ROLES for kind in kinds.values()):
        raise DataError(f"{source}: expected a column to learn from, got {', '.join(kinds) or 'none'}")
    for role in ROLES:
        if len(several := [name for name, kind in kinds.items() if kind == role]) > 1:
            raise DataError(f"{source}: expected one column of the kind {role}, got {' and '.join(several)}")
    return dict(kinds)


class ColumnInputs(Inputs):
    """M rows of several columns.

    Args:
        cells: M cells of each column: texts, "" for a missing one; an array of numbers, nan for a missing one; an array
            of vectors, shape (M, F), rows of nan for missing ones; images as `ImageFiles` takes them, "" for none.
        kinds: kind of each column.
    """

    kind = "columns"

    def __init__(self, cells: Mapping[str, Any], kinds: ColumnKinds) -> None:
        self.cells, self.kinds = dict(cells), dict(kinds)

    def __len__(self) -> int:
        return len(next(iter(self.cells.values())))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of several parts with the same columns, one after the other."""
        first = parts[0]
        cells: dict[str, Any] = {}
        for name, kind in first.kinds.items():
            own = [part.cells[name] for part in parts]
            is_array = isinstance(own[0], np.ndarray)
            width = max(each.shape[1] for each in own) if kind == VECTOR else 0
            own = [
                np.full((len(each), width), np.nan) if kind == VECTOR and not each.shape[1] else each for each in own
            ]
            cells[name] = np.concatenate(own) if is_array else [cell for each in own for cell in each]
        return cls(cells, first.kinds)

    def of_kind(self, *kinds: str) -> list[str]:
        """Names of the columns of some kinds, in order."""
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def role(self, role: str) -> Any:
        """Cells of the column of a role; None without one."""
        names = self.of_kind(role)
        return self.cells[names[0]] if names else None

    def missing(self, name: str) -> AnyArray:
        """Mask of the missing cells of a column, shape (M,)."""
        cells = self.cells[name]
        if not isinstance(cells, np.ndarray):
            return np.array([isinstance(cell, str) and not cell.strip() for cell in cells], dtype=bool)
        return np.isnan(cells) if cells.ndim == 1 else np.isnan(cells).any(axis=1) | (cells.shape[1] == 0)

    def images(self, name: str, rows: Rows) -> ImageFiles:
        """Images of a column at rows where none is missing."""
        return ImageFiles([self.cells[name][row] for row in rows])

    def name(self, row: int) -> str:
        """Number of a row from 1, such as "row 3"."""
        return row_name(row)

    def content(self, row: int) -> bytes:
        """The cells of a row, columns by name; of images their files."""
        parts: list[bytes] = []
        for name in sorted(self.of_kind(*INPUT_KINDS)):
            cell = self.cells[name][row]
            if self.kinds[name] == IMAGE and cell != "":
                cell = self.images(name, [row]).digests.tobytes()
            elif isinstance(cell, str):
                cell = (folded(cell) if self.kinds[name] == TEXT else cell.strip()).encode("utf-8", "surrogatepass")
            else:
                cell = np.asarray(cell, dtype="<f4").tobytes()
            parts += [name.encode(), len(cell).to_bytes(8, "little"), cell]
        return b"".join(parts)

    def values(self, rows: Rows) -> list[dict[str, Any]]:
        """Cells of each row by column."""
        return [{name: cells[row] for name, cells in self.cells.items()} for row in rows]

    def take(self, rows: Rows) -> Self:
        """These rows."""
        chosen = np.asarray(rows, dtype=np.int64)
        cells = {
            name: each[chosen] if isinstance(each, np.ndarray) else [each[row] for row in chosen]
            for name, each in self.cells.items()
        }
        return type(self)(cells, self.kinds).with_digests_of(self, rows)

    def faults(self, row_name: RowName = row_name) -> list[str]:
        """Sentences about texts above the limit of characters; a cell may be missing."""
        texts = ((name, row, cell) for name in self.of_kind(*TEXTS_OF) for row, cell in enumerate(self.cells[name]))
        found = ((name, row, limit_fault("text characters", len(cell), TEXT_CHARACTERS)) for name, row, cell in texts)
        return [f"{row_name(row)}: {name!r}: {fault}" for name, row, fault in found if fault]

    def split_keys(self) -> list[bytes]:
        """Content of each row."""
        return [self.content(row) for row in range(len(self))]

    def fingerprint_parts(self) -> Iterator[bytes]:
        """Names and kinds of the columns, and the content of each row."""
        yield repr(sorted((name, kind) for name, kind in self.kinds.items() if kind not in ROLES)).encode()
        for row in range(len(self)):
            yield self.content(row)

    def shown(self, row: int) -> dict[str, str]:
        """Column `text` with the first text of a row; empty without columns of texts."""
        texts = self.of_kind(TEXT)
        return {"text": self.cells[texts[0]][row]} if texts else {}

    def sentence(self, row: int) -> str:
        """All cells of a row that are there, but for vectors, as one text."""
        names = [name for name in self.of_kind(TEXT, CATEGORY, NUMBER, IMAGE) if not self.missing(name)[row]]
        return ", ".join(f"{name}: {shown_cell(self.cells[name][row])}" for name in names)

    def summary(self) -> str:
        """The columns with their kinds and their share of missing cells, as a sentence."""
        parts = []
        for name, kind in self.kinds.items():
            share = float(self.missing(name).mean())
            parts.append(f"{name} ({kind}{f', {share:.1%} missing' if share else ''})")
        return f"columns: {', '.join(parts)}."


def shown_cell(cell: Any) -> str:
    """A text as it is, a number in its shortest form."""
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def guessed_kinds(cells: Mapping[str, Sequence[Any]], kinds: ColumnKinds) -> dict[str, str]:
    """The kinds of columns, those to guess by their cells; a DataError for a column that is not there."""
    if unknown := [name for name in kinds if name not in cells and not kinds[name]]:
        raise DataError(f"expected a column {unknown[0]!r}{suggestion(unknown[0], list(cells))}")
    return {name: kind or guessed_kind(cells[name]) for name, kind in kinds.items()}


def guessed_kind(cells: Any) -> str:
    """Kind of inputs that the cells of a column look like.

    Example:
        >>> guessed_kind(["9.5", "", "12"]), guessed_kind(["06.10", "01.11"]), guessed_kind([[1, 2], None])
        ('number', 'text', 'vector')
        >>> guessed_kind(["Acme", "Zen", "Acme", "Zen"]), guessed_kind(["red shoe", "blue shoe"])
        ('category', 'text')
    """
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return VECTOR
    there = [cell for cell in cells if not is_missing(cell)]
    if there and all(is_number(cell) for cell in there):
        return NUMBER
    if there and all(_is_vector(cell) for cell in there):
        return VECTOR
    texts = [str(cell) for cell in there]
    if texts and all(text.lower().endswith(SUFFIXES) for text in texts):
        return IMAGE
    words = sum(len(text.split()) for text in texts)
    repeats = len(texts) >= LEAST_REPEATS * len(set(texts))
    return CATEGORY if repeats and words <= MOST_WORDS * len(texts) else TEXT


def is_missing(cell: Any) -> bool:
    """Whether a cell is empty: None, nan, a missing value of pandas, or a text of spaces."""
    if isinstance(cell, str):
        return not cell.strip()
    return (
        cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and math.isnan(cell))
    )


def is_number(cell: Any) -> bool:
    """Whether a cell is a finite number; a code such as "06" or true is none."""
    if isinstance(cell, bool | np.bool_):
        return False
    digits = cell.strip().lstrip("+-") if isinstance(cell, str) else ""
    if digits[:1] == "0" and digits[1:2].isdigit():
        return False
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError, OverflowError):
        return False


def _is_vector(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.lstrip().startswith("[") and cell.rstrip().endswith("]")
    return isinstance(cell, list | tuple | np.ndarray)


def column_inputs(
    cells: Mapping[str, Any], kinds: ColumnKinds, *, source: str = "inputs", row_name: RowName = row_name
) -> ColumnInputs:
    """Rows of columns from cells as files or Python objects have them.

    Args:
        cells: M cells of each column, texts or values; those of further columns are ignored.
        kinds: kind of each column; those of roles may be absent.
        source: name of the source in messages.

    Raises:
        DataError: for a missing column, columns of different lengths, and every cell that is not of its kind.
    """
    faults = [
        f"{source}: expected a column {name!r}{suggestion(name, list(cells))}"
        for name, kind in kinds.items()
        if name not in cells and kind not in ROLES
    ]
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        if name in cells and not faults:
            try:
                found[name] = _parsed(cells[name], kind, name)
            except _CellError as error:
                faults += [f"{source}: {row_name(row)}: {fault}" for row, fault in error.faults]
    if len(sizes := {len(each) for each in found.values()}) > 1:
        faults.append(f"{source}: expected columns of one length, got {', '.join(map(str, sorted(sizes)))}")
    if faults:
        raise DataError(faults)
    return ColumnInputs(found, {name: kind for name, kind in kinds.items() if name in found})


class _CellError(ValueError):
    """Faults of the cells of a column, each with its row."""

    def __init__(self, faults: Sequence[tuple[int, str]]) -> None:
        super().__init__("cells of another kind")
        self.faults = faults


def _parsed(cells: Any, kind: str, name: str) -> Any:
    """The cells of a column as `ColumnInputs` takes them."""
    if kind in TEXTS_OF:
        return ["" if is_missing(cell) else _text(cell) for cell in cells]
    if kind == IMAGE:
        return ["" if is_missing(cell) else cell for cell in cells]
    if kind == VECTOR and isinstance(cells, np.ndarray) and cells.ndim == 2:
        return np.asarray(cells, dtype=np.float32)
    read, expected = {NUMBER: (_number, "a number"), WEIGHT: (_weight, "a weight above 0")}.get(
        kind, (_seconds, "a number or a date such as 2024-05-31") if kind == TIME else (_vector, "a list of numbers")
    )
    faults: list[tuple[int, str]] = []
    values: list[Any] = []
    for row, cell in enumerate(cells):
        try:
            values.append(None if is_missing(cell) and kind in (NUMBER, VECTOR) else read(cell))
        except (TypeError, ValueError, OverflowError):
            faults.append((row, f"{name!r}: expected {expected}, got {str(cell)[:MOST_SHOWN]!r}"))
    if kind == VECTOR and not faults:
        return _stacked(values, name)
    if faults:
        raise _CellError(faults)
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _stacked(vectors: Sequence[AnyArray | None], name: str) -> AnyArray:
    """Vectors of one width, rows of nan for missing ones."""
    width = next((len(vector) for vector in vectors if vector is not None), 0)
    if wrong := [
        (row, f"{name!r}: expected {width} numbers as in the first row that has any, got {len(vector)}")
        for row, vector in enumerate(vectors)
        if vector is not None and len(vector) != width
    ]:
        raise _CellError(wrong)
    nothing = np.full(width, np.nan, np.float32)
    return np.array([nothing if vector is None else vector for vector in vectors], np.float32).reshape(
        len(vectors), width
    )


def _text(cell: Any) -> str:
    """A value as text; 3.0 of a column of integers with missing cells is 3."""
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _number(cell: Any) -> float:
    if not math.isfinite(value := float(cell)):
        raise ValueError("not finite")
    return value


def _weight(cell: Any) -> float:
    if (value := _number(cell)) <= 0:
        raise ValueError("not above 0")
    return value


def _seconds(cell: Any) -> float:
    """A number as it is; a date, or a text of one, in seconds."""
    try:
        return _number(cell)
    except (TypeError, ValueError):
        return _number(datetime.fromisoformat(str(cell).strip()).timestamp())


def _vector(cell: Any) -> AnyArray:
    found = np.asarray(json.loads(cell) if isinstance(cell, str) else cell, dtype=np.float32)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError("not a list of numbers")
    return found


def groups_of(inputs: Inputs) -> AnyArray | None:
    """Group of each row, shape (M,); a row without one is its own group. None without such a column."""
    cells = inputs.role(GROUP) if isinstance(inputs, ColumnInputs) else None
    return None if cells is None else np.array([cell.strip() or f"\0{row}" for row, cell in enumerate(cells)])


def times_of(inputs: Inputs) -> Floats | None:
    """Time of each row, shape (M,); None without such a column."""
    return inputs.role(TIME) if isinstance(inputs, ColumnInputs) else None


def weights_of(inputs: Inputs) -> Floats | None:
    """Weight of each row, shape (M,); None without such a column."""
    return inputs.role(WEIGHT) if isinstance(inputs, ColumnInputs) else None


def table_cells(inputs: Any) -> dict[str, Any]:
    """Cells by column of a DataFrame, a dict of sequences, a list of dicts, or one dict of cells."""
    if getattr(inputs, "columns", None) is not None:
        return {str(name): list(inputs[name]) for name in inputs.columns}
    if isinstance(inputs, Mapping):
        single = any(isinstance(cell, str) or not hasattr(cell, "__len__") for cell in inputs.values())
        return {str(name): [cells] if single else cells for name, cells in inputs.items()}
    rows = list(inputs)
    if wrong := [row for row, each in enumerate(rows) if not isinstance(each, Mapping)]:
        raise DataError(f"inputs: {row_name(wrong[0])}: expected cells by column, got {type(rows[wrong[0]]).__name__}")
    names = dict.fromkeys(name for row in rows for name in row)
    return {str(name): [row.get(name) for row in rows] for name in names}
