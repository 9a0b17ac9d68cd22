"""The command, the estimator, the pipeline, the exported model and the benchmark give one answer to the same scores,
with the same probability and the same short list.

The network of every model is the identity, so the vectors are the scores.
"""

import csv
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.cli.app import run
from hiercos.decisions import Posterior, rule
from hiercos.encoders import LabelledVectors, launched
from hiercos.evaluation import model_metrics
from hiercos.hub import load_pipeline
from hiercos.methods import Model
from hiercos.model import Classifier
from hiercos.onnx import InferenceConfig, open_onnx_model
from hiercos.onnx.format import FEATURES, LEAVES, OPSET, OnnxDescription, onnx_library, sealed
from trees import random_tree

TREES, ROWS = 51, 204  # 10,404 rows
RULES = ["none", "crm", "hops", "auto"]
TEMPERATURES = (0.3, 1.0, 2.5)
TOP = 4

Listed = list[tuple[str, float]]  # path and probability of each class that is listed for a sample

pytest.importorskip("onnxruntime")


def identity_model(taxonomy: Taxonomy, name: str, temperature: float) -> Classifier:
    """A model whose class scores are its vectors."""
    model = Model(taxonomy, taxonomy.num_classes, "cross-entropy").eval()
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.copy_(torch.eye(len(parameter)) if parameter.ndim == 2 else torch.zeros(len(parameter)))
    return Classifier(model, None, rule(name), temperature)


def identity_graph(stored: Classifier) -> bytes:
    """The same as an ONNX file with the one output that answers are made of."""
    onnx, count = onnx_library("onnx"), stored.model.taxonomy.num_classes
    info = onnx.helper.make_tensor_value_info
    ends = [info(name, onnx.TensorProto.FLOAT, ["batch", count]) for name in (FEATURES, LEAVES)]
    node = onnx.helper.make_node("Identity", [FEATURES], [LEAVES])
    graph = onnx.helper.make_graph([node], "identity", ends[:1], ends[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=8)
    description = OnnxDescription(stored.model.taxonomy, "vectors", "cross-entropy", stored.rule, stored.temperature)
    onnx.helper.set_model_props(model, description.properties())
    return sealed(bytes(model.SerializeToString()))


def score_matrix(taxonomy: Taxonomy, seed: int) -> NDArray[np.float32]:
    """Scores from nearly flat to nearly certain, some with ties."""
    generator = np.random.default_rng(seed)
    spread = np.exp(generator.uniform(-2, 3, size=(ROWS, 1)))
    scores = generator.normal(size=(ROWS, taxonomy.num_classes)) * spread
    scores[::7] = np.round(scores[::7])
    return scores.astype(np.float32)


def expected_lists(posterior: Posterior, name: str) -> list[Listed]:
    listed, taxonomy = rule(name).short_list(posterior, TOP), posterior.taxonomy
    paths = [[taxonomy.path_text(leaf) for leaf in leaves] for leaves in taxonomy.leaves[listed.classes].tolist()]
    return [list(zip(*row, strict=True)) for row in zip(paths, listed.probabilities.tolist(), strict=True)]


def command_lists(folder: Path, scores: NDArray[np.float32], *options: str) -> list[Listed]:
    inputs, output = folder / "scores.npz", folder / "answers.csv"
    np.savez(inputs, features=scores)
    assert run(["predict", str(folder), str(inputs), "--output", str(output), *options]) == 0
    with output.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    levels = [name for name in rows[0] if name.startswith("level_")]
    return [
        [(" > ".join(filter(None, map(row.get, levels))), float(row["confidence"])) for row in group]
        for _, group in groupby(rows, key=lambda row: row["row"])
    ]


def named_lists(answers: list[dict[str, Any]]) -> list[Listed]:
    for answer in answers:
        first, (same, *_) = {**answer}, answer["top"]
        assert {name: first[name] for name in same if name != "rank"} | {"rank": 1} == same  # the answer comes first
    levels = [name for name in answers[0] if name.startswith("level_")]
    return [
        [(" > ".join(filter(None, map(each.get, levels))), each["confidence"]) for each in answer["top"]]
        for answer in answers
    ]


def printed(lists: list[Listed]) -> list[Listed]:
    """Lists with the probabilities as the command prints them."""
    return [[(path, round(probability, 6)) for path, probability in listed] for listed in lists]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(TREES // 3))
def test_every_interface_gives_the_same_answer_to_the_same_scores(name: str, seed: int, tmp_path: Path) -> None:
    taxonomy = random_tree(seed * 3 + RULES.index(name), 3 + 2 * seed)
    scores, temperature = score_matrix(taxonomy, seed), TEMPERATURES[seed % 3]
    stored = identity_model(taxonomy, name, temperature)
    posterior = Posterior.from_scores(scores, taxonomy, temperature=temperature)
    decision, expected = rule(name)(posterior), expected_lists(posterior, name)
    firsts = list(zip(map(taxonomy.path_text, decision.nodes.tolist()), decision.probabilities.tolist(), strict=True))
    assert [listed[0] for listed in expected] == firsts
    stored.save(tmp_path)
    assert command_lists(tmp_path, scores) == printed([[first] for first in firsts])
    assert command_lists(tmp_path, scores, "--top", str(TOP)) == printed(expected)
    assert named_lists(load_pipeline(tmp_path, device="cpu", batch_size=50)(scores, top=TOP)) == printed(expected)
    exported = open_onnx_model(identity_graph(stored))
    assert named_lists(exported.answers(scores, top=TOP, config=InferenceConfig(batch_size=33))) == printed(expected)
    estimator = HierarchicalClassifier.load(tmp_path)
    paths = [" > ".join(filter(None, path)) for path in estimator.predict_path(scores).tolist()]
    assert paths == [path for path, _ in firsts]
    assert (estimator.predict_proba(scores) == posterior.classes[:, estimator.labels_.columns]).all()
    measured = model_metrics(
        launched("cpu"), stored, LabelledVectors(torch.from_numpy(scores), torch.from_numpy(decision.classes))
    )
    assert measured.columns(["top1"]).min() == 1.0  # the class ranked first is the answer
    np.testing.assert_allclose(np.exp(-measured.columns(["log_loss"])[:, 0]), decision.probabilities, rtol=1e-12)
