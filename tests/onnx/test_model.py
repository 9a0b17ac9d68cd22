"""Exported models are asked where torch cannot even be imported."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric

from answer_rows import stored_rows
from blobs import cloud
from colours import colour_folder
from hiercos.data import read_inputs
from hiercos.errors import DataError
from hiercos.hub import PretrainedModel, load_pipeline
from hiercos.onnx.format import OnnxError
from hiercos.onnx.model import InferenceConfig, load_onnx_model
from trees import TOY17

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
from hiercos.cli.app import run
from onnx_exports import TEXTS, of_energies, of_images, of_texts, of_vectors

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


def inputs_in(folder: Path) -> dict[str, str]:
    """Something to ask the model of each kind, by the name of its file or folder."""
    np.savez(folder / "vectors.npz", features=cloud(TOY17, 34)[0].numpy())
    (folder / "texts.csv").write_text("\n".join(["text", *TEXTS]))
    colour_folder(folder / "images", 20)
    return {"vectors": "vectors.npz", "texts": "texts.csv", "images": "images"}


def test_predictions_without_torch_equal_those_with_it(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    models, inputs = {"vectors": of_vectors(), "texts": of_texts(), "images": of_images()}, inputs_in(tmp_path)
    commands = []
    for kind, (_, export) in models.items():
        export.write(tmp_path / f"{kind}.onnx")
        command = ["predict", str(tmp_path / f"{kind}.onnx"), str(tmp_path / inputs[kind]), "--top", "2"]
        commands.append(
            [*command, "--batch-size", "5", "--workers", "2", "--output", str(tmp_path / f"{kind}-answers.csv")]
        )
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, json.dumps(commands)], check=False, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    for kind, (stored, _) in models.items():
        found = list(csv.DictReader(io.StringIO((tmp_path / f"{kind}-answers.csv").read_text())))
        unlabelled = read_inputs(tmp_path / inputs[kind], kind=stored.kind)
        expected = stored_rows(stored, unlabelled, fabric, top=2)
        assert [list(row) for row in found] == [list(row) for row in expected]
        numbers = ("score", "confidence")
        for row, other in zip(found, expected, strict=True):
            assert {key: row[key] for key in row if key not in numbers} == {
                key: str(other[key]) for key in other if key not in numbers
            }
            assert [float(row[key]) for key in numbers] == pytest.approx([other[key] for key in numbers], abs=2e-5)


def test_python_gets_the_answers_of_a_pipeline(tmp_path: Path) -> None:
    colour_folder(tmp_path, 20)
    paths = sorted(tmp_path.rglob("*.png"))
    vectors = cloud(TOY17, 34)[0].numpy().astype(np.float64)
    for (stored, export), inputs in ((of_vectors(), vectors), (of_texts(), list(TEXTS)), (of_images(), paths)):
        found = export.opened().predict(inputs, top_k=2, config=InferenceConfig(batch_size=7))
        expected = load_pipeline(PretrainedModel(stored), device="cpu")(inputs, top_k=2)
        assert len(found) == len(inputs)
        for answer, other in zip(found, expected, strict=True):
            assert [best["path"] for best in answer["top_k"]] == [best["path"] for best in other["top_k"]]
            assert answer["label"] == other["label"]
            for key in ("score", "probability", "path_probabilities"):
                assert answer[key] == pytest.approx(other[key], abs=2e-5)
    (alone,) = of_texts().export.opened().predict("red car")
    assert list(alone) == ["label", "path", "score", "probability", "path_probabilities"]


def test_explanations_have_the_energies_of_the_model(tmp_path: Path) -> None:
    vectors = cloud(TOY17, 9)[0].numpy()
    stored, export = of_energies()
    found = export.opened().predict(vectors, explain=True, config=InferenceConfig(batch_size=4))
    expected = load_pipeline(PretrainedModel(stored), device="cpu")(vectors, explain=True)
    for answer, other in zip(found, expected, strict=True):
        for path in ("path", "runner_up"):
            steps = answer["explanation"][path], other["explanation"][path]
            assert steps[0]
            for step, own in zip(*steps, strict=True):
                assert step == pytest.approx(own, abs=1e-5)
                assert 0 < step["energy"] < 1
    np.savez(tmp_path / "vectors.npz", features=vectors)
    export.write(tmp_path / "model.onnx")
    arguments = [
        "predict",
        tmp_path / "model.onnx",
        tmp_path / "vectors.npz",
        "--explain",
        "--output",
        tmp_path / "a.csv",
    ]
    assert run([str(argument) for argument in arguments]) == 0
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    energies = [answer["explanation"]["path"][0]["energy"] for answer in found]
    assert [float(row["energy_1"]) for row in rows] == pytest.approx(energies, abs=1e-5)
    assert "energy" not in of_vectors().export.opened().predict(vectors, explain=True)[0]["explanation"]["path"][0]


def test_what_the_graph_does_not_take_is_one_sentence() -> None:
    vectors, texts = of_vectors().export.opened(), of_texts().export.opened()
    shown = "OnnxModel(path-softmax + auto, vectors, Taxonomy(23 nodes, 17 classes, height 4))"
    assert repr(vectors) == shown
    message = (
        r"^the ONNX model: the graph takes features as numbers of shape \(B, 4\), got .+; predict\(\) takes texts$"
    )
    with pytest.raises(DataError, match=message):
        texts.posterior(["red car"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"of shape \(B, 12\), got shape \(2, 5\); predict\(\) takes vectors$"):
        vectors.posterior(np.zeros((2, 5), dtype=np.float32))
    with pytest.raises(DataError, match="inputs: row 1: expected a text, got int"):
        texts.predict([3])
    with pytest.raises(DataError, match="this model takes vectors of 12 features, got 5"):
        vectors.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="expected top_k of at least 1, got 0"):
        texts.predict("red car", top_k=0)
    with pytest.raises(ValueError, match="expected batch_size of at least 1, got -2"):
        InferenceConfig(batch_size=-2)


def test_the_files_of_a_text_model_are_found_under_another_name_too(tmp_path: Path) -> None:
    for file in of_texts().export.write(tmp_path / "model.onnx"):
        file.rename(tmp_path / file.name.replace("model", "other"))
    assert load_onnx_model(tmp_path / "other.onnx").text_map is not None
    next(tmp_path.glob("other.text-*.safetensors")).write_bytes(b"")
    with pytest.raises(OnnxError, match=r"other\.text-.{8}\.safetensors: not the file that was written with oth"):
        load_onnx_model(tmp_path / "other.onnx")


def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match="expected a file, this is a folder"):
        load_onnx_model(tmp_path)
    with pytest.raises(OnnxError, match="expected the name of a file, this is a folder"):
        of_vectors().export.write(tmp_path)
    with pytest.raises(ValueError, match="expected threads of at least 1, got -1"):
        load_onnx_model(tmp_path, threads=-1)


def test_what_the_file_cannot_do_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_vectors().export.write(tmp_path / "model.onnx")
    np.savez(tmp_path / "narrow.npz", features=cloud(TOY17, 16)[0].numpy()[:, :5])
    command = ["predict", str(tmp_path / "model.onnx"), str(tmp_path / "narrow.npz")]
    assert run([*command, "--device", "cuda"]) == 2
    assert capsys.readouterr().err.endswith("always runs on the CPU: expected no --device and no --precision\n")
    assert run(command) == 2
    assert capsys.readouterr().err == "error: this model takes vectors of 12 features, got 5\n"
