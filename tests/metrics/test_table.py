import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hiercos
from hiercos.metrics.suite import metric_function
from hiercos.metrics.table import (
    CLASSES,
    METRICS,
    RESULTS,
    SUITE,
    MetricSpec,
    in_shown_order,
    legend,
    metric_spec,
    of_all_levels,
)

FUNCTION = '''

@ranking_metric()
def near(ranking: Ranking, k: int = 2) -> Tensor:
    """Whether the first k classes are at a distance of at most 1."""
    return (ranking.distances(k) <= 1).all(dim=1)
'''
ROW = """
    MetricSpec(
        *("near_at_2", "near@2", True, "ranked:near"),
        class_name="Near",
        k=2,
        in_results=True,
        meaning="Near@k: share of samples whose first k classes are at a distance of at most 1.",
    ),
)
CLASSES ="""
USE = """
import pickle, torch
from hiercos import Taxonomy
from hiercos.metrics import RESULTS, Near, default_suite, legend, suite_names
from hiercos.sklearn.scorers import HierarchicalScorer, scorer_names

t = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
batch = torch.tensor([[0.7, 0.2, 0.1], [0.7, 0.1, 0.2]]), torch.tensor([0, 0])
metric, suite = Near(t), default_suite(t)
metric.update(*batch)
suite.update(*batch)
assert metric.compute() == pickle.loads(pickle.dumps(metric)).compute() == suite.compute()["near_at_2"] == 0.5
assert Near(t, k=1)(*batch) == 1
assert "Near@k" in Near.__doc__ and "distance of at most 1" in Near.__doc__ and "Near@k" in legend(RESULTS)
assert RESULTS[-1].name == suite_names(t)[-1] == scorer_names(t)[-1] == "near_at_2"

class Always:
    classes_ = [0, 1, 2]
    predict_proba = staticmethod(lambda X: batch[0].numpy())

assert HierarchicalScorer("near_at_2", t)(Always(), [0, 1], [0, 0]) == 0.5
"""


def test_names_and_headings_are_given_once() -> None:
    specs = of_all_levels(METRICS, 3)
    assert len({spec.name for spec in specs}) == len({spec.heading for spec in specs}) == len(specs)


def test_every_measured_row_has_a_function_and_every_other_has_none() -> None:
    for spec in METRICS:
        if spec.source == "run":
            assert (spec.function, spec.class_name, spec.in_suite, spec.in_scorers) == ("", "", False, False)
        else:
            assert callable(metric_function(spec))
            assert spec.meaning


def test_classes_have_names_that_are_public() -> None:
    assert all(getattr(hiercos.metrics, name).__name__ == name for name in CLASSES)
    assert CLASSES.keys() <= set(hiercos.metrics.__all__)
    assert all(getattr(hiercos.metrics.functional, spec.function.rpartition(":")[2]) for spec in CLASSES.values())


def test_a_new_metric_is_one_function_and_one_row(tmp_path: Path) -> None:
    package = tmp_path / "hiercos"
    shutil.copytree(Path(hiercos.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    functions, table = package / "metrics" / "functional" / "ranked.py", package / "metrics" / "table.py"
    functions.write_text(functions.read_text(encoding="utf-8") + FUNCTION, encoding="utf-8")
    table.write_text(table.read_text(encoding="utf-8").replace("\n)\nCLASSES =", ROW), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", USE], check=False, env=environment).returncode == 0


def test_a_row_with_the_full_path_of_a_module_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="metric 'near': function: expected 'module:name' within"):
        MetricSpec("near", "near", True, "hiercos.metrics.functional.ranked:near")


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


def test_the_table_and_the_report_need_no_torch() -> None:
    code = "import sys, hiercos.metrics.table, hiercos.report.page; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
