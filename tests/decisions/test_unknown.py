"""Answers for inputs that may belong to no class."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.decisions import Posterior, RuleError, rule, rule_from_dict
from hiercos.decisions.unknown import _lowest_threshold, left_out, separation
from trees import TOY, TOY17

GENERA = Taxonomy.from_paths([(f"genus {genus}", f"species {genus}{kind}") for genus in range(4) for kind in range(4)])


def scores(seed: int, rows: int, species: float = 6.0, genus: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores of samples that point to a species by so much, and to its genus by so much."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 16, size=rows)
    values = generator.normal(size=(rows, 16))
    values[np.arange(rows), labels] += species
    values += genus * (np.arange(16) // 4 == (labels // 4)[:, None])
    return values, labels


def test_the_separation_is_the_share_of_ordered_pairs() -> None:
    generator = np.random.default_rng(0)
    known, unknown = generator.integers(0, 5, size=20).astype(float), generator.integers(0, 5, size=30).astype(float)
    pairs = [(a > b) + 0.5 * (a == b) for a in known for b in unknown]
    assert separation(known, unknown) == pytest.approx(np.mean(pairs))


def test_known_samples_keep_their_class_and_unknown_species_get_their_genus() -> None:
    values, labels = scores(0, 400)
    held_out = Posterior.from_scores(values, GENERA)
    fitted = rule("unknown", keep=0.95).fit(held_out, GENERA.leaves[labels])
    assert np.mean(fitted(held_out).classes >= 0) == pytest.approx(0.95, abs=0.01)
    strange, own = scores(1, 300, species=0.0, genus=4.0)  # of a genus, but of none of its species
    answers = fitted(Posterior.from_scores(strange, GENERA))
    genus = GENERA.parents[GENERA.leaves[own]]
    assert np.mean(answers.nodes == genus) > 0.5
    assert np.mean(answers.classes >= 0) < 0.3
    nothing = fitted(Posterior.from_scores(np.random.default_rng(2).normal(size=(300, 16)), GENERA))
    assert np.mean(nothing.nodes < 0) > 0.7
    assert rule_from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


def test_a_sample_without_its_own_node_has_the_other_classes_alone() -> None:
    posterior = Posterior([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], TOY)
    labels = np.array([2, 0])  # cat, and a pet of no class
    without_class = left_out(posterior, TOY.path_table(labels)[:, 1])
    assert without_class.posterior.classes.tolist() == [[0.0, 0.5, 0.5]]  # the pet has no class to leave out
    assert without_class.right.tolist() == [[True, False]]  # pet, dog
    without_kind = left_out(posterior, TOY.path_table(labels)[:, 0])
    assert without_kind.posterior.classes.tolist() == [[0.0, 0.0, 1.0]] * 2
    assert not without_kind.right.any()  # vehicle, car


@given(st.lists(st.tuples(st.sampled_from([0.2, 0.4, 0.6, 0.8]), st.booleans(), st.integers(1, 3)), max_size=9))
def test_the_threshold_is_the_lowest_with_enough_right_answers(samples: list[tuple[float, bool, int]]) -> None:
    found = []
    for threshold in (0.8, 0.6, 0.4, 0.2):  # slowly: every threshold that occurs
        kept = [(right, weight) for value, right, weight in samples if value >= threshold]
        total, good = sum(weight for _, weight in kept), sum(weight for right, weight in kept if right)
        if total and good / total >= 0.7 and any(value == threshold for value, _, _ in samples):
            found.append(threshold)
    columns = [np.array([sample[place] for sample in samples]) for place in range(3)]
    arrays = columns[0].astype(float), columns[1].astype(bool), columns[2].astype(float)
    assert _lowest_threshold(*arrays, 0.7) == (min(found) if found else 1.0)


def test_what_cannot_be_fitted_is_refused() -> None:
    posterior = Posterior(np.full((3, 17), 1 / 17), TOY17)
    with pytest.raises(RuleError, match="expected a rule fitted on held-out samples"):
        rule("unknown")(posterior)
    with pytest.raises(RuleError, match="at least 20 held-out samples, got 3"):
        rule("unknown").fit(posterior, TOY17.leaves[:3])
    with pytest.raises(RuleError, match="expected keep above 0 and below 1, got 1"):
        rule("unknown", keep=1.0)
