from pathlib import Path

import pytest

from hiercos import Taxonomy, TaxonomyError
from taxonomy_files import faults_of, read_text
from trees import TOY, shared

TABLE = "kind,species\npet,cat\npet,dog\nvehicle,car\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tree.csv", TABLE),
        ("tree.CSV", "\ufeff" + TABLE.replace("\n", "\r\n")),
        ("tree.tsv", TABLE.replace(",", "\t")),
        ("tree.csv", "level_2,class_index,level_1\ncat,0,pet\n\n dog ,1,pet\ncar,2,vehicle"),
    ],
)
def test_one_column_per_level_is_read_in_class_order(tmp_path: Path, name: str, text: str) -> None:
    assert read_text(tmp_path, name, text) == TOY


def test_leaves_may_sit_at_any_depth_and_codes_stay_text(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.csv", "a,b,c\n06,06.10,06.10.1\n06,06.20,\n1e5,,\n")
    assert taxonomy.class_names == ("06.10.1", "06.20", "1e5")
    assert taxonomy.depths[taxonomy.leaves].tolist() == [3, 2, 1]


def test_numbered_names_make_the_levels_ids(tmp_path: Path) -> None:
    text = "level_1,level_2,name_1,name_2\n06,06.10,Fruit,Apple\n06,06.20,Fruit,Pear\n07,,Tools,\n"
    taxonomy = read_text(tmp_path, "tree.csv", text)
    assert taxonomy.names == ("Fruit", "Tools", "Apple", "Pear")
    assert taxonomy.ids == ("06", "07", "06.10", "06.20")
    assert taxonomy.class_names == ("Apple", "Pear", "Tools")


def test_a_level_without_a_display_name_is_called_by_its_id(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.csv", "level_1,level_2,name_2\n06,06.10,Apple\n06,06.20,\n")
    assert taxonomy.names == ("06", "Apple", "06.20")


def test_id_and_name_columns_belong_to_the_class(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.csv", "id,kind,species,name\n7,pet,cat,Cat\n,pet,dog,\n")
    assert (taxonomy.names, taxonomy.ids) == (("pet", "Cat", "dog"), ("", "7", ""))


def test_with_a_name_column_alone_the_last_level_is_the_id_of_the_class(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.csv", "chapter,code,name\nI,A00,Cholera\nI,A01,Typhoid fever\n")
    assert (taxonomy.names, taxonomy.ids) == (("I", "Cholera", "Typhoid fever"), ("", "A00", "A01"))


def test_every_fault_is_said_with_its_row_and_value(tmp_path: Path) -> None:
    rows = ["a,b,c", "x,y,z", "x,,z", ",,", "x,y,z", '"two\nlines",v', "x,y,", "x,w,"]
    assert faults_of(tmp_path, "tree.csv", "\n".join(rows)) == [
        "row 3: the name at level 2 of 'x >  > z' is empty",
        "row 4: expected at least one name, got none",
        "row 5: 'x > y > z' is already row 2",
        "row 6: expected 3 fields as in the header, got 2: ['two\\nlines', 'v']",
        "row 8: class 'y' is also an inner node: expected a leaf",
    ]


def test_names_and_ids_that_contradict_each_other_are_faults(tmp_path: Path) -> None:
    text = "level_1,level_2,name_1,name_2\na,b,A,B\na,c,Z,C\nd,b,D,B\ne,,E,F\n"
    assert faults_of(tmp_path, "tree.csv", text) == [
        "row 3: 'a' is called 'Z' here and 'A' in row 2",
        "row 4: id 'b' is already the id of another node in row 2",
        "row 5: name_2 is 'F', but level_2 is blank",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the file has no rows: expected a header and one row under it for each class"),
        ("a,b\n\n", "the file has no rows: expected a header and one row under it for each class"),
        (",b\nx,y\n", "row 1: column 1 has no name"),
        ("a,A\nx,y\n", "row 1: column 'a' occurs 2 times"),
        ("id,name\n1,x\n", "row 1: expected a column for each level, got only id, name"),
        (
            "text,label\na lion,cat\n",
            "row 1: columns 'text' and 'label' are those of data: expected a taxonomy, with a column for each level; "
            "data whose labels are paths a > b > c need no taxonomy",
        ),
        ("level_1,level_3\nx,y\n", "row 1: expected columns level_1, level_2, … without a gap, got levels [1, 3]"),
        ('a,b\nx,y\nx,"z\n', "row 3: unexpected end of data"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    assert faults_of(tmp_path, "tree.csv", text) == [fault]


def test_no_more_than_20_faults_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a,b\n" + ",x\n" * 25)
    with pytest.raises(ValueError, match=r"row 21: .*\nand 5 more faults$"):
        Taxonomy.read(tmp_path / "tree.csv")


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


@pytest.mark.parametrize("sign", [";", "|", "\t"])
def test_columns_separated_by_another_sign_are_told(tmp_path: Path, sign: str) -> None:
    (tmp_path / "tree.csv").write_text(f"kingdom{sign}species\nanimal{sign}cat\n")
    with pytest.raises(TaxonomyError, match="row 1: expected ',' between columns, it seems to be"):
        Taxonomy.read(tmp_path / "tree.csv")


def test_id_and_name_belong_to_the_class_beside_numbered_levels_too(tmp_path: Path) -> None:
    text = "class_index,level_1,level_2,id,name\n0,pet,cat,7,Cat\n1,pet,dog,,\n"
    taxonomy = read_text(tmp_path, "tree.csv", text)
    assert (taxonomy.names, taxonomy.ids) == (("pet", "Cat", "dog"), ("", "7", ""))
    named = read_text(tmp_path, "tree.csv", "level_1,level_2,name\nI,A00,Cholera\n")
    assert (named.names, named.ids) == (("I", "Cholera"), ("", "A00"))


def test_an_id_beside_named_levels_is_that_of_the_class(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "tree.csv", "level_1,level_2,name_2,id\n06,06.10,Apple,A1\n06,06.20,Pear,\n")
    assert (taxonomy.names, taxonomy.ids) == (("06", "Apple", "Pear"), ("06", "A1", "06.20"))


def test_a_name_of_the_class_beside_names_of_the_levels_is_a_fault(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.csv", "level_1,name_1,name\na,A,B\n") == [
        "row 1: expected names in columns name_1, name_2, … or in 'name', got both"
    ]


def test_the_columns_name_the_levels_and_are_written_back(tmp_path: Path) -> None:
    read = read_text(tmp_path, "t.csv", "Kingdom,family,id\npet,cat,1\npet,dog,2\n")
    assert read.ranks == ("kingdom", "family")
    for name in ("t.csv", "t.json"):
        read.write(tmp_path / name, format="csv" if name == "t.csv" else "json-flat")
        again = Taxonomy.read(tmp_path / name)
        assert (again, again.ranks) == (read, read.ranks)
    assert TOY.ranks == ()


@pytest.mark.parametrize("header", ["level_1,level_2", "rank 1,rank 2", "1,2"])
def test_numbered_columns_do_not_name_levels(tmp_path: Path, header: str) -> None:
    assert read_text(tmp_path, "t.csv", f"{header}\npet,cat\npet,dog\n").ranks == ()


def test_names_of_levels_that_a_table_reads_otherwise_are_not_written(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog")]).with_ranks(["id", "level_2"])
    taxonomy.write(tmp_path / "t.csv")
    assert Taxonomy.read(tmp_path / "t.csv") == taxonomy
