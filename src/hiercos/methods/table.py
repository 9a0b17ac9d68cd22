"""The table of methods: where each stands, its properties, and the settings that the commands train it with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, get_type_hints

from hiercos.checks import option_faults
from hiercos.errors import FaultsError
from hiercos.methods.spaces import Between, OneOf, Space
from hiercos.registry import Registry
from hiercos.taxonomy import Taxonomy, check_is_taxonomy, counted

if TYPE_CHECKING:
    from torch import Tensor

    from hiercos.methods.model import Method

    Build = Callable[..., Method]

DEFAULT = "committee"  # method that the commands and the estimator use
DEFAULT_RULE = "auto"  # its rule, a name of `hiercos.decisions.RULES`
MANY_CLASSES = 10_000  # from here on no array has a column for each class
MANY_CLASSES_DEFAULT = "siblings"  # where classes are so many that only some of them can be scored
FINE_TUNED_DEFAULT = "path-softmax"  # where a backbone is trained too, whose features a solver cannot take
# method and rule for samples with several labels, and the method where a backbone is trained too
SEVERAL_DEFAULT, FINE_TUNED_SEVERAL_DEFAULT, SEVERAL = "one-vs-rest", "c-hmcnn", "several"


class MethodError(FaultsError):
    """An unknown method, an unknown option of a method, or an invalid value."""


@dataclass(frozen=True, kw_only=True)
class MethodTraits:
    """Properties of a method."""

    uses_tree: bool = True  # whether training uses the tree, not only the classes
    inner_labels: bool = False  # whether the loss accepts labels that are inner nodes, given as C + node
    label_sets: bool = False  # whether the loss accepts several labels of a sample, shape (B, K)
    graphs: bool = False  # whether the method works on a directed acyclic graph, not only on a tree
    # whether the weights can be extended to a taxonomy with more nodes: each belongs to an axis of a node or class,
    # and none is computed from the taxonomy
    grows: bool = False
    solved: bool = False  # whether a solver finds the weights from all samples at once, instead of gradient steps
    # whether the head takes features as they are: dense or sparse CSR, not projected or standardized
    raw_inputs: bool = False


@dataclass(frozen=True, kw_only=True)
class TrainingDefaults:
    """Settings that `hiercos train` uses where none are given."""

    learning_rate: float = 3e-3  # peak learning rate
    weight_decay: float = 1e-2  # weight decay of every weight
    width: int = 512  # option `width` of a method that has it
    dropout: float = 0.1  # option `dropout` of a method that has it
    rule: str = "none"  # name of the decision rule


@dataclass(frozen=True)
class MethodRow:
    """A method in the table."""

    # function (taxonomy, in_features, *, options…) -> Method, whose docstring describes the method, or its place,
    # "module:name", which is imported when it is needed
    build: str | Build
    traits: MethodTraits = MethodTraits()  # properties of the method
    # options that the commands set unless the published ones are asked for, by option name
    recommended: Mapping[str, Any] = field(default_factory=dict)
    # search space of each of the method's own options, by option name
    search: Mapping[str, Space] = field(default_factory=dict)
    training: TrainingDefaults = TrainingDefaults()  # settings of the training

    @functools.cached_property
    def checked_build(self) -> Build:
        """The function, which refuses anything but a taxonomy."""
        build = resolve_name(self.build) if isinstance(self.build, str) else self.build

        @functools.wraps(build)
        def checked(taxonomy: Taxonomy, *arguments: Any, **options: Any) -> Method:
            check_is_taxonomy(taxonomy)
            method: Method = build(taxonomy, *arguments, **options)
            return method

        return checked


ROWS = {
    # without the tree
    "cross-entropy": MethodRow(
        "hiercos.methods.cross_entropy:cross_entropy",
        MethodTraits(uses_tree=False, inner_labels=True, graphs=True, grows=True),
    ),
    "cross-entropy-mlp": MethodRow(
        "hiercos.methods.cross_entropy:cross_entropy_mlp",
        MethodTraits(uses_tree=False, inner_labels=True, graphs=True, grows=True),
    ),
    "flat-committee": MethodRow(
        "hiercos.methods.committee:flat_committee",
        MethodTraits(uses_tree=False, inner_labels=True, graphs=True, solved=True, raw_inputs=True),
    ),
    "gaussian": MethodRow("hiercos.methods.gaussian:gaussian", MethodTraits(uses_tree=False, graphs=True, solved=True)),
    "linear-svm": MethodRow(
        "hiercos.methods.linear.linear_svm:linear_svm",
        MethodTraits(uses_tree=False, graphs=True, solved=True, raw_inputs=True),
    ),
    "logistic": MethodRow(
        "hiercos.methods.linear.logistic:logistic",
        MethodTraits(uses_tree=False, graphs=True, grows=True, solved=True, raw_inputs=True),
    ),
    # with the tree
    "barz-denzler": MethodRow("hiercos.methods.barz_denzler:barz_denzler"),
    "c-hmcnn": MethodRow(
        "hiercos.methods.c_hmcnn:c_hmcnn",
        MethodTraits(inner_labels=True, label_sets=True, graphs=True, grows=True),
    ),
    "centroids": MethodRow(
        "hiercos.methods.centroids:centroids",
        MethodTraits(uses_tree=False, graphs=True, solved=True, raw_inputs=True),
    ),
    "committee": MethodRow(
        "hiercos.methods.committee:committee",
        MethodTraits(inner_labels=True, graphs=True, solved=True, raw_inputs=True),
        training=TrainingDefaults(rule=DEFAULT_RULE),
    ),
    "conditional-softmax": MethodRow(
        "hiercos.methods.conditional_softmax:conditional_softmax",
        MethodTraits(inner_labels=True),
        search={"tau": Between(0, 1.5)},
    ),
    "flamingo-1": MethodRow("hiercos.methods.flamingo:flamingo_1", MethodTraits(inner_labels=True)),
    "flamingo-2": MethodRow("hiercos.methods.flamingo:flamingo_2", MethodTraits(inner_labels=True)),
    "hace": MethodRow(
        "hiercos.methods.hace:hace", MethodTraits(inner_labels=True), search={"dilution": Between(0.1, 0.9)}
    ),
    "hafeat-1": MethodRow("hiercos.methods.hafeat:hafeat_1", MethodTraits(inner_labels=True)),
    "hafeat-2": MethodRow("hiercos.methods.hafeat:hafeat_2", MethodTraits(inner_labels=True)),
    "haframe": MethodRow(
        "hiercos.methods.haframe:haframe", search={"gamma": Between(1, 5), "alpha": Between(0.1, 0.9)}
    ),
    "hier-cos": MethodRow(
        "hiercos.methods.hier_cos:hier_cos",
        MethodTraits(inner_labels=True, graphs=True, grows=True),
        recommended={"reading": "shares", "alpha": 0.0},
        search={"exponent": OneOf(1.0, 2.0)},
    ),
    "hxe": MethodRow(
        "hiercos.methods.hxe:hxe", MethodTraits(inner_labels=True, grows=True), search={"alpha": Between(0.1, 0.9)}
    ),
    "one-vs-rest": MethodRow(
        "hiercos.methods.one_vs_rest:one_vs_rest",
        MethodTraits(inner_labels=True, label_sets=True, graphs=True, solved=True, raw_inputs=True),
    ),
    "path-softmax": MethodRow(
        "hiercos.methods.path_softmax:path_softmax",
        MethodTraits(inner_labels=True, graphs=True, grows=True),
        search={"inner": Between(0.1, 3, log=True)},
    ),
    "siblings": MethodRow(
        "hiercos.methods.siblings:siblings", MethodTraits(inner_labels=True, solved=True, raw_inputs=True)
    ),
    "soft-labels": MethodRow(
        "hiercos.methods.soft_labels:soft_labels",
        MethodTraits(graphs=True, grows=True),
        search={"beta": Between(4, 30, log=True)},
    ),
    "tree-logistic": MethodRow(
        "hiercos.methods.linear.logistic:tree_logistic",
        MethodTraits(graphs=True, grows=True, solved=True, raw_inputs=True),
    ),
    "yolo-v2": MethodRow("hiercos.methods.yolo_v2:yolo_v2", MethodTraits(inner_labels=True, grows=True)),
}


class MethodTable(Registry["Build"]):
    """Methods by name, each imported when it is built; an unknown name is an error that suggests the nearest one.

    Example:
        >>> METHODS.traits("hier-cos").graphs
        True
        >>> METHODS["cross-entropy"](Taxonomy.from_paths([("pet", "cat"), ("pet", "dog")]), in_features=4)
        Method(head=Linear, loss=CrossEntropyLoss, class_scores=Identity, node_scores=SummedProbabilities)
    """

    def __getitem__(self, name: str) -> Build:
        return self.row(name).checked_build

    def row(self, name: str) -> MethodRow:
        """The row of a method."""
        found: MethodRow = self.item(name)
        return found

    def options(self, name: str) -> dict[str, object]:
        """Options of a method with their defaults."""
        parameters = inspect.signature(self[name]).parameters.values()
        return {option.name: option.default for option in parameters if option.kind is option.KEYWORD_ONLY}

    def traits(self, name: str) -> MethodTraits:
        """Properties of a method."""
        return self.row(name).traits

    def with_inner_labels(self) -> list[str]:
        """Names of the methods whose loss accepts labels that are inner nodes, the default first, then sorted."""
        return sorted(
            (name for name in self if self.traits(name).inner_labels), key=lambda name: (name != DEFAULT, name)
        )

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
        if inner and not self.traits(name).inner_labels:
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

    def check_options(self, name: str, options: Mapping[str, object]) -> None:
        """Raise a `MethodError` that names every unknown option and every value of a wrong type."""
        if faults := option_faults(f"method {name!r}", options, get_type_hints(self[name]), self.options(name)):
            raise MethodError(faults)

    def summary(self, name: str) -> str:
        """First line of a method's docstring."""
        return (inspect.getdoc(self[name]) or "").partition("\n")[0]


METHODS = MethodTable("method", MethodError, entry_points="hiercos.methods", rows=ROWS, aliases={"default": DEFAULT})


def build_method(name: str, taxonomy: Taxonomy, in_features: int, options: Mapping[str, object]) -> Method:
    """Build a method by name; the options are checked first.

    Args:
        name: one of `METHODS`.
        taxonomy: the tree.
        in_features: width F of the input features.
        options: option values of the method, by name.
    """
    METHODS.check_options(name, options)
    METHODS.check_taxonomy(name, taxonomy)
    try:
        return METHODS[name](taxonomy, in_features=in_features, **options)
    except (ValueError, TypeError) as error:
        given = ", ".join(f"{option}={value!r}" for option, value in options.items()) or "no options"
        raise MethodError(f"method {name!r} with {given}: {error}") from error
