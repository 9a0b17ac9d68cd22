"""Axes of the ablation of Hier-COS: the settings that are changed one at a time. Importing them imports no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hiercos.errors import FaultsError, suggestion

METHOD = "hier-cos"
SCORING = ("ancestors", "descendants")  # options of the scores only: trained weights are scored again
AXES: dict[str, dict[str, Mapping[str, Any]]] = {
    "alpha": {f"{alpha:g}": {"alpha": alpha} for alpha in (0.0, 0.001, 0.01, 0.05, 0.1, 0.5)},
    "direction": {
        "leaf": {"direction": "leaf"},
        "uniform": {"direction": "uniform"},
        "reversed": {"direction": "root"},
    },
    "regulariser": {
        "off": {"alpha": 0.0},
        "published": {},
        "as printed": {"penalty": "printed", "grouping": "sample"},
        "scale-free": {"penalty": "scale-free"},
    },
    "span": {
        "ancestors and descendants": {},
        "no ancestors": {"ancestors": False},
        "no descendants": {"descendants": False},
        "neither": {"ancestors": False, "descendants": False},
    },
    "exponent": {"2": {"exponent": 2.0}, "1": {"exponent": 1.0}},
}

AXIS_DESCRIPTIONS = {
    "alpha": "The weight of the regulariser; 0 switches it off.",
    "direction": "The end of the path where the target distribution is heaviest.",
    "regulariser": "The form of the regulariser, at the published weight.",
    "span": "The axes that span a node's subspace beside its own; the same trained weights are scored again.",
    "exponent": "The exponent of the level weights in the target distribution; the paper prints 1, its tables use 2.",
}


class AblationError(FaultsError):
    """An axis that does not exist."""


@dataclass(frozen=True)
class Setting:
    """One row of an ablation."""

    axis: str  # name of the changed setting, a key of `AXES`
    name: str  # name of its value in the table
    changes: Mapping[str, Any]  # options of the method that differ from the published ones

    @property
    def row(self) -> str:
        """Name of its row in the table."""
        return self.name if self.changes or self.name == "published" else f"{self.name} (published)"

    @property
    def trained(self) -> dict[str, Any]:
        """The changes that affect training."""
        return {option: value for option, value in self.changes.items() if option not in SCORING}

    @property
    def scoring(self) -> dict[str, Any]:
        """The changes that affect only the scores."""
        return {option: value for option, value in self.changes.items() if option in SCORING}

    @property
    def method(self) -> str:
        """The method with its changed options, the name of its runs; the plain name if nothing changes in training."""
        return ",".join([METHOD, *(f"{option}={_text(value)}" for option, value in self.trained.items())])


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def axis_settings(axes: Sequence[str]) -> list[Setting]:
    """The settings of some axes.

    Example:
        >>> [(setting.name, setting.method) for setting in axis_settings(["exponent"])]
        [('2', 'hier-cos'), ('1', 'hier-cos,exponent=1')]
    """
    for axis in axes:
        if axis not in AXES:
            raise AblationError(f"unknown axis {axis!r}{suggestion(axis, AXES)}")
    from hiercos.methods import METHODS

    published = METHODS.options(METHOD)
    return [
        Setting(axis, name, {option: value for option, value in options.items() if value != published[option]})
        for axis in axes
        for name, options in AXES[axis].items()
    ]
