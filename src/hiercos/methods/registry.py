"""The registry of methods: a mapping from published names to functions that build a `Method`."""

import difflib
import inspect
from collections.abc import Callable, Iterator, Mapping

from hiercos.errors import FaultsError
from hiercos.methods.method import Method

Build = Callable[..., Method]


class MethodError(FaultsError):
    """An unknown method, or an option a method does not have."""


class Registry(Mapping[str, Build]):
    """Methods by name; an unknown name is an error that suggests the nearest one."""

    def __init__(self) -> None:
        self._builders: dict[str, Build] = {}

    def register(self, name: str) -> Callable[[Build], Build]:
        """Decorate a function (taxonomy, in_features, *, options…) -> Method; its docstring describes it."""

        def add(build: Build) -> Build:
            self._builders[name] = build
            return build

        return add

    def __getitem__(self, name: str) -> Build:
        if name not in self._builders:
            raise MethodError(f"unknown method {name!r}{_suggestion(name, self._builders)}")
        return self._builders[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)

    def options(self, name: str) -> dict[str, object]:
        """The options of a method with their defaults."""
        parameters = inspect.signature(self[name]).parameters.values()
        return {option.name: option.default for option in parameters if option.kind is option.KEYWORD_ONLY}

    def check_options(self, name: str, options: Mapping[str, object]) -> None:
        """Raise a `MethodError` that names the first option the method does not have."""
        known = self.options(name)
        for option in options:
            if option not in known:
                raise MethodError(f"method {name!r} has no option {option!r}{_suggestion(option, known)}")

    def summary(self, name: str) -> str:
        """The first line of what a method says of itself."""
        return (inspect.getdoc(self[name]) or "").partition("\n")[0]


def _suggestion(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; expected one of {', '.join(known)}"


METHODS = Registry()
