import subprocess
import sys

import pytest

from hiercos.metric_table import METRICS, RESULTS, SUITE, in_shown_order, legend, metric_spec, of_all_levels
from hiercos.metrics.suite import metric_function


def test_names_and_headings_are_given_once() -> None:
    specs = of_all_levels(METRICS, 3)
    assert len({spec.name for spec in specs}) == len({spec.heading for spec in specs}) == len(specs)


def test_every_measured_row_has_a_function_and_every_other_has_none() -> None:
    for spec in METRICS:
        if spec.source == "run":
            assert (spec.function, spec.in_suite) == ("", False)
        else:
            assert callable(metric_function(spec))
            assert spec.meaning


def test_columns_of_results_are_in_the_suite_or_of_the_run() -> None:
    assert {spec.name for spec in RESULTS if spec not in SUITE} == {"train_seconds", "epochs"}


def test_a_row_is_found_by_name_at_any_level() -> None:
    assert metric_spec("hops_at_5").k == 5
    assert metric_spec("accuracy_level_3").level == 3
    for name in ("hosp", "accuracy_level", "accuracy_level_x", "hops_at_6"):
        with pytest.raises(KeyError, match=f"there is no metric '{name}'"):
            metric_spec(name)


def test_rows_shown_beside_others_follow_them_and_nothing_is_lost() -> None:
    names = [spec.name for spec in in_shown_order(RESULTS)]
    assert sorted(names) == sorted(spec.name for spec in RESULTS)
    assert names[names.index("hops") + 1] == "top5"
    assert in_shown_order([metric_spec("top5")]) == (metric_spec("top5"),)  # without HOPS, its own place


def test_a_legend_explains_metrics_of_one_kind_once() -> None:
    specs = [metric_spec(name) for name in ("ahd_at_1", "ahd_at_5", "train_seconds", "log_loss")]
    assert legend(specs) == f"{metric_spec('ahd_at_1').meaning} {metric_spec('log_loss').meaning}"


def test_the_table_needs_no_torch() -> None:
    code = "import sys, hiercos.metric_table, hiercos.report.results; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
