"""What cannot be read is refused, every fault at once with its row or line and its value."""

import json
from pathlib import Path
from typing import Any

import pytest

from hiercos import Taxonomy, TaxonomyError
from hiercos.taxonomy import taxonomy_from_dict, taxonomy_to_dict
from taxonomy_files import faults_of
from trees import TOY

DATA_COLUMNS = (
    "row 1: columns 'text' and 'label' are those of data: expected a taxonomy, with a column for each level; "
    "data whose labels are paths a > b > c need no taxonomy"
)
NO_ROWS = "the file has no rows: expected a header and one row under it for each class"
EMPTY = "the tree is empty: expected at least one node under the root"
DEEP_JSON = '{"a":' * 100_000 + "{}" + "}" * 100_000
FAULTS: dict[str, list[tuple[str, list[str]]]] = {
    "tree.csv": [
        ('a,b,c\nx,y,z\nx,,z\n,,\nx,y,z\n"two\nlines",v\nx,y,\nx,w,', [
            "row 3: the name at level 2 of 'x >  > z' is empty",
            "row 4: expected at least one name, got none",
            "row 5: 'x > y > z' is already row 2",
            "row 6: expected 3 fields as in the header, got 2: ['two\\nlines', 'v']",
            "row 8: class 'y' is also an inner node: expected a leaf",
        ]),
        ("level_1,level_2,name_1,name_2\na,b,A,B\na,c,Z,C\nd,b,D,B\ne,,E,F\n", [
            "row 3: 'a' is called 'Z' here and 'A' in row 2",
            "row 5: name_2 is 'F', but level_2 is blank",
            "row 4: id 'b' is already the id of another node in row 2",
        ]),
        ("kind,species,name,id\npet,cat,Tom,\npet,dog,Tom,\n", [
            "row 3: 'Tom' under 'pet' is already row 2: expected distinct names, or ids",
        ]),
        ("", [NO_ROWS]),
        ("a,b\n\n", [NO_ROWS]),
        (",b\nx,y\n", ["row 1: column 1 has no name"]),
        ("a,A\nx,y\n", ["row 1: column 'a' occurs 2 times"]),
        ("id,name\n1,x\n", ["row 1: expected a column for each level, got only id, name"]),
        ("text,label\na lion,cat\n", [DATA_COLUMNS]),
        ("level_1,level_3\nx,y\n", ["row 1: expected columns level_1, level_2, … without a gap, got levels [1, 3]"]),
        ("level_1,name_1,name\na,A,B\n", [
            "row 1: expected names in columns name_1, name_2, … or in 'name', got both",
        ]),
        ('a,b\nx,y\nx,"z\n', ["row 3: unexpected end of data"]),
        ("a;b\nx;y\n", ["row 1: expected ',' between columns, it seems to be ';'"]),
        ("a|b\nx|y\n", ["row 1: expected ',' between columns, it seems to be '|'"]),
        ("parent,child\n,a\na,b\na,\na,b\nx,b\na\nlost,d\nf,e\ne,f", [
            "row 4: the child of 'a' is empty",
            "row 5: 'a', 'b' is already row 3",
            "row 7: expected 2 fields as in the header, got 1: ['a']",
            "row 6: parent 'x' is never a child, though blank parents mark the top",
            "row 8: parent 'lost' is never a child, though blank parents mark the top",
            "row 9: 'e' is on a cycle, e > f > e",
        ]),
    ],
    "tree.tsv": [("a,b\nx,y\n", ["row 1: expected '\\t' between columns, it seems to be ','"])],
    "tree.txt": [
        ("a > b\n\na > > c\na > b\n>\na > b > c\nd > \n", [
            "row 3: the name at level 2 of 'a >  > c' is empty",
            "row 4: 'a > b' is already row 1",
            "row 5: the name at level 1 of ' > ' is empty",
            "row 7: the name at level 2 of 'd > ' is empty",
            "row 1: class 'b' is also an inner node: expected a leaf",
        ]),
        ("\n \n", ["the file has no rows: expected one path a > b > c per line for each class"]),
        ("Garden\n  Tools\n    Spades\nKitchen\n", [
            "row 2 begins with blanks: indentation is not read; expected a path a > b > c",
        ]),
    ],
    "tree.json": [
        ('{"a": [1, "b"], "c": 0}', [
            "under 'a': expected a name in quotes or an object, got 1",
            "under 'c': expected an object, a list or null, got 0",
        ]),
        ('{"a": {"b": null, "b": null}}', ["key 'b' occurs 2 times in one object"]),
        ('{"a": ["b", "b"]}', ["2 nodes under 'a' are called 'b': expected distinct names, or ids"]),
        ('{"a": ["", " "]}', ["under 'a': a name is empty", "under 'a': a name is empty"]),
        ('[{"name": "a", "id": 7}]', ["'a' under the top: expected a text id, got 7"]),
        ('[{"name": "a", "id": "7"}, {"name": "b", "id": "7"}]', ["id '7' occurs 2 times: expected it once"]),
        ('[{"name": "a", "class": 0}, "b", {"name": "c", "class": 0}]', [
            "'b': expected a class from 0 to 2, got None",
            "'c': class 0 is already 'a'",
        ]),
        ("{}", [EMPTY]),
        ("3", ["under the top: expected an object, a list or null, got 3"]),
        ('{"a":\n [1,}', ["line 2, column 5: not JSON: Expecting value"]),
        ("", ["line 1, column 1: not JSON: Expecting value"]),
        (DEEP_JSON, ["nested deeper than JSON can be read; the form with lists of names and parents holds any depth"]),
    ],
    "tree.yaml": [
        ("a:\n  b:\n  b:\n", ["line 2: key 'b' occurs 2 times in one mapping"]),
        ("[d]: e\n", ["line 1: expected a name, got ['d']"]),
        ("a: &same [b]\nc: *same\n", ["line 2: expected the nodes themselves, got the alias *same"]),
        ("a: [b\nc: d", ["line 2: not YAML: while parsing a flow sequence, expected ',' or ']', but got ':'"]),
        ("a: [b]\n---\nc: [d]\n", [
            "line 2: not YAML: expected a single document in the stream, but found another document",
        ]),
        ("a: \x00", [
            'not YAML: unacceptable character #x0000: special characters are not allowed in "<unicode string>", '
            "position 3",
        ]),
        ("a: b", ["under 'a': expected an object, a list or null, got 'b'"]),
        ("pet:\n- cat\n- dog\n- {name: cat}\n", [
            "2 nodes under 'pet' are called 'cat': expected distinct names, or ids",
        ]),
        ("a: ['']", ["under 'a': a name is empty"]),
        ("", [EMPTY]),
        ("- {name: a, class: 1}\n- {name: b, class: x}\n", ["'b': expected a class from 0 to 1, got 'x'"]),
        ("{a: " * 2_000 + "}" * 2_000, [
            "nested deeper than YAML can be read; json and edges hold trees of any depth",
        ]),
    ],
    "tree.nwk": [
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
        ("((b,a),\n(c,d,\n c)x);", [
            "line 3, column 2: 'c' under 'x' is already line 2, column 2: expected distinct names, or ids",
        ]),
        ("((a)x,(b)x,(c)x);", [
            "line 1, column 10: 'x' under the top is already line 1, column 5: expected distinct names, or ids",
            "line 1, column 15: 'x' under the top is already line 1, column 5: expected distinct names, or ids",
        ]),
        (" \n", ["the file is empty: expected a tree in parentheses, such as (cat,dog);"]),
        ("#nexus\nbegin trees;", ["NEXUS files are not supported: expected Newick, one tree in parentheses"]),
        (";", [EMPTY]),
        ("(a[&hiercos_class=7]);", ["'a': expected a class from 0 to 0, got 7"]),
    ],
}  # fmt: skip
CASES = [(name, text, faults) for name, cases in FAULTS.items() for text, faults in cases]


