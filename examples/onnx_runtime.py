"""Train a model, export it to an ONNX file, and ask that in plain onnxruntime, which needs neither torch nor hiercos.

pip install 'hiercos[onnx]'; python examples/onnx_runtime.py
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
from lightning_fabric import Fabric

from hiercos.data import load_dataset
from hiercos.engine import TrainConfig, load_model, prepare, train_run
from hiercos.interop.onnx_export import export_onnx

data = prepare(load_dataset("icd10cm:3,8"), dim=128)  # phrases of two chapters of ICD-10-CM as vectors (M, 128)
test, phrases = data.samples("test"), [data.dataset.inputs[row] for row in data.dataset.rows("test")]

with TemporaryDirectory() as name:
    folder = Path(name)
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    train_run(fabric, data, TrainConfig(method="path-softmax", epochs=5, batch_size=64), folder / "model")
    exported = export_onnx(load_model(folder / "model"), start="features")  # as `hiercos export --from features`
    exported.write(folder / "model.onnx")
    print(f"onnxruntime and PyTorch differ by {exported.difference:.0e}")

    # From here on nothing of torch or hiercos is used.
    session = onnxruntime.InferenceSession(folder / "model.onnx")

tree = json.loads(session.get_modelmeta().custom_metadata_map["hiercos.taxonomy"])  # names, parents, leaves
features = test.features.numpy()  # (M, 128), float32
probabilities, chapter_scores = session.run(["probabilities", "level_1_scores"], {"features": features})

answers = probabilities.argmax(axis=1)  # (M, C) to (M,)
print(f"test top-1 {np.mean(answers == test.labels.numpy()):.3f}")
category, chapter = tree["names"][tree["leaves"][answers[0]]], tree["names"][chapter_scores[0].argmax()]
print(f"{phrases[0]!r}: {category}, {probabilities[0].max():.0%}, of the chapter {chapter!r}")
