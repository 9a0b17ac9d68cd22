import csv
import math
from dataclasses import replace

import pytest

from hiercos.report import checked_reference, comparison_results, result_row, results_text, summarize, t_interval
from hiercos.report.results import ReferenceVariantError, best_flat_variant
from records import record


def test_results_csv_has_the_promised_columns_and_a_row_per_run() -> None:
    records = [record("hier-cos", 0, top1=0.75), record("cross-entropy", 1, mistake_severity=math.nan)]
    text = results_text(comparison_results(records), "csv")
    rows = list(csv.DictReader(text.splitlines()))
    promised = (
        "method,rule,seed,top1,mistake_severity,ahd_at_1,ahd_at_5,ahd_at_20,hops,hops_at_5,hops_at_20,fpa,train_seconds,"
        "top5,macro_accuracy,log_loss,epochs"
    )
    assert text.splitlines()[0] == promised
    assert [(row["method"], row["rule"], row["seed"]) for row in rows] == [
        ("hier-cos", "none", "0"),
        ("cross-entropy", "none", "1"),
    ]
    assert float(rows[0]["top1"]) == 0.75
    assert rows[1]["mistake_severity"] == "nan"


def test_variants_keep_the_order_of_methods_and_sort_the_seeds() -> None:
    variants = summarize([record("b", 1, hops=0.1), record("a", 0), record("b", 0, hops=0.9)])
    assert [variant.name for variant in variants] == ["b", "a"]
    assert variants[0].values("hops") == [0.9, 0.1]


def test_a_rule_is_part_of_the_name() -> None:
    assert [variant.name for variant in summarize([record(rule="crm")])] == ["hier-cos + crm"]


def test_a_difference_from_0_has_the_interval_of_the_mean() -> None:
    records = [record("a", seed, hops=value) for seed, value in enumerate((0.1, 0.3))]
    records += [record("b", seed, hops=0.0) for seed in (0, 1)]
    ours, reference = summarize(records)
    assert ours.estimate("hops").half_width == pytest.approx(12.7062 * 0.1, rel=1e-5)  # t(0.975, 1)
    assert ours.difference(reference, "hops") == ours.estimate("hops")


def test_epochs_are_those_trained_and_what_was_not_measured_is_unknown() -> None:
    trained = replace(record(), history=[{"loss": 1.0}, {"loss": 0.5}], metrics={"hops": 0.5})
    row = result_row(trained)
    assert (row["epochs"], row["hops"]) == (2, 0.5)
    assert math.isnan(row["top5"])


@pytest.mark.parametrize(
    ("epochs", "choice", "expected"), [(100, "", math.nan), (1, "variance 1", math.nan), (1, "", 1)]
)
def test_weights_of_a_solver_have_no_epochs(epochs: int, choice: str, expected: float) -> None:
    only = replace(record(), history=[{"loss": 1.0}], choice=choice, config={**record().config, "epochs": epochs})
    assert result_row(only)["epochs"] == pytest.approx(expected, nan_ok=True)


def test_tables_show_top5_beside_hops_and_leave_out_what_nobody_has() -> None:
    results = comparison_results([record("a", log_loss=math.nan), record("b", log_loss=math.nan)])
    names = [spec.name for spec in results.figures(results.sections[0]).columns]
    assert names[names.index("hops") + 1] == "top5"
    assert names[:2] == ["top1", "macro_accuracy"]
    assert "log_loss" not in names
    known = comparison_results([record("a", log_loss=math.nan), record("b", log_loss=1.5)])
    assert "log_loss" in [spec.name for spec in known.shown]


def test_the_interval_of_five_seeds_is_that_of_students_t() -> None:
    estimate = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert estimate.mean == 3.0
    assert estimate.half_width == pytest.approx(2.7764451 * math.sqrt(2.5 / 5))  # t(0.975, 4) from a table


def test_the_published_interval_of_five_seeds_is_1_2417_population_deviations() -> None:
    estimate = t_interval([1.0, 2.0, 3.0, 4.0, 5.0], ddof=0)
    assert estimate.half_width == pytest.approx(1.2417 * math.sqrt(2.0), abs=1e-4)
    assert t_interval([1.0, 2.0, 3.0, 4.0, 5.0]).half_width == pytest.approx(estimate.half_width * math.sqrt(5 / 4))


def test_one_seed_has_a_mean_and_no_interval() -> None:
    estimate = t_interval([0.25])
    assert estimate.mean == 0.25
    assert math.isnan(estimate.half_width)
    assert math.isnan(t_interval([0.25], ddof=0).half_width)


NAMES = ["cross-entropy", "cross-entropy + crm", "hier-cos"]


def test_a_reference_is_a_method_or_a_method_and_a_rule() -> None:
    assert checked_reference("hier-cos", NAMES) == "hier-cos"
    assert checked_reference(" cross-entropy+crm", NAMES) == "cross-entropy + crm"


def test_a_wrong_reference_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ReferenceVariantError, match=r"--reference hier-cos \+ crm: .*; did you mean 'hier-cos'\?"):
        checked_reference("hier-cos + crm", ["hier-cos", "hxe"])
    with pytest.raises(ReferenceVariantError, match="there are: cross-entropy, cross-entropy \\+ crm, hier-cos"):
        checked_reference("zzz", NAMES)


def test_the_best_flat_variant_is_the_most_accurate_without_tree_and_rule() -> None:
    records = [
        record("cross-entropy", top1=0.8),
        record("cross-entropy-mlp", top1=0.9),
        record("cross-entropy-mlp", rule="crm", top1=0.95),
        record("hier-cos", top1=0.99),
    ]
    variant = best_flat_variant(summarize(records))
    assert variant is not None
    assert variant.name == "cross-entropy-mlp"
    assert best_flat_variant(summarize(records[3:])) is None
