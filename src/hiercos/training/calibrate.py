"""Calibration on samples that a model has not learned from: temperature, decision rules, chains for targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor

from hiercos.decisions import (
    HeldOutChains,
    Posterior,
    PosteriorError,
    Rule,
    Several,
    fit_factor,
    fit_temperature,
    held_out_chains,
    prior_weights,
)
from hiercos.methods import Evidence
from hiercos.model import ClassScores, SearchedScores
from hiercos.taxonomy import Floats, IntArray, Taxonomy, nodes_of_labels
from hiercos.training.settings import Settings, SettingsError


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Class scores of samples from models that have not learned from them."""

    scores: ClassScores  # class scores of M samples
    labels: Tensor  # label of each sample, a class index or C + node, shape (M,)
    sets: IntArray | None = None  # nodes of several labels, shape (M, K), -1 for none; None if each sample has one

    def of_classes(self, taxonomy: Taxonomy) -> HeldOut:
        """The samples that are labelled with a class."""
        known = self.labels < taxonomy.num_classes
        return HeldOut(self.scores.rows(known.numpy()), self.labels[known])

    def shifted(self, offsets: Floats) -> HeldOut:
        """The samples with an offset of each class, shape (C,), added to their evidence."""
        evidence = self.scores.of_probabilities + offsets.astype(np.float32)
        return replace(self, scores=replace(self.scores, evidence=evidence))


@dataclass(frozen=True, eq=False)
class Calibration:
    """What turns class scores into answers."""

    taxonomy: Taxonomy
    temperature: float  # temperature of the posterior; 1 without held-out samples of a class
    added_factor: float  # number to add to the factor of the model's evidence; 0 without such samples or evidence
    # factors of the class probabilities for another class prior, shape (C,); None without one
    class_weights: list[float] | None
    held_out: HeldOut | None  # held-out samples of a class, with the added factor; None if there are none
    chains: HeldOutChains | None = None  # held-out samples for the targets of back-off; None if there are none
    several: Several | None = None  # thresholds of the nodes where samples have several labels; None elsewhere

    def posterior(self, scores: ClassScores) -> Posterior:
        """Calibrated posterior of a model's scores, which have the added factor."""
        return scores.posterior(self.taxonomy, self.temperature, self.class_weights)

    def fitted(self, rules: Mapping[str, Rule]) -> dict[str, Rule]:
        """Rules by name, fitted on the held-out samples; those with a target on their chains."""
        fitted = {name: rule.calibrated(self.chains) if rule.has_target else rule for name, rule in rules.items()}
        if self.several is not None:
            fitted = {
                name: self.several.like(rule) if isinstance(rule, Several) else rule for name, rule in fitted.items()
            }
        if self.held_out is None:
            return fitted
        posterior = self.posterior(self.held_out.scores)
        nodes = self.taxonomy.leaves[self.held_out.labels.numpy()]
        return {name: rule if rule.has_target else rule.fit(posterior, nodes) for name, rule in fitted.items()}


def calibrate(
    held_out: HeldOut | None,
    taxonomy: Taxonomy,
    *,
    evidence: Evidence | None = None,
    temperature: float | None = None,
    class_weights: list[float] | None = None,
    set_aside: HeldOut | None = None,
) -> Calibration:
    """Fit the temperature, with the factor of the evidence, and make the chains.

    Args:
        held_out: samples that the settings may have been chosen by; None if there are none.
        taxonomy: taxonomy of the classes.
        evidence: evidence of the method; None if it has none.
        temperature: temperature of the posterior, and the factor is kept; None to fit both on the held-out samples of
            a class.
        class_weights: factors of the class probabilities, shape (C,); None for none.
        set_aside: samples that nothing was chosen by, scored by the final model, for an exact guarantee; None to use
            the held-out samples, for which there is no guarantee.
    """
    known, factor = None if held_out is None else held_out.of_classes(taxonomy), 0.0
    if known is not None and not len(known.labels):
        known = None
    if temperature is None:
        temperature, factor = (1.0, 0.0) if known is None else _fitted(known, evidence)
    aside = set_aside or held_out
    if evidence is not None:
        offsets = factor * evidence.constants.cpu().numpy()
        known, aside = (None if each is None else each.shifted(offsets) for each in (known, aside))
    calibration = Calibration(taxonomy, temperature, factor, class_weights, known, several=_several(held_out, taxonomy))
    if aside is None or not len(aside.labels):
        return calibration
    nodes = nodes_of_labels(aside.labels.numpy(), taxonomy)
    chains = held_out_chains(calibration.posterior(aside.scores), nodes, exchangeable=set_aside is not None)
    return replace(calibration, chains=chains)


def _several(held_out: HeldOut | None, taxonomy: Taxonomy) -> Several | None:
    """The rule for several labels, fitted on samples that have them; None for others."""
    if held_out is None or held_out.sets is None or held_out.scores.marginals is None:
        return None
    return Several().fitted_to(held_out.scores.marginals, held_out.sets, taxonomy)


def _fitted(known: HeldOut, evidence: Evidence | None) -> tuple[float, float]:
    """Temperature, and the factor to add, of samples of a class; 1 where the classes are searched."""
    if isinstance(known.scores, SearchedScores):
        return 1.0, 0.0
    if evidence is None:
        return fit_temperature(known.scores.of_probabilities, known.labels), 0.0
    return fit_factor(known.scores.of_probabilities, evidence.constants.cpu().numpy(), known.labels)


def class_weights(settings: Settings, labels: IntArray, taxonomy: Taxonomy) -> list[float] | None:
    """Factors of the class probabilities for the prior of the settings, shape (C,); None without one.

    Args:
        settings: training settings.
        labels: labels of the training samples, shape (M,); those of inner nodes are not counted.
        taxonomy: taxonomy of the classes.
    """
    if settings.class_prior is None:
        return None
    counts = np.bincount(labels[labels < taxonomy.num_classes], minlength=taxonomy.num_classes)
    prior: Any = np.ones(taxonomy.num_classes) if settings.class_prior == "balanced" else settings.class_prior
    try:
        return [float(weight) for weight in prior_weights(prior, counts)]
    except PosteriorError as error:
        raise SettingsError(f"class_prior: {error}") from error
