"""The figures of a report, made from results and from the analysis of one variant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hiercos.evaluation import Analysis
from hiercos.metrics import MetricSpec, metric_spec
from hiercos.report.charts import DotPanel, Series, clipped, dot_chart, line_chart
from hiercos.report.document import Results
from hiercos.report.drawing import Drawing
from hiercos.report.maps import Icicle, icicle_chart, map_chart
from hiercos.report.recommendation import wilson_interval
from hiercos.report.results import Estimate, Variant

ORDER = "correct_order_at_"
CURVES = ("top1", "macro_accuracy", "log_loss", "hops")  # figures of learning curves
FEWEST_SEEDS = 3  # with fewer, the interval over seeds is too wide to say anything
FEWEST = 10  # samples of a bin of confidence that is shown
RULE_STYLES = {"none": 0, "crm": 1, "hops": 2}  # dash and marker of a rule; others have the last


@dataclass(frozen=True)
class Figure:
    """A figure with its title and a sentence on how to read it."""

    title: str
    note: str
    drawing: Drawing


def verdict_figure(results: Results, *, stacked: bool = False) -> Figure:
    """Accuracy, mean tree distance and HOPS of all variants of the first section, with the intervals that are known.

    Args:
        stacked: whether the panels stand below each other, for narrow screens.
    """
    variants = results.sections[0].variants
    specs = {"top-1 accuracy, %": "top1", "mean tree distance": "ahd_at_1", "HOPS": "hops"}
    shown = {title: metric_spec(name) for title, name in specs.items()}
    panels = [
        DotPanel(title, [_scaled(variant, spec, results) for variant in variants], _limits(spec, variants[0]))
        for title, spec in shown.items()
    ]
    note = (
        "Tree distance: the levels to climb until answer and truth meet; 0 is right. HOPS: the order of all classes; 1 "
        f"is the order of the tree. {_bars(results)}"
    )
    texts = [
        f"{variant.name} {', '.join(spec.text(variant.estimate(spec.name).mean) for spec in shown.values())}"
        for variant in variants
    ]
    says = f"Top-1 accuracy in percent, mean tree distance and HOPS: {'; '.join(texts)}. {note}"
    names = [variant.name for variant in variants]
    drawing = dot_chart(names, panels, chosen=results.recommended, description=says, stacked=stacked)
    return Figure("The variants compared", note, drawing)


def _bars(results: Results) -> str:
    """Sentences on the bars of the picture of a comparison."""
    if results.row_spread:
        return (
            "Bars, for all but HOPS, are 95% intervals over the test rows; the verdict compares row by row, so "
            "variants whose bars overlap can still differ significantly."
        )
    return "Bars are 95% intervals over the seeds." if len(results.seeds) > 1 else "One seed, so no intervals."


def _scaled(variant: Variant, spec: MetricSpec, results: Results) -> Estimate:
    """Mean of a variant with its interval over the test rows, or over the seeds if none is known over the rows."""
    found = variant.estimate(spec.name)
    half_width = found.half_width
    if results.row_spread:
        half_width = results.row_spread.get(variant.name, {}).get(spec.name, math.nan)
    return Estimate(spec.scale * found.mean, spec.scale * half_width)


def _limits(spec: MetricSpec, variant: Variant) -> tuple[float, float]:
    """Smallest and largest possible value of a metric as shown."""
    highest = variant.records[0].taxonomy["largest_distance"] if spec.highest is None else spec.highest
    return 0.0, spec.scale * float(highest)


def correct_order_figure(variants: Sequence[Variant]) -> Figure:
    """Share of samples whose first k predictions are in the tree's order, against k [sani2026, Fig. 1 a-d]."""
    record = variants[0].records[0]
    known = [key.removeprefix(ORDER) for key in record.metrics if key.startswith(ORDER)]
    keys = [key for key in known if int(key) < int(record.taxonomy["classes"])] + ["all"]
    names = ["correct_order_all" if key == "all" else ORDER + key for key in keys]
    values = {variant.name: [100 * variant.estimate(name).mean for name in names] for variant in variants}
    top = max([value for each in values.values() for value in each if not math.isnan(value)], default=1.0)
    drawing = line_chart(
        _by_method(variants, values),
        labels=keys,
        x_title="first k predictions",
        y_title="samples in the right order, %",
        y_range=(0.0, max(top * 1.05, 1.0)),
    )
    note = "Share of samples whose first k predictions come in an order that the tree prefers."
    return Figure("Predictions in the order of the tree", note, drawing)


