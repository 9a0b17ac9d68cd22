"""What a user may give for a taxonomy in Python: the value itself, a file, or the paths or edges of a tree."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import cast

from hiercos.data.labels import path_parts
from hiercos.taxonomy import Taxonomy, TaxonomyError, open_taxonomy

TaxonomyArgument = Taxonomy | str | PathLike[str] | Sequence[str | Sequence[str]]


def taxonomy_argument(source: TaxonomyArgument) -> Taxonomy:
    """The taxonomy that an argument stands for.

    Pairs whose second names all differ are edges (parent, child): for a tree of two levels both readings are the same.

    Args:
        source: a `Taxonomy`; a file, or a name of the catalogue; a list of paths, each a tuple of names or a text such
            as `a > b > c`, in class order; or a list of edges (parent, child).

    Raises:
        TaxonomyError: for another kind of value, or a tree that cannot be built.

    Example:
        >>> taxonomy_argument(["pet > cat", "pet > dog", "vehicle > car"]).class_names
        ('cat', 'dog', 'car')
        >>> taxonomy_argument([("animal", "pet"), ("pet", "cat"), ("pet", "dog")]).height
        3
    """
    if isinstance(source, Taxonomy):
        return source
    if isinstance(source, str | PathLike):
        return open_taxonomy(Path(source))
    if not isinstance(source, Sequence) or not len(source):
        raise TaxonomyError(f"expected a Taxonomy, a file, or a list of paths or edges, got {source!r}")
    for row, path in enumerate(source, 1):
        if not isinstance(path, Sequence) or not all(isinstance(name, str) for name in path):
            raise TaxonomyError(f"row {row}: expected a path, a text or a tuple of names, got {path!r}")
    paths = [path_parts(path) if isinstance(path, str) else tuple(path) for path in source]
    if _are_edges(paths):
        return Taxonomy.from_edges(cast(list[tuple[str, str]], paths))
    return Taxonomy.from_paths(paths)


def _are_edges(paths: Sequence[tuple[str, ...]]) -> bool:
    pairs = all(len(path) == 2 for path in paths)
    return pairs and len({child for _, child in paths}) == len(paths)
