from dataclasses import replace

from hiercos.report import Statement, comparison_results, learning_curve_results, summarize, verdict
from records import record


def told(ours: list[tuple[float, float]], flat: list[tuple[float, float]]) -> str:
    """The verdict for (HOPS, top-1) of each seed."""
    records = [record("hier-cos", seed, hops=hops, top1=top1) for seed, (hops, top1) in enumerate(ours)]
    records += [record("cross-entropy", seed, hops=hops, top1=top1) for seed, (hops, top1) in enumerate(flat)]
    return str(verdict(summarize(records)))


def test_a_certain_gain_and_a_certain_loss_are_called_so() -> None:
    sentence = told([(0.90, 0.80), (0.92, 0.81)], [(0.40, 0.85), (0.41, 0.86)])
    assert "gains 0.505 of HOPS (95% interval over 2 seeds +0.441 to +0.569)" in sentence
    assert "loses 5.00 points of top-1 (the same for every seed)" in sentence


def test_a_difference_within_the_noise_is_not_sold_as_a_gain() -> None:
    sentence = told([(0.90, 0.80), (0.20, 0.81)], [(0.40, 0.80), (0.41, 0.81)])
    assert "shows no significant difference in HOPS" in sentence


def test_one_seed_claims_no_interval() -> None:
    assert "one seed, so no interval" in told([(0.9, 0.8)], [(0.4, 0.8)])


def test_a_rule_on_a_flat_method_counts_as_using_the_tree() -> None:
    records = [record("cross-entropy", seed, hops=0.4, top1=0.8 + seed / 100) for seed in (0, 1)]
    records += [record("cross-entropy", seed, rule="crm", hops=0.9, top1=0.8 + seed / 100) for seed in (0, 1)]
    sentence = str(verdict(summarize(records)))
    assert sentence.startswith("Against cross-entropy, the most accurate flat method: cross-entropy + crm gains 0.500")
    assert sentence.endswith(" and does not change top-1 (the same for every seed).")


def test_no_change_with_one_seed_is_neither_gain_nor_loss() -> None:
    assert "does not change HOPS (one seed, so no interval)" in told([(0.4, 0.8)], [(0.4, 0.8)])


def test_nothing_is_weighed_without_a_flat_method() -> None:
    assert str(verdict(summarize([record("hier-cos")]))).startswith("No verdict")


def test_learning_curves_speak_of_draws() -> None:
    records = [
        replace(record(method, seed, hops=hops + seed / 100), data={**record().data, "shots": 2})
        for method, hops in (("hier-cos", 0.9), ("cross-entropy", 0.4))
        for seed in (0, 1, 2)
    ]
    results = learning_curve_results(records)
    assert "gains 0.500 of HOPS (the same for every draw)" in str(results.verdict)
    differences = results.differences(results.sections[0])
    assert differences is not None
    assert "draw by draw" in differences.title
    assert "seed" not in str(results.verdict) + differences.title
    one = learning_curve_results([each for each in records if each.seed == 0])
    assert "(one draw, so no interval)" in str(one.verdict)


def test_gains_over_seeds_are_left_out_where_those_over_rows_are_known() -> None:
    records = [record("hier-cos", hops=0.9), record("cross-entropy", hops=0.4)]
    ship, tree = Statement("ship", "it."), Statement("tree", "a tie.")
    assert comparison_results(records, advice=[ship, tree]).verdict.statements == (ship, tree)
    gain, *others = comparison_results(records, advice=[ship]).verdict.statements
    assert (gain.kind, others) == ("gain", [ship])
