import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hiercos import Taxonomy, TaxonomyError
from trees import TOY, TOY17, taxonomies


def paths_of_classes(taxonomy: Taxonomy) -> list[tuple[str, ...]]:
    return [tuple(taxonomy.names[node] for node in taxonomy.path(leaf)) for leaf in taxonomy.leaves.tolist()]


def test_the_toy_tree_has_the_numbers_worked_by_hand() -> None:
    assert TOY.names == ("pet", "vehicle", "cat", "dog", "car")
    assert TOY.parents.tolist() == [-1, -1, 0, 0, 1]
    assert TOY.depths.tolist() == [1, 1, 2, 2, 2]
    assert TOY.leaves.tolist() == [2, 3, 4]
    assert TOY.child_counts.tolist() == [2, 1, 0, 0, 0]
    assert (TOY.height, TOY.num_nodes, TOY.num_classes) == (2, 5, 3)
    assert TOY.path(4) == (1, 4)
    assert TOY.path_text(4) == "vehicle > car"
    assert repr(TOY) == "Taxonomy(5 nodes, 3 classes, height 2)"


@given(taxonomies(), st.randoms(use_true_random=False))
def test_any_numbering_of_the_nodes_gives_the_same_paths_and_distances(taxonomy: Taxonomy, random: object) -> None:
    count = taxonomy.num_nodes
    order = list(range(count))
    random.shuffle(order)  # type: ignore[attr-defined]
    place = {node: index for index, node in enumerate(order)} | {-1: -1}
    shuffled = Taxonomy.from_arrays(
        [taxonomy.names[node] for node in order],
        [place[int(taxonomy.parents[node])] for node in order],
        [place[int(leaf)] for leaf in taxonomy.leaves],
    )
    assert paths_of_classes(shuffled) == paths_of_classes(taxonomy)
    assert (shuffled.distance_matrix() == taxonomy.distance_matrix()).all()


@given(taxonomies())
def test_nodes_are_numbered_level_by_level_in_the_order_of_their_parents(taxonomy: Taxonomy) -> None:
    assert (np.diff(taxonomy.depths) >= 0).all()
    assert (np.diff(taxonomy.parents) >= 0).all()
    assert (taxonomy.parents < np.arange(taxonomy.num_nodes)).all()
    assert [len(taxonomy.path(node)) for node in range(taxonomy.num_nodes)] == taxonomy.depths.tolist()


@pytest.mark.parametrize("level", [0, 3])
def test_a_level_that_is_not_there_is_refused(level: int) -> None:
    with pytest.raises(ValueError, match=f"expected a level from 1 to 2, got {level}"):
        TOY.level(level)


@given(taxonomies())
def test_the_path_table_has_every_path_padded_with_minus_one(taxonomy: Taxonomy) -> None:
    nodes = range(taxonomy.num_nodes)
    expected = [[*taxonomy.path(node), *[-1] * (taxonomy.height - len(taxonomy.path(node)))] for node in nodes]
    assert taxonomy.path_table(nodes).tolist() == expected


@given(taxonomies())
def test_the_class_of_a_node_is_none_for_inner_nodes_and_the_root(taxonomy: Taxonomy) -> None:
    classes = {int(leaf): label for label, leaf in enumerate(taxonomy.leaves)}
    expected = [classes.get(node, -1) for node in range(-1, taxonomy.num_nodes)]
    assert taxonomy.classes_of(range(-1, taxonomy.num_nodes)).tolist() == expected


@given(taxonomies())
def test_from_paths_rebuilds_a_tree_from_its_classes(taxonomy: Taxonomy) -> None:
    rebuilt = Taxonomy.from_paths(paths_of_classes(taxonomy))
    assert paths_of_classes(rebuilt) == paths_of_classes(taxonomy)
    assert rebuilt.num_nodes == taxonomy.num_nodes


@given(taxonomies())
def test_from_edges_rebuilds_a_tree_from_its_nodes(taxonomy: Taxonomy) -> None:
    names = (*taxonomy.names, "")
    rebuilt = Taxonomy.from_edges([(names[parent], names[node]) for node, parent in enumerate(taxonomy.parents)])
    assert rebuilt.names == taxonomy.names
    assert rebuilt.parents.tolist() == taxonomy.parents.tolist()


