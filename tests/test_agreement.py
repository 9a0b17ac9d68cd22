"""The command, the estimator, the pipeline, the exported model and the benchmark give one answer to the same scores.

The network of every model is the identity, so the vectors are the scores.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.benchmark import model_metrics
from hiercos.cli.app import run
from hiercos.decisions import Posterior, rule
from hiercos.engine import LabelledVectors, StoredModel, launched, save_model
from hiercos.methods import Model
from hiercos.hub import load_pipeline
from hiercos.onnx import InferenceConfig, open_onnx_model
from hiercos.onnx.format import FEATURES, LEAVES, OPSET, OnnxDescription, onnx_library
from trees import random_tree

TREES, ROWS = 51, 204  # 10,404 rows
TEMPERATURES = (0.3, 1.0, 2.5)

pytest.importorskip("onnxruntime")


def identity_model(taxonomy: Taxonomy, name: str, temperature: float) -> StoredModel:
    """A model whose class scores are its vectors."""
    model = Model(taxonomy, taxonomy.num_classes, "cross-entropy").eval()
    with torch.no_grad():
        for parameter in model.head.parameters():
            parameter.copy_(torch.eye(len(parameter)) if parameter.ndim == 2 else torch.zeros(len(parameter)))
    return StoredModel(model, None, rule(name), temperature)


def identity_graph(stored: StoredModel) -> bytes:
    """The same as an ONNX file with the one output that answers are made of."""
    onnx, count = onnx_library("onnx"), stored.model.taxonomy.num_classes
    info = onnx.helper.make_tensor_value_info
    ends = [info(name, onnx.TensorProto.FLOAT, ["batch", count]) for name in (FEATURES, LEAVES)]
    node = onnx.helper.make_node("Identity", [FEATURES], [LEAVES])
    graph = onnx.helper.make_graph([node], "identity", ends[:1], ends[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=8)
    description = OnnxDescription(stored.model.taxonomy, "vectors", "cross-entropy", stored.rule, stored.temperature)
    onnx.helper.set_model_props(model, description.properties())
    return bytes(model.SerializeToString())


def score_matrix(taxonomy: Taxonomy, seed: int) -> NDArray[np.float32]:
    """Scores from nearly flat to nearly certain, some with ties."""
    generator = np.random.default_rng(seed)
    spread = np.exp(generator.uniform(-2, 3, size=(ROWS, 1)))
    scores = generator.normal(size=(ROWS, taxonomy.num_classes)) * spread
    scores[::7] = np.round(scores[::7])
    return scores.astype(np.float32)


def command_answers(folder: Path, scores: NDArray[np.float32]) -> list[str]:
    np.savez(folder / "scores.npz", features=scores)
    assert run(["predict", str(folder), str(folder / "scores.npz"), "--output", str(folder / "answers.csv")]) == 0
    with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    levels = [name for name in rows[0] if name.startswith("level_")]
    return [" > ".join(row[level] for level in levels if row[level]) for row in rows]


def path_answers(answers: list[dict[str, Any]]) -> list[str]:
    return [" > ".join(answer["path"]) for answer in answers]


@pytest.mark.parametrize("name", ["none", "crm", "hops"])
@pytest.mark.parametrize("seed", range(TREES // 3))
def test_every_interface_gives_the_same_answer_to_the_same_scores(name: str, seed: int, tmp_path: Path) -> None:
    taxonomy = random_tree(seed * 3 + ["none", "crm", "hops"].index(name), 3 + 2 * seed)
    scores, temperature = score_matrix(taxonomy, seed), TEMPERATURES[seed % 3]
    stored = identity_model(taxonomy, name, temperature)
    decision = rule(name)(Posterior.from_scores(scores, taxonomy, temperature=temperature))
    expected = [taxonomy.path_text(node) for node in decision.nodes.tolist()]
    save_model(tmp_path, stored)
    assert command_answers(tmp_path, scores) == expected
    assert path_answers(load_pipeline(tmp_path, device="cpu", batch_size=50)(scores)) == expected
    exported = open_onnx_model(identity_graph(stored))
    assert path_answers(exported.predict(scores, config=InferenceConfig(batch_size=33))) == expected
    paths = HierarchicalClassifier.load(tmp_path).predict_path(scores)
    assert [" > ".join(filter(None, path)) for path in paths.tolist()] == expected
    labels = torch.from_numpy(decision.classes)
    measured = model_metrics(launched("cpu"), stored, LabelledVectors(torch.from_numpy(scores), labels))
    assert measured.columns(["top1"]).min() == 1.0  # the class ranked first is the answer
