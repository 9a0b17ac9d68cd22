import math
from dataclasses import replace

import pytest

from hiercos.records import Record
from hiercos.report import Recommendation, recommend, summarize
from hiercos.report.recommendation import RowDifference, wilson_interval
from records import record

TESTS = 3


def rows_of(metric: str = "ahd_at_1", **values: float) -> RowDifference:
    """Differences over rows from the value of a metric of each variant, significant from 0.05 on; other metrics tie."""

    def difference(ours: str, reference: str, name: str) -> tuple[float, float, float]:
        key = (ours.replace(" + ", "_").replace("-", "_"), reference.replace(" + ", "_").replace("-", "_"))
        mean = values[key[0]] - values[key[1]] if name == metric else 0.0
        return mean, mean - 0.05, mean + 0.05

    return difference


def texts_of(found: Recommendation) -> list[str]:
    """The statements as text."""
    return list(map(str, found.statements))


def compared(**distances: float) -> list[Record]:
    kinds = {"cross_entropy": "cross-entropy", "hier_cos": "hier-cos", "hier_cos_crm": "hier-cos"}
    return [
        record(
            kinds[name],
            rule="crm" if name.endswith("crm") else "none",
            ahd_at_1=value,
            hops=1 - value,
            train_seconds=1.0 + name.startswith("hier"),
        )
        for name, value in distances.items()
    ]


def test_a_variant_that_is_significantly_nearest_is_recommended() -> None:
    distances = {"cross_entropy": 0.5, "hier_cos": 0.4, "hier_cos_crm": 0.1}
    found = recommend(summarize(compared(**distances)), rows_of(**distances), most_frequent=0.25, tests=TESTS)
    assert (found.variant.name, found.tied) == ("hier-cos + crm", ())
    assert texts_of(found)[0] == (
        "Ship hier-cos + crm: top-1 50.00%, mean tree distance of the answers 0.100, HOPS 0.900, "
        "log loss 0.500. "
        "Over the 3 test rows its answers are significantly nearer to the truth than those of all others."
    )
    assert texts_of(found)[1] == (
        "Few test rows: over 3 of them the 95% interval of its top-1 is 20.8% to 93.9%; "
        "smaller differences need more rows."
    )
    assert texts_of(found)[2] == (
        "Against the best flat method: hier-cos + crm against cross-entropy: top-1 +0.00 points (95% interval over "
        "the test rows -5.00 to +5.00, a tie), mean tree distance -0.400 (-0.450 to -0.350), HOPS +0.000 (-0.050 to "
        "+0.050, a tie); training took 2.0 s and 1.0 s."
    )
    assert texts_of(found)[3] == (
        "The features: cross-entropy has top-1 50.00%, guessing the most frequent class 25.00%."
    )
    assert texts_of(found)[4] == (
        "The method that learns from the tree: hier-cos against cross-entropy: top-1 +0.00 points "
        "(95% interval over the test rows -5.00 to +5.00, a tie), mean tree distance -0.100 (-0.150 to -0.050), "
        "HOPS +0.000 (-0.050 to +0.050, a tie)."
    )
    assert texts_of(found)[5].startswith("The rule: hier-cos + crm against hier-cos: ")
    assert "mean tree distance -0.300 (-0.350 to -0.250), HOPS " in texts_of(found)[5]


def test_without_a_rule_or_with_the_best_flat_method_its_gain_is_said_once() -> None:
    for distances in ({"cross_entropy": 0.5, "hier_cos": 0.1}, {"cross_entropy": 0.1, "hier_cos_crm": 0.5}):
        found = recommend(summarize(compared(**distances)), rows_of(**distances), most_frequent=0.25, tests=TESTS)
        assert not [each for each in found.statements if each.kind == "flat"]


def test_enough_test_rows_need_no_word_on_them() -> None:
    distances = {"cross_entropy": 0.5, "hier_cos": 0.4}
    found = recommend(summarize(compared(**distances)), rows_of(**distances), most_frequent=0.25, tests=10_000)
    assert not any("Few test rows" in sentence for sentence in texts_of(found))


