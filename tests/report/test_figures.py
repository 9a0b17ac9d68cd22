from dataclasses import replace

import numpy as np
import pytest

from analyses import analysis
from hiercos.report import Results, comparison_results, learning_curve_results, report_figures, summarize, variant_of
from hiercos.report.drawing import Drawing, Polygon, Raster, Stroke, Text, svg
from hiercos.report.figures import correct_order_figure, level_accuracy_figure, training_figures, verdict_figure
from hiercos.report.maps import Icicle, shades
from records import record
from trees import TOY

EPOCHS = [{"number": number, "top1": 0.1 * number, "log_loss": 1 / number} for number in (1, 2, 3)]


def texts(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Text)]


def curves(drawing: Drawing) -> list[Stroke]:
    return [
        shape for shape in drawing.shapes if isinstance(shape, Stroke) and shape.width == 2.2 and len(shape.points) > 2
    ]


def test_the_order_of_predictions_is_drawn_at_the_means_over_the_seeds() -> None:
    records = [record("a", 0, correct_order_at_3=0.2), record("a", 1, correct_order_at_3=0.4), record("b")]
    drawing = correct_order_figure(summarize(records)).drawing
    first, second = curves(drawing)
    assert [label for label in ("1", "3", "5", "10", "all") if label in texts(drawing)] == ["1", "3", "5", "10", "all"]
    assert "50" not in texts(drawing)  # 30 classes
    heights = [y for _, y in first.points]
    assert heights[1] == max(heights[:-1])  # 30%, the lowest but for all: y grows downwards
    assert heights[1] - heights[0] == pytest.approx((50 - 30) / 50 / 1.05 * 290, rel=1e-3)
    assert len({y for _, y in second.points[:-1]}) == 1


def test_a_method_keeps_its_colour_under_a_rule_and_the_line_is_dashed() -> None:
    variants = summarize([record("a"), record("a", rule="crm"), record("b")])
    drawn = curves(correct_order_figure(variants).drawing)
    assert [stroke.colour for stroke in drawn] == ["series-1", "series-1", "series-2"]
    assert [bool(stroke.dash) for stroke in drawn] == [False, True, False]


def test_settings_of_one_method_have_colours_of_their_own() -> None:
    settings = [replace(record("a"), history=EPOCHS), replace(record("a"), history=EPOCHS)]
    variants = [variant_of(name, [each]) for name, each in zip(("off", "on"), settings, strict=True)]
    assert [stroke.colour for stroke in curves(correct_order_figure(variants).drawing)] == ["series-1", "series-2"]
    assert len(curves(training_figures(variants)["training-top1"].drawing)) == 2


def test_learning_curves_of_two_draws_have_no_intervals() -> None:
    def results(draws: int) -> Results:
        runs = [record("a", seed, top1=0.2 * seed) for seed in range(draws)]
        return learning_curve_results([replace(each, data={**each.data, "shots": "all"}) for each in runs])

    two, three = (report_figures(results(draws), None)["learning-curve-top1"] for draws in (2, 3))
    assert two.note.endswith("Too few draws for intervals.")
    assert three.note.endswith("Bars are 95% intervals over 3 draws.")
    thin = [
        [shape for shape in each.drawing.shapes if isinstance(shape, Stroke) and shape.width == 1.2]
        for each in (two, three)
    ]
    assert [len(shapes) for shapes in thin] == [0, 1]


def test_levels_are_labelled_from_the_coarsest() -> None:
    assert {"1", "2", "accuracy, %"} <= set(texts(level_accuracy_figure(summarize([record("a")])).drawing))


def test_the_recommended_variant_stands_out() -> None:
    results = comparison_results([record("hier-cos"), record("cross-entropy")], recommended="hier-cos")
    names = [shape for shape in verdict_figure(results).drawing.shapes if isinstance(shape, Text)]
    assert [shape.text for shape in names if shape.is_bold and shape.anchor == "end"] == ["hier-cos"]


def test_the_bars_are_intervals_over_the_test_rows_where_these_are_known() -> None:
    records = [record("hier-cos", seed, top1=0.5 + 0.1 * seed) for seed in range(2)]
    by_seed = verdict_figure(comparison_results(records))
    spread = {"hier-cos": {"top1": 0.04, "ahd_at_1": 0.1}}
    by_row = verdict_figure(comparison_results(records, row_spread=spread))
    assert "over the seeds" in by_seed.note
    assert "over the test rows" in by_row.note
    ticks = [
        [float(text) for text in texts(each.drawing) if text.replace(".", "").isdecimal()] for each in (by_seed, by_row)
    ]
    assert max(ticks[0]) >= 100 > max(ticks[1])  # two seeds: an interval of 55 ± 64 points


def test_training_curves_have_the_epochs_of_each_method() -> None:
    variants = summarize([replace(record("a"), history=EPOCHS), record("b")])
    figures = training_figures(variants)
    assert sorted(figures) == ["training-log-loss", "training-top1"]
    assert len(curves(figures["training-top1"].drawing)) == 1  # the other has no epochs
    assert "1.5" not in texts(figures["training-top1"].drawing)


def test_every_figure_of_the_paper_is_there() -> None:
    results = comparison_results([record("hier-cos"), record("cross-entropy")])
    figures = report_figures(results, analysis())
    expected = {"verdict", "correct-order", "level-accuracy", "distance-maps", "log-probabilities", "hops-weights"}
    assert set(figures) == expected | {"tree", "reliability", "coverage"}
    titles = texts(figures["distance-maps"].drawing)
    assert {"hier-cos", "cross-entropy", "best order", "worst order"} <= set(titles)
    assert len([shape for shape in figures["log-probabilities"].drawing.shapes if isinstance(shape, Raster)]) == 4


def test_learning_curves_are_figures_too() -> None:
    records = [
        replace(record(method, seed), data={**record().data, "shots": shots})
        for shots in (1, "all")
        for method in ("hier-cos", "cross-entropy")
        for seed in (0, 1)
    ]
    figures = report_figures(learning_curve_results(records), None)
    assert "learning-curve-top1" in figures
    assert {"1", "all"} <= set(texts(figures["learning-curve-top1"].drawing))


def test_children_stand_below_their_parent_in_an_icicle() -> None:
    icicle = Icicle(TOY.names, TOY.parents, np.array([2.0, 1.0, 1.0, 1.0, 1.0]), np.full(5, np.nan))
    starts, widths, levels = icicle.spans()
    assert starts == pytest.approx([0, 2 / 3, 0, 1 / 3, 2 / 3])
    assert widths == pytest.approx([2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3])
    assert levels.tolist() == [0, 0, 1, 1, 1]


def test_shades_run_from_low_to_high_and_nan_is_grey() -> None:
    assert shades(np.array([[0.0, 2.0, 1.0, np.nan]]), (0.0, 2.0)).tolist() == [[0, 63, 32, 64]]


def test_an_svg_escapes_its_texts() -> None:
    drawing = Drawing(10, 10, [Text(0, 0, "<a>&"), Polygon([(0, 0)], "ink", "<b>")], "<c>")
    for in_page in (True, False):
        text = svg(drawing, in_page=in_page)
        assert "&lt;a&gt;&amp;" in text
        assert "&lt;b&gt;" in text
        assert "&lt;c&gt;" in text
    assert "var(--ink)" in svg(drawing, in_page=True)
    assert "var(" not in svg(drawing, in_page=False)


def test_bars_end_where_the_range_of_the_metric_ends() -> None:
    runs = [record("a", seed, top1=0.4 + 0.3 * seed, ahd_at_1=0.2 * seed) for seed in range(3)]  # 70 ± 75 points
    panel = verdict_figure(comparison_results(runs)).drawing.shapes
    marks = [(shape.text, shape.x) for shape in panel if isinstance(shape, Text) and shape.anchor == "middle"]
    top1, distance, _ = [shape.points for shape in panel if isinstance(shape, Stroke) and shape.width == 2]
    second, third = ([text for text, _ in marks].index(title) for title in ("mean tree distance", "HOPS"))
    assert [top1[0][0], top1[1][0]] == [pytest.approx(dict(marks[:second])[end]) for end in ("0", "100")]
    assert distance[0][0] == pytest.approx(dict(marks[second:third])["0"])
    assert not any(text.startswith("-") for text, _ in marks)
    curve = learning_curve_results([replace(each, data={**each.data, "shots": "all"}) for each in runs])
    shapes = report_figures(curve, None)["learning-curve-top1"].drawing.shapes
    heights = {shape.text: shape.y - 4 for shape in shapes if isinstance(shape, Text) and shape.anchor == "end"}
    (bar,) = [shape.points for shape in shapes if isinstance(shape, Stroke) and shape.width == 1.2]
    assert sorted(y for _, y in bar) == [pytest.approx(heights["100"]), pytest.approx(heights["0"])]


@pytest.mark.parametrize(("largest", "low", "high"), [(2, 0.61, 2.0), (4, 0.61, 2.59)])
def test_bars_of_distances_end_at_the_largest_distance_of_the_taxonomy(largest: int, low: float, high: float) -> None:
    """A graph of height 2 has larger distances than 2."""
    runs = [record("a", seed, ahd_at_1=value) for seed, value in enumerate((1.2, 1.6, 2.0))]
    runs = [replace(each, taxonomy={**each.taxonomy, "largest_distance": largest}) for each in runs]
    shapes = verdict_figure(comparison_results(runs)).drawing.shapes
    marks = [(each.text, each.x) for each in shapes if isinstance(each, Text) and each.anchor == "middle"]
    second, third = ([text for text, _ in marks].index(title) for title in ("mean tree distance", "HOPS"))
    scale = [(float(text), x) for text, x in marks[second + 1 : third]]
    _, distance, _ = [each.points for each in shapes if isinstance(each, Stroke) and each.width == 2]
    unit = (scale[-1][1] - scale[0][1]) / (scale[-1][0] - scale[0][0])
    ends = [scale[0][0] + (x - scale[0][1]) / unit for x, _ in distance]
    assert ends == [pytest.approx(low, abs=0.05), pytest.approx(high, abs=0.05)]
