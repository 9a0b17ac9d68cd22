import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hiercos.report import Evidence, Recommendation, recommend, summarize
from hiercos.report.recommendation import CRITERIA, wilson_interval
from hiercos.taxonomy import FloatArray
from records import record

FLAT, CRM, TREE = "cross-entropy", "cross-entropy + crm", "hier-cos"
Values = Mapping[str, Mapping[str, FloatArray]]


def values_of(answers: FloatArray, *, hops: float = 0.5, log_loss: float = 0.5) -> dict[str, FloatArray]:
    """Values of all criteria from the tree distance of each answer, shape (S, M)."""
    order, loss = (np.full(answers.shape, value) for value in (hops, log_loss))
    return {"ahd_at_1": answers.astype(float), "top1": (answers == 0).astype(float), "hops": order, "log_loss": loss}


def answers(*wrong: int, rows: int = 200, distance: int = 1) -> FloatArray:
    """Tree distances of the answers of some seeds, each with its number of wrong ones, the first rows."""
    return np.stack([np.where(np.arange(rows) < count, distance, 0) for count in wrong]).astype(float)


def shipped(
    values: Values, test: Values | None = None, *, purpose: str = "distance", held_out: bool = True, tests: int = 10_000
) -> Recommendation:
    """The recommendation from values on the rows that decide, and on the test rows, by default the same ones."""
    test = values if test is None else test
    records = []
    for name, own in test.items():
        method, _, rule = name.partition(" + ")
        for seed in range(len(own["top1"])):
            means = {metric: float(own[metric][seed].mean()) for metric in CRITERIA}
            top1 = values[name]["top1"][seed].mean()
            records.append(
                replace(record(method, seed, rule=rule or "none", **means), history=[{"top1": top1}], best_epoch=1)
            )

    def difference(ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        gap = float(test[ours][metric].mean() - test[reference][metric].mean())
        return gap, gap - 0.01, gap + 0.01

    evidence = Evidence(lambda name, metric: values[name][metric], "200 validation rows", held_out)
    return recommend(summarize(records), evidence, difference, tests=tests, purpose=purpose)


def test_a_variant_that_varies_wildly_and_is_worse_in_every_column_is_not_shipped() -> None:
    wild = values_of(answers(70, 94, 118), hops=0.746, log_loss=2.01)  # top-1 53% in the mean, 24 points apart
    ours = values_of(answers(82, 83, 84), hops=0.828, log_loss=1.70)  # 58.5%
    for simple, other in ((FLAT, TREE), (TREE, "committee + auto")):
        assert shipped({simple: wild, other: ours}).variant.name == other


def test_spread_over_seeds_counts_against_a_variant_of_the_same_mean() -> None:
    steady, wild = values_of(answers(80, 80, 80)), values_of(answers(50, 80, 110))
    assert shipped({FLAT: wild, TREE: steady}).variant.name == TREE
    assert shipped({TREE: wild, FLAT: steady}).variant.name == FLAT


def test_held_out_rows_decide_and_test_rows_are_printed() -> None:
    good, bad = values_of(answers(60), log_loss=0.5), values_of(answers(80), log_loss=0.4)
    found = shipped({FLAT: bad, TREE: good}, {FLAT: good, TREE: bad}, tests=10_000)
    assert found.variant.name == TREE
    assert str(found.statements[0]) == (
        "Ship hier-cos, the model of seed 0: top-1 60.00%, mean tree distance 0.400, HOPS 0.500, log loss 0.400 on "
        "10000 test rows. It was chosen by mean tree distance on 200 validation rows; there it is better than "
        "cross-entropy in 100% of draws of rows and seed."
    )
    assert [each.kind for each in found.statements] == ["ship", "tree"]
    assert str(found.statements[1]) == (
        "What the tree brings: fewer right answers and answers farther from the truth: hier-cos against cross-entropy "
        "has top-1 -10.00 points (-11.00 to -9.00), mean tree distance +0.100 (+0.090 to +0.110), HOPS +0.000 (-0.010 "
        "to +0.010), with 95% intervals over the test rows."
    )


def test_what_a_rule_alone_brings_stands_beside_what_the_tree_brings() -> None:
    values = {FLAT: values_of(answers(80)), f"{FLAT} + crm": values_of(answers(80), hops=0.8)}
    values[TREE] = values_of(answers(40), hops=0.9)
    assert str(shipped(values).statements[-1]).endswith(f" A rule alone, {FLAT} + crm, has HOPS +0.300.")


def test_what_is_worse_than_another_in_every_column_of_the_test_rows_is_left_out_and_said_so() -> None:
    values = {FLAT: values_of(answers(60)), TREE: values_of(answers(80))}
    better, worse = values_of(answers(70), hops=0.6, log_loss=0.4), values_of(answers(71))
    found = shipped(values, {FLAT: worse, TREE: better})
    assert found.variant.name == TREE
    assert found.statements[0].reason.endswith(
        " cross-entropy is left out: another variant is better on the test rows, and in no column worse."
    )
    assert shipped(values, {FLAT: {**worse, "log_loss": np.full((1, 200), 0.3)}, TREE: better}).variant.name == FLAT


def test_log_loss_breaks_a_near_tie_and_a_better_order_that_of_one_posterior() -> None:
    near = {TREE: values_of(answers(80), log_loss=0.9), "haframe": values_of(answers(81), log_loss=0.5)}
    found = shipped(near)
    assert found.variant.name == "haframe"
    assert "hier-cos is hardly better at that, and its probabilities or its order are worse." in str(
        found.statements[0]
    )
    near["haframe"] = values_of(answers(84), log_loss=0.5)  # 2 points of distance 2: no near tie
    assert shipped(near).variant.name == TREE
    ruled = {FLAT: values_of(answers(80)), CRM: values_of(answers(80), hops=0.9)}
    assert shipped(ruled).variant.name == CRM


@pytest.mark.parametrize(
    ("wrong", "log_loss", "hops", "expected"),
    [(20, 0.5, 0.5, FLAT), (21, 0.5, 0.5, TREE), (20, 0.51, 0.5, TREE), (20, 0.504, 0.5, FLAT), (20, 0.5, 0.49, TREE)],
)
def test_a_simpler_variant_is_shipped_only_within_the_margin(
    wrong: int, log_loss: float, hops: float, expected: str
) -> None:
    values = {TREE: values_of(answers(20)), FLAT: values_of(answers(wrong), hops=hops, log_loss=log_loss)}
    test = {TREE: values_of(answers(20), log_loss=1), FLAT: values_of(answers(21))}  # neither better in all columns
    found = shipped(values, test)
    assert found.variant.name == expected
    assert ("It is simpler than hier-cos, which is hardly better" in str(found.statements[0])) == (expected == FLAT)


@pytest.mark.parametrize(("purpose", "expected"), [("distance", FLAT), ("top1", TREE), ("hops", CRM)])
def test_another_purpose_ships_another_variant(purpose: str, expected: str) -> None:
    values = {
        FLAT: values_of(answers(50), hops=0.3),
        CRM: values_of(answers(60), hops=0.9),
        TREE: values_of(answers(40, distance=2), hops=0.4),
    }
    found = shipped(values, purpose=purpose)
    assert found.variant.name == expected
    named = CRITERIA[{"distance": "ahd_at_1"}.get(purpose, purpose)]
    assert f"It was chosen by {named} on " in str(found.statements[0])


def test_the_seed_that_is_best_on_held_out_rows_is_shipped_else_that_of_the_best_validation() -> None:
    values = {TREE: values_of(answers(50, 40, 60))}
    found = shipped(values)
    assert (found.record.seed, found.statements[0].subject) == (1, "Ship hier-cos, the model of seed 1")
    assert found.statements[0].reason == "It is the only variant."
    values[TREE]["ahd_at_1"] = values[TREE]["ahd_at_1"][::-1] + np.array([[0], [0], [-0.2]])
    assert shipped(values).record.seed == 2
    assert shipped(values, held_out=False).record.seed == 1


def test_a_metric_that_is_not_known_decides_nothing() -> None:
    unknown = values_of(answers(50), log_loss=math.nan)
    assert shipped({FLAT: unknown, TREE: values_of(answers(60), log_loss=0.1)}).variant.name == FLAT
    assert shipped({FLAT: unknown, TREE: values_of(answers(50), log_loss=math.nan)}).variant.name == FLAT


def test_the_verdict_has_five_sentences_at_most() -> None:
    values = {
        name: values_of(answers(wrong), log_loss=loss) for name, wrong, loss in ((TREE, 80, 0.9), ("hxe", 81, 0.5))
    }
    values[FLAT] = values_of(answers(110), log_loss=0.8)
    text = "\n".join(map(str, shipped(values, tests=100).statements))
    sentences: Sequence[str] = [each for each in text.replace("\n", " ").split(". ") if each]
    assert len(sentences) == 5, sentences


@pytest.mark.parametrize("names", [(TREE, "haframe"), (FLAT, "cross-entropy-mlp")])
def test_without_both_a_flat_variant_and_another_nothing_is_said_of_the_tree(names: tuple[str, str]) -> None:
    found = shipped({name: values_of(answers(wrong)) for name, wrong in zip(names, (50, 60), strict=True)})
    assert [each.kind for each in found.statements] == ["ship"]


def test_a_few_test_rows_are_said_to_be_few() -> None:
    values = {FLAT: values_of(answers(100))}
    assert str(shipped(values, tests=4).statements[1]).startswith("Few test rows: over 4 of them the 95% interval")
    assert len(shipped(values, tests=10_000).statements) == 1


def test_no_row_says_nothing_of_a_share() -> None:
    assert wilson_interval(0.5, 0) == (0, 1)
