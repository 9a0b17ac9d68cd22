"""Names of a package that are imported when they are first asked for. Plain Python, open to every package."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`, so that who needs no torch does not wait for it.

    Args:
        package: its name.
        modules: the module of each name.

    Example:
        >>> find = lazy_names("mathematics", {"pi": "math"})
        >>> round(find("pi"), 2)
        3.14
        >>> find("tau")
        Traceback (most recent call last):
        AttributeError: module 'mathematics' has no attribute 'tau'
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return find
