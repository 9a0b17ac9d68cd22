"""YAML with the structure of nested JSON. All values are read as text, so that 06.10 and `no` stay names."""

from typing import Any

import yaml

from hiercos.taxonomy.checks import TaxonomyError, repeated
from hiercos.taxonomy.formats.json_trees import nested_objects, taxonomy_from_nested
from hiercos.taxonomy.tree import Taxonomy

MOST_LEVELS = 80  # limit for writing: a level nests twice, about six calls in PyYAML, and Python allows 1000
BLANK = ("", "~", "null")  # values of a node without children
TEXT = "tag:yaml.org,2002:str"


class _TextLoader(yaml.BaseLoader):  # type: ignore[misc]  # PyYAML comes without types
    """Loader of texts, lists and mappings; refuses aliases, by which a small file could be a huge tree."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose a node; an alias is an error."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise TaxonomyError(f"{_line(event)}: expected the nodes themselves, got the alias *{event.anchor}")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        """Construct a mapping in the form of JSON: None for a blank value, a number for a class index."""
        pairs = self.construct_pairs(node, deep=deep)
        faults = [f"{_line(node)}: expected a name, got {key!r}" for key, _ in pairs if not isinstance(key, str)]
        faults = faults or [
            f"{_line(node)}: key {key!r} occurs {count} times in one mapping"
            for key, count in repeated(key for key, _ in pairs)
        ]
        if faults:
            raise TaxonomyError(faults)
        values = dict(pairs)
        is_node = isinstance(values.get("name"), str)
        for key in ("children",) if is_node else list(values):
            values[key] = None if values.get(key) in BLANK else values.get(key)
        if is_node and str(values.get("class")).isdecimal():
            values["class"] = int(values["class"])
        return values


def read_yaml(text: str) -> Taxonomy:
    """Read a taxonomy from nested mappings and lists; see `hiercos.taxonomy.formats.json_trees`."""
    try:
        value = _TextLoader(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        words = ", ".join(part for part in (error.context, error.problem) if part)
        raise TaxonomyError(f"line {error.problem_mark.line + 1}: not YAML: {words}") from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise TaxonomyError(f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise TaxonomyError("nested deeper than YAML can be read; json and edges hold trees of any depth") from error
    return taxonomy_from_nested([] if value is None else value)


def _line(position: Any) -> str:
    return f"line {position.start_mark.line + 1}"


class _QuotingDumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML comes without types
    """Dumper that quotes and escapes texts with a line end: folded ones would not all read back the same."""


_QuotingDumper.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar(TEXT, text, style='"' if text.splitlines() != [text] else None),
)


def yaml_text(taxonomy: Taxonomy) -> str:
    """YAML text: mappings with name, id and children, and the class index of each leaf."""
    if taxonomy.height > MOST_LEVELS:
        raise TaxonomyError(
            f"the tree has {taxonomy.height} levels and YAML holds {MOST_LEVELS}; json and edges hold any number"
        )
    objects = nested_objects(taxonomy)
    return str(yaml.dump(objects, Dumper=_QuotingDumper, allow_unicode=True, sort_keys=False, width=float("inf")))
