from dataclasses import replace

from hiercos.records import Record
from hiercos.report import recommendation, summarize, verdict
from hiercos.report.verdict import RowDifference
from records import record


def told(ours: list[tuple[float, float]], flat: list[tuple[float, float]]) -> str:
    """The verdict for (HOPS, top-1) of each seed."""
    records = [record("hier-cos", seed, hops=hops, top1=top1) for seed, (hops, top1) in enumerate(ours)]
    records += [record("cross-entropy", seed, hops=hops, top1=top1) for seed, (hops, top1) in enumerate(flat)]
    return verdict(summarize(records))


def test_a_certain_gain_and_a_certain_loss_are_called_so() -> None:
    sentence = told([(0.90, 0.80), (0.91, 0.81)], [(0.40, 0.85), (0.41, 0.86)])
    assert "gains 0.500 of HOPS (95% interval +0.500 to +0.500)" in sentence
    assert "loses 5.00 points of top-1" in sentence


def test_a_difference_within_the_noise_is_not_sold_as_a_gain() -> None:
    sentence = told([(0.90, 0.80), (0.20, 0.81)], [(0.40, 0.80), (0.41, 0.81)])
    assert "shows no significant difference in HOPS" in sentence


def test_one_seed_claims_no_interval() -> None:
    assert "one seed, so no interval" in told([(0.9, 0.8)], [(0.4, 0.8)])


def test_a_rule_on_a_flat_method_counts_as_using_the_tree() -> None:
    records = [record("cross-entropy", seed, hops=0.4, top1=0.8 + seed / 100) for seed in (0, 1)]
    records += [record("cross-entropy", seed, rule="crm", hops=0.9, top1=0.8 + seed / 100) for seed in (0, 1)]
    sentence = verdict(summarize(records))
    assert sentence.startswith("Against cross-entropy, the most accurate flat method: cross-entropy + crm gains 0.500")
    assert "shows no significant difference in top-1" in sentence


def test_no_change_with_one_seed_is_neither_gain_nor_loss() -> None:
    assert "changes by 0.000 of HOPS" in told([(0.4, 0.8)], [(0.4, 0.8)])


def test_nothing_is_weighed_without_a_flat_method() -> None:
    assert verdict(summarize([record("hier-cos")])).startswith("No verdict")


def rows_of(**gaps: float) -> RowDifference:
    """Differences over rows from the AHD@1 of each line, certain from 0.05 on; top-1 always ties."""

    def difference(ours: str, reference: str, metric: str) -> tuple[float, float, float]:
        key = (ours.replace(" + ", "_").replace("-", "_"), reference.replace(" + ", "_").replace("-", "_"))
        mean = gaps[key[0]] - gaps[key[1]] if metric == "ahd_at_1" else 0.0
        return mean, mean - 0.05, mean + 0.05

    return difference


def compared(**distances: float) -> list[Record]:
    kinds = {"cross_entropy": "cross-entropy", "hier_cos": "hier-cos", "hier_cos_crm": "hier-cos"}
    return [
        record(kinds[name], rule="crm" if name.endswith("crm") else "none", ahd_at_1=value, hops=1 - value)
        for name, value in distances.items()
    ]


def test_a_line_that_is_certainly_nearest_is_shipped() -> None:
    distances = {"cross_entropy": 0.5, "hier_cos": 0.4, "hier_cos_crm": 0.1}
    found = recommendation(summarize(compared(**distances)), rows_of(**distances), most_frequent=0.25)
    assert (found.line.name, found.tied) == ("hier-cos + crm", ())
    assert found.sentences[0] == (
        "Ship hier-cos + crm: top-1 50.00%, mean tree distance of the answers 0.100. "
        "Its answers are certainly nearer than those of all others over the 3 test rows."
    )
    assert found.sentences[1] == (
        "The features: cross-entropy has top-1 50.00%, always the most frequent class 25.00%."
    )
    assert found.sentences[2] == (
        "The tree in training: hier-cos against cross-entropy: +0.00 points of top-1 (-5.00 to +5.00, a tie), "
        "-0.100 of AHD@1 (-0.150 to -0.050)."
    )
    assert found.sentences[3].startswith("The rule: hier-cos + crm against hier-cos: ")
    assert found.sentences[3].endswith("-0.300 of AHD@1 (-0.350 to -0.250).")


def test_of_lines_that_tie_the_simplest_is_shipped_and_the_tie_is_named() -> None:
    distances = {"cross_entropy": 0.42, "hier_cos": 0.4, "hier_cos_crm": 0.39}
    found = recommendation(summarize(compared(**distances)), rows_of(**distances), most_frequent=0.25)
    assert found.line.name == "cross-entropy"
    assert "It ties with hier-cos, hier-cos + crm: no certain difference" in found.sentences[0]
    assert found.sentences[-1] == "To rank all classes, hier-cos + crm has the highest HOPS, 0.610."


def test_a_difference_that_changes_from_seed_to_seed_is_a_tie_from_three_seeds_on() -> None:
    flat, ours = (0.5, 0.5, 0.5), (0.0, 0.45, 0.6)
    records = [record("cross-entropy", seed, ahd_at_1=value) for seed, value in enumerate(flat)]
    records += [record("hier-cos", seed, ahd_at_1=value) for seed, value in enumerate(ours)]
    rows = rows_of(cross_entropy=0.5, hier_cos=0.35)
    assert recommendation(summarize(records), rows, most_frequent=0.1).line.name == "cross-entropy"
    fewer = [each for each in records if each.seed < 2]
    assert recommendation(summarize(fewer), rows, most_frequent=0.1).line.name == "hier-cos"


def test_the_model_of_the_best_seed_on_validation_is_shipped() -> None:
    history = [[{"top1": 0.5}], [{"top1": 0.7}], [{"top1": 0.7}]]
    records = [replace(record("cross-entropy", seed), history=each) for seed, each in enumerate(history)]
    found = recommendation(summarize(records), rows_of(cross_entropy=0.5), most_frequent=0.1)
    assert found.record.seed == 1
