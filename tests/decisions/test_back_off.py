"""Back-off against a walk down the tree, and its guarantees against their laws."""

import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from decisions.distributions import random_probabilities
from decisions.node_search import ROOT, AllNodes
from hiercos import Taxonomy
from hiercos.decisions import BackOff, HeldOutChains, Posterior, RuleError, held_out_chains, rule, rule_from_dict
from hiercos.decisions.back_off import containment_samples, mean_p_value, precision_samples
from hiercos.taxonomy import IntArray, is_at_or_above
from trees import TOY, TOY17, graphs, random_tree, taxonomies

SIMPLE = settings(deadline=None, max_examples=60)


@SIMPLE
@given(taxonomies(), st.integers(0, 1000), st.sampled_from([0.3, 0.5, 0.9, 1.0]), st.integers(0, 3))
def test_the_answer_is_the_deepest_sure_node_of_the_chain(
    taxonomy: Taxonomy, seed: int, confidence: float, least: int
) -> None:
    probabilities = random_probabilities(taxonomy, seed)
    nodes = rule("back-off", confidence=confidence, min_level=least)(Posterior(probabilities, taxonomy)).nodes
    for row, node in zip(probabilities, nodes.tolist(), strict=True):
        every = AllNodes(taxonomy, row)
        chain = every.chain()
        sure = [step for step in chain if every.probability[step] >= confidence - 1e-12]
        expected = sure[-1] if sure else ROOT
        if len(sure) < least:
            expected = chain[min(least, len(chain)) - 1]
        assert node == expected or abs(every.probability[node] - confidence) < 1e-9


def test_every_level_has_its_own_confidence_and_the_last_holds_below() -> None:
    posterior = Posterior([[0.5, 0.3, 0.2]], TOY)
    for levels, node in (((0.7, 0.4), 2), ((0.9, 0.4), 2), ((0.7, 0.6), 0), ((0.9, 0.6), -1), ((0.5,), 2)):
        assert rule("back-off", level_confidences=levels)(posterior).nodes.tolist() == [node]


def sampled(taxonomy: Taxonomy, seed: int, rows: int) -> tuple[Posterior, IntArray]:
    """Posteriors and labels that were drawn from flatter ones, so that the posterior is too sure."""
    generator = np.random.default_rng(seed)
    true = random_probabilities(taxonomy, seed, rows)
    classes = np.array([generator.choice(len(row), p=row) for row in true])
    sharper = true**1.5
    return Posterior(sharper / sharper.sum(axis=1, keepdims=True), taxonomy), taxonomy.leaves[classes]


def contained(nodes: IntArray, labels: IntArray, taxonomy: Taxonomy) -> float:
    return float(
        np.mean(
            [node < 0 or node in taxonomy.path(int(label)) for node, label in zip(nodes.tolist(), labels, strict=True)]
        )
    )


@SIMPLE
@given(taxonomies(), st.integers(0, 1000))
def test_the_calibration_score_is_the_probability_of_the_shallowest_wrong_node(taxonomy: Taxonomy, seed: int) -> None:
    posterior, labels = sampled(taxonomy, seed, 6)
    chains = held_out_chains(posterior, labels)
    for row in range(6):
        every = AllNodes(taxonomy, posterior.classes[row])
        wrong = [node for node in every.chain() if node not in taxonomy.path(int(labels[row]))]
        assert chains.wrong[row] == pytest.approx([every.probability[node] for node in wrong])
        assert chains.scores[row] == pytest.approx(every.probability[wrong[0]] if wrong else 0.0)
        assert chains.first[row] == pytest.approx(every.probability[every.chain()[0]])
        for threshold in (0.2, 0.6):
            node = rule("back-off", confidence=threshold)(posterior.rows([row])).nodes.tolist()[0]
            path, true = set(taxonomy.path(node)), set(taxonomy.path(int(labels[row])))
            assert chains.overshoots(threshold)[row] == len(path - true)


def test_samples_labelled_above_a_class_are_known_and_nodes_below_their_label_stand_as_wrong() -> None:
    chains = held_out_chains(Posterior([[0.75, 0.125, 0.125]] * 4, TOY), np.array([0, 2, 1, -1]))  # pet, cat, vehicle
    assert chains == HeldOutChains((0.875,) * 4, ((0.75,), (), (0.875, 0.75), (0.875, 0.75)), 2, coarse=(0, 2, 3))
    assert HeldOutChains.from_dict(json.loads(json.dumps(chains.to_dict()))) == chains
    assert chains.of_classes() == HeldOutChains((0.875,), ((),), 2)


