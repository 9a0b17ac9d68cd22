from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _caches_of_the_tests_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is left in the home of whoever runs the tests, and nothing there changes what they find."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIERCOS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
