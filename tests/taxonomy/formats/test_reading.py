"""What each format accepts, and the nodes, ids and classes that are read from it."""

import json
import re
from pathlib import Path

import pytest

from hiercos import Taxonomy
from taxonomy_files import read_text
from trees import TOY, shared

PAGE = (Path(__file__).parents[3] / "docs" / "taxonomies.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r'```\w+ title="(\S+)"\n(.*?)```', PAGE, flags=re.DOTALL))
TABLE = "kind,species\npet,cat\npet,dog\nvehicle,car\n"
ARRAYS = {
    "format": "hiercos-taxonomy",
    "version": 1,
    "names": ["cat", "dog", "car", "pet", "vehicle"],
    "parents": [3, 3, 4, -1, -1],
    "leaves": [0, 1, 2],
}
NESTED = [
    {"pet": {"cat": {}, "dog": None}, "vehicle": {"car": []}},
    {"pet": ["cat", "dog"], "vehicle": ["car"]},
    {"root": {"pet": ["cat", {"dog": None}], "vehicle": {"name": "car"}}},
    [{"name": "pet", "children": [{"name": "cat"}, "dog"]}, {"vehicle": ["car"]}],
    {"name": "root", "children": [{"name": "pet", "children": ["cat", "dog"]}, {"vehicle": ["car"]}]},
]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tree.csv", TABLE),
        ("tree.CSV", "\ufeff" + TABLE.replace("\n", "\r\n")),
        ("tree.tsv", TABLE.replace(",", "\t")),
        ("tree.csv", TABLE.replace(",", "\t")),
        ("tree.csv", "level_2,class_index,level_1\ncat,0,pet\n\n dog ,1,pet\ncar,2,vehicle"),
        ("edges.csv", "child,note,parent\npet,,\nvehicle,,\ncat,x,pet\ndog,y,pet\ncar,z,vehicle\n"),
        ("edges.tab", "Parent\tChild\nroot\tpet\nroot\tvehicle\npet\t cat\npet\t dog\nvehicle\t car\n"),
        ("tree.txt", "\ufeffpet > cat\r\n\r\n  pet>dog\r\nvehicle >  car"),
        *(("tree.json", json.dumps(value)) for value in NESTED),
        ("tree.json", json.dumps(ARRAYS)),
        ("tree.yaml", "pet: [cat, dog]\nvehicle: [car]\n"),
        ("tree.yml", "# animals first\npet:\n  cat:\n  dog: ~\nvehicle:\n  - car\n"),
        ("tree.yaml", "root:\n  pet:\n    - cat\n    - name: dog\n  vehicle: {car: null}\n"),
        (
            "tree.yaml",
            "- name: pet\n  children:\n    - {name: cat, class: 0}\n    - {name: dog, class: 1}\n"
            "- name: vehicle\n  children: [{name: car, class: 2, children: }]\n",
        ),
        ("tree.nwk", "((cat,dog)pet,(car)vehicle);"),
        ("tree.nwk", "((cat,dog)pet,(car)vehicle)everything;\n"),
        (
            "tree.nwk",
            "(\n (cat:0.1, dog:2e-3)pet:1.5[&&NHX:B=100],\n [a [nested] comment] (car:-1)vehicle:0\n):0.0;",
        ),
        ("tree.newick", "(('cat','dog')'pet',('car')vehicle);"),
    ],
)
def test_the_toy_tree_is_read_from_every_form(tmp_path: Path, name: str, text: str) -> None:
    assert read_text(tmp_path, name, text) == TOY


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("tree", "pet > cat\npet > dog\nvehicle > car\n", "lines"),
        ("tree.txt", TABLE, "csv"),
        ("tree.txt", TABLE.replace(",", "\t"), "csv"),
        ("tree.csv", json.dumps(NESTED[0]), "json"),
    ],
)
def test_the_format_may_be_given_whatever_the_extension(tmp_path: Path, name: str, text: str, format: str) -> None:
    assert read_text(tmp_path, name, text, format=format) == TOY


@pytest.mark.parametrize(
    ("name", "text", "names", "ids"),
    [
        ("a level without a name is called by its id.csv", "level_1,level_2,name_2\n06,06.10,Apple\n06,06.20,\n",
         "06 Apple 06.20", "06 06.10 06.20"),
        ("id and name belong to the class.csv", "id,kind,species,name\n7,pet,cat,Cat\n,pet,dog,\n",
         "pet Cat dog", "- 7 -"),
        ("also beside numbered levels.csv", "class_index,level_1,level_2,id,name\n0,pet,cat,7,Cat\n1,pet,dog,,\n",
         "pet Cat dog", "- 7 -"),
        ("with a name alone the last level is the id.csv", "level_1,level_2,name\nI,A00,Cholera\n",
         "I Cholera", "- A00"),
        ("an id beside named levels is that of the class.csv",
         "level_1,level_2,name_2,id\n06,06.10,Apple,A1\n06,06.20,Pear,\n", "06 Apple Pear", "06 A1 06.20"),
        ("with names the children of edges are ids.tsv",
         "parent\tchild\tname\n\t06\tFruit\n06\t06.10\tApple\n06\t06.20\t\n", "Fruit Apple 06.20", "06 06.10 06.20"),
        ("a lone top in a list is a node.json",
         '[{"name": "root", "id": "0", "children": [{"name": "a", "id": "06"}]}]',
         "root a", "0 06"),
        ("values of yaml stay text.yaml", "06: [06.10, 1e5, no, 2020-01-01, 'null']\n",
         "06 06.10 1e5 no 2020-01-01 null", ""),
        ("ids of yaml stay text.yaml", "- {name: x, id: 007, class: 0}\n- {name: y, id: 008, class: 1}\n",
         "x y", "007 008"),
        ("unnamed inner nodes are numbered past taken names.nwk", "((a,(b,c):1),'clade 2');",
         "clade_1 clade_2 a clade_3 b c", ""),
        ("a leaf alone is a tree.nwk", "A;", "A", ""),
    ],
)  # fmt: skip
def test_names_and_ids_are_read(tmp_path: Path, name: str, text: str, names: str, ids: str) -> None:
    taxonomy = read_text(tmp_path, name, text)
    assert [found.replace("clade ", "clade_") for found in taxonomy.names] == names.split()
    assert [given_id or "-" for given_id in taxonomy.ids] == ids.split()


