"""Decisions, and the rules that make them: from a posterior to answers, and on request to a ranking of the classes."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from hiercos.decisions.chains import HeldOutChains
from hiercos.decisions.posterior import Posterior
from hiercos.decisions.searched_posterior import SearchedPosterior
from hiercos.errors import FaultsError, listed
from hiercos.registry import Registry
from hiercos.taxonomy import Floats, IntArray, Taxonomy

ROOT = -1  # the answer "cannot say"
MOST_SHOWN = 3  # answers in the text of a decision


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """One node for each of M samples: a class, an inner node, or the root.

    Example:
        >>> from hiercos import Taxonomy
        >>> from hiercos.decisions import Posterior, rule
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> sure = Posterior([[0.55, 0.40, 0.05], [0.95, 0.03, 0.02]], t)
        >>> [t.path_text(int(node)) for node in rule("back-off", confidence=0.9)(sure).nodes]
        ['pet', 'pet > cat']
    """

    nodes: IntArray  # node of each answer, shape (M,); -1 for the root
    probabilities: Floats  # probability that the true class is at or below the answer, shape (M,)
    values: Floats  # value of each answer under the criterion, shape (M,), higher is better; the rule chose the highest
    criterion: str  # name of the values, such as "minus the expected tree distance"
    taxonomy: Taxonomy  # taxonomy of the nodes
    guarantee: str = ""  # guarantee of these answers with its assumption, as a sentence; "" without one

    @cached_property
    def classes(self) -> IntArray:
        """Class of each answer, shape (M,); -1 for an inner node or the root."""
        return self.taxonomy.classes_of(self.nodes)

    @property
    def levels(self) -> IntArray:
        """Level of each answer, shape (M,); 0 for the root."""
        return np.where(self.nodes < 0, 0, self.taxonomy.depths[self.nodes])

    @cached_property
    def paths(self) -> IntArray:
        """Nodes from level 1 down to each answer, shape (M, H), -1 beyond its depth."""
        return self.taxonomy.path_table(self.nodes)

    def why(self, row: int) -> str:
        """The reason for one answer as a sentence."""
        node = int(self.nodes[row])
        name = self.taxonomy.path_text(node) if node >= 0 else "the root"
        value = "" if self.criterion == "probability" else f", {self.criterion} {self.values[row]:.4g}"
        return f"{name}: probability {self.probabilities[row]:.3g}{value}"

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        """The first answers with their probabilities."""
        answers = (
            f"{self.taxonomy.path_text(node)!r} {probability:.2f}" if node >= 0 else "cannot say"
            for node, probability in zip(self.nodes, self.probabilities, strict=True)
        )
        colon = ": " if len(self) else ""
        return f"Decision({len(self)} answer{'s' * (len(self) != 1)}{colon}{listed(answers, MOST_SHOWN)})"


@dataclass(frozen=True, eq=False)
class ShortList:
    """The first K classes for each of M samples."""

    classes: IntArray  # classes of each sample, best first, shape (M, K); -1 where fewer are allowed
    values: Floats  # value of each class under the rule, shape (M, K), higher is better
    probabilities: Floats  # probability of each class, shape (M, K)


class RuleError(FaultsError):
    """An unknown decision rule, or parameters that the rule does not have."""


class RuleParameterError(RuleError):
    """Values of a rule's parameters that are impossible, or that the calibration samples do not support.

    Args:
        sentence: the fault, with {} for the name of each parameter.
        *names: names of the parameters in Python.

    Example:
        >>> fault = RuleParameterError("expected a {} below 1, got 2", "target_precision")
        >>> str(fault), fault.with_names(lambda name: "--" + name.replace("_", "-"))
        ('expected a target_precision below 1, got 2', 'expected a --target-precision below 1, got 2')
    """

    def __init__(self, sentence: str, *names: str) -> None:
        self.sentence, self.names = sentence, names
        super().__init__(sentence.format(*names))

    def with_names(self, name_of: Callable[[str], str]) -> str:
        """The fault with other names of the parameters, such as those of a command's options."""
        return self.sentence.format(*map(name_of, self.names))


class Orders(NamedTuple):
    """Orders of the classes of M samples, as scores in descending order."""

    ranking: Floats  # scores of the whole order, shape (M, C), by which HOPS and AHD@k are measured
    # scores of the short list, shape (M, C), by which top-k accuracy is measured; None for the same order
    listed: Floats | None = None


