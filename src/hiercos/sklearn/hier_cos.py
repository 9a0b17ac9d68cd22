"""Hier-COS as published, as a scikit-learn estimator."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from hiercos.losses import BelowLabel, Direction, Grouping, Penalty
from hiercos.methods import Basis
from hiercos.model import Classifier, ModelError
from hiercos.sklearn.classifier import HierarchicalClassifier
from hiercos.sklearn.inputs import TaxonomyArgument
from hiercos.training import Settings, with_options

OPTIONS = ("alpha", "exponent", "direction", "penalty", "grouping", "below_label", "basis")


class HierCOSClassifier(HierarchicalClassifier):
    """Hier-COS as published: one orthonormal axis for each node, energy on the path of the class [sani2026].

    Arguments that are not listed are those of `HierarchicalClassifier`.

    Args:
        alpha: weight of the regulariser, see `HierCOSLoss`.
        exponent: see `HierCOSLoss`.
        direction: see `HierCOSLoss`.
        penalty: see `HierCOSLoss`.
        grouping: see `HierCOSLoss`.
        below_label: see `HierCOSLoss`.
        basis: see `HierCOSHead`.
        rule: "none" (the published ranking), or another decision rule.
        width: width of the transformation module; None for the number of nodes, as published.
        dropout: see `HierCOSHead`.

    Example:
        >>> import numpy as np
        >>> from hiercos import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> y = np.array(["cat", "dog", "car"])[np.arange(60) % 3]
        >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 3]
        >>> HierCOSClassifier(t, epochs=20).fit(X, y).predict_path(X[:1]).tolist()
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
        encoder: str | None = None,
        columns: Mapping[str, str] | None = None,
        width: int | None = None,
        dropout: float = 0.0,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float | None = None,
        memory: int | None = None,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            taxonomy,
            method="hier-cos",
            rule=rule,
            encoder=encoder,
            columns=columns,
            width=width,
            dropout=dropout,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            memory=memory,
            random_state=random_state,
            device=device,
            verbose=verbose,
        )
        self.alpha = alpha
        self.exponent = exponent
        self.direction = direction
        self.penalty = penalty
        self.grouping = grouping
        self.below_label = below_label
        self.basis = basis

    def _settings(self) -> Settings:
        own = {name: getattr(self, name) for name in OPTIONS}
        return with_options(replace(super()._settings(), published=True), own)

    @classmethod
    def _of_model(cls, stored: Classifier) -> Self:
        if stored.model.method != "hier-cos":
            raise ModelError(f"expected a model of 'hier-cos', got one of {stored.model.method!r}")
        known = cls._get_param_names()
        options = {name: value for name, value in stored.model.options.items() if name in known}
        return cls(rule=stored.rule.text, **options)
