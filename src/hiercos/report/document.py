"""The results of a comparison or of learning curves as one value, the source of every output format."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hiercos.metrics import MetricSpec, metric_spec
from hiercos.records import Record
from hiercos.report.grid import Grid, difference_grid, figure_grid
from hiercos.report.results import (
    COLUMNS,
    ResultRow,
    Variant,
    best_flat_variant,
    result_row,
    summarize,
    verdict,
)
from hiercos.report.statements import Statement, Verdict

RowSpread = Mapping[str, Mapping[str, float]]
CURVE_METRICS = ("top1", "macro_accuracy", "ahd_at_1", "hops", "top5", "log_loss", "train_seconds", "epochs")
CURVE_COLUMNS: tuple[MetricSpec, ...] = tuple(metric_spec(name) for name in CURVE_METRICS)


@dataclass(frozen=True)
class Section:
    """Table rows that are compared with each other."""

    title: str  # heading of the section
    variants: tuple[Variant, ...]  # rows in the order of the table, all with the same seeds
    reference: Variant | None = None  # row that the others are compared with, if any
    note: str = ""  # sentence that explains the section

    @property
    def others(self) -> tuple[Variant, ...]:
        """All variants except the reference."""
        return tuple(variant for variant in self.variants if variant is not self.reference)


@dataclass(frozen=True)
class Results:
    """The content of tables, files and the report."""

    sections: tuple[Section, ...]  # sections of the report: one for a comparison, one per axis for an ablation
    rows: tuple[ResultRow, ...]  # rows of results.csv
    verdict: Verdict  # summary in plain words
    columns: tuple[MetricSpec, ...] = COLUMNS  # metrics in the order shown
    corner: str = "method"  # heading of the column of names
    # numbers of training samples of a class, one for each section of learning curves; else empty
    points: tuple[str, ...] = ()
    recommended: str = ""  # name of the recommended variant; "" if none is recommended
    recommended_seed: int | None = None  # seed of its run to ship; None if it is not known
    # half-widths of the 95% intervals over the test rows, by variant and metric; empty if not known
    row_spread: RowSpread = field(default_factory=dict)

    @property
    def records(self) -> list[Record]:
        """The records of all variants."""
        return [record for section in self.sections for variant in section.variants for record in variant.records]

    @property
    def seeds(self) -> list[int]:
        """The seeds of every variant."""
        return sorted({record.seed for record in self.records})

    @property
    def heading(self) -> str:
        """One-line description of the data."""
        data, tree = self.records[0].data, self.records[0].taxonomy
        runs = f"{len(self.seeds)} {self._runs if len(self.seeds) > 1 else self._runs[:-1]}"
        shape = f"{tree['classes']} classes, {tree['nodes']} nodes, height {tree['height']}"
        return f"{data['name']}: {shape}; {data['sizes']['test']} test samples; {runs}"

    @property
    def _caution(self) -> str:
        """End of a title: intervals of two seeds say little, because Student's t is 12.7 (for three seeds 4.3)."""
        return f"; with two {self._runs} these say little, use three or more" if len(self.seeds) == 2 else ""

    @property
    def _runs(self) -> str:
        """Word for the runs of a variant: draws of the training samples in learning curves, else seeds."""
        return "draws" if self.points else "seeds"

    @property
    def shown(self) -> tuple[MetricSpec, ...]:
        """The columns of the tables: the metrics that are defined for at least one variant."""
        variants = [variant for section in self.sections for variant in section.variants]
        return tuple(
            spec
            for spec in self.columns
            if any(not math.isnan(variant.estimate(spec.name).mean) for variant in variants)
        )

    def figures(self, section: Section) -> Grid:
        """The table of a section: means with intervals."""
        seeds = len(self.seeds)
        interval = f"mean ± half of its 95% interval over {seeds} {self._runs} (Student's t, sample deviation)"
        spread = interval if seeds > 1 else f"one {self._runs[:-1]}, so no intervals"
        spread += self._caution
        return figure_grid(section.variants, self.shown, subject=section.title, title=spread, corner=self.corner)

    def differences(self, section: Section) -> Grid | None:
        """The second table of a section: differences from its reference; None if there is nothing to compare."""
        if section.reference is None or not section.others:
            return None
        why = ", the most accurate flat method" if section.reference is best_flat_variant(section.variants) else ""
        paired = f"{self._runs[:-1]} by {self._runs[:-1]}"
        title = f"differences to {section.reference.name}{why}, {paired}{self._caution}"
        named = {"subject": section.title, "title": title, "corner": self.corner}
        return difference_grid(section.others, section.reference, self.shown, **named)

    def grids(self) -> list[Grid]:
        """All tables in order."""
        both = [grid for section in self.sections for grid in (self.figures(section), self.differences(section))]
        return [grid for grid in both if grid is not None]


