"""Exported models are asked where torch cannot even be imported."""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from answer_rows import stored_rows
from blobs import cloud
from colours import colour_folder
from hiercos.data import read_inputs
from hiercos.errors import DataError
from hiercos.onnx.format import OnnxError
from hiercos.onnx.model import InferenceConfig, OnnxModel
from trees import TOY17

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
from hiercos.cli.app import run
from onnx_exports import TEXTS, of_energies, of_images, of_texts, of_vectors

ROOT = Path(__file__).parents[2]
REQUIREMENTS = [line for line in (ROOT / "requirements-onnx.txt").read_text().splitlines() if not line.startswith("#")]
SECTION = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8").partition("## Without torch")[2]
WITHOUT_TORCH = """
import json, sys
commands, absent = map(json.loads, sys.argv[1:])

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from hiercos.cli.app import run
sys.exit(max(run(arguments) for arguments in commands))
"""


def absent_modules() -> list[str]:
    """Modules that are installed here, and are not where only the requirements of ONNX files are."""
    present, waiting = {"hiercos"}, [*REQUIREMENTS]
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name not in present and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            present.add(name)
            waiting += requires(name) or []
    owners = packages_distributions().items()
    return [module for module, names in owners if not present & {canonicalize_name(name) for name in names}]


def test_the_requirements_without_torch_are_those_of_the_package_and_are_printed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for own in project["optional-dependencies"].values() for line in own]
    ours = [Requirement(line) for line in [*project["dependencies"], *extras]]
    known = {(canonicalize_name(each.name), each.specifier) for each in ours}
    assert {(canonicalize_name(each.name), each.specifier) for each in map(Requirement, REQUIREMENTS)} <= known
    assert re.findall(r"```text\n(.*?)\n```", SECTION, flags=re.DOTALL)[0].splitlines() == REQUIREMENTS
    assert {"torch", "sklearn", "torchmetrics", "lightning_fabric", "onnx"} <= set(absent_modules())


@pytest.mark.slow
def test_the_printed_commands_install_and_predict_without_torch(tmp_path: Path) -> None:
    clone, names = tmp_path / "clone", ("pyproject.toml", "README.md", "LICENSE", "constraints.txt")
    for name in ("src", "recipes"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*names, "requirements-onnx.txt"):
        shutil.copy(ROOT / name, clone / name)
    of_texts().export.write(clone / "model.onnx")
    (clone / "titles.csv").write_text("\n".join(["text", *TEXTS]))
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "fresh"], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment = {**kept, "PATH": f"{tmp_path / 'fresh' / 'bin'}:{os.environ['PATH']}"}
    commands = re.findall(r"```sh\n(.*?)```", SECTION, flags=re.DOTALL)[0]
    subprocess.run(["bash", "-euc", commands], check=True, cwd=clone, env=environment)
    with (clone / "answers.csv").open(newline="") as file:
        answers = [row["class"] for row in csv.DictReader(file)]
    assert answers == [answer["label"] for answer in of_texts().export.opened().predict(list(TEXTS))]
    installed = subprocess.run(["pip", "freeze"], check=True, env=environment, capture_output=True, text=True).stdout
    assert "hiercos" in installed
    assert "torch" not in installed


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
        [sys.executable, "-c", WITHOUT_TORCH, json.dumps(commands), json.dumps(absent_modules())],
        check=False,
        capture_output=True,
        text=True,
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


def close(answer: dict[str, float]) -> dict[str, float]:
    """Numbers that onnxruntime computes in another order."""
    return {name: answer[name] for name in ("score", "confidence")}


