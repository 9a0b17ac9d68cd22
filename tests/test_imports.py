"""Importing the package, the command and the estimator stays light."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from onnx_exports import of_texts, of_vectors

HEAVY = ("lightning_fabric", "torchmetrics", "transformers", "torch._dynamo", "onnx", "matplotlib")
LIGHT = """from hiercos import HierarchicalClassifier
from hiercos.metrics import functional, suite_values
from hiercos.sklearn import HierarchicalScorer"""
HELP = "from hiercos.cli.app import run; assert run(['--help']) == 0"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import hiercos", ("torch", "sklearn", *HEAVY)),
        (HELP, ("torch", "sklearn", *HEAVY)),
        (LIGHT, HEAVY),
    ],
    ids=["package", "help", "estimator, scorers and metric functions"],
)
def test_heavy_libraries_are_imported_only_where_they_are_used(code: str, absent: tuple[str, ...]) -> None:
    code = f"import sys\n{code}\nsys.stderr.write(' '.join(name for name in {absent!r} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == ""


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_predictions_of_a_stored_model_import_neither_training_nor_metrics(kind: str, tmp_path: Path) -> None:
    (of_texts() if kind == "texts" else of_vectors()).stored.save(tmp_path / "model")
    source = tmp_path / ("inputs.csv" if kind == "texts" else "inputs.npz")
    if kind == "texts":
        source.write_text("text\nred car\n", encoding="utf-8")
    else:
        np.savez(source, features=np.ones((1, of_vectors().stored.model.in_features), np.float32))
    absent = ("sklearn", "pandas", "pyarrow", "scipy.stats", "scipy.optimize", *HEAVY)
    arguments = ["predict", str(tmp_path / "model"), str(source)]
    code = (
        f"import sys; from hiercos.cli.app import run; assert run({arguments!r}) == 0; "
        f"print([name for name in {absent!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
