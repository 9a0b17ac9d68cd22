"""Registry of named items, which other packages extend through entry points. Plain Python, open to every package."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeVar

from hiercos.errors import FaultsError, suggestion

Item = TypeVar("Item")


class Registry(Mapping[str, Item]):
    """Items by name; an unknown name is an error that suggests the nearest.

    Args:
        kind: what messages call an item.
        error: raised for unknown names.
        entry_points: the group of entry points that are imported before a name is looked up: a user's package
            registers its own items when it is imported.
        modules: modules of this package that are imported then, too.

    Example:
        >>> shapes = Registry("shape", FaultsError, entry_points="example.shapes")
        >>> @shapes.register("circle")
        ... class Circle: ...
        >>> shapes["circle"].name
        'circle'
        >>> shapes["cirkle"]
        Traceback (most recent call last):
        hiercos.errors.FaultsError: unknown shape 'cirkle'; did you mean 'circle'?
    """

    def __init__(self, kind: str, error: type[FaultsError], *, entry_points: str, modules: Sequence[str] = ()) -> None:
        self.kind, self.error, self.group, self.modules = kind, error, entry_points, modules
        self._items: dict[str, Item] = {}
        self._complete = False

    def register(self, name: str) -> Callable[[Item], Item]:
        """A decorator that registers an item and gives classes their `name`."""

        def add(item: Item) -> Item:
            if isinstance(item, type):
                item.name = name  # type: ignore[attr-defined]
            self._items[name] = item
            return item

        return add

    def __getitem__(self, name: str) -> Item:
        return self._items[self.checked_name(name)]

    def checked_name(self, name: str) -> str:
        """The name itself; an unknown one is an error that suggests the nearest."""
        if name not in self._items:
            self._load()
        if name not in self._items:
            raise self.error(f"unknown {self.kind} {name!r}{suggestion(name, self.names())}")
        return name

    def names(self) -> list[str]:
        """Names that can be looked up, for messages."""
        return list(self)

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._items)

    def __len__(self) -> int:
        self._load()
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._items

    def _load(self) -> None:
        if self._complete:
            return
        self._complete = True  # an item that looks others up while it is imported does not start again
        try:
            for module in self.modules:
                import_module(module)
            for entry in entry_points(group=self.group):
                entry.load()
        except BaseException:
            self._complete = False
            raise
