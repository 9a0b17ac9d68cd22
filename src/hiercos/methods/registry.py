"""The registry of methods: a mapping from published names to functions that build a `Method`, and search spaces."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, get_type_hints

import numpy as np
from torch import Tensor, nn

from hiercos.errors import FaultsError
from hiercos.geometry import node_probabilities
from hiercos.methods.solver import Solver
from hiercos.options import option_faults
from hiercos.registry import Registry
from hiercos.taxonomy import Taxonomy, check_is_taxonomy, counted


class Space(Protocol):
    """The search space of one hyperparameter."""

    def draw(self, generator: np.random.Generator) -> Any:
        """Draw one value, of a type that JSON can hold."""

    def __contains__(self, value: object) -> bool: ...


@dataclass(frozen=True)
class Between:
    """Numbers of a range, uniform, or log-uniform if `log` is set.

    Values are rounded to three significant digits, so that a record is readable and reproducible.

    Example:
        >>> Between(0.001, 0.5, log=True).draw(np.random.default_rng(0))
        0.0524
        >>> 0.05 in Between(0.001, 0.5, log=True), 0.6 in Between(0.001, 0.5, log=True)
        (True, False)
    """

    low: float
    high: float
    log: bool = False

    def draw(self, generator: np.random.Generator) -> float:
        """Draw a number of the range."""
        if self.log:
            return _rounded(float(np.exp(generator.uniform(np.log(self.low), np.log(self.high)))))
        return _rounded(float(generator.uniform(self.low, self.high)))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{' (log)' if self.log else ''}"


@dataclass(frozen=True)
class OneOf:
    """A few equally likely values.

    Example:
        >>> OneOf("leaf", "root").draw(np.random.default_rng(0))
        'root'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)

    def draw(self, generator: np.random.Generator) -> Any:
        """Draw one of the values."""
        return self.values[int(generator.integers(len(self.values)))]

    def __contains__(self, value: object) -> bool:
        return value in self.values

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


@dataclass(frozen=True)
class Method:
    """The untrained parts of a classifier over a taxonomy.

    Attributes:
        head: module from features (B, F) to outputs, in the form that the other three parts expect.
        loss: module from (outputs, labels (B,), weights (B,) or None) to a scalar.
        class_scores: module from outputs to class scores (B, C), higher is better; their softmax is the method's
            distribution over the classes.
        node_scores: module from outputs to node scores (B, N), comparable within a level: the best node of a level
            is the method's own prediction there.
        energies: module from outputs to the share of the energy on the axis of each node (B, N), which explains an
            answer; None for a method without such axes.
        solver: sets the weights of the head directly from features and labels; None for gradient steps on the loss.
        prepare: function of the labels (M,) and weights (M,) or None of all training samples, called once before
            training; it may set constants of the loss, such as class shares. Nothing by default.
        keep_weights: function that tells a solver to stay near the weights that the head has now, those of a model
            over fewer classes; by default a solver starts anew.
    """

    head: nn.Module
    loss: nn.Module
    class_scores: nn.Module
    node_scores: nn.Module
    energies: nn.Module | None = None
    solver: Solver | None = None
    prepare: Callable[[Tensor, Tensor | None], None] | None = None
    keep_weights: Callable[[], None] | None = None

    def __repr__(self) -> str:
        modules = ((name, part) for name, part in vars(self).items() if isinstance(part, nn.Module))
        parts = ", ".join(f"{name}={type(part).__name__}" for name, part in modules)
        return f"Method({parts})"