def level_accuracy_figure(variants: Sequence[Variant]) -> Figure:
    """Accuracy of each method's own prediction at every level, the coarsest first."""
    levels = [str(level) for level in range(1, int(variants[0].records[0].taxonomy["height"]) + 1)]
    values = {
        variant.name: [100 * variant.estimate(f"accuracy_level_{level}").mean for level in levels]
        for variant in variants
    }
    drawing = line_chart(
        _by_method(variants, values), labels=levels, x_title="level (1 is the coarsest)", y_title="accuracy, %"
    )
    return Figure("Accuracy at every level", "Share of samples whose answer is right at each level.", drawing)


def learning_curve_figure(results: Results, column: MetricSpec) -> Figure:
    """Mean of a metric against the number of training samples of a class, with its interval over the draws."""
    drawing = line_chart(
        learning_curve_series(results, column),
        labels=results.points,
        x_title="training samples of a class",
        y_title=column.heading,
    )
    draws = len(results.seeds)
    bars = f"Bars are 95% intervals over {draws} draws." if draws >= FEWEST_SEEDS else "Too few draws for intervals."
    return Figure(column.directed_heading, f"{column.meaning} {bars}", drawing)


def learning_curve_series(results: Results, column: MetricSpec) -> list[Series]:
    """One line for each method and rule, with a value for each number of training samples."""
    variants = results.sections[0].variants
    estimates = {
        variant.name: [
            _scaled(next(each for each in section.variants if each.name == variant.name), column, results)
            for section in results.sections
        ]
        for variant in variants
    }
    values = {name: [each.mean for each in found] for name, found in estimates.items()}
    limits = _limits(column, variants[0])
    spread = {name: [clipped(each, limits) for each in found] for name, found in estimates.items()}
    return _by_method(variants, values, spread if len(results.seeds) >= FEWEST_SEEDS else None)


def _by_method(
    variants: Sequence[Variant],
    values: dict[str, list[float]],
    spread: dict[str, list[tuple[float, float]]] | None = None,
) -> list[Series]:
    """Series with one colour for each method, or setting of a method, and one dash and marker for each rule."""
    keys = _colour_keys(variants)
    order = list(dict.fromkeys(keys.values()))
    return [
        Series(
            variant.name,
            range(len(values[variant.name])),
            values[variant.name],
            spread[variant.name] if spread else (),
            f"series-{1 + order.index(keys[variant.name]) % 8}",
            RULE_STYLES.get(variant.records[0].rule, 3),
        )
        for variant in variants
    ]


def _colour_keys(variants: Sequence[Variant]) -> dict[str, str]:
    """Colour key of each variant: its method, or its own name if variants differ only in settings."""
    kinds = [(variant.records[0].method, variant.records[0].rule) for variant in variants]
    is_ablation = len(set(kinds)) < len(kinds)
    return {variant.name: variant.name if is_ablation else variant.records[0].method for variant in variants}


def training_figures(variants: Sequence[Variant]) -> dict[str, Figure]:
    """Accuracy and log-loss on validation after every epoch, of the first seed of each method that has epochs."""
    keys = _colour_keys(variants)
    runs = {keys[variant.name]: variant.records[0].history for variant in reversed(variants)}
    longer = {method: history for method, history in reversed(runs.items()) if len(history) > 1}
    figures = {}
    for key, title, scale in (("top1", "top-1 on validation, %", 100), ("log_loss", "log-loss on validation", 1)):
        series = [
            Series(
                method, [epoch["number"] for epoch in history], [scale * epoch[key] for epoch in history], style=number
            )
            for number, (method, history) in enumerate(longer.items())
            if all(key in epoch for epoch in history)
        ]
        if series:
            drawing = line_chart(series, x_title="epoch", y_title=title)
            figures[f"training-{key.replace('_', '-')}"] = Figure(f"Training: {title}", "Of the first seed.", drawing)
    return figures


def analysis_figures(analysis: Analysis) -> dict[str, Figure]:
    """Figures of the analysis of one variant, by the name of their file."""
    return {
        "distance-maps": _distance_maps(analysis),
        "log-probabilities": _log_probabilities(analysis),
        "hops-weights": _hops_weights(analysis),
        "tree": tree_figure(analysis),
        "reliability": _reliability(analysis),
        "coverage": _coverage(analysis),
    }


def _distance_maps(analysis: Analysis) -> Figure:
    rankings = analysis.rankings
    maps = {**rankings.distances, "best order": rankings.best, "worst order": rankings.worst}
    shown = {name: values.astype(np.float64) for name, values in maps.items()}
    note = (
        f"Each row is a test sample, each column one of its first {rankings.best.shape[1]} classes; dark is near the "
        "true class. The best order grows lighter from left to right in every row."
    )
    drawing = map_chart(shown, key="tree distance", aspect=1.2, description="Tree distance by sample and rank. " + note)
    return Figure("Tree distance of the first classes", note, drawing)


