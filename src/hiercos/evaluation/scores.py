"""Predictions of other programs: files of class scores, or of class names from best to worst, with true labels.

An .npz file holds `labels` (M,) and either `scores` (M, C), with `classes` (C,) where the columns are not in the
taxonomy's class order, or `ranked` (M, K). A table (.csv, .tsv, .parquet) has a column `label` and either one
column per class, named by it, or columns `rank_1`…`rank_K` of class names. Classes are given by id, path or
name, or in .npz by index. Classes without a named column of scores are ranked last. Predictions by image, as pybioclip
(.csv) and SpeciesNet (.json) write them, hold no labels:
these come from a separate table.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np

from hiercos.data import TABLES, array_row_name, column_names, read_npz, read_table
from hiercos.errors import DataError, RowName, reading, suggestion
from hiercos.evaluation.image_predictions import (
    ImagePrediction,
    ImagePredictions,
    LabelledImages,
    is_prediction_table,
    prediction_scores,
    prediction_table_faults,
    read_prediction_table,
)
from hiercos.evaluation.score_tables import LABEL, ScoreArray, ScoreSet, read_score_columns
from hiercos.taxonomy import (
    PATH_SEPARATOR,
    AnyArray,
    IntArray,
    LabelReader,
    Taxonomy,
    inner_label_notes,
    label_indices,
    repeated,
)

RANK = "rank_"
JSON = ".json"
MOST_NAMED = 3  # classes named in the note about the order of columns


def read_scores(path: Path, taxonomy: Taxonomy, labels: LabelledImages | None = None) -> ScoreSet:
    """Read a file of scores, of ranked class names or of predictions by image, in a format of this module.

    Args:
        path: prediction file.
        taxonomy: taxonomy of the classes.
        labels: true classes for predictions by image; None for files that hold their labels.
    """
    with reading(f"{path}: the predictions cannot be read", DataError):
        return _read_scores(path, taxonomy, labels)


def _read_scores(path: Path, taxonomy: Taxonomy, labels: LabelledImages | None) -> ScoreSet:
    suffix = path.suffix.lower()
    if suffix not in (".npz", JSON, *TABLES):
        raise DataError(f"{path}: expected scores in .npz, .csv, .tsv or .parquet, or predictions by image in .json")
    names = column_names(path) if suffix in TABLES else []
    if suffix == JSON or is_prediction_table(names):
        return _from_image_predictions(path, names, taxonomy, labels)
    if labels is not None and names:
        raise DataError(f"{path}: {fault}" for fault in prediction_table_faults(names))
    if labels is not None:
        raise DataError(f"{path}: expected predictions by image, without labels, because {labels.source} has them")
    if suffix == ".npz":
        return _from_npz(path, taxonomy)
    read = _from_rank_columns if f"{RANK}1" in names else _from_score_columns
    return read(path, names, taxonomy)


def _from_image_predictions(
    path: Path, names: Sequence[str], taxonomy: Taxonomy, labels: LabelledImages | None
) -> ScoreSet:
    if labels is None:
        raise DataError(f"{path}: predictions by image hold no labels: expected a table of them (--labels FILE)")
    found: list[ImagePredictions] = read_prediction_table(path, names) if names else read_speciesnet(path)
    return prediction_scores(found, labels, taxonomy, str(path))


def _from_npz(path: Path, taxonomy: Taxonomy) -> ScoreSet:
    reader = LabelReader(taxonomy)
    arrays = read_npz(path, arrays=("labels",), optional=("scores", "classes", "ranked"))
    if not arrays["labels"].size:
        raise DataError(f"{path}: expected at least one sample, got none in 'labels'")
    nodes = reader.read(arrays["labels"], source=f"{path}: labels", row_name=array_row_name, inner=True)
    notes: tuple[str, ...] = ()
    if "scores" in arrays and "classes" in arrays:
        named = _named_classes(path, arrays["classes"], reader)
        columns = _score_matrix(path, arrays["scores"], len(named), array_row_name)
        scores, depth, notes = _in_class_order(path, columns, named, taxonomy)
    elif "scores" in arrays:
        depth = taxonomy.num_classes
        scores = _score_matrix(path, arrays["scores"], depth, array_row_name)
        notes = (_order_note(path, taxonomy),)
    elif "ranked" in arrays:
        scores, depth = _scores_of_ranked(path, arrays["ranked"], reader, array_row_name)
    else:
        raise DataError(f"{path}: expected an array 'scores' (M, C) or 'ranked' (M, K) beside 'labels'")
    if len(scores) != len(nodes):
        raise DataError(f"{path}: expected one label for each of {len(scores)} rows, got {len(nodes)}")
    found = _score_set(path, scores, nodes, depth, taxonomy, notes=notes)
    return replace(found, is_ranking="scores" not in arrays, row_name=array_row_name)


def _order_note(path: Path, taxonomy: Taxonomy) -> str:
    """Sentence on the order of score columns without names: that of the taxonomy's classes, with the first ones."""
    first = ", ".join(map(repr, taxonomy.class_names[:MOST_NAMED]))
    more = ", …" if taxonomy.num_classes > MOST_NAMED else ""
    return (
        f"{path} has no array 'classes': its score columns are read in the taxonomy's order of classes ({first}{more})."
    )