@dataclass(frozen=True)
class Rule(ABC):
    """Decision rule; its fields are its parameters and fitted values, as JSON values.

    A subclass is a frozen dataclass with a `name`, under which it stands in the table `RULES`.
    """

    name: ClassVar[str]  # name in `RULES`
    fitted: ClassVar[tuple[str, ...]] = ()  # names of the fields that `fit` sets
    # whether top-k accuracy is measured on the short list instead of the ranking
    lists_by_probability: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, posterior: Posterior) -> Decision:
        """One node for each sample."""

    @abstractmethod
    def ranking(self, posterior: Posterior) -> Floats:
        """Scores whose descending order ranks all classes, shape (M, C); the lower index first among equals."""

    def orders(self, posterior: Posterior) -> Orders:
        """The orders by which the rule is measured: its ranking, and the order of its list if that is another."""
        return Orders(self.ranking(posterior))

    @abstractmethod
    def short_list(self, posterior: Posterior, count: int) -> ShortList:
        """The first classes to show to a person: the answer if it is a class, then the most probable others.

        Args:
            posterior: probabilities of M samples.
            count: number of classes; at most C are listed.
        """

    @property
    def has_target(self) -> bool:
        """Whether the rule needs calibration samples, which were used for nothing else, instead of `fit`."""
        return False

    def calibrated(self, chains: HeldOutChains | None) -> Self:  # noqa: ARG002  # most rules have no target
        """The rule with what its target needs from calibration samples; see `BackOff.calibrated`."""
        return self

    @property
    def guarantee(self) -> str:
        """A guarantee of the answers, with its assumption, as a sentence; "" without one."""
        return ""

    @property
    def lost_guarantee(self) -> str:
        """Reason why a rule with a target has no guarantee, as part of a sentence; "" otherwise."""
        return ""

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:  # noqa: ARG002  # most rules have nothing to fit
        """The rule fitted on held-out samples.

        Args:
            posterior: probabilities of M held-out samples.
            labels: true node of each sample, shape (M,).
        """
        return self

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, without the fitted values."""
        return {name: value for name, value in asdict(self).items() if name not in self.fitted}

    @property
    def text(self) -> str:
        """The rule as `rule` reads it, such as "hf-beta:beta=0.5": its name, and the parameters that were chosen."""
        usual = {entry.name: entry.default for entry in fields(self)}
        chosen = [f"{name}={json.dumps(value)}" for name, value in self.parameters.items() if value != usual[name]]
        return f"{self.name}:{','.join(chosen)}" if chosen else self.name

    def to_dict(self) -> dict[str, Any]:
        """The rule as JSON values, which `rule_from_dict` reads back."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class ClassRule(Rule):
    """Rule whose answer is the class with the highest value, the lower index among equals."""

    criterion: ClassVar[str]

    @property
    def by_probability(self) -> bool:
        """Whether the values of the classes are in the order of their probabilities."""
        return False

    @abstractmethod
    def class_values(self, posterior: Posterior) -> Floats:
        """Value of each class as the answer, shape (M, C), in at most one pass through the tree."""

    def allowed_values(self, posterior: Posterior) -> Floats:
        """Value of each class as the answer, shape (M, C), minus infinity for classes that are not allowed."""
        values = self.class_values(posterior)
        if not posterior.restricted or values is posterior.scores:
            return values
        return np.where(posterior.scores > -np.inf, values, -np.inf)

    def __call__(self, posterior: Posterior) -> Decision:
        """The class with the highest value for each sample."""
        if self.by_probability and isinstance(posterior, SearchedPosterior):
            classes, logs = posterior.best(1)
            leaves, first = posterior.taxonomy.leaves[classes[:, 0]], logs[:, 0]
            return Decision(leaves, np.exp(first), first, self.criterion, posterior.taxonomy)
        values = self.allowed_values(posterior)
        return self._decision(values, values.argmax(axis=1), posterior)

    def ranking(self, posterior: Posterior) -> Floats:
        """Classes ranked by their values; see `Rule.ranking`."""
        return self.allowed_values(posterior)

    def orders(self, posterior: Posterior) -> Orders:
        """The ranking, and the order of the short list; see `Rule.orders`."""
        listed = listed_scores(self(posterior).classes, posterior) if self.lists_by_probability else None
        return Orders(self.ranking(posterior), listed)

    def short_list(self, posterior: Posterior, count: int) -> ShortList:
        """The answer, then the most probable other classes; see `Rule.short_list`."""
        if self.by_probability and isinstance(posterior, SearchedPosterior):
            classes, logs = posterior.best(min(count, posterior.taxonomy.num_classes))
            return ShortList(classes, logs, np.exp(logs))
        values = self.allowed_values(posterior)
        answers = self._decision(values, values.argmax(axis=1), posterior)
        classes = listed_classes(answers.classes, posterior, count)
        return ShortList(classes, np.take_along_axis(values, classes, axis=1), posterior.of_classes(classes))

    def _decision(self, values: Floats, classes: IntArray, posterior: Posterior) -> Decision:
        best, probabilities = (
            np.take_along_axis(each, classes[:, None], axis=1)[:, 0] for each in (values, posterior.classes)
        )
        return Decision(posterior.taxonomy.leaves[classes], probabilities, best, self.criterion, posterior.taxonomy)


@dataclass(frozen=True)
class NodeRule(Rule):
    """Rule whose answer is a node of any depth; it ranks and lists the classes by probability."""

    criterion: ClassVar[str] = "probability"

    def ranking(self, posterior: Posterior) -> Floats:
        """The scores of the probabilities, or the probabilities if there are none; shape (M, C)."""
        return np.asarray(posterior.scores)

    def short_list(self, posterior: Posterior, count: int) -> ShortList:
        """The answer if it is a class, then the likeliest other classes; see `Rule.short_list`."""
        classes = listed_classes(self(posterior).classes, posterior, count)
        probabilities = posterior.of_classes(classes)
        return ShortList(classes, probabilities, probabilities)

    def decision(self, nodes: IntArray, posterior: Posterior, values: Floats | None = None) -> Decision:
        """The decision for the given nodes, shape (M,); their values are their probabilities by default."""
        probabilities = posterior.of_nodes(nodes)
        values = probabilities if values is None else values
        return Decision(nodes, probabilities, values, self.criterion, posterior.taxonomy)


