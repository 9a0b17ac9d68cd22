"""YAML with the structure of nested JSON. All values are read as text, so that 06.10 and `no` stay names."""

from collections.abc import Collection, Hashable
from typing import Any

import yaml

from hiercos.taxonomy.checks import TaxonomyError
from hiercos.taxonomy.formats.json_trees import nested_objects, taxonomy_from_nested
from hiercos.taxonomy.tree import Taxonomy

MOST_LEVELS = 80  # limit for writing: a level nests twice, about six calls in PyYAML, and Python allows 1000
NULL = "tag:yaml.org,2002:null"
TEXT = "tag:yaml.org,2002:str"


class _TextLoader(yaml.BaseLoader):  # type: ignore[misc]  # PyYAML comes without types
    """Loader that reads scalars except null as text, and rejects aliases, repeated keys and keys that are not text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.faults: list[str] = []
        self.inner_marks: dict[int, list[Any]] = {}  # marks of a mapping's keys or a list's items, by its id()

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; an alias is an error, since a subtree has one parent."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise TaxonomyError(
                f"{_where(event.start_mark)}: expected the nodes themselves, got the alias *{event.anchor}"
            )
        return super().compose_node(parent, index)

    def construct_sequence(self, node: Any, deep: bool = False) -> list[Any]:
        """Construct a list and keep the positions of its items."""
        found = [self.construct_object(item, deep=deep) for item in node.value]
        self.inner_marks[id(found)] = [item.start_mark for item in node.value]
        return found

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping; repeated keys and keys that are not text are faults."""
        found: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            place = _where(key_node.start_mark)
            if not isinstance(key, str):
                self.faults.append(f"{place}: expected a name, got {'null' if key is None else 'a list or mapping'}")
                continue
            if key in found:
                self.faults.append(f"{place}: key {key!r} occurs twice in one mapping")
            found[key] = self.construct_object(value_node, deep=deep)
        if isinstance(found.get("name"), str) and str(found.get("class", "")).isdecimal():
            found["class"] = int(found["class"])
        self.inner_marks[id(found)] = [key.start_mark for key, _ in node.value]
        return found

    def places(self, value: Collection[Any]) -> list[str]:
        """Positions of the keys of a mapping or the items of a list, for messages."""
        return [_where(mark) for mark in self.inner_marks[id(value)]]


_TextLoader.add_constructor(NULL, lambda _loader, _node: None)
for _first, _forms in yaml.SafeLoader.yaml_implicit_resolvers.items():
    for _tag, _pattern in _forms:
        if _tag == NULL:
            _TextLoader.add_implicit_resolver(NULL, _pattern, [_first])


def read_yaml(text: str) -> Taxonomy:
    """Read a taxonomy from nested mappings and lists; see `hiercos.taxonomy.formats.json_trees`.

    Raises:
        TaxonomyError: for malformed YAML, several documents or an alias, with line and column, else every fault.
    """
    try:
        loader = _TextLoader(text)
        value = loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        words = ", ".join(part for part in (error.context, error.problem) if part)
        raise TaxonomyError(f"{_where(error.problem_mark)}: not YAML: {words}") from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise TaxonomyError(f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise TaxonomyError("nested deeper than YAML can be read; json-flat holds trees of any depth") from error
    if loader.faults:
        raise TaxonomyError(loader.faults)
    return taxonomy_from_nested(value, loader.places) if value is not None else taxonomy_from_nested([])


class _QuotingDumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML comes without types
    """Dumper that quotes and escapes texts with a line end: folded ones would not all read back the same."""


_QuotingDumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(TEXT, text, style='"' if text.splitlines() != [text] else None),
)


def _where(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def yaml_text(taxonomy: Taxonomy) -> str:
    """YAML text: mappings with name, id and children, and the class index of each leaf.

    Raises:
        TaxonomyError: if the tree is too deep to be read back.
    """
    if taxonomy.height > MOST_LEVELS:
        raise TaxonomyError(
            f"the tree has {taxonomy.height} levels and YAML holds {MOST_LEVELS}; json-flat holds any number"
        )
    objects = nested_objects(taxonomy)
    return str(yaml.dump(objects, Dumper=_QuotingDumper, allow_unicode=True, sort_keys=False, width=float("inf")))
