"""Exported models are asked where torch cannot even be imported."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from blobs import cloud
from colours import TREE, colour_folder, small_backbone
from hiercos.data.features import TextFeatures
from hiercos.data.inputs import read_inputs
from hiercos.engine import Model, StoredModel
from hiercos.engine.predict import prediction_rows
from hiercos.engine.readers import FrozenReader, Reading, TfidfReader
from trees import TOY17

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
from hiercos.cli.app import run
from hiercos.interop.onnx_export import export_onnx

WITHOUT_TORCH = """
import json, sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NoTorch())
from hiercos.cli.app import run
codes = [run(arguments) for arguments in json.loads(sys.argv[1])]
imported = {name.partition(".")[0] for name, module in sys.modules.items() if module}
assert not imported & {"torch", "lightning_fabric", "torchmetrics"}, imported
sys.exit(max(codes))
"""
TEXTS = ["red car", "red cat", "blue car", "blue dog", "green dog", "a red truck"]


def fitted(tree: object, features: torch.Tensor, method: str) -> Model:
    torch.manual_seed(0)
    model = Model(tree, features.shape[1], method)  # type: ignore[arg-type]
    model.standardize.fit(features)
    with torch.no_grad():
        model.train()(features)
    return model.eval()


def stored_models(folder: Path) -> dict[str, tuple[StoredModel, str]]:
    """A model of each kind, each with another rule, and something to ask it."""
    vectors, _ = cloud(TOY17, 34)
    np.savez(folder / "vectors.npz", features=vectors.numpy())
    (folder / "texts.csv").write_text("\n".join(["text", *TEXTS]))
    colour_folder(folder / "images", 20)
    texts = TextFeatures.fit(TEXTS, dim=4, seed=0)
    backbone = small_backbone().eval()
    text_model = fitted(TREE, torch.tensor(texts.transform(TEXTS)), "cross-entropy")
    image_model = fitted(TREE, torch.randn(40, 6, generator=torch.Generator().manual_seed(1)), "cross-entropy")
    return {
        "vectors": (StoredModel(fitted(TOY17, vectors, "path-softmax"), None, "hops", 0.8), "vectors.npz"),
        "texts": (StoredModel(text_model, TfidfReader(texts), "crm", 1.5), "texts.csv"),
        "images": (StoredModel(image_model, FrozenReader(backbone), "none", 1.0), "images"),
    }


def test_predictions_without_torch_equal_those_with_it(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    models = stored_models(tmp_path)
    commands = []
    for kind, (stored, inputs) in models.items():
        export_onnx(stored).write(tmp_path / f"{kind}.onnx")
        command = ["predict", str(tmp_path / f"{kind}.onnx"), str(tmp_path / inputs), "--top", "2"]
        commands.append(
            [*command, "--batch-size", "5", "--workers", "2", "--output", str(tmp_path / f"{kind}-answers.csv")]
        )
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, json.dumps(commands)], check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    for kind, (stored, inputs) in models.items():
        found = list(csv.DictReader(io.StringIO((tmp_path / f"{kind}-answers.csv").read_text())))
        unlabelled = read_inputs(tmp_path / inputs, kind=stored.kind)
        expected = prediction_rows(stored, unlabelled, Reading(fabric), top=2, confidence=True)
        assert [list(row) for row in found] == [list(row) for row in expected]
        numbers = ("score", "confidence")
        for row, other in zip(found, expected, strict=True):
            assert {key: row[key] for key in row if key not in numbers} == {
                key: str(other[key]) for key in other if key not in numbers
            }
            assert [float(row[key]) for key in numbers] == pytest.approx([other[key] for key in numbers], abs=2e-5)


def test_what_the_file_cannot_do_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors, _ = cloud(TREE, 16)
    export_onnx(StoredModel(fitted(TREE, vectors, "cross-entropy"), None)).write(tmp_path / "model.onnx")
    np.savez(tmp_path / "narrow.npz", features=vectors.numpy()[:, :5])
    command = ["predict", str(tmp_path / "model.onnx"), str(tmp_path / "narrow.npz")]
    assert run([*command, "--device", "cuda"]) == 2
    assert capsys.readouterr().err.endswith("runs on the CPU as it is: expected no --device and no --precision\n")
    assert run(command) == 2
    assert capsys.readouterr().err == "error: this model takes vectors of 12 features, got 5\n"
