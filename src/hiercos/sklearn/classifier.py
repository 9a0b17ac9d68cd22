"""The scikit-learn estimator of any registered method, which `train` trains."""

import sys
import warnings
from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from hiercos.data import ColumnInputs, completed
from hiercos.decisions import AnswerRequest, Decision, Posterior, Rule, Several
from hiercos.decisions import rule as named_rule
from hiercos.encoders import ReadConfig, SingleDevice, launched
from hiercos.errors import HiercosWarning
from hiercos.methods import DEFAULT
from hiercos.metrics.functional import set_agreement
from hiercos.model import Classifier, ModelError, explanations
from hiercos.sklearn.epoch_lines import EpochLines
from hiercos.sklearn.inputs import (
    ParameterError,
    TaxonomyArgument,
    check_parameters,
    hiclass_labels,
    known_inputs,
    labelled_dataset,
    seed_of,
    taxonomy_argument,
    training_inputs,
    warn_of_names,
)
from hiercos.sklearn.storage import load_estimator, save_estimator
from hiercos.taxonomy import (
    AnyArray,
    IntArray,
    LabelCodec,
    are_sets,
    label_array,
    label_codec,
    path_texts,
    taxonomy_change,
)
from hiercos.training import (
    RunProgress,
    Settings,
    Trained,
    encoded,
    extension_settings,
    grown_features,
    learnable_notes,
    train,
    with_options,
)

OF_SETTINGS = (  # parameters that are settings of their name, left to `Settings` where they are None
    *("method", "rule", "epochs", "batch_size", "learning_rate", "weight_decay"),
    *("width", "dropout", "effort", "memory"),
)


class HierarchicalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier over a taxonomy, trained by any registered method: the model of `hiercos train` on the same samples.

    The default method is a committee of linear and wide heads, with and without the tree, weighted by held-out
    log-loss. Under its rule the likeliest class answers, and the others are ranked for the highest expected HOPS.

    A tenth of the samples, chosen by hash of their content, or cross-fitting where that is fewer than 32, chooses what
    the method leaves open and calibrates the probabilities; then the model learns from all samples.

    Args:
        taxonomy: `Taxonomy`, file, or list of paths or of edges (see `taxonomy_argument`); None to build it from
            labels that are paths or have a column for each level, and for other labels a flat one.
        method: name of a method in `METHODS`.
        options: options of the method, and settings that are no parameters, by name; see `Settings`.
        rule: decision rule, see the page on decision rules; None for that of the method.
        encoder: encoder of texts or images: "tfidf", a backbone, or "tfidf+NAME"; None for the usual one.
        columns: kinds of columns of X by name, such as "text", "category" or "number"; the others are guessed.
        epochs: exact number of passes over the samples; None to train until held-out samples stop improving.
        batch_size: number of samples in a batch; None for 256, fewer for small data.
        learning_rate: peak of the learning rate; None for 0.003.
        weight_decay: weight decay of AdamW; None for 0.01. Methods with a solver choose their own penalty.
        width: width of the hidden layers; None for 512.
        dropout: dropout rate of the hidden layers; None for 0.1, or the method's own choice.
        effort: effort of the default method: "quick", "normal" or "best"; None for "normal".
        memory: number of samples of each label that are kept, as features, for `extend`; None for 20, up to 10 MB.
        random_state: seed, from 0 to 2^31 - 1, or generator for the initial weights, the order of the samples and
            dropout; None for 0.
        device: device for training and prediction: "cpu", "cuda", "mps" or "auto".
        verbose: whether to print every epoch to standard error, and at the end what the method chose.

    Attributes:
        classes_: sorted labels, shape (C,): those of the taxonomy, or those seen in `fit` if there was none.
        taxonomy_: taxonomy of the classes.
        labels_: converter between labels and classes.
        model_: trained `hiercos.methods.Model`.
        temperature_: calibration temperature of the probabilities.
        rule_: decision rule, fitted on held-out samples.
        history_: one entry per epoch, with loss, and top-1 and HOPS on the validation samples.
        best_epoch_: number of the epoch whose weights were kept.
        choice_: what the method's solver chose and why, as a sentence; "" without one.
        n_iter_: number of epochs.
        n_features_in_: number of columns of X; not for texts.
        feature_names_in_: names of the columns, if X had any.

    Example:
        >>> import numpy as np
        >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 3]
        >>> y = np.array(["pet > cat", "pet > dog", "vehicle > car"])[np.arange(60) % 3]
        >>> classifier = HierarchicalClassifier().fit(X, y)
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
        encoder: str | None = None,
        columns: Mapping[str, str] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        width: int | None = None,
        dropout: float | None = None,
        effort: str | None = None,
        memory: int | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.taxonomy = taxonomy
        self.method = method
        self.options = options
        self.rule = rule
        self.encoder = encoder
        self.columns = columns
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.width = width
        self.dropout = dropout
        self.effort = effort
        self.memory = memory
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train on labelled samples.

        Args:
            X: dense or sparse samples, shape (M, F); or M texts; or a DataFrame of numbers, or of a column `text`, or
                `path` of images; or any other columns, as a DataFrame or a dict of sequences (docs/data.md).
            y: labels, shape (M,): names or ids of classes or inner nodes, paths such as `a > b > c`, or label indices
                (see `label_indices`); or (M, L): one name per level with "", None or nan to the right of a sample's
                last level. A sample labelled "root", or by a blank row, may be of any class and is not used. A list of
                sets has several labels of each sample.
            sample_weight: weight of each sample, shape (M,), >= 0.
            groups: group of each sample, shape (M,), which no split and no fold divides.
        """
        settings = self._checked_settings()
        inputs, y = training_inputs(self, X, y, columns=self.columns)
        codec = label_codec(y, None if self.taxonomy is None else taxonomy_argument(self.taxonomy))
        if self.taxonomy is None and codec.flat:
            warn_of_names(codec.classes)
        dataset = completed(
            labelled_dataset(inputs, y, codec, sample_weight, groups=groups), test=False, targets=settings.targets
        )
        features = encoded(dataset, self._reading(), encoder=self.encoder)
        if self.verbose and isinstance(inputs, ColumnInputs):
            sys.stderr.write(f"{inputs.summary()}\n")
        return self._train(codec, features, settings)

    def extend(self, X: Any, y: Any, taxonomy: TaxonomyArgument | None = None) -> Self:
        """Grow to a larger taxonomy with new, renamed or moved nodes, and train on samples labelled with it.

        Nodes are matched by id, then by path, and keep their weights. Samples that `fit` kept (`memory`) are learned
        from again; without any, X needs samples of the old classes, too, or the model forgets them.

        Args:
            X: samples as in `fit`.
            y: labels as in `fit`.
            taxonomy: new taxonomy; None for the one that labels of the old and the new classes make.
        """
        check_is_fitted(self, "model_")
        settings = extension_settings(self.classifier_, self._checked_settings())
        inputs, y = training_inputs(self, X, y, reset=False, columns=self.classifier_.columns)
        codec = label_codec(y, self.taxonomy_ if taxonomy is None else taxonomy_argument(taxonomy))
        dataset = labelled_dataset(inputs, y, codec, purpose="extend")
        dataset = completed(dataset, test=False, targets=settings.targets)
        change, stored = taxonomy_change(self.taxonomy_, codec.taxonomy), self.classifier_
        features = grown_features(stored, dataset, change, stored.memory, self._reading())
        self._train(codec, features, settings)
        self.taxonomy = codec.taxonomy
        return self

    def _train(self, codec: LabelCodec, features: Any, settings: Settings) -> Self:
        """Train on features by the settings; a warning says if the method learns from a part of them."""
        for note in learnable_notes(features.dataset, [settings.method]):
            warnings.warn(note, HiercosWarning, stacklevel=3)
        callback = EpochLines() if self.verbose else None
        trained = train(features, settings, fabric=launched(self.device), callback=callback)
        if self.verbose and trained.progress.choice:
            sys.stderr.write(f"{settings.method}: {trained.progress.choice}.\n")
        return self._keep(codec, trained)

    def predict(self, X: Any) -> AnyArray:
        """The class of each sample, as a label of the kind passed to `fit`: shape (M,) or (M, L).

        After a fit with several labels, the set of each sample as a tuple, the most probable first; inner nodes are
        paths.
        """
        if isinstance(rule := self._fitted_rule(), Several):
            return self._sets(rule, X)
        answers = self._answers(X)  # raises before anything is fitted
        labels: AnyArray = self.labels_.labels[answers]
        return labels

    def _fitted_rule(self) -> Rule:
        check_is_fitted(self, "model_")
        return self.rule_

    def _sets(self, rule: Several, X: Any) -> AnyArray:
        """The answers under the rule for several labels, shape (M,), as tuples."""
        posterior, taxonomy = self._posterior(X), self.taxonomy_
        labels = {node: taxonomy.path_text(node) for node in range(taxonomy.num_nodes)}
        labels |= dict(zip(taxonomy.leaves.tolist(), self.labels_.labels.tolist(), strict=True))
        found = np.empty(len(posterior), dtype=object)
        found[:] = [tuple(labels[node] for node in nodes) for nodes in rule.sets(posterior)]
        return found

    def predict_path(self, X: Any) -> AnyArray:
        """The names along the path of each sample's class, shape (M, H), "" beyond the depth of the class."""
        return hiclass_labels(self._answers(X), self.taxonomy_)

    def predict_node(self, X: Any, **request: Any) -> Decision:
        """The answer to each sample at any level, only as deep as it is sure: a class, an inner node or the root.

        Args:
            X: samples as in `fit`.
            **request: arguments of `AnswerRequest`: `confidence=0.9` (the default), `target_containment=0.95`,
                `within=["fungi"]`, `rule="majority"` and so on. A target has a guarantee if `fit` set samples aside
                for it, with `options={"targets": True}`.

        Returns:
            Nodes and their probabilities, `decision.nodes` and `decision.probabilities`, shape (M,), -1 for the root;
            `decision.guarantee` is the guarantee of a target as a sentence, "" where none holds; then a
            `HiercosWarning` says why.

        Raises:
            RuleError: for a target that the calibration samples do not support.
        """
        check_is_fitted(self, "model_")
        wanted = AnswerRequest.of(request)
        rule = wanted.chosen_rule(named_rule("back-off"), self.classifier_.calibration)
        decision = rule(wanted.restricted(self._posterior(X)))
        if reason := wanted.lost_guarantee(rule):
            warnings.warn(reason, HiercosWarning, stacklevel=2)
        return decision

    def explain(self, X: Any, **request: Any) -> list[dict[str, Any]]:
        """The reasons for each answer of the rule: columns or words, energies of Hier-COS; see `explanations`.

        Args:
            X: samples as in `fit`.
            **request: arguments of `AnswerRequest`; by default the answers of `predict`.

        Returns:
            One dict per sample, see `hiercos.model.explanations`.
        """
        check_is_fitted(self, "model_")
        wanted = AnswerRequest.of(request)
        rule = wanted.chosen_rule(self.rule_, self.classifier_.calibration)
        inputs, names = known_inputs(self, X, self.classifier_.columns), getattr(self, "feature_names_in_", None)
        found = self.classifier_.posterior(inputs, self._reading(), energies=True)
        posterior = wanted.restricted(found)
        explainer = partial(self.classifier_.contributions, names=names)
        return explanations(inputs, posterior, rule(posterior), explainer)

    def predict_proba(self, X: Any) -> AnyArray:
        """Calibrated probabilities of the classes, shape (M, C), columns as in `classes_`; each row sums to 1.

        After a fit with several labels, the probability of each class for itself.
        """
        posterior = self._posterior(X)
        if posterior.marginals is None:
            probabilities: AnyArray = posterior.classes
        else:
            probabilities = posterior.marginals[:, self.taxonomy_.leaves]
        return probabilities[:, self.labels_.columns]

    def predict_log_proba(self, X: Any) -> AnyArray:
        """Log-probabilities of the classes, shape (M, C), columns as in `classes_`."""
        logs: AnyArray = self._posterior(X).logs[:, self.labels_.columns]
        return logs

    def predict_node_proba(self, X: Any) -> AnyArray:
        """Probabilities of all nodes, shape (M, N), columns as in `taxonomy_.names`."""
        return self._posterior(X).each_node

    def decision_function(self, X: Any) -> AnyArray:
        """Scores by which the rule ranks the classes, higher is better, columns as in `classes_`.

        The highest score belongs to the class that `predict` returns. With rules that rank for HOPS this takes
        milliseconds per sample, unlike `predict`.

        Returns:
            Scores, shape (M, C); for two classes shape (M,), above 0 for the second class.
        """
        posterior = self._posterior(X)
        scores: AnyArray = self.rule_.ranking(posterior)[:, self.labels_.columns]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples whose class is right (top-1); y has labels of the kind passed to `fit`.

        A label that was unknown in `fit` counts as a mistake, as everywhere in scikit-learn. Samples labelled with an
        inner node or the root are left out, and a `HiercosWarning` says how many. After a fit with several labels, it
        is the share of samples whose set of nodes is the right one.

        Raises:
            ValueError: if all samples are labelled with inner nodes.
        """
        true = label_array(y)
        if isinstance(rule := self._fitted_rule(), Several):
            sets = self.labels_.read_sets(true) if are_sets(true) else self.labels_.read(true)[:, None]
            chosen = torch.from_numpy(rule.chosen(self._posterior(X)))
            return set_agreement(chosen, torch.from_numpy(sets), self.taxonomy_)["exact_match"]
        answers = self.predict(X)
        known = self.labels_.may_be_classes(true)
        if not known.any():
            raise ValueError("y: every sample is labelled with an inner node; expected some labelled with a class")
        if not known.all():
            left = f"{(~known).sum()} of {len(known)} samples are labelled with an inner node"
            warnings.warn(f"y: {left}; the score leaves them out", HiercosWarning, stacklevel=2)
        if answers.ndim == 2:
            true, answers = path_texts(true), path_texts(answers)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(true[known], answers[known], sample_weight=weights))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted estimator to a folder that `load` and `hiercos predict` read.

        Parameters that JSON cannot represent, such as a generator or a taxonomy, are left out; the fitted state is not.
        """
        check_is_fitted(self, "model_")
        save_estimator(Path(folder), self)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Load an estimator from a folder that `save` or `hiercos train` wrote.

        Raises:
            ModelError: a folder that is not a model.
        """
        stored = load_estimator(Path(folder))
        if unknown := sorted(set(stored.parameters) - set(cls._get_param_names())):
            raise ModelError(
                f"{folder}: saved by another estimator than {cls.__name__}: it has the parameter {unknown[0]!r}"
            )
        estimator = cls(**stored.parameters) if stored.parameters else cls._of_model(stored.model)
        if "taxonomy" not in stored.parameters and not stored.codec.flat:
            estimator.taxonomy = stored.codec.taxonomy
        for name, value in stored.columns.items():
            setattr(estimator, name, value)
        return estimator._keep(stored.codec, Trained(stored.model, {}, RunProgress()))

    @classmethod
    def _of_model(cls, stored: Classifier) -> Self:
        """An estimator with the method, options and rule of a stored model."""
        return cls(method=stored.model.method, options={**stored.model.options}, rule=stored.rule.text)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags

    def _settings(self) -> Settings:
        """The settings of the parameters."""
        given = {name: value for name in OF_SETTINGS if (value := getattr(self, name)) is not None}
        return with_options(Settings(**given, seed=seed_of(self.random_state)), self.options or {})

    def _checked_settings(self) -> Settings:
        """The settings of the parameters, all of which are checked."""
        if not isinstance(self.options, Mapping | None):
            raise ParameterError(f"options: expected a dict, got {self.options!r}")
        check_parameters(self.get_params(deep=False))
        settings = self._settings()
        named_rule(settings.rule or "none")  # raises for an unknown rule
        return settings

    def _reading(self) -> ReadConfig:
        """Settings for reading inputs."""
        return ReadConfig(SingleDevice(self.device))

    def _keep(self, codec: LabelCodec, trained: Trained) -> Self:
        """Set the fitted attributes."""
        self.classifier_, progress = trained.classifier, trained.progress
        self.classifier_.model.cpu().eval()
        self.labels_, self.classes_, self.taxonomy_ = codec, codec.classes, codec.taxonomy
        self.model_, self.temperature_ = self.classifier_.model, self.classifier_.temperature
        self.rule_ = self.classifier_.rule
        self.history_, self.best_epoch_, self.choice_ = progress.history, progress.best_epoch, progress.choice
        self.n_iter_ = len(self.history_)
        return self

    def _posterior(self, X: Any) -> Posterior:
        """Calibrated probabilities of M samples, in the order of the taxonomy's classes."""
        check_is_fitted(self, "model_")
        return self.classifier_.posterior(known_inputs(self, X, self.classifier_.columns), self._reading())

    def _answers(self, X: Any) -> IntArray:
        """The class of each sample, shape (M,)."""
        posterior = self._posterior(X)
        classes = self.rule_(posterior).classes
        if (classes < 0).any():
            raise ValueError(f"rule {self.rule_.name!r}: expected a class for every sample, got an inner node")
        return classes
