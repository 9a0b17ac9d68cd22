"""Train a model, export it to an ONNX file, and ask that in plain onnxruntime, which needs neither torch nor hiercos.

pip install 'hiercos[onnx]'; python examples/onnx_runtime.py
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime

from hiercos.data import load_dataset
from hiercos.model import Classifier
from hiercos.onnx import export_onnx
from hiercos.training import Settings, features_of, train


def export_model(folder: Path) -> list[str]:
    """Write the model as model.onnx and test vectors with their labels as test.npz; returns their phrases."""
    settings = Settings("path-softmax", epochs=5, batch_size=64, dim=128, refit=False)  # of these vectors
    data = features_of(load_dataset("icd10cm:3,8")).for_method(settings)  # phrases as vectors (M, 128)
    train(data, settings, folder=folder / "model")
    exported = export_onnx(Classifier.load(folder / "model"), start="features")  # as `hiercos export --from features`
    exported.write(folder / "model.onnx")
    print(f"onnxruntime and PyTorch differ by {exported.difference:.0e}")
    test = data.samples("test")
    np.savez(folder / "test.npz", features=test.features.numpy(), labels=test.labels.numpy())
    return [str(data.dataset.inputs[row]) for row in data.dataset.rows("test")]


def ask(folder: Path, phrases: list[str]) -> None:
    """Answer from the two files with json, NumPy and onnxruntime: nothing of torch or hiercos is used in here."""
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    tree = json.loads(session.get_modelmeta().custom_metadata_map["hiercos.taxonomy"])  # names, parents, leaves
    test = np.load(folder / "test.npz")
    outputs = ["probabilities", "level_1_scores"]
    probabilities, chapter_scores = session.run(outputs, {"features": test["features"]})  # (M, C), (M, K)

    answers = probabilities.argmax(axis=1)  # (M,), by probability: any other rule is up to you
    print(f"test top-1 {np.mean(answers == test['labels']):.3f}")
    row = int(probabilities.max(axis=1).argmax())
    category, chapter = tree["names"][tree["leaves"][answers[row]]], tree["names"][chapter_scores[row].argmax()]
    print(f"its surest answer: {phrases[row]!r} is of {category!r}, in the chapter {chapter!r}")


with TemporaryDirectory() as name:
    ask(Path(name), export_model(Path(name)))
