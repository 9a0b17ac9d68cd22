"""A small graph: a cat is a pet and a hunter, a dog a pet, an owl a hunter."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy, TaxonomyError
from hiercos.errors import FaultsError
from hiercos.taxonomy.terms import Term, Terms


def graph(*rows: tuple[str, str, str], source: str = "") -> Terms:
    """Terms of id, name and parents, each parent one letter."""
    terms = [Term(f"row {number}", given_id, name, tuple(up)) for number, (given_id, name, up) in enumerate(rows, 1)]
    return Terms({term.id: term for term in terms}, source=source)


ANIMALS = graph(
    ("A", "animal", ""),
    ("P", "pet", "A"),
    ("H", "hunter", "A"),
    ("c", "cat", "PH"),
    ("d", "dog", "P"),
    ("o", "owl", "H"),
)


def faults(terms: Terms, **choice: object) -> list[str]:
    with pytest.raises(TaxonomyError) as error:
        terms.tree(**choice)
    return list(error.value.faults)


def paths(taxonomy: Taxonomy) -> list[str]:
    return [taxonomy.path_text(leaf) for leaf in taxonomy.leaves]


SEVERAL = (
    "row 4: c ('cat') has 2 parents, P, H; "
    "expected one (--parents shortest or first, in Python parents='shortest', keeps one of each)"
)


def test_a_term_with_several_parents_is_named_with_them_where_one_is_expected() -> None:
    assert faults(ANIMALS, parents="one") == [SEVERAL]


def test_all_parents_are_kept_unless_another_choice_is_made() -> None:
    graph = ANIMALS.tree()
    assert (graph.is_tree, graph.several_parents) == (False, 1)
    assert [graph.ids[node] for node in graph.ancestors.list(graph.ids.index("c"))] == ["A", "P", "H", "c"]
    part = ANIMALS.tree(classes=["o", "c"])
    assert (part.class_names, part.is_tree) == (("owl", "cat"), False)


def test_the_parent_nearest_to_the_root_is_taken_on_request() -> None:
    terms = graph(("A", "animal", ""), ("P", "pet", "A"), ("K", "kind pet", "P"), ("c", "cat", "KA"), ("o", "owl", "P"))
    assert paths(terms.tree(parents="first")) == ["animal > pet > kind pet > cat", "animal > pet > owl"]
    assert "animal > cat" in paths(terms.tree(parents="shortest"))


def test_the_first_parent_is_taken_on_request() -> None:
    taxonomy = ANIMALS.tree(parents="first")
    assert paths(taxonomy) == ["animal > pet > cat", "animal > pet > dog", "animal > hunter > owl"]
    assert taxonomy.ids == ("A", "P", "H", "c", "d", "o")


def test_terms_whose_children_all_went_to_other_parents_are_said() -> None:
    terms = graph(("A", "animal", ""), ("P", "pet", "A"), ("H", "hunter", "A"), ("c", "cat", "PH"))
    note = "1 term lost its last child and is now a class: H hunter."
    assert terms.lost_children_note(terms.tree(parents="first")) == note
    assert terms.lost_children_note(terms.tree(under="H")) is None
    assert ANIMALS.lost_children_note(ANIMALS.tree(parents="first")) is None
    many = [(letter, f"hunter {letter}", "A") for letter in "HIJKLM"]
    terms = graph(("A", "animal", ""), ("P", "pet", "A"), *many, ("c", "cat", "PHIJKLM"))
    assert terms.lost_children_note(terms.tree(parents="first")) == (
        "6 terms lost their last child and are now classes: "
        "H hunter H, I hunter I, J hunter J, K hunter K, L hunter L, …."
    )


def test_below_a_term_only_parents_below_it_count() -> None:
    assert paths(ANIMALS.tree(under="H")) == ["cat", "owl"]
    assert paths(ANIMALS.tree(under="A", parents="first")) == ["pet > cat", "pet > dog", "hunter > owl"]


def test_given_classes_keep_their_order_and_bring_only_their_ancestors() -> None:
    assert paths(ANIMALS.tree(classes=["o", "d"])) == ["animal > hunter > owl", "animal > pet > dog"]
    assert paths(ANIMALS.tree(under="A", classes=["P", "o"])) == ["pet", "hunter > owl"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"under": "cat"}, ["expected the id of a term, got 'cat', which is the name of c"]),
        ({"under": "x"}, ["expected the id of a term, got 'x'"]),
        ({"under": "d"}, ["term 'd' has no children: expected a term with others below it"]),
        ({"classes": ["x", "o"]}, ["class 1: 'x' is no term"]),
        ({"classes": ["o", "d"], "under": "P"}, ["class 1: 'o' is no term below P"]),
        ({"classes": ["o", "o"]}, ["class 2: 'o' is already class 1"]),
        (
            {"classes": ["P", "d"]},
            ["class 1: class 'pet' is also an inner node: expected a leaf"],
        ),
        (
            {"classes": ["c", "o"], "parents": "one"},
            [SEVERAL],
        ),
    ],
)
def test_what_cannot_be_taken_is_said(choice: dict[str, object], expected: list[str]) -> None:
    assert faults(ANIMALS, **choice) == expected


def test_a_cycle_is_said_with_its_place_and_source() -> None:
    terms = graph(("a", "x", "b"), ("b", "y", "a"), ("c", "z", "b"), source="tree.obo")
    for choice in ({}, {"classes": ["c"]}, {"parents": "first"}):
        assert faults(terms, **choice) == ["tree.obo: row 1: 'a' is on a cycle, a > b > a"]


def test_another_choice_of_parents_is_refused() -> None:
    with pytest.raises(FaultsError, match="expected parents to be one of all, first, shortest, one, got 'last'"):
        ANIMALS.tree(parents="last")


@st.composite
def graphs(draw: st.DrawFn) -> Terms:
    count = draw(st.integers(1, 15))
    terms = {}
    for node in range(count):
        above = draw(st.lists(st.integers(0, node - 1), max_size=3, unique=True)) if node else []
        terms[f"t{node}"] = Term(f"row {node}", f"t{node}", f"name {node % 4}", tuple(f"t{up}" for up in above))
    return Terms(terms)


@settings(max_examples=50)
@given(graphs())
def test_the_tree_has_every_term_once_below_its_first_parent(terms: Terms) -> None:
    taxonomy = terms.tree(parents="first")
    assert sorted(taxonomy.ids) == sorted(terms.by_id)
    for node, given_id in enumerate(taxonomy.ids):
        above = terms.by_id[given_id].parents
        parent = int(taxonomy.parents[node])
        assert (above[0] if above else None) == (taxonomy.ids[parent] if parent >= 0 else None)


@settings(max_examples=50)
@given(graphs())
def test_the_classes_of_a_tree_give_the_tree_back(terms: Terms) -> None:
    taxonomy = terms.tree(parents="first")
    ids = [taxonomy.ids[leaf] for leaf in taxonomy.leaves]
    again = terms.tree(classes=ids, parents="first")
    assert paths(again) == paths(taxonomy)
    assert sorted(again.ids) == sorted(taxonomy.ids)
