"""A request for answers: which rule, how sure, and among which classes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiercos.decisions.back_off import BackOff
from hiercos.decisions.base import Rule, RuleParameterError
from hiercos.decisions.base import rule as named_rule
from hiercos.decisions.chains import HeldOutChains
from hiercos.decisions.posterior import Posterior, PosteriorError, classes_at_or_below
from hiercos.decisions.several import Several
from hiercos.errors import RowName, row_name, suggestion
from hiercos.taxonomy import LabelReader, Taxonomy

BACK_OFF = ("confidence", "target_containment", "target_precision", "max_overshoot")


@dataclass(frozen=True)
class AnswerRequest:
    """Settings of the answers, shared by the command, the estimators, the pipeline and ONNX models.

    With a confidence, a target or a `min_level` the rule is `back-off`, see `BackOff`.

    Args:
        rule: decision rule or its name, with parameters as "hf-beta:beta=0.5"; None for the model's.
        confidence: least probability of an answer, or one for each level.
        target_containment: see `BackOff`.
        target_precision: see `BackOff`.
        max_overshoot: see `BackOff`.
        delta: see `BackOff`.
        min_level: see `BackOff`.
        within: nodes that the true class is at or below one of, by name, id or path; all by default.
        allow: classes that may be answered, by name, id or path; all by default.
        deny: classes or nodes that may not be answered, by name, id or path.

    Raises:
        RuleError: for an unknown rule, or another rule than `back-off` with a confidence or a target.
    """

    rule: str | Rule | None = None
    confidence: float | Sequence[float] | None = None
    target_containment: float | None = None
    target_precision: float | None = None
    max_overshoot: float | None = None
    delta: float = 0.05
    min_level: int | str = 0
    within: str | Sequence[str] = ()
    allow: str | Sequence[str] = ()
    deny: str | Sequence[str] = ()

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "AnswerRequest":
        """The request of keyword arguments that a user gave; a misspelt name is an error that suggests the nearest.

        Raises:
            TypeError: for an unknown name.
            RuleError: see the class.
        """
        known = [entry.name for entry in fields(cls)]
        for name in arguments:
            if name not in known:
                raise TypeError(f"unknown argument {name!r}{suggestion(name, known)}")
        return cls(**arguments)

    def __post_init__(self) -> None:
        decided = named_rule(self.rule) if isinstance(self.rule, str) else self.rule  # raises for an unknown name
        if decided is not None and isinstance(self.rule, str):
            object.__setattr__(self, "rule", decided if ":" in self.rule else decided.name)  # not an alias
        given = self._back_off_parameters()
        if given and decided is not None and decided.name != "back-off":
            places = " and ".join(["{}"] * len(given))
            raise RuleParameterError(f"rule {decided.name!r}: expected 'back-off' with {places}", *given)
        if given:
            self._back_off()  # raises for impossible values

    def _back_off_parameters(self) -> list[str]:
        """Names of the parameters of `back-off` that are given."""
        return [*(name for name in BACK_OFF if getattr(self, name) is not None), *["min_level"] * (self.min_level != 0)]

    def _back_off(self) -> BackOff:
        values: dict[str, Any] = {name: getattr(self, name) for name in (*BACK_OFF, "delta", "min_level")}
        if self.confidence is not None and not isinstance(self.confidence, float | int):
            values |= {"confidence": None, "level_confidences": tuple(self.confidence)}
        return BackOff(**values)

    @property
    def restricts(self) -> bool:
        """Whether classes are left out."""
        return bool(self.within or self.allow or self.deny)

    def chosen_rule(self, stored: Rule, calibration: HeldOutChains | None) -> Rule:
        """The rule to answer by.

        Args:
            stored: rule of the model, which is kept, with what it was fitted to, if the request names the same.
            calibration: calibration samples of the model; None if it has none.

        Raises:
            RuleError: for a target without calibration samples, or with too few.
        """
        if isinstance(stored, Several) and self.rule in (None, stored.name):
            given = {name: getattr(self, name) for name in self._back_off_parameters()}
            return stored.asked(given)
        if self._back_off_parameters():
            return self._back_off().calibrated(calibration)
        if isinstance(self.rule, Rule):
            return self.rule.calibrated(calibration)
        return stored if self.rule in (None, stored.name) else named_rule(str(self.rule))

    def guarantee(self, rule: Rule, *, reweighted: bool = False) -> str:
        """The guarantee of a rule's answers as a sentence, or why a target has none; "" without a target.

        Args:
            rule: rule to answer by.
            reweighted: whether the probabilities of some rows are restricted or re-weighted besides the request.
        """
        if not rule.has_target:
            return ""
        changed = "classes are restricted or re-weighted" if self.restricts or reweighted else ""
        reason = changed or rule.lost_guarantee
        return f"No guarantee holds for the target: {reason}." if reason else rule.guarantee

    def lost_guarantee(self, rule: Rule) -> str:
        """Why the target of a rule has no guarantee, as a sentence; "" with one, or without a target."""
        sentence = self.guarantee(rule)
        return "" if sentence == rule.guarantee else sentence

    def allowed(self, taxonomy: Taxonomy, *, prefix: str = "") -> NDArray[np.bool_]:
        """Mask of the classes that may be answered, shape (C,).

        Args:
            taxonomy: taxonomy of the classes.
            prefix: text before the names of arguments in errors, such as "--" for options of a command.

        Raises:
            DataError: for a name that is not in the taxonomy or not unique.
            PosteriorError: if no class is left.
        """
        return _allowed(_names(self.within), _names(self.allow), _names(self.deny), taxonomy, prefix)

    def restricted(self, posterior: Posterior, *, row_name: RowName = row_name) -> Posterior:
        """The posterior over the classes that are allowed."""
        if not self.restricts:
            return posterior
        return posterior.reweighted(self.allowed(posterior.taxonomy), row_name=row_name)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names of nodes; a string is one name."""
    return (given,) if isinstance(given, str) else tuple(given)


@lru_cache(maxsize=4)  # asked for once per batch
def _allowed(
    within: tuple[str, ...], allow: tuple[str, ...], deny: tuple[str, ...], taxonomy: Taxonomy, prefix: str
) -> NDArray[np.bool_]:
    mask = np.ones(taxonomy.num_classes, dtype=bool)
    positive = [(f"{prefix}{name}", names) for name, names in (("within", within), ("allow", allow)) if names]
    for source, names in positive:
        mask &= named_classes(names, taxonomy, source=source)
    if not mask.any():  # each of the two has a class
        raise PosteriorError(
            f"no class is left: {prefix}allow has none that {prefix}within {' or '.join(map(repr, within))} leaves"
        )
    if deny:
        mask &= ~named_classes(deny, taxonomy, source=f"{prefix}deny")
    if not mask.any():
        given = " and ".join(source for source, _ in positive)
        others = f" that {given} {'leave' if len(positive) > 1 else 'leaves'}" if positive else ""
        raise PosteriorError(f"no class is left: {prefix}deny has all classes{others}")
    mask.setflags(write=False)
    return mask


def named_classes(names: Sequence[str], taxonomy: Taxonomy, *, source: str) -> NDArray[np.bool_]:
    """Mask of the classes at or below nodes given by name, id or path, shape (C,).

    A text that is the full path of a node is that node: `science` is the node at the top, not a class of this name.

    Raises:
        DataError: for a name that is not in the taxonomy or not unique; it names the source.
    """
    nodes = LabelReader(taxonomy).read(list(names), source=source, row_name=None, inner=True, paths_first=True)
    return classes_at_or_below(nodes, taxonomy)
