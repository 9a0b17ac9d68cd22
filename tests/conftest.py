import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run in several processes; set before torch is imported
os.environ.setdefault(
    "ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"
)  # sandboxes show AMX and forbid it: torch then dies of SIGILL
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background of a shell ignore it otherwise
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")  # no test fails because the machine is busy


@pytest.fixture(autouse=True, scope="session")
def _caches_of_the_tests_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is left in the home of whoever runs the tests, and nothing there changes what they find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIERCOS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def fabric() -> Any:
    """One process on the CPU."""
    from hiercos.encoders import launched

    return launched("cpu")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first: none of them is left to one process when the others are done."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
