"""Corrections: decisions of people about rows, one JSON object a line, as training rows."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiercos.data.dataset import Dataset
from hiercos.data.images.collections import ImageFiles
from hiercos.data.inputs import Inputs, Texts
from hiercos.data.readers.table import json_lines
from hiercos.errors import DataError
from hiercos.taxonomy import LabelReader, Taxonomy

DECISIONS = ("node", "none", "skip", "undo")  # a node; none of the taxonomy; no decision; the last one taken back


class Correction(NamedTuple):
    """A decision that holds."""

    line: int  # line of the file, from 1
    shown: str  # text, or path of the image
    node: str  # path of the node; "" for none of the taxonomy
    who: str  # name of the person


def read_corrections(path: Path) -> list[Correction]:
    """Decisions of a file that hold, one for each input and person, in order.

    Of several decisions of one person about an input the last one holds; "undo" takes it back, "skip" is none.
    """
    held: dict[tuple[str, str], Correction] = {}
    for line, values in json_lines(path):
        shown, who = str(values.get("text", values.get("image", ""))), str(values.get("who", ""))
        decision, node = values.get("decision"), values.get("node")
        if decision not in DECISIONS or not shown or (decision == "node") != isinstance(node, str):
            expected = f"a decision ({', '.join(DECISIONS)}) about a 'text' or an 'image', with a 'node'"
            raise DataError(f"{path}: row {line}: expected {expected}")
        if decision != "skip":
            held.pop((shown, who), None)
        if decision in ("node", "none"):
            held[shown, who] = Correction(line, shown, node or "", who)
    return list(held.values())


def with_corrections(dataset: Dataset, path: Path) -> Dataset:
    """The data set with the corrected rows as training rows; rows of the same content are left out for them.

    Of several people's decisions about an input the last one counts, and an input of no node is left out altogether.
    """
    if dataset.label_sets is not None or dataset.candidates is not None:
        raise DataError(f"{path}: corrections have one label each, {dataset.source} has rows with several")
    last = {each.shown: each for each in read_corrections(path)}
    corrected = [each for each in last.values() if each.node]
    inputs = _inputs(dataset, list(last), path)
    keys = {*inputs.split_keys()}
    kept = np.array([row for row, key in enumerate(dataset.inputs.split_keys()) if key not in keys], dtype=np.int64)
    nodes = _nodes(corrected, dataset.taxonomy, path)
    added = inputs.take([row for row, each in enumerate(last.values()) if each.node])
    weights = None if dataset.weights is None else np.concatenate([dataset.weights[kept], np.ones(len(nodes))])
    told = f"{path}: {len(nodes)} corrected rows are learned from; they replace {len(dataset) - len(kept)} rows."
    return replace(
        dataset,
        inputs=_joined(dataset.inputs.take(kept), added),
        nodes=np.concatenate([dataset.nodes[kept], nodes]),
        split=np.concatenate([dataset.split[kept], np.full(len(nodes), "train")]),
        weights=weights,
        numbers=None,
        notes=(*dataset.notes, told),
    )


def _nodes(corrections: list[Correction], taxonomy: Taxonomy, path: Path) -> np.ndarray:
    def row_name(row: int) -> str:
        return f"row {corrections[row].line}"

    texts = [each.node for each in corrections]
    return LabelReader(taxonomy).read(texts, source=str(path), row_name=row_name, inner=True, paths_first=True)


def _inputs(dataset: Dataset, shown: list[str], path: Path) -> Inputs:
    if isinstance(dataset.inputs, Texts):
        return Texts(shown)
    if isinstance(dataset.inputs, ImageFiles):
        return ImageFiles(shown)
    raise DataError(f"{path}: corrections are of texts and image files, {dataset.source} has {dataset.kind}")


def _joined(first: Inputs, second: Inputs) -> Inputs:
    if isinstance(first, ImageFiles) and isinstance(second, ImageFiles):
        return ImageFiles([each.name(row) for each in (first, second) for row in range(len(each))])
    return Texts([*first.values(range(len(first))), *second.values(range(len(second)))])
