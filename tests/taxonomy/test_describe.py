from hypothesis import given

from hiercos import Taxonomy
from hiercos.taxonomy.describe import taxonomy_facts, tree_lines
from trees import TOY, TOY17, taxonomies


def test_the_facts_of_the_17_class_example() -> None:
    facts = taxonomy_facts(TOY17)
    assert facts.nodes_per_level == (5, 2, 6, 10)
    assert facts.classes_per_level == (4, 0, 3, 10)
    assert (facts.fewest_children, facts.most_children) == (1, 5)  # C2 has D5 alone; the root five, C4 five
    assert facts.mean_children == 23 / 7
    assert facts.one_child_nodes == 1
    assert facts.repeated_names == {}


def test_names_of_several_nodes_are_counted_most_first() -> None:
    taxonomy = Taxonomy.from_paths([("a", "x"), ("b", "x"), ("b", "a"), ("c", "x")])
    assert list(taxonomy_facts(taxonomy).repeated_names.items()) == [("x", 3), ("a", 2)]


def test_the_whole_tree_is_drawn_with_counts_and_ids() -> None:
    taxonomy = Taxonomy(TOY.names, TOY.parents, TOY.leaves, ids=("", "", "c1", "", ""))
    assert list(tree_lines(taxonomy, depth=9, children=9)) == [
        "├── pet (2 classes)",
        "│   ├── cat [c1]",
        "│   └── dog",
        "└── vehicle (1 class)",
        "    └── car",
    ]


def test_deep_levels_and_large_families_are_folded() -> None:
    assert list(tree_lines(TOY17, depth=2, children=2)) == [
        "├── A2",
        "├── A3",
        "└── … 3 more (15 classes)",
    ]
    assert list(tree_lines(TOY17, depth=2, children=5))[4:] == [
        "└── A1 (13 classes)",
        "    ├── B1 (6 classes) …",
        "    └── B2 (7 classes) …",
    ]


@given(taxonomies())
def test_a_tree_that_is_not_folded_has_one_line_for_each_node(taxonomy: Taxonomy) -> None:
    lines = list(tree_lines(taxonomy, depth=100, children=100))
    shown = [line.lstrip("│├└─ ").split(" ")[0] for line in lines]
    assert sorted(shown) == sorted(taxonomy.names)


def test_names_that_would_break_a_line_are_quoted() -> None:
    assert list(tree_lines(Taxonomy.from_paths([("two\nlines",)]), depth=1, children=1)) == ["└── 'two\\nlines'"]
