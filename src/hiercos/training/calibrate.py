"""Calibration on samples that a model has not learned from: temperature, decision rules, chains for targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from hiercos.decisions import (
    HeldOutChains,
    Posterior,
    PosteriorError,
    Rule,
    fit_temperature,
    held_out_chains,
    prior_weights,
)
from hiercos.taxonomy import IntArray, Taxonomy, nodes_of_labels
from hiercos.training.settings import Settings, SettingsError


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Class scores of samples from models that have not learned from them.

    Attributes:
        scores: class scores, shape (M, C).
        labels: label of each sample, a class index or C + node, shape (M,).
    """

    scores: Tensor
    labels: Tensor

    def of_classes(self, taxonomy: Taxonomy) -> HeldOut:
        """The samples that are labelled with a class."""
        known = self.labels < taxonomy.num_classes
        return HeldOut(self.scores[known], self.labels[known])


@dataclass(frozen=True, eq=False)
class Calibration:
    """What turns class scores into answers.

    Attributes:
        temperature: temperature of the posterior; 1 without held-out samples of a class.
        class_weights: factors of the class probabilities for another class prior, shape (C,); None without one.
        held_out: posterior of the held-out samples of a class and their nodes, shape (M,); None if there are none.
        chains: held-out samples for the targets of back-off; None if there are none.
    """

    temperature: float
    class_weights: list[float] | None
    held_out: tuple[Posterior, IntArray] | None
    chains: HeldOutChains | None

    def posterior(self, scores: Any, taxonomy: Taxonomy) -> Posterior:
        """Calibrated posterior of class scores (M, C)."""
        return Posterior.from_scores(scores, taxonomy, temperature=self.temperature, class_weights=self.class_weights)

    def fitted(self, rules: Mapping[str, Rule]) -> dict[str, Rule]:
        """Rules by name, fitted on the held-out samples; those with a target on their chains."""
        return {name: self._fitted(rule) for name, rule in rules.items()}

    def _fitted(self, rule: Rule) -> Rule:
        if rule.has_target:
            return rule.calibrated(self.chains)
        return rule if self.held_out is None else rule.fit(*self.held_out)


def calibrate(
    held_out: HeldOut | None,
    taxonomy: Taxonomy,
    *,
    temperature: float | None = None,
    class_weights: list[float] | None = None,
    set_aside: HeldOut | None = None,
) -> Calibration:
    """Fit the temperature, and make the chains.

    Args:
        held_out: samples that the settings may have been chosen by; None if there are none.
        taxonomy: taxonomy of the classes.
        temperature: temperature of the posterior; None to fit it on the held-out samples of a class.
        class_weights: factors of the class probabilities, shape (C,); None for none.
        set_aside: samples that nothing was chosen by, scored by the final model, for an exact guarantee; None to use
            the held-out samples, for which there is no guarantee.
    """
    known = None if held_out is None else held_out.of_classes(taxonomy)
    if temperature is None:
        temperature = 1.0 if known is None or not len(known.labels) else fit_temperature(known.scores, known.labels)
    calibration = Calibration(temperature, class_weights, None, None)
    fitted_on = None
    if known is not None and len(known.labels):
        fitted_on = (calibration.posterior(known.scores, taxonomy), taxonomy.leaves[known.labels.numpy()])
    chains, aside = None, set_aside or held_out
    if aside is not None and len(aside.labels):
        posterior = calibration.posterior(aside.scores, taxonomy)
        nodes = nodes_of_labels(aside.labels.numpy(), taxonomy)
        chains = held_out_chains(posterior, nodes, exchangeable=set_aside is not None)
    return Calibration(temperature, class_weights, fitted_on, chains)


def class_weights(settings: Settings, labels: IntArray, taxonomy: Taxonomy) -> list[float] | None:
    """Factors of the class probabilities for the prior of the settings, shape (C,); None without one.

    Args:
        settings: training settings.
        labels: labels of the training samples, shape (M,); those of inner nodes are not counted.
        taxonomy: taxonomy of the classes.

    Raises:
        SettingsError: for a prior of another number of classes, or one that is not above 0.
    """
    if settings.class_prior is None:
        return None
    counts = np.bincount(labels[labels < taxonomy.num_classes], minlength=taxonomy.num_classes)
    prior: Any = np.ones(taxonomy.num_classes) if settings.class_prior == "balanced" else settings.class_prior
    try:
        return [float(weight) for weight in prior_weights(prior, counts)]
    except PosteriorError as error:
        raise SettingsError(f"class_prior: {error}") from error
