"""The analysis of answers against slow loops over samples, on random trees."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.decisions import Decision, Posterior, Rule, ShortList, rule
from hiercos.evaluation import VariantAnswers, analyse
from hiercos.evaluation.answer_analysis import confused_pairs, level_curves, mistake, node_statistics, worst_rows
from hiercos.evaluation.class_rankings import hops_weights, mean_logs, tree_order, variant_rankings
from hiercos.taxonomy import Floats
from trees import TOY, TOY17, ancestor_sets, taxonomies


def variant_on(taxonomy: Taxonomy, samples: int, seed: int, name: str = "a", rule_name: str = "none") -> VariantAnswers:
    generator = np.random.default_rng(seed)
    labels = generator.integers(taxonomy.num_classes, size=samples)
    scores = generator.normal(size=(samples, taxonomy.num_classes))
    scores[np.arange(samples), labels] += 1.5
    return VariantAnswers(name, name, rule(rule_name), Posterior.from_scores(scores, taxonomy), labels)


def distance(taxonomy: Taxonomy, node: int, other: int) -> int:
    above = ancestor_sets(taxonomy)
    return 0 if node == other else taxonomy.height - len(above[node] & above[other])


@settings(max_examples=25, deadline=None)
@given(taxonomies(), st.integers(0, 10**6))
def test_figures_of_nodes_are_means_over_the_samples_below(taxonomy: Taxonomy, seed: int) -> None:
    variant, flat = variant_on(taxonomy, 30, seed, rule_name="crm"), variant_on(taxonomy, 30, seed)
    found, above = node_statistics(variant, flat), ancestor_sets(taxonomy)
    for node in range(taxonomy.num_nodes):
        rows = [row for row in range(30) if node in above[taxonomy.leaves[variant.labels[row]]]]
        right = [node in above[variant.nodes[row]] for row in rows]
        flat_right = [node in above[flat.nodes[row]] for row in rows]
        far = [distance(taxonomy, variant.nodes[row], taxonomy.leaves[variant.labels[row]]) for row in rows]
        wrong = [
            each
            for row, each in zip(rows, far, strict=True)
            if variant.nodes[row] != taxonomy.leaves[variant.labels[row]]
        ]
        assert found.support[node] == len(rows)
        if rows:
            assert found.accuracy[node] == pytest.approx(np.mean(right))
            assert found.gain[node] == pytest.approx(np.mean(right) - np.mean(flat_right))
        else:
            assert np.isnan(found.accuracy[node])
        assert np.isnan(found.severity[node]) if not wrong else found.severity[node] == pytest.approx(np.mean(wrong))


def test_without_a_reference_there_is_no_gain() -> None:
    assert np.isnan(node_statistics(variant_on(TOY, 9, 0), None).gain).all()


@settings(max_examples=25, deadline=None)
@given(taxonomies(), st.integers(0, 10**6))
def test_the_worst_mistakes_are_far_then_confident(taxonomy: Taxonomy, seed: int) -> None:
    variant = variant_on(taxonomy, 40, seed)
    rows = worst_rows(variant)
    keys = [
        (-distance(taxonomy, variant.nodes[row], taxonomy.leaves[variant.labels[row]]), -variant.probabilities[row])
        for row in rows
    ]
    assert keys == sorted(keys)
    assert sorted(rows) == [row for row in range(40) if variant.nodes[row] != taxonomy.leaves[variant.labels[row]]]


def test_a_mistake_has_the_probability_of_every_node_on_both_paths() -> None:
    posterior = Posterior([[0.5, 0.3, 0.2]], TOY)
    found = mistake(VariantAnswers("a", "a", rule("none"), posterior, np.array([2])), 0)
    names = {TOY.names[node]: share for node, share in found.probabilities.items()}
    assert names == pytest.approx({"pet": 0.8, "cat": 0.5, "vehicle": 0.2, "car": 0.2})
    assert (found.distance, TOY.names[found.true], TOY.names[found.answer]) == (2, "car", "cat")


def test_pairs_are_counted_and_single_mistakes_left_out() -> None:
    answers = [1, 1, 1, 2, 0, 0]
    posterior = Posterior(np.eye(3)[answers], TOY)
    variant = VariantAnswers("a", "a", rule("none"), posterior, np.array([0, 0, 0, 0, 1, 1]))
    found = [(TOY.names[each.true], TOY.names[each.answer], each.count, each.rows) for each in confused_pairs(variant)]
    assert found == [("cat", "dog", 3, (0, 1, 2)), ("dog", "cat", 2, (4, 5))]


@settings(max_examples=25, deadline=None)
@given(taxonomies(), st.integers(0, 10**6))
def test_curves_of_a_level_are_those_of_its_likeliest_node(taxonomy: Taxonomy, seed: int) -> None:
    variant = variant_on(taxonomy, 30, seed)
    for found in level_curves(variant):
        at_level = [taxonomy.path(leaf)[: found.level][-1] for leaf in taxonomy.leaves]  # a class stays itself below
        pairs = []
        for row in range(30):
            best = max({*at_level}, key=lambda node: (variant.posterior.nodes[row, node], -node))
            pairs.append((variant.posterior.nodes[row, best], best == at_level[variant.labels[row]]))
        assert sum(found.samples) == len(pairs)
        assert found.precision[-1] == pytest.approx(np.mean([right for _, right in pairs]))
        assert found.coverage[-1] == 1
        weighted = np.dot(found.samples, found.confidence) / len(pairs)
        assert weighted == pytest.approx(np.mean([share for share, _ in pairs]))
        first = max(pairs, key=lambda pair: pair[0])
        assert found.precision[0] == first[1]


@dataclass(frozen=True)
class PetIfUnsure(Rule):
    """The likeliest class if its probability is above a half, else the first node."""

    def __call__(self, posterior: Posterior) -> Decision:
        likeliest = rule("none")(posterior)
        nodes = np.where(posterior.classes.max(axis=1) > 0.5, likeliest.nodes, 0)
        return replace(likeliest, nodes=nodes)

    def ranking(self, posterior: Posterior) -> Floats:
        return posterior.classes

    def short_list(self, posterior: Posterior, count: int) -> ShortList:
        return rule("none").short_list(posterior, count)


def test_a_rule_that_stops_early_answers_a_share_of_the_deepest_level() -> None:
    posterior = Posterior([[0.9, 0.1, 0.0], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1], [0.4, 0.3, 0.3]], TOY)
    top, bottom = level_curves(VariantAnswers("a", "a", PetIfUnsure(), posterior, np.array([0, 1, 0, 2])))
    assert (top.answered, top.answered_precision) == (1.0, 0.75)
    assert (bottom.answered, bottom.answered_precision) == (0.5, 0.5)


@settings(max_examples=25, deadline=None)
@given(taxonomies(), st.integers(0, 10**6))
def test_distances_by_rank_are_those_of_the_ranked_classes(taxonomy: Taxonomy, seed: int) -> None:
    variant = variant_on(taxonomy, 10, seed, rule_name="crm")
    found = variant_rankings([variant])
    ranked = np.argsort(-variant.rule.ranking(variant.posterior), axis=1, kind="stable")
    place = {label: at for at, label in enumerate(tree_order(taxonomy).tolist())}
    rows = sorted(range(10), key=lambda row: place[int(variant.labels[row])])
    leaves = taxonomy.leaves
    for row, got, best in zip(rows, found.distances["a"], found.best, strict=True):
        far = [distance(taxonomy, leaves[label], leaves[variant.labels[row]]) for label in ranked[row]]
        assert got.tolist() == far[: len(got)]
        assert best.tolist() == sorted(far)[: len(got)]
    assert (found.worst == found.best[:, ::-1]).all()


@settings(max_examples=25, deadline=None)
@given(taxonomies())
def test_classes_below_a_node_are_neighbours_in_tree_order(taxonomy: Taxonomy) -> None:
    order, above = tree_order(taxonomy).tolist(), ancestor_sets(taxonomy)
    for node in range(taxonomy.num_nodes):
        places = [at for at, label in enumerate(order) if node in above[taxonomy.leaves[label]]]
        assert places == list(range(places[0], places[0] + len(places)))


def test_mean_log_probabilities_are_averages_over_groups_of_classes() -> None:
    variant = variant_on(TOY17, 50, 3)
    groups = np.arange(17) // 3
    found = mean_logs(variant, groups)
    for true in range(6):
        rows = [row for row in range(50) if groups[variant.labels[row]] == true]
        for group in range(6):
            values = [variant.posterior.logs[row, groups == group].mean() for row in rows]
            assert found[true, group] == pytest.approx(np.mean(values)) if rows else np.isnan(found[true, group])


def test_the_ideal_matrix_is_minus_the_tree_distance() -> None:
    found, order = variant_rankings([variant_on(TOY17, 20, 0)]), tree_order(TOY17)
    assert (found.ideal == -TOY17.distance_matrix()[np.ix_(order, order)]).all()


def test_hops_weights_are_those_of_the_most_frequent_class() -> None:
    posterior = Posterior(np.full((3, 3), 1 / 3), TOY)
    weights = hops_weights(VariantAnswers("a", "a", rule("none"), posterior, np.array([0, 0, 2])))
    assert weights.tolist() == [1.0, 0.5, 0.25]  # cat itself, dog, car


def test_labels_are_suspected_if_the_answer_is_far_and_confident() -> None:
    shares = [[0.95, 0.03, 0.02], [0.95, 0.03, 0.02], [0.6, 0.2, 0.2], [0.02, 0.03, 0.95]]
    variant = VariantAnswers("a", "a", rule("none"), Posterior(shares, TOY), np.array([2, 1, 2, 2]))
    found = analyse(variant, [], reference="", seed=0, inputs={})
    assert [each.row for each in found.suspected_labels] == [
        0
    ]  # the second is near, the third not confident, the last right
    assert [each.row for each in found.mistakes] == [0, 2, 1]


def test_rows_are_those_of_the_whole_test_split() -> None:
    posterior = Posterior(np.eye(3)[[1, 1, 2, 0]], TOY)
    variant = VariantAnswers("a", "a", rule("none"), posterior, np.array([0, 0, 2, 2]), np.array([3, 5, 8, 9]))
    found = analyse(variant, [], reference="", seed=0, inputs={})
    assert [each.row for each in found.mistakes] == [9, 3, 5]
    assert [each.rows for each in found.pairs] == [(3, 5)]
    assert found.answers.rows.tolist() == [3, 5, 8, 9]
