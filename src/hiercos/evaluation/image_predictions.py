"""Predictions by image of other programs, matched to labelled images and to classes, as scores."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiercos.data import DELIMITERS, LABEL_COLUMN, PATH_COLUMN, Table, read_table
from hiercos.errors import DataError, suggestion
from hiercos.evaluation.score_tables import ScoreArray, ScoreSet
from hiercos.model import is_level_column
from hiercos.taxonomy import (
    PATH_SEPARATOR,
    PATH_SIGN,
    IntArray,
    LabelReader,
    Taxonomy,
    inner_label_notes,
    label_indices,
    path_parts,
)
from hiercos.taxonomy.formats import NUMBERED

SEVERAL = -1


class NormalizedNames:
    """Lookup of classes by id, path or unique name; letter case, underscores and repeated spaces are ignored.

    Example:
        >>> names = NormalizedNames(Taxonomy.from_paths([("Felidae", "Panthera leo"), ("Canidae", "Canis lupus")]))
        >>> names.find(["no id", "panthera_leo"])
        0
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._classes: dict[str, int] = {}
        for label, leaf in enumerate(taxonomy.leaves.tolist()):
            given_id = taxonomy.ids[leaf] if taxonomy.ids else ""
            for name in {_normalized(name) for name in (given_id, taxonomy.path_text(leaf), taxonomy.names[leaf])} - {
                ""
            }:
                self._classes[name] = SEVERAL if name in self._classes else label

    def find(self, names: Iterable[str]) -> int | None:
        """Class of the first name that identifies exactly one class; None if no name does."""
        found = (self._classes.get(_normalized(name), SEVERAL) for name in names)
        return next((label for label in found if label != SEVERAL), None)


def _normalized(name: str) -> str:
    words = (" ".join(part.replace("_", " ").casefold().split()) for part in path_parts(name))
    return f" {PATH_SIGN} ".join(words)


AMBIGUOUS = -2
ABSENT = -1


def matched_images(wanted: Sequence[str], given: Sequence[str], *, source: str) -> list[int]:
    """Index of each wanted image among the given paths, M indices; -1 if it is missing.

    Two paths name the same image if they are equal or one is the end of the other, folder by folder: `cats/1.jpg` and
    `/data/cats/1.jpg`.

    Example:
        >>> matched_images(["cats/1.jpg", "cats/3.jpg"], ["/data/cats/2.jpg", "/data/cats/1.jpg"], source="x.csv")
        [1, -1]
    """
    parts = [_parts(path) for path in given]
    whole = {path: place for place, path in enumerate(parts)}
    ends: dict[tuple[str, ...], int] = {}
    for place, path in enumerate(parts):
        for start in range(1, len(path)):
            ends[path[start:]] = AMBIGUOUS if path[start:] in ends else place
    places = [_place(_parts(path), whole, ends) for path in wanted]
    taken: dict[int, str] = {}
    faults = []
    for name, place in zip(wanted, places, strict=True):
        if place == AMBIGUOUS:
            faults.append(f"{source}: {name!r} may be several images: expected more of its folders in the path")
        elif place != ABSENT and (first := taken.setdefault(place, name)) != name:
            faults.append(f"{source}: {given[place]!r} may be {first!r} or {name!r}: expected longer paths")
    if faults:
        raise DataError(faults)
    return places


def _parts(path: str) -> tuple[str, ...]:
    """Folders and file name of a path, with slashes or backslashes."""
    return tuple(part for part in path.strip().replace("\\", "/").split("/") if part not in ("", "."))


def _place(path: tuple[str, ...], whole: dict[tuple[str, ...], int], ends: dict[tuple[str, ...], int]) -> int:
    if path in whole:
        return whole[path]
    if path in ends:
        return ends[path]
    return next((whole[path[start:]] for start in range(1, len(path)) if path[start:] in whole), ABSENT)


class ImagePrediction(NamedTuple):
    """One predicted class."""

    shown: str  # name of the prediction in messages
    names: tuple[str, ...]  # ids, paths and names that may identify the class, the most specific first


class ImagePredictions(NamedTuple):
    """Path of an image and its predictions, best first."""

    image: str
    predictions: Sequence[ImagePrediction]


@dataclass(frozen=True)
class LabelledImages:
    """Labels of images."""

    paths: tuple[str, ...]  # paths of M distinct images
    nodes: IntArray  # node of each image's label, -1 for the root, shape (M,)
    source: str  # name of the file in messages