@pytest.mark.parametrize(("name", "text", "faults"), CASES, ids=[f"{name} {text[:20]!r}" for name, text, _ in CASES])
def test_every_fault_is_said_with_its_place(tmp_path: Path, name: str, text: str, faults: list[str]) -> None:
    assert faults_of(tmp_path, name, text) == faults


def test_a_table_without_the_columns_is_no_edge_table(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.csv", "from,to\na,b\n", format="edges") == [
        "row 1: expected a column 'parent', got from, to",
        "row 1: expected a column 'child', got from, to",
    ]


ARRAYS = taxonomy_to_dict(TOY)


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"format": "other"}, ['expected an object with "format": "hiercos-taxonomy"']),
        ({"version": 2}, ["expected version 1, got 2"]),
        ({"names": "ab", "parents": None}, ["names: expected a list, got 'ab'", "parents: expected a list, got None"]),
        ({"names": ["pet", 7, "cat", "dog", "car"]}, ["names[1]: expected text, got 7"]),
        (
            {"parents": [-1, -1, 0.0, True, 2**63]},
            [
                f"parents[{place}]: expected a whole number, got {value}"
                for place, value in ((2, 0.0), (3, True), (4, 2**63))
            ],
        ),
        ({"parents": [[], [], [0, 9], [0], [1]]}, ["parents[2]: expected a list of distinct nodes, got [0, 9]"]),
        ({"leaves": [2, 3, 9]}, ["class 2: leaf 9 is not a node"]),
        ({"ids": ["1"]}, ["expected 5 ids, one for each name, got 1"]),
    ],
)
def test_every_fault_of_the_arrays_is_said_with_its_key(change: dict[str, object], faults: list[str]) -> None:
    with pytest.raises(TaxonomyError) as error:
        taxonomy_from_dict(ARRAYS | change)
    assert list(error.value.faults) == faults


