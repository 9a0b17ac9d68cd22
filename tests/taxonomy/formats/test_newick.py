from pathlib import Path

import pytest

from hiercos import Taxonomy
from taxonomy_files import faults_of, read_text
from trees import TOY


@pytest.mark.parametrize(
    "text",
    [
        "((cat,dog)pet,(car)vehicle);",
        "((cat,dog)pet,(car)vehicle)everything;\n",
        "(\n (cat:0.1, dog:2e-3)pet:1.5[&&NHX:B=100],\n [a [nested] comment] (car:-1)vehicle:0\n):0.0;",
        "(('cat','dog')'pet',('car')vehicle);",
    ],
)
def test_lengths_comments_quotes_and_the_name_of_the_root_do_not_matter(tmp_path: Path, text: str) -> None:
    assert read_text(tmp_path, "tree.nwk", text) == TOY


def test_a_quote_in_quotes_is_doubled_and_an_underscore_outside_them_is_a_blank(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.nwk", "(Panthera_leo,'Panthera_leo','it''s (one), too:[1];');")
    assert taxonomy.class_names == ("Panthera leo", "Panthera_leo", "it's (one), too:[1];")


def test_inner_nodes_without_a_name_are_numbered_past_names_that_are_taken(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.newick", "((a,(b,c):1),'clade 2');")
    assert taxonomy.names == ("clade 1", "clade 2", "a", "clade 3", "b", "c")


def test_bare_numbers_of_inner_nodes_are_support_values_and_numbers_in_quotes_are_names(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.tre", "((a,b)95:0.1,(c,d)0.98/100,(e,1)'06',x)1;")
    assert taxonomy.names[:4] == ("clade 1", "clade 2", "06", "x")
    assert taxonomy.class_names == ("a", "b", "c", "d", "e", "1", "x")


def test_a_leaf_alone_is_a_tree(tmp_path: Path) -> None:
    assert read_text(tmp_path, "tree.nwk", "A;").names == ("A",)


def test_what_is_written_is_plain_where_it_can_be(tmp_path: Path) -> None:
    paths = [("06", "06.10"), ("06", "a b"), ("x", "x_y"), ("x", "it's")]
    Taxonomy.from_paths(paths).write(tmp_path / "tree.nwk")
    assert (tmp_path / "tree.nwk").read_text() == "((06.10,'a b')'06',('x_y','it''s')x);\n"


def test_a_comment_numbers_the_classes_where_the_file_has_another_order(tmp_path: Path) -> None:
    Taxonomy.from_paths([("a", "x"), ("b", "y"), ("a", "z")]).write(tmp_path / "tree.nwk")
    text = (tmp_path / "tree.nwk").read_text()
    assert text == "((x[&hiercos_class=0],z[&hiercos_class=2])a,(y[&hiercos_class=1])b);\n"
    assert Taxonomy.read(tmp_path / "tree.nwk").class_names == ("x", "y", "z")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("(a,\n,(b,));", [
            "line 2, column 1: expected the name of a leaf before ','",
            "line 2, column 5: expected the name of a leaf before ')'",
        ]),
        ("(a,b)", ["line 1, column 6: expected ';', got the end of the file"]),
        ("((a,b)", ["line 1, column 7: expected 1 more ')' and ';', got the end of the file"]),
        ("((a,b);", ["line 1, column 7: expected 1 more ')' before ';'"]),
        ("(a,b)),c;", ["line 1, column 6: expected ';', got ')' outside of all parentheses"]),
        ("(a,b)(c);", ["line 1, column 6: expected ',' before '('"]),
        ("(Felis catus);", ["line 1, column 8: expected ',' or ')' before 'catus'; a name with blanks goes in quotes"]),
        ("(a:x);", ["line 1, column 4: expected a branch length, got 'x'"]),
        ("(a,'b);", ["line 1, column 4: not Newick: an open quote"]),
        ("(a)\n[b;", ["line 2, column 1: not Newick: an open comment"]),
        ("(a]);", ["line 1, column 3: not Newick: ']'"]),
        ("(a);\n(b);", ["line 2, column 1: expected one tree, got '(' after it"]),
        (
            "((b,a),\n(c,d,\n c)x);",
            ["line 3, column 2: 'c' under 'x' is already line 2, column 2: expected distinct names, or ids"],
        ),
        (
            "((a)x,(b)x,(c)x);",
            [
                "line 1, column 10: 'x' under the top is already line 1, column 5: expected distinct names, or ids",
                "line 1, column 15: 'x' under the top is already line 1, column 5: expected distinct names, or ids",
            ],
        ),
        (" \n", ["the file is empty: expected a tree in parentheses, such as (cat,dog);"]),
        ("#nexus\nbegin trees;", ["NEXUS files are not supported: expected Newick, one tree in parentheses"]),
        (";", ["the tree is empty: expected at least one node under the root"]),
        ("(a[&hiercos_class=7]);", ["'a': expected a class from 0 to 0, got 7"]),
    ],
)  # fmt: skip
def test_every_fault_is_said_with_its_line_and_column(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert faults_of(tmp_path, "tree.nwk", text) == faults