def test_a_chain_of_10000_levels_has_depths_paths_and_distances() -> None:
    depth = 10_000
    chain = Taxonomy.from_arrays([str(node) for node in range(depth + 1)], [*range(-1, depth - 1), depth - 2], None)
    assert (chain.height, chain.num_classes) == (depth, 2)
    assert chain.distance_matrix().tolist() == [[0, 1], [1, 0]]
    assert chain.path(depth - 1) == tuple(range(depth))
    assert chain.path_table(chain.leaves)[1, -2:].tolist() == [depth - 2, depth]


def test_equality_is_of_names_parents_classes_and_ids() -> None:
    same = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
    assert same == TOY
    assert hash(same) == hash(TOY)
    assert Taxonomy(TOY.names, TOY.parents, TOY.leaves[::-1]) != TOY
    assert Taxonomy(TOY.names, TOY.parents, ids=("1", "2", "3", "4", "5")) != TOY
    assert Taxonomy(TOY.names, TOY.parents, ids=("",) * 5) == TOY
    assert Taxonomy(("a\0", "b"), (-1, -1)) != Taxonomy(("a", "\0b"), (-1, -1))  # type: ignore[arg-type]


def test_arrays_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        TOY17.parents[0] = 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": (), "parents": ()}, "the tree is empty"),
        ({"names": ("a",), "parents": (-1, 0)}, r"expected 1 parents, one for each name, got shape \(2,\)"),
        ({"names": ("a", "b"), "parents": (-1, -1), "ids": ("1",)}, "expected 2 ids, one for each name, got 1"),
        ({"names": ("a", "b"), "parents": (1, -1)}, "from_arrays takes any numbering"),
        ({"names": ("a", " "), "parents": (-1, -1)}, "node 1: expected a name, got ' '"),
        ({"names": ("a", "b"), "parents": (-1, 0), "ids": ("7", "7")}, "id '7' occurs 2 times"),
        ({"names": ("a", "b", "b"), "parents": (-1, 0, 0)}, "2 nodes under 'a' are called 'b'"),
        ({"names": ("a", "a"), "parents": (-1, -1)}, "2 nodes under the root are called 'a'"),
        ({"names": ("a", "b"), "parents": (-1, 0), "leaves": (0,)}, "every childless node once"),
        ({"names": ("a", "b"), "parents": (-1, -1), "leaves": (0, 0)}, "every childless node once"),
    ],
)
def test_a_wrong_value_is_refused_with_the_reason(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        Taxonomy(**arguments)  # type: ignore[arg-type]


def test_siblings_may_share_a_name_if_their_ids_differ() -> None:
    cranes = Taxonomy(("crane", "crane"), (-1, -1), ids=("bird", "machine"))  # type: ignore[arg-type]
    assert cranes.class_names == ("crane", "crane")


@given(taxonomies())
def test_parent_lists_hold_the_parent_of_every_node_below_the_top(taxonomy: Taxonomy) -> None:
    starts, parents = taxonomy.parent_lists
    assert taxonomy.is_tree
    assert len(starts) == taxonomy.num_nodes + 1
    for node, parent in enumerate(taxonomy.parents.tolist()):
        assert parents[starts[node] : starts[node + 1]].tolist() == ([] if parent < 0 else [parent])


@pytest.mark.parametrize("ranks", [["kind"], ["kind", "Kind "], ["kind", ""], ["kind", "2"]])
def test_levels_have_distinct_names_that_are_not_numbers(ranks: list[str]) -> None:
    with pytest.raises(TaxonomyError, match="expected 2 distinct names of levels"):
        TOY.with_ranks(ranks)


def test_a_level_is_found_by_number_or_name() -> None:
    named = TOY.with_ranks(["kind", "species"])
    assert [named.level_number(level) for level in (0, 2, "1", " SPECIES")] == [0, 2, 1, 2]
    assert named == TOY
    assert TOY.with_ranks([" kind", "species "]).ranks == named.ranks
    with pytest.raises(TaxonomyError, match="level 'genus': expected kind, species, or a number from 1 to 2"):
        named.level_number("genus")
    with pytest.raises(TaxonomyError, match="have no names, expected a number from 1 to 2"):
        TOY.level_number("genus")