def slow_threshold(posterior: Posterior, labels: IntArray, target: float, *, coarse_as_wrong: bool) -> float:
    """The lowest threshold whose answers on the samples are so often right, were one more sample wrong at any."""
    taxonomy = posterior.taxonomy
    walks = [AllNodes(taxonomy, row) for row in posterior.classes]
    used = [
        (walk, label)
        for walk, label in zip(walks, labels.tolist(), strict=True)
        if coarse_as_wrong or label in taxonomy.leaves
    ]
    sums = {walk.probability[node] for walk, _ in used for node in walk.chain()}
    for threshold in sorted({0.0, *sums}):
        right = 0
        for walk, label in used:
            answers = [node for node in walk.chain() if walk.probability[node] > threshold + 1e-9]
            right += all(node in walk.above[label] for node in answers)
        if right >= target * (len(used) + 1) - 1e-9:
            return threshold
    return np.inf


@SIMPLE
@given(st.one_of(taxonomies(), graphs()), st.integers(0, 1000), st.booleans(), st.sampled_from([0.5, 0.7, 0.8]))
def test_coarse_samples_are_left_out_of_a_target_or_count_as_wrong_below_their_label(
    taxonomy: Taxonomy, seed: int, coarse_as_wrong: bool, target: float
) -> None:
    posterior, labels = sampled(taxonomy, seed, 30)
    generator = np.random.default_rng(seed)
    coarse = generator.random(30) < 0.4
    labels[coarse] = generator.integers(-1, taxonomy.num_nodes, coarse.sum())  # some of them are classes again
    fitted = BackOff(target_containment=target, coarse_as_wrong=coarse_as_wrong).fit(posterior, labels)
    above = sum(label not in taxonomy.leaves for label in labels.tolist())
    assert (fitted.coarse, fitted.samples) == (above, 30 if coarse_as_wrong else 30 - above)
    expected = slow_threshold(posterior, labels, target, coarse_as_wrong=coarse_as_wrong)
    assert fitted.threshold == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("by_difficulty", [False, True])
def test_without_coarse_samples_containment_is_exact_for_samples_of_a_class_and_with_them_safe_for_all(
    by_difficulty: bool,
) -> None:
    taxonomy, target, count = random_tree(5, 20), 0.7, 199
    posterior, labels = sampled(taxonomy, 2, 2000)
    generator = np.random.default_rng(0)
    hard = posterior.classes.max(axis=1) < np.median(posterior.classes.max(axis=1))
    coarse = hard if by_difficulty else generator.random(2000) < 0.5
    known = np.where(coarse, taxonomy.path_table(labels)[:, 0], labels)  # coarse labels are of level 1
    realised: dict[str, list[float]] = {"of a class": [], "all": [], "safe": []}
    for _ in range(60):
        order = generator.permutation(2000)
        cal, test = order[:count], order[count:]
        exact, safe = (
            BackOff(target_containment=target, coarse_as_wrong=each)
            .fit(posterior.rows(cal), known[cal])(posterior.rows(test))
            .nodes
            for each in (False, True)
        )
        own = ~coarse[test]
        realised["of a class"].append(contained(exact[own], labels[test][own], taxonomy))
        realised["all"].append(contained(exact, labels[test], taxonomy))
        realised["safe"].append(contained(safe, labels[test], taxonomy))
    means = {name: np.mean(values) for name, values in realised.items()}
    assert means["of a class"] == pytest.approx(target, abs=0.025)
    assert means["safe"] > target + 0.1
    assert by_difficulty or means["all"] == pytest.approx(target, abs=0.025)


def test_the_guarantee_says_which_samples_it_holds_for_where_some_are_coarse() -> None:
    posterior, labels = sampled(TOY17, 0, 100)
    labels[:60] = TOY17.parents[labels[:60]]
    fitted = BackOff(target_containment=0.9).fit(posterior, labels)
    assert fitted.guarantee == (
        "P(the answer contains the truth) >= 0.9 by split conformal calibration on 40 samples, if new samples are "
        "exchangeable with them. They are labelled with a class: this holds for such samples, and for all if labels "
        "are coarse at random; 60 labelled above a class were left out (coarse_as_wrong=true counts them)."
    )
    assert rule_from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted
    counted = BackOff(target_containment=0.9, coarse_as_wrong=True).fit(posterior, labels)
    assert counted.guarantee == (
        "P(the answer contains the truth) >= 0.9 by split conformal calibration on 100 samples, if new samples are "
        "exchangeable with them. 60 of them are labelled above a class: what stands below counted as wrong."
    )
    left_out = r"got 40; 60 labelled above a class are left out \(coarse_as_wrong=true counts them\)$"
    with pytest.raises(RuleError, match=left_out):
        BackOff(target_containment=0.98).fit(posterior, labels)
    BackOff(target_containment=0.98, coarse_as_wrong=True).fit(posterior, labels)


