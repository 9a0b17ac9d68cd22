"""Importing the package, the command and the estimator stays light."""

import subprocess
import sys

import pytest

HEAVY = ("lightning_fabric", "torchmetrics", "transformers", "torch._dynamo", "onnx", "matplotlib")
HELP = "from hiercos.cli.app import run; assert run(['--help']) == 0"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import hiercos", ("torch", "sklearn", *HEAVY)),
        (HELP, ("torch", "sklearn", *HEAVY)),
        ("from hiercos import HierarchicalClassifier", HEAVY),
    ],
    ids=["package", "help", "estimator"],
)
def test_heavy_libraries_are_imported_only_where_they_are_used(code: str, absent: tuple[str, ...]) -> None:
    code = f"import sys; {code}; sys.stderr.write(' '.join(name for name in {absent!r} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr == ""
