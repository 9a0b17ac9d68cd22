"""The scikit-learn estimators: any registered method, and Hier-COS as published."""

from collections.abc import Mapping
from typing import Any, Self

from hiercos.engine import ModelError, StoredModel
from hiercos.losses import Direction, Grouping, Penalty
from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS
from hiercos.nn import Basis
from hiercos.sklearn.estimator import TaxonomyClassifier
from hiercos.sklearn.parameters import ParameterError, TaxonomyArgument
from hiercos.sklearn.training import Pace, linear_pace

USUAL_PACE = Pace(learning_rate=1e-2, weight_decay=1e-1, steps=600)  # for a few layers
USUAL_SHARE = 0.1  # held out


class HierarchicalClassifier(TaxonomyClassifier):
    """A classifier over a taxonomy, trained by any registered method.

    With the defaults: one linear layer with a score for each node, class logits that are sums along the path, a
    log-loss at every level, and classes ranked for the highest expected HOPS.

    Args:
        taxonomy: a `Taxonomy`, a file, a list of paths or of edges (see `taxonomy_argument`); None to take it from
            labels that are paths or have a column for each level, or for one level of all the labels.
        method: a name of `METHODS`.
        options: of the method, by name, beyond `width` and `dropout`.
        rule: "none", "crm" or "hops", see the page on decision rules; None for "hops" with the default method and
            "none" with any other.
        width: of the layers before the last; None for none with the default method, and as published with others.
        dropout: share of their inputs dropped in training, where the method has it.
        epochs: passes over the samples, which are 5 to 200 by default: for about 300 steps with the default method and
            no `width`, 600 otherwise.
        batch_size: samples a step.
        learning_rate: the peak of its course: a rise over the first tenth, then a cosine down to 0; None for what suits
            the number of features with the default method and no `width` (2.5 / F), and 0.01 otherwise.
        weight_decay: of every weight: with noisy data the first parameter to search. None for 12 F / M, at most
            0.012 F, with the default method and no `width`, and 0.1 otherwise.
        validation_fraction: share of the samples that are not learned from, but choose the best epoch and the
            temperature of the probabilities; none are held out where they would be fewer than 32. None for 0 with the
            default method, whose scores are logits trained as such, and 0.1 with any other.
        sparse_components: the most features made of sparse samples, by a truncated SVD of those that are learned from.
        warm_start: go on from the last fit.
        random_state: of the initial weights, the order of the samples, dropout and the choice of those held out.
        device: where to train and predict: "cpu", "cuda", "mps" or "auto".
        verbose: tell of every epoch on standard error.

    Attributes:
        classes_: the labels, sorted, shape (C,): those of the taxonomy, or those seen where there was none.
        taxonomy_: the `Taxonomy`.
        labels_: how labels are read and answered.
        model_: the trained `hiercos.engine.Model`.
        temperature_: of the probabilities.
        history_: the epochs, with loss, top-1 and HOPS on the samples held out.
        best_epoch_: the number of the one whose weights were kept.
        n_iter_: how many there were.
        n_features_in_: columns of X.
        feature_names_in_: their names, where X had any.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 3]
        >>> y = np.array(["pet > cat", "pet > dog", "vehicle > car"])[np.arange(60) % 3]
        >>> classifier = HierarchicalClassifier(random_state=0).fit(X, y)
        >>> classifier.predict(X[:2]).tolist(), classifier.predict_path(X[2:3]).tolist()
        (['pet > cat', 'pet > dog'], [['vehicle', 'car']])
    """

    def __init__(
        self,
        taxonomy: TaxonomyArgument | None = None,
        *,
        method: str = DEFAULT,
        options: Mapping[str, Any] | None = None,
        rule: str | None = None,
        width: int | None = None,
        dropout: float = 0.0,
        epochs: int | None = None,
        batch_size: int = 256,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        validation_fraction: float | None = None,
        sparse_components: int = 512,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.taxonomy = taxonomy
        self.method = method
        self.options = options
        self.rule = rule
        self.width = width
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.sparse_components = sparse_components
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _method(self) -> tuple[str, Mapping[str, Any]]:
        known = METHODS.options(self.method)
        given = {"width": self.width, "dropout": self.dropout}
        shared = {name: value for name, value in given.items() if name in known or value}  # None and 0 ask for nothing
        options = {} if self.options is None else self.options
        if not isinstance(options, Mapping) or options.keys() & given or set(map(type, options)) - {str}:
            raise ParameterError(f"options: expected a dict without 'width' and 'dropout', got {options!r}")
        return self.method, {**shared, **options}

    @classmethod
    def _of_model(cls, stored: StoredModel) -> Self:
        options = dict(stored.model.options)
        shared = {name: options.pop(name) for name in ("width", "dropout") if name in options}
        return cls(method=stored.model.method, options=options, rule=stored.rule.name, **shared)

    def _rule(self) -> str:
        usual = DEFAULT_RULE if self._is_default() else "none"
        return usual if self.rule is None else self.rule

    def _usual_pace(self, in_features: int, samples: int) -> Pace:
        return linear_pace(in_features, samples) if self._is_default() and self.width is None else USUAL_PACE

    def _usual_share(self) -> float:
        return 0.0 if self._is_default() else USUAL_SHARE

    def _is_default(self) -> bool:
        return METHODS.canonical(self.method) == METHODS.canonical(DEFAULT)


class HierCOSClassifier(TaxonomyClassifier):
    """Hier-COS as published: one orthonormal axis for each node, energy on the path of the class [sani2026].

    Args:
        taxonomy: see `HierarchicalClassifier`.
        alpha: weight of the regularisation, see `HierCOSLoss`.
        exponent: see `HierCOSLoss`.
        direction: see `HierCOSLoss`.
        penalty: see `HierCOSLoss`.
        grouping: see `HierCOSLoss`.
        basis: see `HierCOSHead`.
        rule: "none" (the published ranking), "crm" or "hops".
        width: of the transformation module; None for the number of nodes, as published.
        dropout: see `HierCOSHead`.
        epochs: see `HierarchicalClassifier`.
        batch_size: see `HierarchicalClassifier`.
        learning_rate: see `HierarchicalClassifier`.
        weight_decay: see `HierarchicalClassifier`.
        validation_fraction: see `HierarchicalClassifier`.
        sparse_components: see `HierarchicalClassifier`.
        warm_start: see `HierarchicalClassifier`.
        random_state: see `HierarchicalClassifier`.
        device: see `HierarchicalClassifier`.
        verbose: see `HierarchicalClassifier`.

    Example:
        >>> import numpy as np
        >>> from hiercos import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> y = np.array(["cat", "dog", "car"])[np.arange(60) % 3]
        >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 3]
        >>> HierCOSClassifier(t, random_state=0).fit(X, y).predict_path(X[:1]).tolist()
        [['pet', 'cat']]
    """

    def __init__(
        self,
        taxonomy: TaxonomyArgument | None = None,
        *,
        alpha: float = 0.05,
        exponent: float = 2.0,
        direction: Direction = "leaf",
        penalty: Penalty = "published",
        grouping: Grouping = "published",
        basis: Basis = "identity",
        rule: str = "none",
        width: int | None = None,
        dropout: float = 0.0,
        epochs: int | None = None,
        batch_size: int = 256,
        learning_rate: float = USUAL_PACE.learning_rate,
        weight_decay: float = USUAL_PACE.weight_decay,
        validation_fraction: float = USUAL_SHARE,
        sparse_components: int = 512,
        warm_start: bool = False,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.taxonomy = taxonomy
        self.alpha = alpha
        self.exponent = exponent
        self.direction = direction
        self.penalty = penalty
        self.grouping = grouping
        self.basis = basis
        self.rule = rule
        self.width = width
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.sparse_components = sparse_components
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _method(self) -> tuple[str, Mapping[str, Any]]:
        names = ("alpha", "exponent", "direction", "penalty", "grouping", "basis", "width", "dropout")
        return "hier-cos", {name: getattr(self, name) for name in names}

    @classmethod
    def _of_model(cls, stored: StoredModel) -> Self:
        if stored.model.method != "hier-cos":
            raise ModelError(f"expected a model of 'hier-cos', got one of {stored.model.method!r}")
        return cls(rule=stored.rule.name, **stored.model.options)

    def _rule(self) -> str:
        return self.rule

    def _usual_pace(self, in_features: int, samples: int) -> Pace:  # noqa: ARG002  # the same for all data
        return USUAL_PACE

    def _usual_share(self) -> float:
        return USUAL_SHARE