def test_a_rule_that_changes_no_answer_is_said_to_change_none() -> None:
    variants = summarize(compared(cross_entropy=0.4, hier_cos=0.4, hier_cos_crm=0.4))
    found = recommend(variants, lambda *_: (0.0, 0.0, 0.0), most_frequent=0.25, tests=TESTS)
    said = "The rule: hier-cos + crm answers and ranks as hier-cos does: no difference on any test row."
    assert said in texts_of(found)


def test_a_rule_that_changes_the_order_alone_is_said_to_keep_the_answers() -> None:
    records = [record(method, ahd_at_1=0.4, hops=0.4) for method in ("cross-entropy", "hier-cos")]
    variants = summarize([*records, record("hier-cos", rule="crm", ahd_at_1=0.4, hops=0.9)])

    def rows(ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        gain = (ours.endswith("crm") - reference.endswith("crm")) * 0.5 if metric == "hops" else 0.0
        return gain, gain * 0.9, gain * 1.1

    found = recommend(variants, rows, most_frequent=0.25, tests=TESTS)
    assert found.variant.name == "hier-cos + crm"
    assert texts_of(found)[5] == (
        "The rule: hier-cos + crm against hier-cos: the same answers, HOPS +0.500 "
        "(95% interval over the test rows +0.450 to +0.550)."
    )


def test_a_rule_that_changes_answers_but_not_the_order_is_not_said_to_keep_them() -> None:
    variants = summarize(compared(cross_entropy=0.4, hier_cos=0.4, hier_cos_crm=0.4))

    def rows(ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        loss = (ours.endswith("crm") - reference.endswith("crm")) * -0.2 if metric == "top1" else 0.0
        return loss, loss - abs(loss) / 10, loss + abs(loss) / 10

    assert texts_of(recommend(variants, rows, most_frequent=0.25, tests=TESTS))[-1] == (
        "The rule: hier-cos + crm against hier-cos: top-1 -20.00 points (95% interval over the test rows "
        "-22.00 to -18.00), mean tree distance +0.000 (+0.000 to +0.000, a tie), HOPS +0.000 (+0.000 to +0.000, a tie)."
    )


def significant_pairs(*beats: tuple[str, str], metric: str = "ahd_at_1") -> RowDifference:
    """Differences over rows that are significant for some pairs (the better variant first); all others tie."""

    def difference(ours: str, reference: str, name: str) -> tuple[float, float, float]:
        sign = ((reference, ours) in beats) - ((ours, reference) in beats) if name == metric else 0
        return 0.1 * sign, 0.1 * sign - 0.05, 0.1 * sign + 0.05

    return difference


def test_a_variant_is_eliminated_that_another_than_the_one_of_the_best_mean_significantly_beats() -> None:
    variants = summarize(compared(cross_entropy=0.5, hier_cos=0.3, hier_cos_crm=0.2))  # the last one is noisy
    rows = significant_pairs(("hier-cos", "cross-entropy"))
    found = recommend(variants, rows, most_frequent=0.25, tests=TESTS)
    assert (found.variant.name, [variant.name for variant in found.tied]) == ("hier-cos", ["hier-cos + crm"])
    assert texts_of(found)[0].endswith(
        " Over the 3 test rows its answers are significantly nearer to the truth than those of cross-entropy. "
        "hier-cos ties with hier-cos + crm: no significant difference in AHD@1, top-1, HOPS, log loss; it is the "
        "simplest of them."
    )


def test_a_eliminated_variant_that_the_recommended_one_does_not_beat_is_named() -> None:
    records = [record("cross-entropy", ahd_at_1=0.3), record("hier-cos", ahd_at_1=0.4)]
    records.append(record("hier-cos", rule="crm", ahd_at_1=0.2))
    rows = significant_pairs(("hier-cos + crm", "hier-cos"))
    found = recommend(summarize(records), rows, most_frequent=0.25, tests=TESTS)
    assert found.variant.name == "cross-entropy"
    reason = found.statements[0].reason
    assert reason.startswith(
        "hier-cos is significantly worse than hier-cos + crm in mean tree distance. cross-entropy ties with "
    )


def test_an_eliminated_variant_that_is_better_than_what_remains_is_recommended() -> None:
    records = [
        record("cross-entropy", ahd_at_1=0.4, hops=0.7),
        record("hier-cos", ahd_at_1=0.2, hops=0.5),
        record("hier-cos", rule="crm", ahd_at_1=0.3, hops=0.8),
    ]
    beats = {
        "ahd_at_1": significant_pairs(("hier-cos", "hier-cos + crm")),
        "hops": significant_pairs(  # more is better here, so the worse variant is first
            ("hier-cos", "cross-entropy"),
            ("hier-cos", "hier-cos + crm"),
            ("cross-entropy", "hier-cos + crm"),
            metric="hops",
        ),
    }

    def rows(ours: str, reference: str, name: str) -> tuple[float, float, float]:
        return beats[name](ours, reference, name) if name in beats else (0.0, -0.05, 0.05)

    found = recommend(summarize(records), rows, most_frequent=0.25, tests=TESTS)
    assert (found.variant.name, found.tied) == ("hier-cos + crm", ())
    assert found.statements[0].reason == (
        "Over the 3 test rows its order of the classes (HOPS) is significantly better than that of all others."
    )


def test_a_single_variant_is_said_to_be_the_only_one() -> None:
    variants = summarize([record("hier-cos")])
    found = recommend(variants, significant_pairs(), most_frequent=0.25, tests=TESTS)
    assert found.statements[0].reason == "It is the only variant."


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ([("hier-cos", "none", 0.4), ("haframe", "none", 0.3)], "it is the nearest of them."),
        (
            [("hier-cos", "none", 0.4), ("haframe", "none", 0.3), ("hier-cos", "crm", 0.2)],
            "it is the nearest of the simplest.",
        ),
        ([("haframe", "none", 0.4), ("haframe", "crm", 0.3)], "it is the simplest of them."),
    ],
)
def test_only_a_variant_that_is_simpler_than_all_that_tie_is_called_the_simplest(
    variants: list[tuple[str, str, float]], said: str
) -> None:
    records = [record(method, rule=rule, ahd_at_1=distance) for method, rule, distance in variants]
    found = recommend(summarize(records), significant_pairs(), most_frequent=0.25, tests=TESTS)
    assert found.variant.name == "haframe"
    assert found.statements[0].reason.endswith(said)


