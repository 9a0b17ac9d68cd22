"""The scikit-learn estimators: any registered method, and Hier-COS as published."""

from collections.abc import Mapping
from typing import Any, Self

from hiercos.engine import ModelError, StoredModel
from hiercos.losses import BelowLabel, Direction, Grouping, Penalty
from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS
from hiercos.nn import Basis
from hiercos.sklearn.estimator import TaxonomyClassifier
from hiercos.sklearn.training import TrainingDefaults, linear_defaults
from hiercos.sklearn.validation import ParameterError, TaxonomyArgument

DEFAULTS = TrainingDefaults(learning_rate=1e-2, weight_decay=1e-1, steps=600)  # for heads of a few layers
VALIDATION_FRACTION = 0.1
STREAMED = "path-softmax"  # method of `partial_fit` in place of the default one, which needs all samples at once


class HierarchicalClassifier(TaxonomyClassifier):
    """A classifier over a taxonomy, trained by any registered method.

    The default method is a committee of linear and wide heads, with and without the tree, weighted by held-out
    log-loss. Under its rule, `default`, the likeliest class answers, and the others are ranked for the highest expected
    HOPS.

    Args:
        taxonomy: `Taxonomy`, file, or list of paths or of edges (see `taxonomy_argument`); None to build it from
            labels that are paths or have a column for each level, and for other labels a flat one.
        method: name of a method in `METHODS`.
        options: options of the method by name, except `width` and `dropout`.
        rule: decision rule: "none", "crm", "hops" or "default", see the page on decision rules; None for "default"
            with the default method and "none" with any other.
        width: width of the hidden layers; None for 512 with the default method, and for the published width with
            others.
        dropout: dropout rate of the hidden layers, if the method has one; 0 with the default method to choose it.
        epochs: number of passes over the samples; None for the default method's own choice (until held-out samples stop
            improving, or a fixed number for heads of cross-entropy), and otherwise for 5 to 200, enough for about 600
            steps (300 for a linear `path-softmax`).
        batch_size: number of samples in a batch.
        learning_rate: peak of the learning rate, which rises over the first tenth of the steps and then falls to 0
            along a cosine; None for 0.003 with the default method, for 2.5 / F with a linear `path-softmax`, and 0.01
            otherwise.
        weight_decay: weight decay of AdamW; None for 0.01 with the default method, whose linear heads choose their own
            penalty, for 12 F / M, at most 0.012 F, with a linear `path-softmax`, and 0.1 otherwise.
        validation_fraction: share of the samples that is held out to choose the best epoch and the temperature of
            the probabilities; nothing is held out if that is fewer than 32 samples. None for the default method's own
            choice (a seventh, or cross-validation of small data), and 0.1 with any other.
        calibration_fraction: share of the samples that is set aside, at random, for the targets of `predict_node` and
            used for nothing else.
        sparse_components: maximum number of features of sparse samples, by a truncated SVD of the training samples, for
            methods that do not take sparse samples as they are (the default does).
        warm_start: whether `fit` continues from the last fit; methods with a solver, such as the default, start anew.
        random_state: seed or generator for the initial weights, the order of the samples, dropout and the choice of
            the validation samples.
        device: device for training and prediction: "cpu", "cuda", "mps" or "auto".
        verbose: whether to print every epoch to standard error, and at the end what the default method chose.

    Attributes:
        classes_: sorted labels, shape (C,): those of the taxonomy, or those seen in `fit` if there was none.
        taxonomy_: taxonomy of the classes.
        labels_: converter between labels and classes.
        model_: trained `hiercos.engine.Model`.
        temperature_: calibration temperature of the probabilities.
        history_: one entry per epoch, with loss, and top-1 and HOPS on the validation samples.
        best_epoch_: number of the epoch whose weights were kept.
        choice_: what the default method chose and why, as a sentence; "" for other methods.
        n_iter_: number of epochs.
        n_features_in_: number of columns of X.
        feature_names_in_: names of the columns, if X had any.

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
        calibration_fraction: float = 0.0,
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
        self.calibration_fraction = calibration_fraction
        self.sparse_components = sparse_components
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _method(self) -> tuple[str, Mapping[str, Any]]:
        chosen = {"dropouts": [self.dropout]} if self._is_default() and self.dropout else {}
        return self._options_of(self.method, chosen)

    def _stream_method(self) -> tuple[str, Mapping[str, Any]]:
        return self._options_of(STREAMED if self._is_default() else self.method, {})

    def _options_of(self, method: str, chosen: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """A method with its options among the parameters, and those chosen here."""
        known = METHODS.options(method)
        given = {"width": self.width, "dropout": 0 if chosen else self.dropout}
        shared = {name: value for name, value in given.items() if name in known or value}  # None and 0 are defaults
        options = {} if self.options is None else self.options
        if not isinstance(options, Mapping) or options.keys() & given or set(map(type, options)) - {str}:
            raise ParameterError(f"options: expected a dict without 'width' and 'dropout', got {options!r}")
        return method, {**shared, **chosen, **options}

    @classmethod
    def _of_model(cls, stored: StoredModel) -> Self:
        options = dict(stored.model.options)
        shared = {name: options.pop(name) for name in ("width", "dropout") if name in options}
        return cls(method=stored.model.method, options=options, rule=stored.rule.name, **shared)

    def _rule(self) -> str:
        usual = DEFAULT_RULE if self._is_default() else "none"
        return usual if self.rule is None else self.rule

    def _training_defaults(self, in_features: int, samples: int) -> TrainingDefaults:
        linear = self.method in (STREAMED, DEFAULT) and self.width is None
        return linear_defaults(in_features, samples) if linear else DEFAULTS

    def _default_share(self) -> float:
        return 0.0 if self._is_default() else VALIDATION_FRACTION

    def _is_default(self) -> bool:
        return self.method == DEFAULT


class HierCOSClassifier(TaxonomyClassifier):
    """Hier-COS as published: one orthonormal axis for each node, energy on the path of the class [sani2026].

    Args:
        taxonomy: see `HierarchicalClassifier`.
        alpha: weight of the regulariser, see `HierCOSLoss`.
        exponent: see `HierCOSLoss`.
        direction: see `HierCOSLoss`.
        penalty: see `HierCOSLoss`.
        grouping: see `HierCOSLoss`.
        below_label: see `HierCOSLoss`.
        basis: see `HierCOSHead`.
        rule: "none" (the published ranking), "crm", "hops" or "default".
        width: width of the transformation module; None for the number of nodes, as published.
        dropout: see `HierCOSHead`.
        epochs: see `HierarchicalClassifier`.
        batch_size: see `HierarchicalClassifier`.
        learning_rate: see `HierarchicalClassifier`.
        weight_decay: see `HierarchicalClassifier`.
        validation_fraction: see `HierarchicalClassifier`.
        calibration_fraction: see `HierarchicalClassifier`.
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
        below_label: BelowLabel = "left-out",
        basis: Basis = "identity",
        rule: str = "none",
        width: int | None = None,
        dropout: float = 0.0,
        epochs: int | None = None,
        batch_size: int = 256,
        learning_rate: float = DEFAULTS.learning_rate,
        weight_decay: float = DEFAULTS.weight_decay,
        validation_fraction: float = VALIDATION_FRACTION,
        calibration_fraction: float = 0.0,
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
        self.below_label = below_label
        self.basis = basis
        self.rule = rule
        self.width = width
        self.dropout = dropout
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.calibration_fraction = calibration_fraction
        self.sparse_components = sparse_components
        self.warm_start = warm_start
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _method(self) -> tuple[str, Mapping[str, Any]]:
        names = ("alpha", "exponent", "direction", "penalty", "grouping", "below_label", "basis", "width", "dropout")
        return "hier-cos", {name: getattr(self, name) for name in names}

    def _stream_method(self) -> tuple[str, Mapping[str, Any]]:
        return self._method()

    @classmethod
    def _of_model(cls, stored: StoredModel) -> Self:
        if stored.model.method != "hier-cos":
            raise ModelError(f"expected a model of 'hier-cos', got one of {stored.model.method!r}")
        return cls(rule=stored.rule.name, **stored.model.options)

    def _rule(self) -> str:
        return self.rule

    def _training_defaults(self, in_features: int, samples: int) -> TrainingDefaults:  # noqa: ARG002  # the same for all data
        return DEFAULTS

    def _default_share(self) -> float:
        return VALIDATION_FRACTION
