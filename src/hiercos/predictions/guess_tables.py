"""Tables of predictions with a row for each image and answer: pybioclip's, and those of `hiercos predict --top`.

A column `file_name` (or `filepath`, `image`, `path`) names the image, `score` says how sure the answer is, and the
answer's names stand in a column for each level, the most general first. Beside them there may be the `id` of the class,
a `common_name`, the `species_epithet`, and `row`, `rank` and `confidence`, which do not matter.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from hiercos.data import DELIMITERS, LABEL_COLUMN, Table, read_table
from hiercos.errors import DataError, suggestion
from hiercos.predictions.guesses import Guess, ImageGuesses
from hiercos.taxonomy import PATH_SEPARATOR
from hiercos.taxonomy.formats import NUMBERED

IMAGES = ("file_name", "filepath", "image", "path")
SCORE, ID, COMMON, EPITHET = "score", "id", "common_name", "species_epithet"
OTHERS = ("row", "rank", "confidence")


def is_guess_table(names: Sequence[str]) -> bool:
    """Whether a table of these columns holds predictions by image, and no labels."""
    return not guess_table_faults(names)


def guess_table_faults(names: Sequence[str]) -> list[str]:
    """What keeps a table of these columns from being one of predictions by image, a sentence each."""
    if LABEL_COLUMN in names:
        return [f"expected no labels among predictions by image, got a column {LABEL_COLUMN!r}"]
    faults = []
    if not any(image in names for image in IMAGES):
        faults.append(f"expected a column of images, {' or '.join(IMAGES)}{suggestion(IMAGES[0], names)}")
    if SCORE not in names:
        faults.append(f"expected a column {SCORE!r} for predictions by image{suggestion(SCORE, names)}")
    return faults


def read_guess_table(path: Path, names: Sequence[str]) -> list[ImageGuesses]:
    """The answers for each image, the highest score first, images in order of appearance.

    Args:
        path: a .csv or .tsv file.
        names: of its columns.

    Raises:
        DataError: for another kind of file, no column of names, and every row without an image or a number as score.
    """
    if path.suffix.lower() not in DELIMITERS:
        raise DataError(f"{path}: expected predictions by image in {' or '.join(DELIMITERS)}")
    image = next(name for name in IMAGES if name in names)
    levels = _levels(names)
    if not levels:
        raise DataError(f"{path}: expected a column for each level of an answer, got only {', '.join(names)}")
    extras = [name for name in (ID, COMMON, EPITHET) if name in names]
    table = read_table(path, columns=(image, SCORE, *levels, *extras))
    scores = _scores(path, table, image)
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(table.columns[image]):
        rows_of[name].append(row)
    return [
        ImageGuesses(name, [_guess(table, row, levels) for row in sorted(rows, key=lambda row: -scores[row])])
        for name, rows in rows_of.items()
    ]


def _levels(names: Sequence[str]) -> list[str]:
    """The columns level_1, level_2, … where there are such, else all that have no other meaning."""
    numbered = [(int(match[1]), name) for name in names if (match := NUMBERED.fullmatch(name))]
    known = {*IMAGES, SCORE, ID, COMMON, EPITHET, *OTHERS}
    return [name for _, name in sorted(numbered)] or [name for name in names if name not in known]


def _scores(path: Path, table: Table, image: str) -> list[float]:
    scores, faults = [], []
    for row, (name, text) in enumerate(zip(table.columns[image], table.columns[SCORE], strict=True)):
        scores.append(_number(text))
        if not name.strip():
            faults.append(f"{path}: {table.row_name(row)}: expected the path of an image in {image!r}, got nothing")
        if math.isnan(scores[-1]):
            faults.append(f"{path}: {table.row_name(row)}: expected a number as score, got {text!r}")
    if faults:
        raise DataError(faults)
    return scores


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _guess(table: Table, row: int, levels: Sequence[str]) -> Guess:
    """The id, the path, the last name and the common name of an answer, as far as there are such."""
    cells = {name: cells[row].strip() for name, cells in table.columns.items()}
    path = [cells[level] for level in levels if cells[level]]
    name = path[-1] if path else ""
    by_epithet = [*path[:-1], cells[EPITHET]] if cells.get(EPITHET) else []
    ways = (cells.get(ID, ""), *map(PATH_SEPARATOR.join, (path, by_epithet)), name, cells.get(COMMON, ""))
    return Guess(name or cells.get(COMMON, ""), tuple(way for way in ways if way))
