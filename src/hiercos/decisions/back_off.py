"""Rules that answer with the deepest node that is sure enough, with or without a guarantee."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.base import Decision, NodeRule, RuleError, RuleParameterError
from hiercos.decisions.chains import HeldOutChains, held_out_chains, likeliest_chains
from hiercos.decisions.posterior import Posterior
from hiercos.taxonomy import Floats, IntArray

USUAL_CONFIDENCE = 0.9  # of a rule without any threshold or target
USUAL_DELTA = 0.05  # probability that a guarantee of precision or overshoot fails
THRESHOLDS = 1 - np.geomspace(1e-6, 1, 400)  # the fixed sequence that targets with confidence 1 - delta are tested on


def _missed_bounds(name: str, value: float) -> str:
    """Bounds of a threshold or target in words if the value is outside of them, or NaN; "" otherwise."""
    if name == "max_overshoot":
        return "" if value > 0 else "above 0"
    if name.startswith("target") or name == "delta":
        return "" if 0 < value < 1 else "above 0 and below 1"
    return "" if 0 < value <= 1 else "above 0 and at most 1"


def _range_fault(name: str, value: float) -> str:
    """Fault of a threshold, target or delta out of range, with {} for its name; "" for one within its bounds."""
    if not (bounds := _missed_bounds(name, value)):
        return ""
    is_percentage = 10 <= value <= 100 and not _missed_bounds(name, value / 100)
    meant = f"; did you mean {value / 100:g}?" if is_percentage else ""
    return f"rule 'back-off': expected a {{}} {bounds}, got {value}{meant}"


@dataclass(frozen=True)
class BackOff(NodeRule):
    """The deepest node of the chain of likeliest children that is sure enough, or the root.

    In a graph the chain climbs from the class at its end, always to the likeliest parent; see `Chains`.
    Probabilities fall along the chain, so answers are nested: a higher threshold answers with an ancestor. The
    threshold is one confidence, one for each level, or chosen for a target by `fit` or `calibrated`, with a guarantee
    [goren2024]; see `guarantee`. Exactly one of these is given, 0.9 confidence by default.

    Args:
        confidence: least probability of an answer.
        level_confidences: least probability of an answer at each level, from level 1; the last one holds below.
        target_containment: least probability that the answer contains the truth, i.e. is at or above it.
        target_precision: least share of the answered samples, those whose answer is not the root, that contain it.
        max_overshoot: greatest mean number of levels by which the answer goes on beyond the last right node.
        delta: probability that the guarantee of a precision or an overshoot fails for the calibration samples drawn.
        min_level: level that every answer reaches, sure or not, by number or by name (`Taxonomy.ranks`); 0 to allow the
            root. Above 0 no guarantee holds.
        coarse_as_wrong: whether calibration samples labelled above a class count, and what stands below their label as
            wrong: the guarantee then holds however labels became coarse. By default they are left out: it holds for
            samples like those labelled with a class, and for all if labels are coarse at random.
        threshold: threshold chosen for the target; None before `fit`.
        samples: number of calibration samples that it was chosen on.
        exchangeable: see `HeldOutChains`.
        coarse: number of calibration samples labelled above a class.

    Raises:
        RuleError: for values out of range or more than one threshold or target.

    Example:
        >>> from hiercos.taxonomy import Taxonomy
        >>> t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
        >>> BackOff(confidence=0.7)(Posterior([[0.45, 0.4, 0.15], [0.4, 0.1, 0.5]], t)).nodes  # pet, and cannot say
        array([ 0, -1])
    """

    name = "back-off"

    confidence: float | None = None
    level_confidences: tuple[float, ...] | None = None
    target_containment: float | None = None
    target_precision: float | None = None
    max_overshoot: float | None = None
    delta: float = USUAL_DELTA
    min_level: int | str = 0
    coarse_as_wrong: bool = False
    threshold: float | None = None
    samples: int = 0
    exchangeable: bool = True
    coarse: int = 0
    fitted = ("threshold", "samples", "exchangeable", "coarse")

    def __post_init__(self) -> None:
        if self.level_confidences is not None:
            object.__setattr__(self, "level_confidences", tuple(self.level_confidences))
        given = {name: value for name, value in self._choices().items() if value is not None}
        if not given:
            object.__setattr__(self, "confidence", USUAL_CONFIDENCE)
        if len(given) > 1:
            places = " and ".join(["{}"] * len(given))
            raise RuleParameterError(f"rule 'back-off': expected one threshold or target, got {places}", *given)
        for name, value in {**given, "delta": self.delta}.items():
            for each in value if isinstance(value, tuple) else (value,):
                if fault := _range_fault(name, each):
                    raise RuleParameterError(fault, name)
        if not isinstance(self.min_level, str) and self.min_level < 0:
            raise RuleParameterError(
                f"rule 'back-off': expected a {{}} of at least 0, got {self.min_level}", "min_level"
            )

    def _choices(self) -> dict[str, float | tuple[float, ...] | None]:
        names = ("confidence", "level_confidences", "target_containment", "target_precision", "max_overshoot")
        return {name: getattr(self, name) for name in names}

    @property
    def has_target(self) -> bool:
        """Whether the threshold must be chosen on calibration samples."""
        return self.confidence is None and self.level_confidences is None

    def __call__(self, posterior: Posterior) -> Decision:
        """The deepest node of each sample's chain that is sure enough; the root if none is.

        Raises:
            TaxonomyError: for a `min_level` that the taxonomy does not have.
        """
        least = posterior.taxonomy.level_number(self.min_level)
        chains = likeliest_chains(posterior)
        depths, inside = posterior.taxonomy.depths[chains.nodes], chains.nodes >= 0  # (M, H) each
        sure = (chains.probabilities >= self.thresholds(posterior.taxonomy.height)[depths - 1]) & inside
        shallow = (inside & (depths < least)).sum(axis=1)
        steps = np.maximum(chains.deepest(sure), shallow + (least > 0))
        decision = self.decision(chains.down_to(steps), posterior)
        return decision if posterior.restricted else replace(decision, guarantee=self.guarantee)

    def thresholds(self, height: int) -> Floats:
        """Least probability of an answer at each level, shape (H,).

        Raises:
            RuleError: if it is still to be chosen on calibration samples, or if there are more than levels.
        """
        if self.level_confidences is not None:
            if len(self.level_confidences) > height:
                given = len(self.level_confidences)
                raise RuleError(f"expected at most {height} confidences, one for each level, got {given}")
            return np.array([*self.level_confidences, *[self.level_confidences[-1]] * height])[:height]
        chosen = self.threshold if self.has_target else self.confidence
        if chosen is None:
            raise RuleError("rule 'back-off': a target needs calibration samples: expected a fitted rule")
        return np.full(height, chosen)

    def fit(self, posterior: Posterior, labels: IntArray) -> Self:
        """The rule with the threshold for its target, from samples that were used for nothing else; see `Rule.fit`."""
        return self._calibrated(held_out_chains(posterior, labels)) if self.has_target else self

    def calibrated(self, chains: HeldOutChains | None) -> Self:
        """The rule with the threshold for its target; unchanged with a threshold, or without a target.

        Args:
            chains: chains of the calibration samples; None if a model has none.

        Raises:
            RuleError: if there are no samples, or too few for the target.
        """
        if not self.has_target or self.threshold is not None:
            return self
        if chains is None:
            [(name, value)] = [(name, value) for name, value in self._choices().items() if value is not None]
            raise RuleParameterError(
                f"{{}} {value}: this model has no calibration samples: too few samples were held out in training; "
                "use a confidence instead",
                name,
            )
        return self._calibrated(chains)

    def _calibrated(self, chains: HeldOutChains) -> Self:
        used, coarse = chains if self.coarse_as_wrong else chains.of_classes(), len(chains.coarse)
        try:
            threshold = self._chosen_threshold(used)
        except RuleParameterError as error:
            if self.coarse_as_wrong or not coarse:
                raise
            left = f"{error.sentence}; {coarse} labelled above a class are left out (coarse_as_wrong=true counts them)"
            raise RuleParameterError(left, *error.names) from error
        exchangeable = chains.exchangeable
        return replace(self, threshold=threshold, samples=len(used), exchangeable=exchangeable, coarse=coarse)

    def _chosen_threshold(self, chains: HeldOutChains) -> float:
        if self.target_containment is not None:
            return containment_threshold(chains, self.target_containment)
        if self.target_precision is not None:
            return precision_threshold(chains, self.target_precision, self.delta)
        assert self.max_overshoot is not None
        return overshoot_threshold(chains, self.max_overshoot, self.delta)

    @property
    def lost_guarantee(self) -> str:
        """Reason why the target has no guarantee, as part of a sentence; "" with one, or without a target."""
        if not self.has_target:
            return ""
        if self.min_level:
            return "answers are forced to a level"
        if self.exchangeable:
            return ""
        return (
            f"measured on {self.samples} held-out rows of the model before the last fit; training with targets=true "
            "sets rows aside for one"
        )

    @property
    def guarantee(self) -> str:
        """The guarantee of the target with its assumption, as a sentence; "" without one."""
        if self.threshold is None or self.lost_guarantee:
            return ""
        return self._exact_guarantee() + self._coarse_sentence()

    def _coarse_sentence(self) -> str:
        if not self.coarse:
            return ""
        if self.coarse_as_wrong:
            return f" {self.coarse} of them are labelled above a class: what stands below counted as wrong."
        return (
            " They are labelled with a class: this holds for such samples, and for all if labels are coarse at random; "
            f"{self.coarse} labelled above a class were left out (coarse_as_wrong=true counts them)."
        )

    def _exact_guarantee(self) -> str:
        if self.target_containment is not None:
            return (
                f"P(the answer contains the truth) >= {self.target_containment:g} by split conformal calibration on "
                f"{self.samples} samples, if new samples are exchangeable with them."
            )
        samples = f"({self.samples} calibration samples, if new samples are drawn independently like them)"
        if self.target_precision is not None:
            return (
                f"With confidence {1 - self.delta:g}, at least {self.target_precision:g} of the answered samples "
                f"contain the truth, by Clopper-Pearson bounds over a fixed sequence of thresholds {samples}."
            )
        return (
            f"With confidence {1 - self.delta:g}, the mean overshoot is at most {self.max_overshoot:g} levels, by "
            f"Hoeffding-Bentkus bounds over a fixed sequence of thresholds {samples}."
        )


def containment_samples(target: float) -> int:
    """Least number of calibration samples for a target of containment: target / (1 - target), rounded up."""
    return int(np.ceil(round(target / (1 - target), 9)))


def precision_samples(target: float, delta: float = USUAL_DELTA) -> int:
    """Least number of answered calibration samples for a target of precision: log(delta) / log(target), rounded up."""
    return int(np.ceil(round(np.log(delta) / np.log(target), 9)))


def containment_threshold(chains: HeldOutChains, target: float) -> float:
    """The threshold just above the ceil((n + 1) target)-th smallest calibration score.

    A new sample's answer is wrong if its score is at least the threshold. Its rank among the n + 1 scores is uniform if
    they are exchangeable, so that happens with probability at most 1 - target.

    Raises:
        RuleError: for fewer than target / (1 - target) samples.
    """
    rank = int(np.ceil(round((len(chains) + 1) * target, 9)))
    if rank > len(chains):
        needed = containment_samples(target)
        raise RuleParameterError(
            f"{{}} {target:g}: expected at least {needed} calibration samples, got {len(chains)}", "target_containment"
        )
    return float(np.nextafter(np.sort(chains.scores)[rank - 1], np.inf))


def precision_threshold(chains: HeldOutChains, target: float, delta: float) -> float:
    """The lowest threshold of a fixed sequence up to which every bound of the precision holds.

    From the highest threshold with enough answered samples downwards, each is tested: the Clopper-Pearson lower bound
    of the precision among the answered must reach the target. The sequence ends at the first that fails, so the
    probability of ever passing a threshold with a lower precision is at most delta. Enough is log(delta) / log(target),
    below which no bound can hold, and a tenth of the samples, so that a single error does not end the sequence.

    Raises:
        RuleError: if no threshold passes.
    """
    counts, bounds = _precision_bounds(chains, delta)

    def passed(tried: float) -> NDArray[np.bool_]:
        """Mask of the thresholds from the highest with enough answered samples to the last whose bound holds."""
        enough = counts >= max(precision_samples(tried, delta), len(chains) // 10)
        return enough & ~np.logical_or.accumulate(enough & (bounds < tried))

    found = np.flatnonzero(passed(target))
    if not found.size:
        lower = (percent / 100 for percent in range(99, 0, -1) if percent / 100 < target)
        highest = next((tried for tried in lower if passed(tried).any()), None)
        advice = "choose a confidence instead" if highest is None else f"the highest target that works is {highest:g}"
        raise RuleParameterError(
            f"{{}} {target:g}: no threshold keeps enough right answers among the {len(chains)} calibration samples; "
            f"{advice}",
            "target_precision",
        )
    return float(THRESHOLDS[found[-1]])


def _precision_bounds(chains: HeldOutChains, delta: float) -> tuple[IntArray, Floats]:
    """Number of answered samples at each threshold, and Clopper-Pearson lower bound of the precision among them."""
    from scipy import stats  # late: predictions without it start sooner

    first, scores = np.array(chains.first), chains.scores
    counts = np.array([(first >= threshold).sum() for threshold in THRESHOLDS])
    right = counts - [((scores >= threshold) & (scores > 0)).sum() for threshold in THRESHOLDS]
    return counts, np.where(right > 0, stats.beta.ppf(delta, np.maximum(right, 1), counts - right + 1), 0.0)


def overshoot_threshold(chains: HeldOutChains, most: float, delta: float) -> float:
    """The lowest threshold of a fixed sequence up to which the mean overshoot is surely at most `most`.

    The overshoot of a sample falls as the threshold rises, so the sequence ends at the first threshold that fails
    [bates2021].

    Raises:
        RuleError: if no threshold passes.
    """
    passed = None
    for threshold in THRESHOLDS:
        if mean_p_value(chains.overshoots(threshold) / chains.height, most / chains.height) > delta:
            break
        passed = float(threshold)
    if passed is None:
        raise RuleParameterError(
            f"{{}} {most:g}: {len(chains)} calibration samples do not support it; choose a higher one", "max_overshoot"
        )
    return passed


def mean_p_value(losses: Floats, most: float) -> float:
    """P-value of the hypothesis that losses in [0, 1] have a mean above `most`, by Hoeffding-Bentkus [bates2021].

    Args:
        losses: independent losses, shape (n,).
        most: bound of the mean; a bound of 1 or more always holds.
    """
    from scipy import special, stats  # late: predictions without it start sooner

    if most >= 1:
        return 0.0
    if not len(losses) or (mean := float(losses.mean())) >= most:
        return 1.0
    divergence = special.rel_entr(mean, most) + special.rel_entr(1 - mean, 1 - most)
    hoeffding = np.exp(-len(losses) * divergence)
    bentkus = np.e * stats.binom.cdf(np.ceil(round(float(losses.sum()), 9)), len(losses), most)
    return float(min(hoeffding, bentkus, 1.0))
