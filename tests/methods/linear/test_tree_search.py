"""Searches of a tree against the scores of all of its classes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from hiercos import Taxonomy
from hiercos.decisions import BackOff, Posterior, PosteriorError, SearchedPosterior, likeliest_chains, rule
from hiercos.decisions import searched_posterior as searched_module
from hiercos.methods import LabelledFeatures
from hiercos.methods.linear import sibling_problems
from solving import data, solved
from trees import TOY17, taxonomies


def posteriors(taxonomy: Taxonomy, train: LabelledFeatures) -> tuple[Posterior, SearchedPosterior]:
    """The probabilities of a model of some samples, of all classes, and searched for."""
    model, _ = solved("siblings", taxonomy, train, None)
    scores = Posterior.from_scores(model.array_scores(train.features), taxonomy)
    return scores, SearchedPosterior(model.search(train.features), taxonomy)


def random_samples(taxonomy: Taxonomy, seed: int, change: Any) -> LabelledFeatures:
    generator = np.random.default_rng(seed)
    features = (generator.normal(size=(30, 6)) * (generator.random((30, 6)) < 0.6)).astype(np.float32)
    return LabelledFeatures(change(features), generator.integers(0, taxonomy.num_classes + taxonomy.num_nodes, 30))


@settings(max_examples=40, deadline=None)
@given(taxonomies(), st.integers(0, 9), st.sampled_from([np.asarray, csr_matrix]), st.integers(1, 5))
def test_the_searched_classes_and_nodes_are_those_of_the_scores_of_all(
    taxonomy: Taxonomy, seed: int, change: Any, count: int
) -> None:
    whole, searched = posteriors(taxonomy, random_samples(taxonomy, seed, change))
    classes, logs = searched.best(count)
    kept = min(count, taxonomy.num_classes)
    assert (classes[:, kept:] == -1).all()
    expected = -np.sort(-whole.classes, axis=1)[:, :kept]
    np.testing.assert_allclose(np.exp(logs[:, :kept]), expected, atol=1e-6)
    np.testing.assert_allclose(whole.of_classes(classes[:, :kept]), expected, atol=1e-6)
    for node in range(-1, taxonomy.num_nodes):
        nodes = np.full(30, node)
        np.testing.assert_allclose(searched.of_nodes(nodes), whole.of_nodes(nodes), atol=1e-6)
        best, found = whole.best_child(nodes), searched.best_child(nodes)
        assert ((best < 0) == (found < 0)).all()
        np.testing.assert_allclose(whole.of_nodes(found), whole.of_nodes(best), atol=1e-6)
    np.testing.assert_allclose(searched.classes, whole.classes, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(taxonomies(), st.integers(0, 9), st.data())
def test_a_restriction_of_a_search_is_that_of_all_classes(taxonomy: Taxonomy, seed: int, drawn: st.DataObject) -> None:
    whole, searched = posteriors(taxonomy, random_samples(taxonomy, seed, csr_matrix))
    allowed = np.zeros(taxonomy.num_classes, np.bool_)
    allowed[drawn.draw(st.lists(st.integers(0, taxonomy.num_classes - 1), min_size=1))] = True
    one, other = whole.reweighted(allowed), searched.reweighted(allowed)
    np.testing.assert_allclose(other.classes, one.classes, atol=1e-5)
    for node in range(taxonomy.num_nodes):
        np.testing.assert_allclose(other.of_nodes(np.full(30, node)), one.of_nodes(np.full(30, node)), atol=1e-5)
    chains = likeliest_chains(one), likeliest_chains(other)
    np.testing.assert_allclose(chains[1].probabilities, chains[0].probabilities, atol=1e-5)


def test_rules_answer_and_list_alike_with_virtual_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sibling_problems, "MOST_PRODUCTS", 1_000)
    monkeypatch.setattr(sibling_problems, "WIDE", 4)
    train = data(TOY17, 200)
    whole, searched = posteriors(TOY17, LabelledFeatures(csr_matrix(train.features), train.labels))
    for chosen in (rule("none"), rule("auto"), BackOff(confidence=0.9), rule("crm")):
        one, other = chosen(whole), chosen(searched)
        assert (one.nodes == other.nodes).all()
        np.testing.assert_allclose(other.probabilities, one.probabilities, atol=1e-6)
        one, other = chosen.short_list(whole, 3), chosen.short_list(searched, 3)
        assert (one.classes == other.classes).all()
    monkeypatch.setattr(searched_module, "MOST_PROBABILITIES", 100)
    with pytest.raises(
        PosteriorError, match="200 rows of 17 classes are too many for the probabilities of all classes"
    ):
        rule("crm")(SearchedPosterior(searched.search, TOY17))