def _score_set(
    path: Path, scores: ScoreArray, nodes: IntArray, depth: int, taxonomy: Taxonomy, *, notes: Sequence[str] = ()
) -> ScoreSet:
    """Scores with the labels of these nodes, and a further note if some are inner nodes."""
    notes = (*notes, *inner_label_notes(nodes, taxonomy, source=str(path)))
    return ScoreSet(scores, label_indices(nodes, taxonomy), depth, notes)


def _from_rank_columns(path: Path, names: Sequence[str], taxonomy: Taxonomy) -> ScoreSet:
    columns = [f"{RANK}{place}" for place in range(1, sum(name.startswith(RANK) for name in names) + 1)]
    table = read_table(path, columns=(LABEL, *columns))
    reader = LabelReader(taxonomy)
    nodes = reader.read(table.columns[LABEL], source=str(path), row_name=table.row_name, inner=True)
    ranked = np.column_stack([np.array(table.columns[name], dtype=object) for name in columns])
    scores, depth = _scores_of_ranked(path, ranked, reader, table.row_name)
    return replace(_score_set(path, scores, nodes, depth, taxonomy), is_ranking=True, row_name=table.row_name)


def _from_score_columns(path: Path, names: Sequence[str], taxonomy: Taxonomy) -> ScoreSet:
    reader = LabelReader(taxonomy)
    if LABEL not in names:
        raise DataError(f"{path}: expected a column {LABEL!r} and one column per class{suggestion(LABEL, names)}")
    named = _named_classes(path, np.array([name for name in names if name != LABEL], dtype=object), reader)
    texts, columns, row_name = read_score_columns(path, names)
    nodes = reader.read(texts, source=str(path), row_name=row_name, inner=True)
    columns = _score_matrix(path, columns, len(named), row_name)
    scores, depth, notes = _in_class_order(path, columns, named, taxonomy)
    return replace(_score_set(path, scores, nodes, depth, taxonomy, notes=notes), row_name=row_name)


def _named_classes(path: Path, classes: AnyArray, reader: LabelReader) -> IntArray:
    """Class of each score column, shape (K,); a DataError for a class with several columns, or no columns."""
    if not len(classes):
        raise DataError(f"{path}: expected at least one score column named by a class, got none")
    nodes = reader.read(classes, source=str(path), row_name=lambda column: f"score column {column + 1}")
    named = reader.classes(nodes)
    counts = np.bincount(named, minlength=reader.taxonomy.num_classes)
    if (several := np.flatnonzero(counts > 1)).size:
        raise DataError(
            f"{path}: expected one score column for class {reader.taxonomy.class_names[label]!r}, got {counts[label]}"
            for label in several
        )
    return named


def _in_class_order(
    path: Path, columns: ScoreArray, named: IntArray, taxonomy: Taxonomy
) -> tuple[ScoreArray, int, tuple[str, ...]]:
    """Scores (M, C) from columns of K classes, minus infinity for the other classes; K; and a note about these."""
    scores = np.full((len(columns), taxonomy.num_classes), -np.inf, dtype=columns.dtype)
    scores[:, named] = columns
    missing = taxonomy.num_classes - len(named)
    if not missing:
        return scores, len(named), ()
    first = taxonomy.path_text(int(taxonomy.leaves[np.setdiff1d(np.arange(taxonomy.num_classes), named)[0]]))
    note = (
        f"{path}: {missing} of {taxonomy.num_classes} classes have no score column (such as {first!r}): they are "
        "ranked last, and metrics of the whole order are unknown; under a rule their probability is 0."
    )
    return scores, len(named), (note,)


def _score_matrix(path: Path, scores: AnyArray, width: int, row_name: RowName) -> ScoreArray:
    """Scores as floating-point numbers, shape (M, width); a DataError for another shape or type, or NaN."""
    if scores.dtype.kind not in "fiu" or scores.ndim != 2 or scores.shape[1] != width:
        raise DataError(
            f"{path}: expected scores as numbers of shape (M, {width}), one column per class, got {scores.shape} of "
            f"{scores.dtype}; an array 'classes' names the columns if not every class has one"
        )
    rows = np.flatnonzero(np.isnan(scores).any(axis=1))
    if len(rows):
        raise DataError(f"{path}: {row_name(int(rows[0]))}: a score is NaN")
    return scores if scores.dtype.kind == "f" else scores.astype(np.float64)