def test_python_gets_the_answers_of_the_folder(tmp_path: Path) -> None:
    colour_folder(tmp_path, 20)
    paths = sorted(tmp_path.rglob("*.png"))
    vectors = cloud(TOY17, 34)[0].numpy().astype(np.float64)
    for (stored, export), inputs in ((of_vectors(), vectors), (of_texts(), list(TEXTS)), (of_images(), paths)):
        found = export.opened().answers(inputs, top=2, config=InferenceConfig(batch_size=7))
        expected = stored.answers(inputs, top=2)
        assert len(found) == len(inputs)
        for answer, other in zip(found, expected, strict=True):
            assert [best["class"] for best in answer["top"]] == [best["class"] for best in other["top"]]
            assert {**answer, **close(other), "top": None} == {**other, "top": None}
            assert close(answer) == pytest.approx(close(other), abs=2e-5)
    (alone,) = of_texts().export.opened().answers("red car")
    assert list(alone)[:2] == ["row", "text"]
    assert list(alone)[-3:] == ["class", "score", "confidence"]


def test_explanations_have_the_energies_of_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = cloud(TOY17, 9)[0].numpy()
    stored, export = of_energies()
    found = export.opened().answers(vectors, explain=True, config=InferenceConfig(batch_size=4))
    for answer, other in zip(found, stored.answers(vectors, explain=True), strict=True):
        energies, others = ([step["features"][0]["weight"] for step in each["reasons"]] for each in (answer, other))
        assert energies == pytest.approx(others, abs=1e-5)
        assert 0 < min(energies) <= max(energies) < 1
        assert (answer["class"], answer["runner_up"]) == (other["class"], other["runner_up"])
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
    assert [row["because"] for row in rows] == [answer["because"] for answer in found]
    assert "--explain" not in capsys.readouterr().err
    assert of_vectors().export.opened().answers(vectors, explain=True)[0]["because"] == "unavailable"
    of_vectors().export.write(tmp_path / "model.onnx")
    assert run([str(argument) for argument in arguments]) == 0
    assert "there are no reasons (unavailable), because an ONNX file does not keep" in capsys.readouterr().err


def test_what_the_graph_does_not_take_is_one_sentence() -> None:
    vectors, texts = of_vectors().export.opened(), of_texts().export.opened()
    shown = "OnnxModel(path-softmax + auto, vectors, Taxonomy(23 nodes, 17 classes, height 4))"
    assert repr(vectors) == shown
    message = (
        r"^the ONNX model: the graph takes features as numbers of shape \(B, 4\), got .+; answers\(\) takes texts$"
    )
    with pytest.raises(DataError, match=message):
        texts.outputs(["red car"])  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"of shape \(B, 12\), got shape \(2, 5\); answers\(\) takes vectors$"):
        vectors.outputs(np.zeros((2, 5), dtype=np.float32))
    with pytest.raises(DataError, match="inputs: row 1: expected a text, got int"):
        texts.answers([3])
    with pytest.raises(DataError, match="this model takes vectors of 12 features, got 5"):
        vectors.answers(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="expected top of at least 1, got 0"):
        texts.answers("red car", top=0)
    with pytest.raises(ValueError, match="expected batch_size of at least 1, got -2"):
        InferenceConfig(batch_size=-2)


def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match="expected a file, this is a folder"):
        OnnxModel.load(tmp_path)
    with pytest.raises(OnnxError, match="expected the name of a file, this is a folder"):
        of_vectors().export.write(tmp_path)
    with pytest.raises(ValueError, match="expected threads of at least 1, got -1"):
        OnnxModel.load(tmp_path, threads=-1)


def test_what_the_file_cannot_do_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_vectors().export.write(tmp_path / "model.onnx")
    np.savez(tmp_path / "narrow.npz", features=cloud(TOY17, 16)[0].numpy()[:, :5])
    command = ["predict", str(tmp_path / "model.onnx"), str(tmp_path / "narrow.npz")]
    assert run([*command, "--device", "cuda"]) == 2
    assert capsys.readouterr().err.endswith("always runs on the CPU: expected no --device and no --precision\n")
    assert run(command) == 2
    assert capsys.readouterr().err == "error: this model takes vectors of 12 features, got 5\n"
