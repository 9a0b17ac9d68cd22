"""The results of an ablation, as those of a comparison: a section with its tables for every axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from hiercos.metrics import RESULTS, in_shown_order, metric_spec
from hiercos.records import Record
from hiercos.report import (
    IntervalConvention,
    Results,
    Section,
    Statement,
    Variant,
    Verdict,
    changes,
    figure,
    variant_of,
)

COSINE = metric_spec("subspace_cosine")
FIGURES = in_shown_order((*RESULTS, COSINE))


@dataclass(frozen=True)
class AblationGroup:
    """The records of one setting."""

    axis: str  # name of the changed setting
    meaning: str  # description of the axis, in a sentence
    setting: str  # value of the setting
    is_published: bool  # whether this is the published value, the reference for the others of its axis
    records: Sequence[Record]  # records, one per seed, with `subspace_cosine` among their metrics

    @property
    def name(self) -> str:
        """The name of its row in the table."""
        return f"{self.setting} (published)" if self.is_published and self.setting != "published" else self.setting


def ablation_results(groups: Sequence[AblationGroup], *, interval: IntervalConvention = "sample") -> Results:
    """The results of an ablation."""
    sections = []
    for axis in dict.fromkeys(group.axis for group in groups):
        own = [group for group in groups if group.axis == axis]
        variants = tuple(variant_of(group.name, group.records, interval=interval) for group in own)
        (reference,) = [variant for variant, group in zip(variants, own, strict=True) if group.is_published]
        sections.append(Section(axis, variants, reference, own[0].meaning))
    rows = [_row(group, record) for group in groups for record in group.records]
    said = Verdict(tuple(map(_statement, sections)))
    return Results(tuple(sections), tuple(rows), said, columns=FIGURES, corner="setting")


def _row(group: AblationGroup, record: Record) -> dict[str, object]:
    figures = {spec.name: figure(record, spec.name) for spec in FIGURES}
    return {"axis": group.axis, "setting": group.setting, "seed": record.seed, **figures}


def _statement(section: Section) -> Statement:
    """Statement on the gain of the setting with the highest HOPS, and on the cosine without the regulariser."""
    reference = section.reference or section.variants[0]
    best = max(section.variants, key=lambda variant: variant.estimate("hops").mean)
    if best.estimate("hops").mean == reference.estimate("hops").mean:
        text = f"no setting has a higher HOPS than {reference.name}"
    else:
        text = f"against {reference.name}, {best.name} {changes(best, reference)}"
    off = next(
        (variant for variant in section.variants if variant.records[0].config["options"].get("alpha") == 0), None
    )
    return Statement("gain", f"{text}{_cosines(reference, off) if off else ''}.", subject=section.title)


def _cosines(reference: Variant, off: Variant) -> str:
    on, without = (variant.estimate(COSINE.name).mean for variant in (reference, off))
    return f"; mean cosine with the regulariser {on:.3f}, without {without:.3f}"