def read_labelled_images(
    path: Path, taxonomy: Taxonomy, *, input_column: str = PATH_COLUMN, label_column: str = LABEL_COLUMN
) -> LabelledImages:
    """Read a table with a column of paths to images and one of labels."""
    options = {input_column: "--input-column", label_column: "--label-column"}
    table = read_table(path, columns=(input_column, label_column), options=options)
    reader = LabelReader(taxonomy)
    nodes = reader.read(table.columns[label_column], source=str(path), row_name=table.row_name, inner=True)
    rows: dict[str, int] = {}
    faults = []
    for row, image in enumerate(table.columns[input_column]):
        if not image.strip():
            faults.append(f"{path}: {table.row_name(row)}: expected the path of an image, got nothing")
        elif (first := rows.setdefault(image, row)) != row:
            faults.append(f"{path}: {table.row_name(row)}: {image!r} is already {table.row_name(first)}")
    if faults:
        raise DataError(faults)
    return LabelledImages(table.columns[input_column], nodes, str(path))


def prediction_scores(
    found: Sequence[ImagePredictions], labelled: LabelledImages, taxonomy: Taxonomy, source: str
) -> ScoreSet:
    """Class scores of every labelled image, which fall with the rank of a class among its predictions.

    Predictions that are not a class of the taxonomy are left out, and those below move up; of two predictions of the
    same class the first counts. An image without predictions has no ranked class and counts in no metric.
    """
    places = matched_images(labelled.paths, [image.image for image in found], source=source)
    if all(place == ABSENT for place in places):
        there, here = found[0].image, labelled.paths[0]
        raise DataError(
            f"{source}: none of its images is in {labelled.source}: got {there!r}, expected paths such as {here!r}"
        )
    names = NormalizedNames(taxonomy)
    answers = [[] if place == ABSENT else found[place].predictions for place in places]
    classes = [[names.find(prediction.names) for prediction in predictions] for predictions in answers]
    ranked = [list(dict.fromkeys(label for label in row if label is not None)) for row in classes]
    depth = np.array([len(row) for row in ranked], dtype=np.int64)
    notes = [*_missing(places, len(found), labelled, source), *_unknown(answers, classes)]
    notes += _shallow(depth, [place != ABSENT for place in places], taxonomy)
    if not depth.any():
        raise DataError([f"{source}: no prediction is a class of the taxonomy", *notes])
    notes += inner_label_notes(labelled.nodes, taxonomy, source=labelled.source)
    scores = _falling(ranked, taxonomy.num_classes)
    return ScoreSet(scores, label_indices(labelled.nodes, taxonomy), depth, tuple(notes), is_ranking=True)


def _falling(ranked: Sequence[Sequence[int]], count: int) -> ScoreArray:
    """Scores (M, C) that fall from the number of ranked classes to 1, and are 0 for the others."""
    scores = np.zeros((len(ranked), count), dtype=np.float32)
    for row, labels in enumerate(ranked):
        scores[row, labels] = np.arange(len(labels), 0, -1)
    return scores


def _missing(places: Sequence[int], found: int, labelled: LabelledImages, source: str) -> Iterator[str]:
    absent = sum(place == ABSENT for place in places)
    if absent:
        images = f"{absent} of {len(places)} images of {labelled.source}"
        yield f"{source} has no prediction for {images}: no metric counts these."
    if unused := found - (len(places) - absent):
        yield f"{labelled.source} has no label for {unused} of {found} images of {source}: these are left out."


def _unknown(answers: Sequence[Sequence[ImagePrediction]], classes: Sequence[Sequence[int | None]]) -> Iterator[str]:
    """A note about predictions that are not a class."""
    pairs = [list(zip(predictions, labels, strict=True)) for predictions, labels in zip(answers, classes, strict=True)]
    others = Counter(prediction.shown for row in pairs for prediction, label in row if label is None)
    if others:
        (name, times), total = others.most_common(1)[0], sum(map(len, pairs))
        first = sum(bool(row) and row[0][1] is None for row in pairs)
        yield (
            f"The taxonomy has no class for {others.total()} of {total} predictions, such as {name!r} (count {times}): "
            f"these are left out and those below move up (images whose first prediction is left out: {first})."
        )


