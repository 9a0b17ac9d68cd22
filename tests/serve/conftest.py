from pathlib import Path

import pytest

from hiercos.serve import ServedModel
from serving import loaded, trained_folder


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_folder(tmp_path_factory.mktemp("serve"))


@pytest.fixture(scope="session")
def toy(model_folder: Path) -> ServedModel:
    return loaded(model_folder)