class SummedProbabilities(nn.Module):
    """Node scores of a method that predicts only classes: sums of class probabilities.

    Shape:
        logits: (B, C). Output: (B, N) probabilities of the nodes.
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        super().__init__()
        self.taxonomy = taxonomy

    def forward(self, logits: Tensor) -> Tensor:
        """Shape (B, C) to (B, N)."""
        return node_probabilities(logits.softmax(dim=1), self.taxonomy)


Build = Callable[..., Method]

DEFAULT = "default"  # name of the default method


class MethodError(FaultsError):
    """An unknown method, an unknown option of a method, or an invalid value."""


@dataclass(frozen=True)
class MethodTraits:
    """Properties of a registered method.

    Attributes:
        uses_tree: whether training uses the tree, not only the classes.
        inner_labels: whether the loss accepts labels that are inner nodes, given as C + node.
        graphs: whether the method works on a directed acyclic graph, not only on a tree.
        grows: whether the weights can be extended to a taxonomy with more nodes: each belongs to an axis of a node or
            class, and none is computed from the taxonomy.
        solved: whether a solver finds the weights from all samples at once, instead of gradient steps.
        search: search space of each of the method's own options, by option name.
        raw_inputs: whether the head takes features as they are: dense or sparse CSR, not projected or standardized.
        label_sets: whether the loss accepts several labels of a sample, shape (B, K).
        recommended: options that the commands set unless the published ones are asked for, by option name.
    """

    uses_tree: bool = True
    inner_labels: bool = False
    graphs: bool = False
    grows: bool = False
    solved: bool = False
    search: Mapping[str, Space] = field(default_factory=dict)
    raw_inputs: bool = False
    label_sets: bool = False
    recommended: Mapping[str, Any] = field(default_factory=dict)


class MethodRegistry(Registry[Build]):
    """Methods by name; an unknown name is an error that suggests the nearest one."""

    def __init__(self) -> None:
        super().__init__("method", MethodError, entry_points="hiercos.methods")
        self._traits: dict[str, MethodTraits] = {}

    def register(self, name: str, **traits: Any) -> Callable[[Build], Build]:
        """Decorate a function (taxonomy, in_features, *, options…) -> Method; its docstring describes it.

        Args:
            name: name of the method, such as "hier-cos".
            **traits: fields of `MethodTraits`.
        """
        self._traits[name] = MethodTraits(**traits)
        add = super().register(name)

        def add_checked(build: Build) -> Build:
            @functools.wraps(build)
            def checked(taxonomy: Taxonomy, *arguments: Any, **options: Any) -> Method:
                check_is_taxonomy(taxonomy)
                return build(taxonomy, *arguments, **options)

            add(checked)
            return build

        return add_checked

    def options(self, name: str) -> dict[str, object]:
        """Options of a method with their defaults."""
        parameters = inspect.signature(self[name]).parameters.values()
        return {option.name: option.default for option in parameters if option.kind is option.KEYWORD_ONLY}

    def traits(self, name: str) -> MethodTraits:
        """Properties of a method."""
        return self._traits[self.checked_name(name)]

    def uses_tree(self, name: str) -> bool:
        """Whether training a method uses the tree, not only the classes."""
        return self.traits(name).uses_tree

    def takes_inner_labels(self, name: str) -> bool:
        """Whether the loss of a method accepts labels that are inner nodes."""
        return self.traits(name).inner_labels

    def with_inner_labels(self) -> list[str]:
        """Names of the methods whose loss accepts labels that are inner nodes, the default first, then sorted."""
        return sorted(
            (name for name in self if self.takes_inner_labels(name)), key=lambda name: (name != DEFAULT, name)
        )

    def grows(self, name: str) -> bool:
        """Whether the weights of a method can be extended to a taxonomy with more nodes."""
        return self.traits(name).grows

    def check_extendable(self, name: str) -> None:
        """Raise a `MethodError` if a model of the method cannot be extended to a larger taxonomy."""
        possible = [other for other in self if self.traits(other).grows or self.traits(other).solved]
        if self.checked_name(name) not in possible:
            raise MethodError(f"method {name!r} cannot be extended; methods that can: {', '.join(possible)}")

    def check_taxonomy(self, name: str, taxonomy: Taxonomy) -> None:
        """Raise a `MethodError` for a graph if the method needs a tree."""
        if not taxonomy.is_tree and not self.traits(name).graphs:
            several = counted(taxonomy.several_parents, "node", "nodes")
            raise MethodError(
                f"method {name!r} needs a tree, got a graph with {several} of several parents; "
                f"methods for graphs: {', '.join(other for other in self if self.traits(other).graphs)}"
            )

    def check_labels(self, name: str, labels: Tensor, taxonomy: Taxonomy) -> None:
        """Raise a `MethodError` for training labels that are inner nodes if the method cannot learn from them.

        Args:
            name: name of the method.
            labels: training labels, class indices or C + node, shape (M,).
            taxonomy: the tree.
        """
        inner = int((labels >= taxonomy.num_classes).sum())
        if inner and not self.takes_inner_labels(name):
            raise MethodError(
                f"method {name!r} needs a class for every training sample, "
                f"got inner nodes for {inner} of {len(labels)}; methods that learn from inner nodes: "
                f"{', '.join(self.with_inner_labels())}"
            )

    def check_label_sets(self, name: str, label_sets: Tensor | None) -> None:
        """Raise a `MethodError` for training samples with several labels if the method needs one of each.

        Args:
            name: name of the method.
            label_sets: nodes of the labels of each sample, -1 for none, shape (M, K); None if each has one label.
        """
        if label_sets is None or self.traits(name).label_sets:
            return
        several = int(((label_sets >= 0).sum(dim=1) > 1).sum())
        possible = ", ".join(other for other in self if self.traits(other).label_sets)
        raise MethodError(
            f"method {name!r} needs one label for every training sample, got several for {several} of "
            f"{len(label_sets)}; methods that learn from several: {possible}"
        )

    def search(self, name: str) -> Mapping[str, Space]:
        """Search space of each of a method's own options, by option name."""
        return self.traits(name).search

    def recommended(self, name: str) -> Mapping[str, Any]:
        """Options of a method that the commands set instead of the published ones, by option name."""
        return self.traits(name).recommended

    def check_options(self, name: str, options: Mapping[str, object]) -> None:
        """Raise a `MethodError` that names every unknown option and every value of a wrong type."""
        if faults := option_faults(f"method {name!r}", options, get_type_hints(self[name]), self.options(name)):
            raise MethodError(faults)

    def summary(self, name: str) -> str:
        """First line of a method's docstring."""
        return (inspect.getdoc(self[name]) or "").partition("\n")[0]


METHODS = MethodRegistry()


def build_method(name: str, taxonomy: Taxonomy, in_features: int, options: Mapping[str, object]) -> Method:
    """Build a method by name; the options are checked first.

    Args:
        name: one of `METHODS`.
        taxonomy: the tree.
        in_features: width F of the input features.
        options: option values of the method, by name.

    Raises:
        MethodError: for an unknown method or option, a value of a wrong type, or one that the method rejects.
    """
    METHODS.check_options(name, options)
    METHODS.check_taxonomy(name, taxonomy)
    try:
        return METHODS[name](taxonomy, in_features=in_features, **options)
    except (ValueError, TypeError) as error:
        given = ", ".join(f"{option}={value!r}" for option, value in options.items()) or "no options"
        raise MethodError(f"method {name!r} with {given}: {error}") from error