def _shallow(depth: IntArray, answered: Sequence[bool], taxonomy: Taxonomy) -> Iterator[str]:
    """Notes about images with no ranked class, and with fewer than all classes."""
    if empty := int((depth[np.array(answered)] == 0).sum()):
        yield f"No class is left for {empty} of {sum(answered)} images: no metric counts these."
    ranked = depth[depth > 0]
    if len(ranked) and ranked.min() < taxonomy.num_classes:
        low, high = int(ranked.min()), int(ranked.max())
        shown = f"{low}" if low == high else f"{low} to {high}"
        yield f"Images have {shown} of {taxonomy.num_classes} classes ranked: metrics that need more leave them out."


IMAGES = ("file_name", "filepath", "image", "path")
SCORE, ID, COMMON, EPITHET = "score", "id", "common_name", "species_epithet"
OTHERS = ("row", "rank", "confidence")


def is_prediction_table(names: Sequence[str]) -> bool:
    """Whether a table with these columns holds predictions by image, without labels."""
    return not prediction_table_faults(names)


def prediction_table_faults(names: Sequence[str]) -> list[str]:
    """Sentences about why a table with these columns does not hold predictions by image; empty if it does."""
    if LABEL_COLUMN in names:
        return [f"expected no labels among predictions by image, got a column {LABEL_COLUMN!r}"]
    faults = []
    if not any(image in names for image in IMAGES):
        faults.append(f"expected a column of images, {' or '.join(IMAGES)}{suggestion(IMAGES[0], names)}")
    if SCORE not in names:
        faults.append(f"expected a column {SCORE!r} for predictions by image{suggestion(SCORE, names)}")
    return faults


def read_prediction_table(path: Path, names: Sequence[str]) -> list[ImagePredictions]:
    """Predictions of each image, the highest score first, images in order of appearance."""
    if path.suffix.lower() not in DELIMITERS:
        raise DataError(f"{path}: expected predictions by image in {' or '.join(DELIMITERS)}")
    image = next(name for name in IMAGES if name in names)
    levels = _levels(names)
    if not levels:
        raise DataError(f"{path}: expected a column for each level of a prediction, got only {', '.join(names)}")
    extras = [name for name in (ID, COMMON, EPITHET) if name in names]
    table = read_table(path, columns=(image, SCORE, *levels, *extras))
    scores = _scores(path, table, image, levels)
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(table.columns[image]):
        rows_of[name].append(row)
    return [
        ImagePredictions(name, [_prediction(table, row, levels) for row in sorted(rows, key=lambda row: -scores[row])])
        for name, rows in rows_of.items()
    ]


def _levels(names: Sequence[str]) -> list[str]:
    """The columns level_1, level_2, … if there are any, else all columns without another meaning.

    A table of `hiercos predict`, which has a column `row`, has its levels between the image and `class`, the answer;
    columns of the input table may stand before them. In other tables `class` is a level.
    """
    is_own = "row" in names
    if is_own and "class" in names and "image" in names:
        names = names[names.index("image") : names.index("class")]
    numbered = [(int(match[1]), name) for name in names if (match := NUMBERED.fullmatch(name))]
    known = {*IMAGES, SCORE, ID, COMMON, EPITHET, *OTHERS}
    named = [name for name in names if name not in known and (is_level_column(name) or not is_own)]
    return [name for _, name in sorted(numbered)] or named


def _scores(path: Path, table: Table, image: str, levels: Sequence[str]) -> list[float]:
    """Score of each row; an answer "cannot say", a row without a score and a name, comes after all others."""
    scores, faults = [], []
    for row, (name, text) in enumerate(zip(table.columns[image], table.columns[SCORE], strict=True)):
        is_answered = text.strip() or any(table.columns[level][row].strip() for level in levels)
        scores.append(_number(text) if is_answered else -math.inf)
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


def _prediction(table: Table, row: int, levels: Sequence[str]) -> ImagePrediction:
    """Prediction of one row, with its id, path, last name and common name, as far as they exist."""
    cells = {name: cells[row].strip() for name, cells in table.columns.items()}
    path = [cells[level] for level in levels if cells[level]]
    name = path[-1] if path else ""
    by_epithet = [*path[:-1], cells[EPITHET]] if cells.get(EPITHET) else []
    ways = (cells.get(ID, ""), *map(PATH_SEPARATOR.join, (path, by_epithet)), name, cells.get(COMMON, ""))
    return ImagePrediction(name or cells.get(COMMON, ""), tuple(way for way in ways if way))
