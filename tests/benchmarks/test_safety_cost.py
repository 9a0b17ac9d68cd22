"""The measurement of what safety costs."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from hiercos.engine import StoredModel, save_model
from hiercos.methods import Model
from trees import TOY

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "safety_cost.py"


@pytest.fixture(scope="module")
def safety_cost() -> ModuleType:
    spec = importlib.util.spec_from_file_location("safety_cost", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_load_in_a_new_process_is_measured(safety_cost: ModuleType, tmp_path: Path) -> None:
    torch.manual_seed(0)
    save_model(tmp_path, StoredModel(Model(TOY, 3, "cross-entropy"), None))
    seconds, used = safety_cost.first_seconds(tmp_path, True)
    assert seconds > 0
    assert used > 0


def test_a_new_process_that_fails_ends_there(safety_cost: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no-model: the model could not be loaded in a new process"):
        safety_cost.first_seconds(tmp_path / "no-model", True)
