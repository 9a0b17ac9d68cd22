"""The registry of methods: a mapping from published names to functions that build a `Method`."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import get_type_hints

from hiercos.errors import FaultsError, suggestion
from hiercos.methods.method import Method
from hiercos.methods.search import Space
from hiercos.options import option_faults
from hiercos.taxonomy import Taxonomy

Build = Callable[..., Method]


class MethodError(FaultsError):
    """An unknown method, an option a method does not have, or a value it cannot take."""


class Registry(Mapping[str, Build]):
    """Methods by name; an unknown name is an error that suggests the nearest one."""

    def __init__(self) -> None:
        self._builders: dict[str, Build] = {}
        self._aliases: dict[str, str] = {}
        self._flat: set[Build] = set()
        self._inner_labels: set[str] = set()
        self._search: dict[str, Mapping[str, Space]] = {}

    def register(
        self,
        name: str,
        *,
        uses_tree: bool = True,
        inner_labels: bool = False,
        search: Mapping[str, Space] | None = None,
    ) -> Callable[[Build], Build]:
        """Decorate a function (taxonomy, in_features, *, options…) -> Method; its docstring describes it.

        Args:
            name: what the method is called everywhere.
            uses_tree: whether training reads anything of the taxonomy but its classes.
            inner_labels: whether the loss takes labels that are inner nodes, written as C + node.
            search: where to look for good values of the method's own options, by name.
        """

        def add(build: Build) -> Build:
            self._builders[name] = build
            self._search[name] = dict(search or {})
            if not uses_tree:
                self._flat.add(build)
            if inner_labels:
                self._inner_labels.add(name)
            return build

        return add

    def alias(self, name: str, method: str) -> None:
        """Give a registered method a second name, which is understood and never listed."""
        self._aliases[name] = self.canonical(method)

    def canonical(self, name: str) -> str:
        """The name a method is registered under, given that or an alias."""
        registered = self._aliases.get(name, name)
        if registered not in self._builders:
            raise MethodError(f"unknown method {name!r}{suggestion(name, [*self._builders, *self._aliases])}")
        return registered

    def __getitem__(self, name: str) -> Build:
        return self._builders[self.canonical(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)

    def refuse_unknown(self, names: Iterable[str]) -> None:
        """Raise a `MethodError` for the first name that is not registered."""
        for name in names:
            self[name]

    def options(self, name: str) -> dict[str, object]:
        """The options of a method with their defaults."""
        parameters = inspect.signature(self[name]).parameters.values()
        return {option.name: option.default for option in parameters if option.kind is option.KEYWORD_ONLY}

    def uses_tree(self, name: str) -> bool:
        """Whether training a method reads anything of the taxonomy but its classes."""
        return self[name] not in self._flat

    def takes_inner_labels(self, name: str) -> bool:
        """Whether the loss of a method takes labels that are inner nodes."""
        return self.canonical(name) in self._inner_labels

    def with_inner_labels(self) -> list[str]:
        """The names of the methods whose loss takes labels that are inner nodes, in the order of registration."""
        return [name for name in self if name in self._inner_labels]

    def search(self, name: str) -> Mapping[str, Space]:
        """Where to look for good values of a method's own options, by name."""
        return self._search[self.canonical(name)]

    def check_options(self, name: str, options: Mapping[str, object]) -> None:
        """Raise a `MethodError` that names every option the method does not have and every value of a wrong kind."""
        if faults := option_faults(f"method {name!r}", options, get_type_hints(self[name]), self.options(name)):
            raise MethodError(faults)

    def summary(self, name: str) -> str:
        """The first line of what a method says of itself."""
        return (inspect.getdoc(self[name]) or "").partition("\n")[0]


METHODS = Registry()


def build_method(name: str, taxonomy: Taxonomy, in_features: int, options: Mapping[str, object]) -> Method:
    """A method by its name with options from outside, checked before anything is built.

    Args:
        name: one of `METHODS`.
        taxonomy: the tree.
        in_features: F.
        options: of the method, by name.

    Raises:
        MethodError: for an unknown method or option, a value of a wrong kind, or one that the method refuses.
    """
    METHODS.check_options(name, options)
    try:
        return METHODS[name](taxonomy, in_features=in_features, **options)
    except (ValueError, TypeError) as error:
        given = ", ".join(f"{option}={value!r}" for option, value in options.items()) or "no options"
        raise MethodError(f"method {name!r} with {given}: {error}") from error
