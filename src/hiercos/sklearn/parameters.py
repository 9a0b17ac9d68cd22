"""Validation of the estimators' parameters, done in `fit`: scikit-learn allows none in the constructor."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from hiercos.errors import FaultsError
from hiercos.options import kind_fault
from hiercos.taxonomy import Taxonomy, TaxonomyError, open_taxonomy, path_parts

TaxonomyArgument = Taxonomy | str | PathLike[str] | Sequence[str | Sequence[str]]


def taxonomy_argument(source: TaxonomyArgument) -> Taxonomy:
    """The taxonomy described by an argument.

    Pairs whose second names all differ are read as edges (parent, child); for a tree of two levels that is the same.

    Args:
        source: `Taxonomy`; file, or name in the catalogue; list of paths in class order, each a tuple of names or a
            text such as `a > b > c`; or list of edges (parent, child).

    Raises:
        TaxonomyError: a value of another type, or a tree that cannot be built.

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


KINDS: dict[str, Any] = {
    "method": str,
    "rule": str | None,
    "epochs": int | None,
    "batch_size": int,
    "learning_rate": float | None,
    "weight_decay": float | None,
    "validation_fraction": float | None,
    "calibration_fraction": float,
    "dropout": float,
    "sparse_components": int,
    "warm_start": bool,
    "verbose": bool | int,
    "device": str,
}
MINIMUM = {
    "batch_size": 2,
    "weight_decay": 0,
    "dropout": 0,
    "sparse_components": 1,
}  # `TrainConfig` checks the others


class ParameterError(FaultsError):
    """All parameters of a wrong type or out of range."""


def check_parameters(values: dict[str, Any]) -> None:
    """Raise a `ParameterError` if a parameter has a wrong type or is out of range.

    Example:
        >>> check_parameters({"epochs": 2.5})
        Traceback (most recent call last):
        hiercos.sklearn.parameters.ParameterError: epochs: expected an integer or none, got 2.5
    """
    found = [kind_fault(name, values[name], kind) for name, kind in KINDS.items() if name in values]
    if faults := [fault for fault in found if fault]:
        raise ParameterError(faults)
    if values.get("dropout", 0) >= 1:
        raise ParameterError(f"dropout: expected a share below 1, got {values['dropout']}")
    if low := [name for name, least in MINIMUM.items() if values.get(name) is not None and values[name] < least]:
        raise ParameterError(f"{name}: expected at least {MINIMUM[name]}, got {values[name]}" for name in low)
