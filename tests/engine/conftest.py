import pytest
from lightning_fabric import Fabric


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric
