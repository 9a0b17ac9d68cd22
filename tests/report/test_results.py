import csv
import math
from dataclasses import replace

import pytest

from hiercos.report import comparison_results, result_row, results_csv, summarize
from records import record


def test_results_csv_has_the_promised_columns_and_a_row_per_run() -> None:
    records = [record("hier-cos", 0, top1=0.75), record("cross-entropy", 1, mistake_severity=math.nan)]
    text = results_csv([result_row(each) for each in records])
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


def test_means_and_differences_of_a_variant_follow_one_convention() -> None:
    records = [record("a", seed, hops=value) for seed, value in enumerate((0.1, 0.3))]
    records += [record("b", seed, hops=0.0) for seed in (0, 1)]
    ours, reference = summarize(records, interval="published")
    assert ours.estimate("hops").half_width == pytest.approx(12.7062 * 0.1 / math.sqrt(2), rel=1e-5)  # t(0.975, 1)
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