def test_a_metric_that_is_not_known_decides_nothing() -> None:
    records = [record("cross-entropy", log_loss=math.nan), record("hier-cos", log_loss=0.1)]
    rows = significant_pairs(("hier-cos", "cross-entropy"), metric="log_loss")
    assert recommend(summarize(records), rows, most_frequent=0.25, tests=TESTS).variant.name == "cross-entropy"


def test_no_row_says_nothing_of_a_share() -> None:
    assert wilson_interval(0.5, 0) == (0, 1)


def test_of_variants_that_tie_the_simplest_is_recommended_and_the_tie_is_named() -> None:
    distances = {"cross_entropy": 0.42, "hier_cos": 0.4, "hier_cos_crm": 0.39}
    found = recommend(summarize(compared(**distances)), rows_of(**distances), most_frequent=0.25, tests=TESTS)
    assert found.variant.name == "cross-entropy"
    assert texts_of(found)[0].endswith(
        " cross-entropy ties with hier-cos, hier-cos + crm: no significant difference over the 3 test rows in AHD@1, "
        "top-1, HOPS, log loss; it is the simplest of them."
    )
    assert not any(text.startswith("To rank all classes") for text in texts_of(found))  # the orders tie too


@pytest.mark.parametrize(
    ("metric", "values", "said"),
    [
        ("hops", (0.4, 0.6, 0.7), "its order of the classes (HOPS) is significantly better than that of all others."),
        ("top1", (0.4, 0.4, 0.7), "significantly more of its answers are right than of all others."),
        (
            "log_loss",
            (0.9, 0.8, 0.7),
            "its probabilities (log loss) are significantly better than those of all others.",
        ),
    ],
)
def test_a_certain_gain_in_any_figure_breaks_a_tie_of_distances(
    metric: str, values: tuple[float, float, float], said: str
) -> None:
    kinds = {
        "cross_entropy": ("cross-entropy", "none"),
        "hier_cos": ("hier-cos", "none"),
        "hier_cos_crm": ("hier-cos", "crm"),
    }
    records = [
        record(method, rule=rule, **{"ahd_at_1": 0.4, "hops": 0.5, "top1": 0.5, metric: value})
        for (method, rule), value in zip(kinds.values(), values, strict=True)
    ]
    rows = rows_of(metric, **dict(zip(kinds, values, strict=True)))
    found = recommend(summarize(records), rows, most_frequent=0.25, tests=TESTS)
    assert found.variant.name == "hier-cos + crm"
    assert f"Over the 3 test rows {said}" in texts_of(found)[0]