def _log_probabilities(analysis: Analysis) -> Figure:
    maps = {**analysis.rankings.log_probabilities, "ideal: minus the tree distance": analysis.rankings.ideal}
    note = (
        "Rows are true classes, columns classes, both in the order of the tree; light is likely. A map with the blocks "
        "of the ideal one orders the classes as the tree does. Each map has its own scale; grey: no test samples."
    )
    drawing = map_chart(
        maps, key="mean log-probability", shared=False, description="Mean log-probability of classes by class. " + note
    )
    return Figure("Mean log-probabilities in the order of the tree", note, drawing)


def _hops_weights(analysis: Analysis) -> Figure:
    weights = analysis.hops_weights
    series = [Series("weight", range(1, len(weights) + 1), weights.tolist())]
    drawing = line_chart(series, x_title="rank", y_title="weight in HOPS", y_range=(0.0, 1.05))
    note = (
        "HOPS compares the order of the classes with the one that the tree prefers; a wrong class at rank k costs in "
        "proportion to this weight. Shown for the class with the most test samples."
    )
    return Figure("What HOPS weighs", note, drawing)


def tree_figure(analysis: Analysis) -> Figure:
    """The taxonomy as an icicle, as wide as the classes below each node and coloured by accuracy."""
    tree, accuracy = analysis.taxonomy, analysis.nodes.accuracy
    classes = np.zeros(len(tree.parents))
    classes[tree.leaves] = 1
    for node in range(len(classes) - 1, -1, -1):
        if tree.parents[node] >= 0:
            classes[tree.parents[node]] += classes[node]
    drawing = icicle_chart(
        Icicle(tree.names, tree.parents, classes, accuracy),
        describe=lambda node: f"{tree.short_text(node)}: accuracy {100 * accuracy[node]:.1f}%",
        key="accuracy: 0% to 100% (grey: no test samples)",
        description=f"The tree of {len(tree.names)} nodes, coloured by the accuracy of {analysis.variant}.",
    )
    return Figure("The tree", f"Accuracy of {analysis.variant}; a bar is as wide as its classes.", drawing)


def _reliability(analysis: Analysis) -> Figure:
    series = []
    for each in analysis.levels:
        bins = [number for number, samples in enumerate(each.samples) if samples >= FEWEST]
        confidence, accuracy = ([values[number] for number in bins] for values in (each.confidence, each.accuracy))
        series.append(Series(f"level {each.level}", confidence, accuracy, style=each.level - 1))
    diagonal = Series("calibrated", [0.0, 1.0], [0.0, 1.0], colour="muted", style=1)
    drawing = line_chart([*series, diagonal], x_title="confidence", y_title="accuracy", y_range=(0.0, 1.02))
    note = (
        "Accuracy of the likeliest node of each level against its probability; above the diagonal is too modest. Bins "
        f"of fewer than {FEWEST} samples are left out."
    )
    return Figure("Reliability by level", note, drawing)


def _coverage(analysis: Analysis) -> Figure:
    curves = [
        Series(f"level {each.level}", each.coverage, each.precision, style=each.level - 1, colour=_tone(each.level))
        for each in analysis.levels
    ]
    points = [
        Series(
            f"{analysis.variant} at level {each.level}",
            [each.answered],
            [each.answered_precision],
            [wilson_interval(each.answered_precision, round(each.answered * sum(each.samples)))],
            colour=_tone(each.level),
            style=3,
            has_line=False,
        )
        for each in analysis.levels
        if not math.isnan(each.answered_precision)
    ]
    drawing = line_chart([*curves, *points], x_title="share of samples answered", y_title="precision")
    note = (
        "Precision if only the most confident answers of a level are given. A diamond is the operating point: the "
        "share of samples that the rule answers at the level, and the precision of these answers with its 95% interval."
    )
    return Figure("Precision against coverage", note, drawing)


def _tone(level: int) -> str:
    return f"series-{1 + (level - 1) % 8}"


def result_figures(results: Results) -> dict[str, Figure]:
    """Figures of results, by the name of their file."""
    if results.points:
        shown = [column for column in results.shown if column.name in CURVES]
        return {
            f"learning-curve-{column.name.replace('_', '-')}": learning_curve_figure(results, column)
            for column in shown
        }
    variants = results.sections[0].variants
    return {
        "verdict": verdict_figure(results),
        "correct-order": correct_order_figure(variants),
        "level-accuracy": level_accuracy_figure(variants),
        **training_figures(variants),
    }
