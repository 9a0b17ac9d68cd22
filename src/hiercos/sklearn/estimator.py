"""Base class of the scikit-learn estimators."""

import sys
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hiercos.decisions import AnswerRequest, Decision, HeldOutChains, Posterior, Rule
from hiercos.decisions import rule as named_rule
from hiercos.engine import ModelError, StoredModel, TrainConfig, array_energies, array_scores, random_state_kept
from hiercos.errors import HiercosWarning, UnknownLabelError
from hiercos.methods import METHODS
from hiercos.options import MAX_EPOCHS, PATIENCE, batch_size_for
from hiercos.predictions import explanations
from hiercos.sklearn.storage import StoredEstimator, load_estimator, save_estimator
from hiercos.sklearn.training import (
    EpochLines,
    Moments,
    OnlineTraining,
    Trained,
    TrainingDefaults,
    enough_epochs,
    fresh_model,
    train,
)
from hiercos.sklearn.validation import (
    VALIDATION_OPTIONS,
    check_parameters,
    check_size,
    checked_samples,
    hiclass_labels,
    labelled,
    taxonomy_argument,
    validated,
    warn_of_names,
)
from hiercos.taxonomy import AnyArray, IntArray, LabelCodec, label_array, label_codec, path_texts

MAX_SEED = 2**31 - 1
SMALL_STEP = 1e-3  # learning rate of `partial_fit` after a solver
ASSUMED_SAMPLES = 10_000  # assumed total number of samples over all calls of partial_fit


class TaxonomyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base class of classifiers over a taxonomy; subclasses define the parameters of the constructor."""

    taxonomy: Any
    epochs: int | None
    batch_size: int
    learning_rate: float | None
    weight_decay: float | None
    validation_fraction: float | None
    calibration_fraction: float
    sparse_components: int
    warm_start: bool
    random_state: Any
    device: str
    verbose: bool
    _stream: OnlineTraining | None
    _taxonomy_given: Any

    @abstractmethod
    def _method(self) -> tuple[str, Mapping[str, Any]]:
        """The name and the options of the method."""

    @abstractmethod
    def _stream_method(self) -> tuple[str, Mapping[str, Any]]:
        """The name and the options of the method of `partial_fit`."""

    @classmethod
    @abstractmethod
    def _of_model(cls, stored: StoredModel) -> Self:
        """An estimator with the method, options and rule of a stored model."""

    @abstractmethod
    def _rule(self) -> str:
        """The name of the decision rule."""

    @abstractmethod
    def _training_defaults(self, in_features: int, samples: int) -> TrainingDefaults:
        """The learning rate, weight decay and number of steps used where the user gives none."""

    @abstractmethod
    def _default_share(self) -> float:
        """The share of samples to hold out if the user gives none."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on labelled samples.

        Args:
            X: dense or sparse samples, shape (M, F).
            y: labels, shape (M,): names or ids of classes or inner nodes, paths such as `a > b > c`, or label indices
                (see `label_indices`); or (M, L): one name per level with "", None or nan to the right of a sample's
                last level. A sample labelled "root", or by a blank row, may be of any class and is not used.
            sample_weight: weight of each sample, shape (M,), >= 0.
        """
        self._check_parameters()
        warm = self.warm_start and hasattr(self, "model_")
        X, y = checked_samples(self, X, y, reset=not warm)
        codec = self._codec(y)
        start = self._start(codec) if warm else None
        data = labelled(X, y, codec, sample_weight)
        config = self._config(X, X.shape[0], self._method(), scale=start is None)
        trained, progress = train(
            data,
            codec.taxonomy,
            config,
            held_out=self._default_share() if self.validation_fraction is None else self.validation_fraction,
            set_aside=self.calibration_fraction,
            most_features=self.sparse_components,
            device=self.device,
            start=start,
            callback=EpochLines() if self.verbose else None,
        )
        self._keep(codec, trained)
        self.history_, self.best_epoch_, self.choice_ = progress.history, progress.best_epoch, progress.choice
        self.n_iter_ = len(self.history_)
        self._stream = None
        if self.verbose and self.choice_:
            sys.stderr.write(f"{self.model_.method}: {self.choice_}.\n")
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one pass over more samples; none are held out.

        The default method, which needs all samples at once, is replaced by `path-softmax`.

        Args:
            X: samples, shape (M, F), M at least 2.
            y: labels as in `fit`.
            classes: all labels that may occur; required in the first call unless the constructor has a taxonomy. In a
                later call, new classes of an estimator without a taxonomy, which are added to the others. With one, set
                the new taxonomy by `set_params`. The model then grows, see `grown_model`.
            sample_weight: weights as in `fit`.
        """
        self._check_parameters()
        first = not hasattr(self, "model_")
        X, y = checked_samples(self, X, y, reset=first)
        with nullcontext() if first else self._hint_on_new_classes():
            codec = self._first_codec(y, classes) if first else self._later_codec(y, classes)
            data = labelled(X, y, codec, sample_weight)
        config = self._stream_config(X)
        if first:
            stream = self._fresh_stream(X, codec, config)
        else:
            stream = self._stream or OnlineTraining(self.model_, None)
            stream = stream if codec is self.labels_ else stream.grown(codec.taxonomy, config.seed)
        stream.learn(data, config, self.device)
        rule = None if first else self._fitted_rule()
        self._keep(codec, Trained(stream.model, 1.0 if first else self.temperature_), rule)
        self._stream = stream
        self.n_iter_ = stream.calls
        return self

    def predict(self, X: Any) -> AnyArray:
        """The class of each sample, as a label of the kind passed to `fit`: shape (M,) or (M, L)."""
        answers = self._answers(X)
        labels: AnyArray = self.labels_.labels[answers]
        return labels

    def predict_path(self, X: Any) -> AnyArray:
        """The names along the path of each sample's class, shape (M, H), "" beyond the depth of the class."""
        answers = self._answers(X)
        return hiclass_labels(answers, self.taxonomy_)

    def predict_node(self, X: Any, **request: Any) -> Decision:
        """The answer to each sample at any level, only as deep as it is sure: a class, an inner node or the root.

        Args:
            X: samples, shape (M, F).
            **request: arguments of `AnswerRequest`: `confidence=0.9` (the default), `target_containment=0.95`,
                `within=["fungi"]`, `rule="majority"` and so on. A target needs samples that `fit` set aside, see
                `calibration_fraction`.

        Returns:
            Nodes and their probabilities, `decision.nodes` and `decision.probabilities`, shape (M,), -1 for the root;
            `decision.guarantee` is the guarantee of a target as a sentence, "" where none holds.

        Raises:
            RuleError: for a target that the calibration samples do not support.
        """
        wanted = AnswerRequest.of(request)
        rule = wanted.chosen_rule(named_rule("back-off"), self._calibration())
        return rule(wanted.restricted(self._posterior(X)))

    def explain(self, X: Any, **request: Any) -> list[dict[str, Any]]:
        """The reason for each answer of the rule: probabilities, and energies of Hier-COS, along its path.

        Args:
            X: samples, shape (M, F).
            **request: arguments of `AnswerRequest`; by default the answers of `predict`.

        Returns:
            One dict per sample, see `hiercos.predictions.explanations`.
        """
        wanted = AnswerRequest.of(request)
        rule = wanted.chosen_rule(self._fitted_rule(), self._calibration())
        posterior = wanted.restricted(self._posterior(X, energies=True))
        return explanations(posterior, rule(posterior))

    def _calibration(self) -> HeldOutChains | None:
        check_is_fitted(self, "model_")
        return self._trained.calibration

    def predict_proba(self, X: Any) -> AnyArray:
        """Probabilities of the classes, shape (M, C), columns as in `classes_`; each row sums to 1.

        They are calibrated by a temperature if `fit` held out samples.
        """
        posterior = self._posterior(X)
        probabilities: AnyArray = posterior.classes[:, self.labels_.columns]
        return probabilities

    def predict_log_proba(self, X: Any) -> AnyArray:
        """Log-probabilities of the classes, shape (M, C), columns as in `classes_`."""
        posterior = self._posterior(X)
        logs: AnyArray = posterior.logs[:, self.labels_.columns]
        return logs

    def predict_node_proba(self, X: Any) -> AnyArray:
        """Probabilities of all nodes, shape (M, N), columns as in `taxonomy_.names`."""
        return self._posterior(X).nodes

    def decision_function(self, X: Any) -> AnyArray:
        """Scores by which the rule ranks the classes, higher is better, columns as in `classes_`.

        The highest score belongs to the class that `predict` returns. With the rules `default` and `hops` this takes
        milliseconds per sample, unlike `predict`.

        Returns:
            Scores, shape (M, C); for two classes shape (M,), above 0 for the second class.
        """
        posterior = self._posterior(X)
        ranking = self._fitted_rule().ranking(posterior)
        scores: AnyArray = ranking[:, self.labels_.columns]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted estimator to a folder that `load` and `hiercos predict` read.

        Parameters that JSON cannot represent, such as a generator or a taxonomy, are left out; the fitted state is not.
        """
        check_is_fitted(self, "model_")
        names = getattr(self, "feature_names_in_", None)
        weights, calibration = self._trained.class_weights, self._trained.calibration
        model = StoredModel(self.model_, None, self._fitted_rule(), self.temperature_, weights, calibration=calibration)
        stored = StoredEstimator(
            model,
            self.labels_,
            self.get_params(deep=False),
            self.n_features_in_,
            None if names is None else list(names),
        )
        save_estimator(Path(folder), stored, flat=self.labels_.flat)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Load an estimator from a folder that `save` or `hiercos train` wrote.

        Raises:
            ModelError: a folder that is not a model, or whose model takes texts or images.
        """
        stored = load_estimator(Path(folder))
        if unknown := sorted(set(stored.parameters) - set(cls._get_param_names())):
            raise ModelError(
                f"{folder}: saved by another estimator than {cls.__name__}: it has the parameter {unknown[0]!r}"
            )
        estimator = cls(**stored.parameters) if stored.parameters else cls._of_model(stored.model)
        if "taxonomy" not in stored.parameters and not stored.codec.flat:
            estimator.taxonomy = stored.codec.taxonomy
        estimator.n_features_in_ = stored.columns
        if stored.column_names is not None:
            estimator.feature_names_in_ = np.array(stored.column_names, dtype=object)
        model = stored.model
        trained = Trained(model.model, model.temperature, model.class_weights, calibration=model.calibration)
        estimator._keep(stored.codec, trained, model.rule)
        estimator._stream = None
        return estimator

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples whose class is right (top-1); y has labels of the kind passed to `fit`.

        A label that was unknown in `fit` counts as a mistake, as everywhere in scikit-learn. Samples labelled with an
        inner node or the root are left out, and a `HiercosWarning` says how many.

        Raises:
            ValueError: if all samples are labelled with inner nodes.
        """
        true, answers = label_array(y), self.predict(X)
        known = self._may_be_classes(true)
        if not known.any():
            raise ValueError("y: every sample is labelled with an inner node; expected some labelled with a class")
        if not known.all():
            left = f"{(~known).sum()} of {len(known)} samples are labelled with an inner node"
            warnings.warn(f"y: {left}; the score leaves them out", HiercosWarning, stacklevel=2)
        if answers.ndim == 2:
            true, answers = path_texts(true), path_texts(answers)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(true[known], answers[known], sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _may_be_classes(self, y: AnyArray) -> NDArray[np.bool_]:
        """Mask of the labels that are not known to be inner nodes, shape (M,)."""
        if y.ndim == self.labels_.labels.ndim:
            return self.labels_.read_or(y, 0) < self.taxonomy_.num_classes
        return np.ones(len(y), dtype=bool)

    def _check_parameters(self) -> None:
        check_parameters(self.get_params(deep=False))
        named_rule(self._rule())  # raises for an unknown rule

    def _codec(self, y: AnyArray) -> LabelCodec:
        codec = label_codec(y, None if self.taxonomy is None else taxonomy_argument(self.taxonomy))
        if self.taxonomy is None and codec.flat:
            warn_of_names(codec.classes)
        return codec

    def _start(self, codec: LabelCodec) -> Trained | None:
        """The earlier result that a warm start continues from; None for a method that is solved anew."""
        if not codec.agrees_with(self.labels_):
            raise ValueError("warm_start: expected labels of the same classes as in the first fit, got others")
        if self.model_.solver is not None:
            return None
        method, options = self._method()
        if METHODS.checked_name(method) != self.model_.method or dict(options) != self.model_.options:
            raise ValueError(
                f"warm_start: expected the method and options of the first fit, {self.model_.method!r} with "
                f"{self.model_.options}, got {method!r} with {dict(options)}"
            )
        return self._trained

    def _config(self, X: Any, samples: int, method: tuple[str, Mapping[str, Any]], *, scale: bool) -> TrainConfig:
        """The training settings for a number of samples."""
        name, options = method
        if METHODS.traits(name).raw_inputs:  # a committee stops its members, or fixes their number of epochs
            settings: dict[str, Any] = {"epochs": MAX_EPOCHS, "patience": PATIENCE, "schedule": "plateau"}
            if self.epochs is not None:
                settings = {"epochs": self.epochs, "schedule": "one-cycle"}
            batch_size = batch_size_for(samples, self.batch_size)
            rates = {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}
            settings |= {key: value for key, value in rates.items() if value is not None}
            return TrainConfig(name, options, batch_size=batch_size, seed=self._seed(), **settings)
        defaults = self._training_defaults(self._width_of(X), samples)
        epochs = enough_epochs(samples, self.batch_size, defaults.steps) if self.epochs is None else self.epochs
        return TrainConfig(
            name,
            options,
            epochs,
            self.batch_size,
            learning_rate=defaults.learning_rate if self.learning_rate is None else self.learning_rate,
            weight_decay=defaults.weight_decay if self.weight_decay is None else self.weight_decay,
            schedule="one-cycle",
            standardize=scale,
            seed=self._seed(),
        )

    def _stream_config(self, X: Any) -> TrainConfig:
        """The settings of `partial_fit`: one pass at a constant rate."""
        config = self._config(X, ASSUMED_SAMPLES, self._stream_method(), scale=False)
        if hasattr(self, "model_") and self.model_.solver is not None:  # further steps from a solution are small
            config = replace(config, learning_rate=self.learning_rate or SMALL_STEP)
        return replace(config, epochs=1, schedule="constant", patience=None)

    def _width_of(self, X: Any) -> int:
        """Number of features of samples after their projection."""
        columns = int(X.shape[1])
        return min(columns, self.sparse_components) if issparse(X) else columns

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(MAX_SEED))

    def _keep(self, codec: LabelCodec, trained: Trained, rule: Rule | None = None) -> None:
        """Set the fitted attributes; the rule is fitted on the held-out samples if none is given."""
        new = named_rule(self._rule())
        self.rule_ = rule or (new if trained.held_out is None else new.fit(*trained.held_out))
        self.labels_, self._trained = codec, trained
        self._taxonomy_given = self.taxonomy
        self.classes_, self.taxonomy_ = codec.classes, codec.taxonomy
        self.model_, self.temperature_ = trained.model, trained.temperature

    def _first_codec(self, y: AnyArray, classes: Any) -> LabelCodec:
        if classes is None and self.taxonomy is None:
            raise ValueError("classes must be passed on the first call to partial_fit, where there is no taxonomy")
        return self._codec(y if classes is None else label_array(classes))

    @contextmanager
    def _hint_on_new_classes(self) -> Iterator[None]:
        """Name the argument that adds classes in errors about unknown labels."""
        try:
            yield
        except UnknownLabelError as error:
            how = "partial_fit(X, y, classes=[...])" if self.taxonomy is None else "set_params(taxonomy=...)"
            raise UnknownLabelError([*error.faults, f"y: new classes are added by {how}"]) from error

    def _later_codec(self, y: AnyArray, classes: Any) -> LabelCodec:
        """The codec of the calls of `partial_fit` before, or one with new classes."""
        if self.taxonomy is not self._taxonomy_given:
            codec = self._codec(y if classes is None else label_array(classes))
        elif classes is None:
            return self.labels_
        elif self.taxonomy is None:
            codec = self._codec(_joined_labels(self.labels_.labels, label_array(classes)))
        else:
            codec = self._codec(label_array(classes))
        return self.labels_ if codec.taxonomy == self.taxonomy_ else codec

    def _fresh_stream(self, X: Any, codec: LabelCodec, config: TrainConfig) -> OnlineTraining:
        """A new model for `partial_fit`."""
        if issparse(X) and X.shape[1] > self.sparse_components:
            raise ValueError(
                f"partial_fit: expected dense samples, or at most {self.sparse_components} columns, got {X.shape[1]} "
                "sparse ones: put a fitted TruncatedSVD in front"
            )
        with random_state_kept():
            model = fresh_model(codec.taxonomy, X.shape[1], config)
        return OnlineTraining(model, Moments.none(X.shape[1]))

    def _posterior(self, X: Any, *, energies: bool = False) -> Posterior:
        """Calibrated probabilities of M samples, in the order of the taxonomy's classes, with energies on request."""
        check_is_fitted(self, "model_")
        X = validated(self, X, **VALIDATION_OPTIONS, reset=False)
        check_size(X)
        scores = array_scores(self.model_, X, self.device).numpy()
        shares = array_energies(self.model_, X, self.device) if energies else None
        return Posterior.from_scores(
            scores,
            self.taxonomy_,
            temperature=self.temperature_,
            class_weights=self._trained.class_weights,
            energies=None if shares is None else shares.numpy(),
        )

    def _fitted_rule(self) -> Rule:
        """The rule of the last fit, or a new one if the parameter was changed since."""
        return self.rule_ if self.rule_.name == self._rule() else named_rule(self._rule())

    def _answers(self, X: Any) -> IntArray:
        """The class of each sample, shape (M,)."""
        posterior = self._posterior(X)
        classes = self._fitted_rule()(posterior).classes
        if (classes < 0).any():
            raise ValueError(f"rule {self._fitted_rule().name!r}: expected a class for every sample, got an inner node")
        return classes


def _joined_labels(known: AnyArray, given: AnyArray) -> AnyArray:
    """Known labels and further ones of the same number of dimensions, rows of names padded with ""."""
    if known.ndim == 1:
        return np.concatenate([known, given.astype(known.dtype) if known.dtype.kind != "U" else given])
    width = max(known.shape[1], given.shape[1])
    return np.concatenate([_padded(each, width) for each in (known, given)])


def _padded(rows: AnyArray, width: int) -> AnyArray:
    return np.pad(rows.astype(object), ((0, 0), (0, width - rows.shape[1])), constant_values="")
