"""Against the worked example of the metric, and counts of distances made pair by pair."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings

from hiercos import Taxonomy
from hiercos.taxonomy.distances import preference_ranks
from hiercos.taxonomy.preferences import (
    decay_weights,
    distance_counts,
    preferred_ranks,
    rank_profiles,
    reversed_disorder,
)
from trees import TOY17, taxonomies

D1 = TOY17.class_names.index("D1")


def test_the_weights_of_the_papers_example_are_its_fractions() -> None:
    profiles = rank_profiles(distance_counts(TOY17, [D1]))
    preferred = preferred_ranks(profiles)
    weights = decay_weights(profiles, preferred)
    assert preferred[0].tolist() == [0, 1, 1, 1, 2, 2, *[3] * 7, *[4] * 4]
    text = "1 1/2 5/12 1/3 1/4 3/16 1/8 13/112 3/28 11/112 5/56 9/112 1/14 1/16 3/64 1/32 1/64"
    np.testing.assert_allclose(weights[0], [float(Fraction(part)) for part in text.split()], rtol=1e-15)
    np.testing.assert_allclose(reversed_disorder(preferred, weights), [3953 / 448], rtol=1e-15)


@settings(deadline=None)
@given(taxonomies())
def test_counts_and_preferred_ranks_are_those_of_the_distance_matrix(taxonomy: Taxonomy) -> None:
    distances = taxonomy.distance_matrix()
    counts = distance_counts(taxonomy, np.arange(taxonomy.num_classes))
    assert counts.tolist() == [np.bincount(row, minlength=taxonomy.height + 1).tolist() for row in distances]
    assert preferred_ranks(rank_profiles(counts)).tolist() == np.sort(preference_ranks(distances), axis=1).tolist()