FORMATS = "csv, edges, lines, json, yaml, newick"
EXTENSIONS = ".csv, .tsv, .tab, .txt, .json, .yaml, .yml, .nwk, .newick, .tre"


def test_an_unknown_extension_or_format_says_the_formats(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.xml", "") == [
        f"unknown extension '.xml': expected one of {EXTENSIONS}, .obo, or a format named among {FORMATS}, obo"
    ]
    unknown = [f"unknown format 'edge': expected one of {FORMATS}, obo"]
    assert faults_of(tmp_path, "tree.csv", "", format="edge") == unknown


@pytest.mark.parametrize(
    ("name", "format", "fault"),
    [
        (
            "tree.xml",
            None,
            f"unknown extension '.xml': expected one of {EXTENSIONS}, or a format named among {FORMATS}",
        ),
        ("tree.csv", "xml", f"unknown format 'xml': expected one of {FORMATS}"),
        ("tree.obo", None, f"this format can only be read: expected one of {FORMATS}"),
    ],
)
def test_formats_that_are_only_read_are_not_offered_for_writing(
    tmp_path: Path, name: str, format: Any, fault: str
) -> None:
    with pytest.raises(TaxonomyError) as error:
        TOY.write(tmp_path / name, format=format)
    assert str(error.value) == f"{tmp_path / name}: {fault}"
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_are_not_utf8_are_named_with_their_row(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_bytes(b"a,b\nx,y\nx,caf\xe9\n")
    with pytest.raises(TaxonomyError, match=r"tree\.csv: row 3: byte 0xe9 is not UTF-8"):
        Taxonomy.read(tmp_path / "tree.csv")


def test_a_file_that_is_missing_or_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"tree\.csv: cannot be read: No such file"):
        Taxonomy.read(tmp_path / "tree.csv")
    with pytest.raises(TaxonomyError, match="cannot be read: Is a directory"):
        Taxonomy.read(tmp_path, format="csv")


def test_no_more_than_20_faults_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a,b\n" + ",x\n" * 25)
    with pytest.raises(ValueError, match=r"row 21: .*\nand 5 more faults$"):
        Taxonomy.read(tmp_path / "tree.csv")


def test_objects_of_another_format_are_nested_nodes(tmp_path: Path) -> None:
    (tmp_path / "tree.json").write_text(json.dumps({"format": ["csv"]}))
    assert Taxonomy.read(tmp_path / "tree.json").names == ("format", "csv")