def test_the_threshold_is_just_above_the_score_of_the_right_rank() -> None:
    chains = HeldOutChains((1.0,) * 9, tuple((score,) for score in np.arange(1, 10) / 10), 1)
    fitted = BackOff(target_containment=0.8).calibrated(chains)
    assert fitted.threshold == np.nextafter(0.8, 1)  # ceil(10 * 0.8) = 8
    assert BackOff(target_containment=0.9).calibrated(chains).threshold == np.nextafter(0.9, 1)
    with pytest.raises(RuleError, match=r"target_containment 0.95: expected at least 19 calibration samples, got 9"):
        BackOff(target_containment=0.95).calibrated(chains)


@pytest.mark.parametrize("target", [0.8, 0.95])
def test_realised_containment_follows_its_beta_law(target: float) -> None:
    taxonomy = random_tree(5, 60)
    posterior, labels = sampled(taxonomy, 2, 3000)
    generator, count, realised = np.random.default_rng(0), 99, []
    for _ in range(200):
        order = generator.permutation(3000)
        cal, test = order[:count], order[count:]
        fitted = rule("back-off", target_containment=target).fit(posterior.rows(cal), labels[cal])
        realised.append(contained(fitted(posterior.rows(test)).nodes, labels[test], taxonomy))
    rank = int(np.ceil((count + 1) * target))
    law = stats.beta(rank, count + 1 - rank)  # never less, and equal but for ties and the finite test set
    assert np.mean(realised) == pytest.approx(law.mean(), abs=4 * law.std() / 200**0.5 + 0.003)
    assert np.std(realised) == pytest.approx(law.std(), rel=0.3)
    assert np.mean(np.array(realised) < law.ppf(0.05)) < 0.12


def test_a_precision_holds_for_most_calibration_sets_and_an_overshoot_too() -> None:
    taxonomy = random_tree(5, 60)
    posterior, labels = sampled(taxonomy, 2, 6000)
    test, truth = posterior.rows(np.arange(3000, 6000)), labels[3000:]
    chains, generator = held_out_chains(test, truth), np.random.default_rng(0)
    failed = {"target_precision": 0, "max_overshoot": 0}
    for _ in range(60):
        cal = generator.permutation(3000)[:400]
        precise, near = (
            rule("back-off", delta=0.1, **limit).fit(posterior.rows(cal), labels[cal])
            for limit in ({"target_precision": 0.8}, {"max_overshoot": 0.3})
        )
        nodes = precise(test).nodes
        answered = nodes >= 0
        failed["target_precision"] += contained(nodes[answered], truth[answered], taxonomy) < 0.8
        failed["max_overshoot"] += chains.overshoots(near.threshold).mean() > 0.3  # type: ignore[attr-defined]
    assert failed["target_precision"] <= 12
    assert failed["max_overshoot"] <= 12


def test_the_precision_bound_is_that_of_clopper_and_pearson() -> None:
    sure = HeldOutChains((0.9999,) * 59, ((),) * 59, 1)  # 0.95 ** 59 < 0.05
    assert BackOff(target_precision=0.95).calibrated(sure).threshold == pytest.approx(0.0)
    fewer = HeldOutChains(sure.first[1:], sure.wrong[1:], 1)
    with pytest.raises(
        RuleError,
        match="no threshold keeps enough right answers among the 58 calibration samples; the highest target that works "
        r"is 0\.94$",
    ):
        BackOff(target_precision=0.95).calibrated(fewer)
    assert BackOff(target_precision=0.94).calibrated(fewer).threshold == pytest.approx(0.0)
    wrong = HeldOutChains((0.5,) * 60, ((0.5,),) * 60, 1)
    with pytest.raises(RuleError, match=r"among the 60 calibration samples; choose a confidence instead$"):
        BackOff(target_precision=0.95).calibrated(wrong)
    mixed = HeldOutChains((0.9999,) * 59 + (0.5,), ((),) * 59 + ((0.5,),), 1)
    threshold = BackOff(target_precision=0.95).calibrated(mixed).threshold
    assert threshold is not None
    assert 0.5 < threshold < 0.52
    unsure = HeldOutChains((0.9999,) * 59 + (0.01,) * 10, ((),) * 59 + ((0.01,),) * 10, 1)
    threshold = BackOff(target_precision=0.95).calibrated(unsure).threshold
    assert threshold is not None
    assert threshold > 0.01  # the lowest threshold, 0, is tested as well


def test_the_p_value_of_a_mean_is_small_only_where_the_mean_is_surely_below() -> None:
    assert mean_p_value(np.zeros(100), 0.05) == pytest.approx(0.95**100)
    assert mean_p_value(np.full(100, 0.2), 0.1) == 1.0
    assert mean_p_value(np.empty(0), 0.1) == 1.0
    assert mean_p_value(np.ones(3), 1.5) == 0.0