def comparison_results(
    records: Sequence[Record],
    *,
    reference: str | None = None,
    advice: Sequence[Statement] = (),
    recommended: str = "",
    recommended_seed: int | None = None,
    row_spread: RowSpread | None = None,
) -> Results:
    """The results of a comparison.

    Args:
        records: records of all runs, with the same seeds for every method and rule.
        reference: name of the variant that the others are compared with; the most accurate flat one by default.
        advice: statements of the verdict, see `recommend`; without any on the tree, the gains over the seeds stand
            before them.
        recommended: name of the recommended variant; "" for none.
        recommended_seed: seed of its run to ship; None if it is not known.
        row_spread: half-widths of intervals over the test rows, see `Results`; None if they are not known.
    """
    variants = summarize(records)
    named = next((variant for variant in variants if variant.name == reference), None)
    section = Section("Test split", tuple(variants), named or best_flat_variant(variants))
    has_gains = any(statement.kind == "tree" for statement in advice)  # over rows, which say more than seeds
    summary = Verdict(tuple(advice) if has_gains else (verdict(variants), *advice))
    rows = tuple(result_row(record) for record in records)
    return Results(
        (section,),
        rows,
        summary,
        recommended=recommended,
        recommended_seed=recommended_seed,
        row_spread=row_spread or {},
    )


def run_results(records: Sequence[Record], own: str = "") -> Results:
    """The results of one run, under each rule that was reported.

    Args:
        records: records of the run, one for each rule, the method's own order first.
        own: name of the variant of the model's own rule, which is summed up in words; "" for the first.
    """
    variants = tuple(summarize(records))
    variant = next((each for each in variants if each.name == own), variants[0])
    top1, distance, hops = (
        metric_spec(name).text(variant.estimate(name).mean) for name in ("top1", "ahd_at_1", "hops")
    )
    tests = records[0].data["sizes"]["test"]
    text = f"top-1 {top1}%, mean tree distance {distance}, HOPS {hops} on {tests} test samples."
    summary = Verdict((Statement("note", text, subject=variant.name),))
    return Results((Section("Test split", variants),), tuple(result_row(record) for record in records), summary)


def learning_curve_results(records: Sequence[Record]) -> Results:
    """The results of learning curves.

    Args:
        records: records of all runs, each with its number of shots in `data["shots"]`; the same seeds everywhere.
    """
    sections = []
    for shots in dict.fromkeys(record.data["shots"] for record in records):
        own = [record for record in records if record.data["shots"] == shots]
        variants = tuple(summarize(own))
        size = own[0].data["sizes"]["train"]
        title = f"All {size} training samples" if shots == "all" else f"{shots} a class ({size} training samples)"
        sections.append(Section(title, variants, best_flat_variant(variants)))
    return Results(
        tuple(sections),
        tuple({"shots": record.data["shots"], **result_row(record)} for record in records),
        Verdict(
            tuple(Statement("gain", str(verdict(each.variants, runs="draws")), subject=each.title) for each in sections)
        ),
        columns=CURVE_COLUMNS,
        points=tuple(str(section.variants[0].records[0].data["shots"]) for section in sections),
    )
