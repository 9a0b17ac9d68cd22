"""Decision rules: objects that turn a posterior into answers, and on request into a ranking of the classes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from hiercos.decisions.decision import Decision
from hiercos.decisions.posterior import Posterior
from hiercos.errors import FaultsError
from hiercos.registry import Registry
from hiercos.taxonomy import Floats, IntArray


class RuleError(FaultsError):
    """An unknown decision rule, or parameters that it does not take."""


@dataclass(frozen=True)
class Rule(ABC):
    """A way to answer: its fields are its parameters and what was fitted, as JSON values.

    A subclass is a frozen dataclass that is registered under its name: `@RULES.register("crm")`.
    """

    name: ClassVar[str]

    @abstractmethod
    def __call__(self, posterior: Posterior) -> Decision:
        """One node for each sample."""

    @abstractmethod
    def ranking(self, posterior: Posterior) -> Floats:
        """Scores whose descending order ranks all classes, shape (M, C); the lower index first among equals."""

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:  # noqa: ARG002  # most rules have nothing to fit
        """The rule with whatever it takes from held-out samples.

        Args:
            posterior: probabilities of M samples that were used for nothing else.
            labels: their true nodes, shape (M,).
        """
        return self

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON values, which `rule_from_dict` reads back."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class ClassRule(Rule):
    """A rule whose answer is the class with the highest value, the lower index among equals."""

    criterion: ClassVar[str]

    @abstractmethod
    def class_values(self, posterior: Posterior) -> Floats:
        """The value of answering with each class, shape (M, C), at the cost of a pass through the tree at most."""

    def __call__(self, posterior: Posterior) -> Decision:
        """The class with the highest value, for each sample."""
        values = self.class_values(posterior)
        classes = values.argmax(axis=1)
        best = np.take_along_axis(values, classes[:, None], axis=1)[:, 0]
        nodes = posterior.taxonomy.leaves[classes]
        probabilities = np.take_along_axis(posterior.classes, classes[:, None], axis=1)[:, 0]
        return Decision(nodes, probabilities, best, self.criterion, posterior.taxonomy)

    def ranking(self, posterior: Posterior) -> Floats:
        """The classes by their values, see `Rule.ranking`."""
        return self.class_values(posterior)


RULES: Registry[type[Rule]] = Registry("rule", RuleError, entry_points="hiercos.rules")


def rule(name: str, /, **parameters: Any) -> Rule:
    """A decision rule by its name.

    Args:
        name: a name of `RULES`.
        **parameters: of that rule.

    Raises:
        RuleError: for an unknown name, or parameters that the rule does not take.

    Example:
        >>> rule("crm")
        LeastRisk()
    """
    kind = RULES[name]
    try:
        return kind(**parameters)
    except TypeError as error:
        raise RuleError(f"rule {name!r}: {str(error).rpartition('__init__() ')[2]}") from error


def rule_from_dict(values: Mapping[str, Any] | str) -> Rule:
    """A rule from the JSON values of `Rule.to_dict`, or from its name alone, as older files have it."""
    if isinstance(values, str):
        return rule(values)
    if not isinstance(values, Mapping) or not isinstance(values.get("name"), str):
        raise RuleError(f"expected a rule as an object with a name, got {values!r}")
    return rule(values["name"], **{key: values[key] for key in values if key != "name"})