def test_guarantees_are_named_with_their_assumption_and_withheld_where_they_do_not_hold() -> None:
    posterior, labels = sampled(TOY17, 0, 300)
    fitted = rule("back-off", target_containment=0.9).fit(posterior, labels)
    assert isinstance(fitted, BackOff)
    assert fitted.guarantee == (
        "P(the answer contains the truth) >= 0.9 by split conformal calibration on 300 samples, if new samples are "
        "exchangeable with them."
    )
    assert rule_from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted
    assert BackOff(target_containment=0.9, min_level=1).calibrated(held_out_chains(posterior, labels)).guarantee == ""
    crossed = held_out_chains(posterior, labels, exchangeable=False)
    assert BackOff(target_containment=0.9).calibrated(crossed).guarantee == ""
    assert BackOff(confidence=0.9).guarantee == ""
    precise = BackOff(target_precision=0.5, delta=0.1).calibrated(held_out_chains(posterior, labels))
    assert precise.guarantee.startswith("With confidence 0.9, at least 0.5 of the answered samples contain the truth")
    bounded = BackOff(max_overshoot=2.0).calibrated(held_out_chains(posterior, labels))
    assert bounded.guarantee.startswith("With confidence 0.95, the mean overshoot is at most 2 levels")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"confidence": 0.5, "target_precision": 0.5}, "one threshold or target, got confidence and target_precision"),
        ({"confidence": 1.5}, "expected a confidence above 0 and at most 1, got 1.5"),
        ({"confidence": 95}, "expected a confidence above 0 and at most 1, got 95; did you mean 0.95?"),
        ({"confidence": float("nan")}, "expected a confidence above 0 and at most 1, got nan"),
        ({"level_confidences": (0.5, -1.0)}, "expected a level_confidences above 0 and at most 1, got -1"),
        ({"target_containment": 1.0}, "expected a target_containment above 0 and below 1, got 1"),
        ({"max_overshoot": 0.0}, "expected a max_overshoot above 0, got 0"),
        ({"delta": 0.0}, "expected a delta above 0 and below 1, got 0"),
        ({"min_level": -1}, "expected a min_level of at least 0, got -1"),
    ],
)
def test_impossible_targets_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(RuleError, match=re.escape(message)):
        rule("back-off", **values)


def test_a_confidence_of_one_is_possible() -> None:
    assert rule("back-off", confidence=1.0) == BackOff(confidence=1.0)


def test_a_target_without_calibration_is_refused_and_a_confidence_needs_none() -> None:
    with pytest.raises(RuleError, match="a target needs calibration samples"):
        rule("back-off", target_containment=0.9)(Posterior([[0.5, 0.25, 0.25]], TOY))
    with pytest.raises(RuleError, match=r"target_containment 0.9: this model has no calibration samples"):
        BackOff(target_containment=0.9).calibrated(None)
    assert BackOff().calibrated(None) == BackOff(confidence=0.9)
    assert rule("back-off").fit(Posterior([[0.5, 0.25, 0.25]], TOY), np.array([2])) == BackOff(confidence=0.9)


def test_in_a_graph_containment_counts_every_ancestor() -> None:
    graph = Taxonomy.from_edges([("a", "x"), ("b", "x"), ("b", "y")])
    nodes = np.array([[-1, *range(graph.num_nodes)]] * 2)
    above = [{-1, *graph.ancestors.list(int(leaf)).tolist()} for leaf in graph.leaves]
    expected = [[node in own for node in row] for row, own in zip(nodes.tolist(), above, strict=True)]
    assert is_at_or_above(nodes, graph.leaves, graph).tolist() == expected


def test_as_many_samples_as_a_target_needs_are_enough_and_one_less_is_not() -> None:
    def right(count: int) -> HeldOutChains:
        return HeldOutChains((0.999,) * count, ((),) * count, height=2)  # the leaf of every chain is right

    for name, count in (("target_containment", containment_samples), ("target_precision", precision_samples)):
        for target in (0.9, 0.95):
            wanted = rule("back-off", **{name: target})
            assert wanted.calibrated(right(count(target))).has_target
            with pytest.raises(RuleError, match=f"{name} {target}"):
                wanted.calibrated(right(count(target) - 1))


def test_more_confidences_than_levels_are_refused() -> None:
    assert BackOff(level_confidences=(0.5, 0.8)).thresholds(3).tolist() == [0.5, 0.8, 0.8]
    with pytest.raises(RuleError, match="expected at most 2 confidences, one for each level, got 3"):
        BackOff(level_confidences=(0.5, 0.8, 0.9)).thresholds(2)
