import math

import pytest

from hiercos.paper.published import Note, PublishedRow
from hiercos.paper.tables import pairs
from hiercos.report import Estimate
from records import record


def row(figures: dict[str, Estimate | None], *unmatchable: str) -> PublishedRow:
    return PublishedRow("cifar100", "toy", "Toy", figures, (Note("a defect", unmatchable),))


def test_our_figure_stands_beside_the_published_one_with_the_published_interval() -> None:
    runs = [record(seed=seed, top1=value) for seed, value in enumerate([0.70, 0.72, 0.74])]
    (pair,) = pairs(runs, row({"top1": Estimate(0.7779, 0.00145)}))
    # The population deviation of 70, 72, 74 is sqrt(8 / 3); Student's t for two degrees of freedom is 4.30265.
    half_width = 4.30265 * math.sqrt(8 / 3) / math.sqrt(3)
    assert pair.cells() == (f"72.00 ±{half_width:.3f}", "77.79 ±0.145", "-5.79")
    assert pair.difference == pytest.approx(-0.0579)


def test_a_blank_cell_and_a_metric_that_was_not_measured_are_dashes_without_a_difference() -> None:
    blank, unmeasured = pairs([record(hops=0.9)], row({"hops": None, "subspace_cosine": Estimate(0.97, math.nan)}))
    assert blank.cells() == ("0.900", "–", "")
    assert unmeasured.cells() == ("–", "0.97", "")
    assert blank.difference is None


def test_without_runs_only_the_published_figures_are_shown() -> None:
    (pair,) = pairs([], row({"mistake_severity": Estimate(2.21, 0.017)}))
    assert pair.cells() == ("–", "2.21 ±0.017", "")


def test_what_cannot_be_matched_is_marked() -> None:
    (pair,) = pairs([], row({"hops": Estimate(0.69, 0.001)}, "hops"))
    assert pair.cells()[1] == "0.69 ±0.001 †"


def test_correct_orders_are_percentages() -> None:
    (pair,) = pairs([record(correct_order_all=0.7295)], row({"correct_order_all": Estimate(0.7, math.nan)}))
    assert pair.cells() == ("72.95", "70.00", "+2.95")
    assert pair.column.heading == "correct order all %"