@pytest.mark.parametrize(
    ("name", "text", "classes", "depths"),
    [
        ("tree.csv", "a,b,c\n06,06.10,06.10.1\n06,06.20,\n1e5,,\n", ["06.10.1", "06.20", "1e5"], [3, 2, 1]),
        ("tree.csv", "from,to\na,b\n", ["b"], [2]),
        (
            "tree.json",
            '[{"name": "a", "children": [{"name": "x", "class": 2}, {"name": "y", "class": 0}]}, '
            '{"name": "b", "class": 1}]',
            ["y", "b", "x"],
            [2, 1, 2],
        ),
        ("tree.yaml", "- {name: x, class: 1}\n- {name: y, class: 0}\n", ["y", "x"], [1, 1]),
        (
            "tree.nwk",
            "(Panthera_leo,'Panthera_leo','it''s (one), too:[1];');",
            ["Panthera leo", "Panthera_leo", "it's (one), too:[1];"],
            [1, 1, 1],
        ),
        ("tree.tre", "((a,b)95:0.1,(c,d)0.98/100,(e,1)'06',x)1;", ["a", "b", "c", "d", "e", "1", "x"], [2] * 6 + [1]),
    ],
)
def test_classes_of_any_depth_are_in_the_order_of_the_file_or_of_their_numbers(
    tmp_path: Path, name: str, text: str, classes: list[str], depths: list[int]
) -> None:
    taxonomy = read_text(tmp_path, name, text)
    assert list(taxonomy.class_names) == classes
    assert taxonomy.depths[taxonomy.leaves].tolist() == depths


def test_bare_numbers_of_inner_nodes_are_support_values_and_numbers_in_quotes_are_names(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.nwk", "((a,b)95:0.1,(c,d)0.98/100,(e,f)'06')1;")
    assert taxonomy.names[:3] == ("clade 1", "clade 2", "06")


def test_the_columns_name_the_levels_and_are_written_back(tmp_path: Path) -> None:
    read = read_text(tmp_path, "t.csv", "Kingdom,family,id\npet,cat,1\npet,dog,2\n")
    assert read.ranks == ("kingdom", "family")
    read.write(tmp_path / "t.csv")
    again = Taxonomy.read(tmp_path / "t.csv")
    assert (again, again.ranks) == (read, read.ranks)
    assert TOY.ranks == ()


@pytest.mark.parametrize("header", ["level_1,level_2", "rank 1,rank 2", "1,2"])
def test_numbered_columns_do_not_name_levels(tmp_path: Path, header: str) -> None:
    assert read_text(tmp_path, "t.csv", f"{header}\npet,cat\npet,dog\n").ranks == ()


@pytest.mark.parametrize(
    ("name", "height", "classes", "nodes", "one_child"),
    [
        ("fgvc_aircraft", 3, 100, 200, 68),
        ("cifar100", 5, 100, 134, 4),
        ("inaturalist19", 7, 1010, 1189, 77),
        ("tiered_imagenet_h", 12, 608, 842, 0),
    ],
)
def test_the_trees_of_the_paper_have_its_sizes(
    name: str, height: int, classes: int, nodes: int, one_child: int
) -> None:
    taxonomy = Taxonomy.read(shared("hierarchies", f"{name}.csv"))
    assert (taxonomy.height, taxonomy.num_classes, taxonomy.num_nodes) == (height, classes, nodes)
    assert (taxonomy.child_counts == 1).sum() == one_child


OTHER_EXAMPLES = {  # than the toy tree: classes and ids
    "levels.csv": (("lion", "tiger", "sponges", "plant"), ()),
    "codes.csv": (("Cholera", "Typhoid fever", "Malignant neoplasm of lip"), ("", "", "A00", "A01", "C00")),
    "numbered.csv": (("Apple", "Pear", "Tools"), ("06", "07", "06.10", "06.20")),
    "nodes.json": (("dog", "cat", "vehicle"), ("", "", "c1", "")),
}


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() | OTHER_EXAMPLES))
def test_an_example_of_the_page_is_read_as_it_says(tmp_path: Path, name: str) -> None:
    taxonomy = read_text(tmp_path, name, EXAMPLES[name])
    assert (taxonomy.class_names, taxonomy.ids) == OTHER_EXAMPLES.get(name, (TOY.class_names, ()))