def check_order(rule: Rule, taxonomy: Taxonomy) -> None:
    """Raise a `RuleError` for a rule that needs the probabilities of all classes, where they are searched for."""
    if isinstance(rule, ClassRule) and not rule.by_probability:
        count = taxonomy.num_classes
        raise RuleError(f"rule {rule.name!r} orders all {count:,} classes: expected none, auto or back-off")


def listed_classes(answers: IntArray, posterior: Posterior, count: int) -> IntArray:
    """The answer of each sample, then the most probable other classes, shape (M, count).

    The method's own scores decide between equal probabilities, then the lower index. Where fewer classes are allowed,
    the list ends with -1.

    Args:
        answers: class of each answer, shape (M,); -1 for an answer that is not a class.
        posterior: probabilities of the samples.
        count: number of classes; at most C are listed.
    """
    if count == 1 and (answers >= 0).all():
        return answers[:, None]
    if isinstance(posterior, SearchedPosterior):
        likeliest = posterior.best(min(count, posterior.taxonomy.num_classes))[0]  # (M, count)
        place = np.where(likeliest == answers[:, None], -1, np.arange(likeliest.shape[1]))  # the answer comes first
        missing = (answers >= 0) & (place >= 0).all(axis=1)
        likeliest[missing, -1], place[missing, -1] = answers[missing], -1
        return np.take_along_axis(likeliest, np.argsort(place, axis=1, kind="stable"), axis=1)
    scores = listed_scores(answers, posterior)
    listed: IntArray = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    if posterior.restricted:
        listed[np.take_along_axis(scores, listed, axis=1) == -np.inf] = -1
    return listed


def listed_scores(answers: IntArray, posterior: Posterior) -> Floats:
    """The method's scores with that of the answer raised to the top, shape (M, C); see `listed_classes`."""
    scores = np.array(posterior.scores, dtype=np.float64)
    answered = np.flatnonzero(answers >= 0)
    scores[answered, answers[answered]] = np.inf
    return scores


RULES: Registry[type[Rule]] = Registry(
    "rule",
    RuleError,
    entry_points="hiercos.rules",
    rows={
        "none": "hiercos.decisions.class_rules:Likeliest",
        "crm": "hiercos.decisions.class_rules:LeastRisk",
        "hops": "hiercos.decisions.class_rules:HighestHops",
        "auto": "hiercos.decisions.class_rules:Auto",
        "back-off": "hiercos.decisions.back_off:BackOff",
        "majority": "hiercos.decisions.stopping:Majority",
        "plurality": "hiercos.decisions.stopping:Plurality",
        "speciesnet": "hiercos.decisions.stopping:SpeciesNetConstants",
        "darts": "hiercos.decisions.stopping:Darts",
        "hf-beta": "hiercos.decisions.stopping:HighestF",
        "hie": "hiercos.decisions.stopping:ParentAmended",
        "costs": "hiercos.decisions.stopping:LeastCost",
        "several": "hiercos.decisions.several:Several",
        "unknown": "hiercos.decisions.unknown:UnknownAware",
    },
    aliases={"default": "auto"},
)


def rule(name: str, /, **parameters: Any) -> Rule:
    """A decision rule by its name.

    Args:
        name: name in `RULES`; with parameters as in commands, "hf-beta:beta=0.5", separated by commas.
        **parameters: parameters of the rule.

    Raises:
        RuleError: for an unknown name, or parameters that the rule does not have.

    Example:
        >>> rule("crm"), rule("back-off:confidence=0.8,min_level=1").text
        (LeastRisk(), 'back-off:confidence=0.8,min_level=1')
    """
    name, colon, texts = name.partition(":")
    kind = RULES[name]
    parameters |= dict(_parameter(name, text) for text in re.split(r",(?=[a-z])", texts) if colon)
    try:
        return kind(**parameters)
    except TypeError as error:
        raise RuleError(f"rule {name!r}: {str(error).rpartition('__init__() ')[2]}") from error


def _parameter(rule_name: str, text: str) -> tuple[str, Any]:
    """Name and value of a parameter `name=value`; a value that is not JSON is a text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise RuleError(f"rule {rule_name!r}: expected parameters as name=value, got {text!r}")
    try:
        return name.replace("-", "_"), json.loads(value)
    except ValueError:
        return name.replace("-", "_"), value


def rule_from_dict(values: Mapping[str, Any]) -> Rule:
    """A rule from the JSON values of `Rule.to_dict`."""
    if not isinstance(values, Mapping) or not isinstance(values.get("name"), str):
        raise RuleError(f"expected a rule as an object with a name, got {values!r}")
    return rule(values["name"], **{key: values[key] for key in values if key != "name"})
