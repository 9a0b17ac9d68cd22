"""Tables of named items, which other packages extend through entry points. Plain Python, open to every package."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any, TypeVar

from hiercos.errors import FaultsError, HiercosWarning, suggestion

Item = TypeVar("Item")


class Registry(Mapping[str, Item]):
    """Items by name, imported when they are asked for; an unknown name is an error that suggests the nearest.

    Args:
        kind: what messages call an item.
        error: raised for unknown names.
        entry_points: group of the entry points through which other packages add items. The name of an entry point is
            that of the item, its value the item's place.
        rows: place of each item, "module:name", or the item itself, by name.
        aliases: names of items by other names under which they can be asked for.

    Example:
        >>> fractions = Registry("fraction", FaultsError, entry_points="example", rows={"half": "fractions:Fraction"})
        >>> fractions["half"](1, 2)
        Fraction(1, 2)
        >>> fractions["hal"]
        Traceback (most recent call last):
        hiercos.errors.FaultsError: unknown fraction 'hal'; did you mean 'half'?
    """

    def __init__(
        self,
        kind: str,
        error: type[FaultsError],
        *,
        entry_points: str,
        rows: Mapping[str, Any] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.kind, self.error, self.group, self.aliases = kind, error, entry_points, aliases or {}
        self._items: dict[str, Any] = dict(rows or {})
        self._entries: dict[str, str] = {}  # place of each item of an entry point, by name
        self._complete = False

    def add(self, name: str, item: Any) -> None:
        """Add or replace an item, for this process."""
        self._items[name] = item

    def register(self, name: str) -> Callable[[Item], Item]:
        """A decorator that adds an item and gives a class the `name`."""

        def add(item: Item) -> Item:
            if isinstance(item, type):
                item.name = name  # type: ignore[attr-defined]
            self.add(name, item)
            return item

        return add

    def item(self, name: str) -> Any:
        """An item by its name, imported if it is not yet."""
        return self._imported(self.checked_name(name))

    def _imported(self, name: str) -> Any:
        """The item of a row, imported if it is not yet."""
        place = self._items[name]
        if isinstance(place, str):
            try:
                self.add(name, resolve_name(place))
            except (ImportError, AttributeError, ValueError) as error:
                if place != self._entries.get(name):
                    raise
                raise self.error(f"entry point {name!r} = {place!r} of {self.group}: {error}") from error
        return self._items[name]

    def __getitem__(self, name: str) -> Item:
        found: Item = self.item(name)
        return found

    def checked_name(self, name: str) -> str:
        """The name itself, or that of an alias; an unknown one is an error that suggests the nearest.

        Nothing is imported.
        """
        name = self.real_name(name)
        if name not in self._items and name not in self._complete_items():
            raise self.error(f"unknown {self.kind} {name!r}{suggestion(name, self.names())}")
        return name

    def real_name(self, name: str) -> str:
        """The name that an alias stands for, and any other name itself."""
        return self.aliases.get(name, name)

    def names(self) -> list[str]:
        """Names that can be looked up, for messages."""
        return list(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete_items())

    def __len__(self) -> int:
        return len(self._complete_items())

    def __contains__(self, name: object) -> bool:
        return name in self._complete_items()

    def _complete_items(self) -> dict[str, Any]:
        """All items, those of entry points included; these do not replace others, with a warning."""
        if not self._complete:
            self._complete = True
            for entry in entry_points(group=self.group):
                if entry.name in self._items:
                    unused = f"entry point {entry.name!r} = {entry.value!r} of {self.group} is not used"
                    warnings.warn(
                        f"{unused}: there is already a {self.kind} of this name", HiercosWarning, stacklevel=2
                    )
                else:
                    self._items[entry.name] = self._entries[entry.name] = f"{entry.module}:{entry.attr}"
        return self._items