def _scores_of_ranked(path: Path, ranked: AnyArray, reader: LabelReader, row_name: RowName) -> tuple[ScoreArray, int]:
    """Scores (M, C) that fall with the rank of a class and are 0 for unranked classes; and K."""
    if ranked.ndim != 2 or not 1 <= ranked.shape[1] <= reader.taxonomy.num_classes:
        raise DataError(
            f"{path}: expected ranked classes of shape (M, K), K from 1 to {reader.taxonomy.num_classes}, "
            f"got {ranked.shape}"
        )
    count, depth = ranked.shape
    nodes = reader.read(ranked.reshape(-1), source=str(path), row_name=lambda cell: row_name(cell // depth))
    classes = reader.classes(nodes).reshape(count, depth)
    twice = np.flatnonzero((np.diff(np.sort(classes, axis=1), axis=1) == 0).any(axis=1))
    if len(twice):
        raise DataError(f"{path}: {row_name(int(twice[0]))}: a class is ranked twice")
    scores = np.zeros((count, reader.taxonomy.num_classes), dtype=np.float32)
    np.put_along_axis(scores, classes, np.arange(depth, 0, -1, dtype=np.float32)[None, :], axis=1)
    return scores, depth


SPECIESNET_RANKS = 5  # number of ranks between id and common name: class, order, family, genus, species


def read_speciesnet(path: Path) -> list[ImagePredictions]:
    """Predictions of each image: the final `prediction` if there is one, then the classifications by their scores.

    The file is a JSON object with a list `predictions` of one object per image. A class is
    `id;class;order;family;genus;species;common name`, where parts may be blank: a family has no species, and `blank`
    has only an id and a common name. An image that SpeciesNet could not read has no predictions.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: expected predictions of SpeciesNet in JSON ({error})") from error
    images = content.get("predictions") if isinstance(content, dict) else None
    if not isinstance(images, list) or not images:
        raise DataError(f"{path}: expected predictions of SpeciesNet, an object with a list 'predictions'")
    faults = [
        f"{path}: prediction {number}: {fault}"
        for number, image in enumerate(images, 1)
        for fault in _speciesnet_faults(image)
    ]
    names = [str(image.get("filepath", "")) for image in images if isinstance(image, dict)]
    faults += [f"{path}: {name!r} appears {count} times" for name, count in repeated(names) if name]
    if faults:
        raise DataError(faults)
    return [
        ImagePredictions(image["filepath"], [_speciesnet_prediction(name) for name in _speciesnet_ranked(image)])
        for image in images
    ]


def _speciesnet_faults(image: Any) -> Iterator[str]:
    if not isinstance(image, dict):
        yield f"expected an object, got {shortened(image)}"
        return
    if not isinstance(image.get("filepath"), str) or not image["filepath"].strip():
        yield f"expected a path in 'filepath', got {shortened(image.get('filepath'))}"
    if not isinstance(image.get("prediction", ""), str):
        yield f"expected text in 'prediction', got {shortened(image['prediction'])}"
    found = image.get("classifications", {})
    classes, scores = (found.get(key, []) for key in ("classes", "scores")) if isinstance(found, dict) else (None, None)
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        yield "expected a list of texts in 'classifications', 'classes'"
    elif not isinstance(scores, list) or len(scores) != len(classes) or not all(map(_is_number, scores)):
        yield "expected a number in 'classifications', 'scores', for each of the classes"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and value == value  # noqa: PLR0124 - false for nan


def _speciesnet_ranked(image: dict[str, Any]) -> list[str]:
    found = image.get("classifications", {})
    scored = sorted(zip(found.get("scores", []), found.get("classes", []), strict=True), key=lambda pair: -pair[0])
    final = [image["prediction"]] if image.get("prediction") else []
    return list(dict.fromkeys([*final, *(name for _, name in scored)]))


def _speciesnet_prediction(text: str) -> ImagePrediction:
    """Prediction from its text: id, path with the species alone or with its genus, scientific and common name."""
    given_id, *ranks, common = [part.strip() for part in text.split(";")] if ";" in text else ["", text.strip()]
    path = [rank for rank in ranks if rank]
    genus, species = ranks[-2:] if len(ranks) == SPECIESNET_RANKS else ("", "")
    scientific = f"{genus} {species}" if species else "".join(path[-1:])
    by_both = [*path[:-1], scientific] if species else []
    ways = (given_id, *map(PATH_SEPARATOR.join, (path if len(path) > 1 else [], by_both)), scientific, common)
    return ImagePrediction(common or scientific or text, tuple(way for way in ways if way))