def test_a_variant_with_nearer_answers_goes_before_one_with_a_better_order() -> None:
    records = [
        record("cross-entropy", ahd_at_1=0.5, hops=0.4),
        record("hier-cos", ahd_at_1=0.3, hops=0.5),
        record("hier-cos", rule="crm", ahd_at_1=0.45, hops=0.9),
    ]
    near = rows_of(cross_entropy=0.5, hier_cos=0.3, hier_cos_crm=0.45)
    order = rows_of("hops", cross_entropy=0.4, hier_cos=0.5, hier_cos_crm=0.9)
    found = recommend(
        summarize(records),
        lambda ours, reference, metric: (order if metric == "hops" else near)(ours, reference, metric),
        most_frequent=0.25,
        tests=TESTS,
    )
    assert found.variant.name == "hier-cos"
    assert texts_of(found)[-1] == "To rank all classes, hier-cos + crm has the highest HOPS, 0.900."


def test_a_variant_that_is_ahead_of_the_recommended_one_in_a_metric_is_named() -> None:
    records = [
        record("cross-entropy", ahd_at_1=0.5, top1=0.7, log_loss=0.8),
        record("hier-cos", ahd_at_1=0.3, top1=0.6, log_loss=0.9),
    ]
    figures = {
        "ahd_at_1": rows_of(cross_entropy=0.5, hier_cos=0.3),
        "top1": rows_of("top1", cross_entropy=0.7, hier_cos=0.6),
        "log_loss": rows_of("log_loss", cross_entropy=0.8, hier_cos=0.9),
        "hops": rows_of("hops", cross_entropy=0.5, hier_cos=0.5),
    }
    found = recommend(
        summarize(records),
        lambda ours, reference, metric: figures[metric](ours, reference, metric),
        most_frequent=0.25,
        tests=TESTS,
    )
    assert found.variant.name == "hier-cos"
    assert texts_of(found)[-2:] == [
        "For the most correct answers, cross-entropy has the highest top-1, 70.00%.",
        "For the best probabilities, cross-entropy has the lowest log loss, 0.800.",
    ]


def test_a_significant_difference_has_digits_enough_to_tell_its_interval_from_zero() -> None:
    records = [record("cross-entropy", ahd_at_1=0.5), record("hier-cos", ahd_at_1=0.49)]

    def rows(ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        sign = -1 if ours == "hier-cos" else 1
        ends = sorted([sign * 0.0002, sign * 0.02])
        return (sign * 0.01, *ends) if metric == "ahd_at_1" else (0.0, -0.0002, 0.0002)

    found = recommend(summarize(records), rows, most_frequent=0.25, tests=TESTS)
    assert (
        "mean tree distance -0.0100 (-0.0200 to -0.0002), HOPS +0.000 (-0.000 to +0.000, a tie)" in texts_of(found)[3]
    )


def test_a_difference_that_changes_from_seed_to_seed_is_a_tie_from_three_seeds_on() -> None:
    flat, ours = (0.5, 0.5, 0.5), (0.0, 0.45, 0.6)
    records = [record("cross-entropy", seed, ahd_at_1=value) for seed, value in enumerate(flat)]
    records += [record("hier-cos", seed, ahd_at_1=value) for seed, value in enumerate(ours)]
    rows = rows_of(cross_entropy=0.5, hier_cos=0.35)
    assert recommend(summarize(records), rows, most_frequent=0.1, tests=TESTS).variant.name == "cross-entropy"
    fewer = [each for each in records if each.seed < 2]
    assert recommend(summarize(fewer), rows, most_frequent=0.1, tests=TESTS).variant.name == "hier-cos"


def test_the_model_of_the_best_seed_on_validation_is_recommended() -> None:
    history = [[{"top1": 0.5}], [{"top1": 0.7}], [{"top1": 0.7}]]
    records = [replace(record("cross-entropy", seed), history=each) for seed, each in enumerate(history)]
    found = recommend(summarize(records), rows_of(cross_entropy=0.5), most_frequent=0.1, tests=TESTS)
    assert found.record.seed == 1
