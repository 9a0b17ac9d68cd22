"""Whatever a writer writes reads back as the same taxonomy, and what it cannot hold it refuses."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy, TaxonomyError
from hiercos.taxonomy import FORMATS, taxonomy_from_dict, taxonomy_to_dict
from trees import TOY, graphs, taxonomies

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
AWKWARD = [
    "06.10",
    "007",
    "1e5",
    "root",
    "null",
    "~",
    "a,b",
    'say "hi"',
    "tab\tin",
    "two\nlines",
    "cr\rin",
    "a > b",
    " padded",
    "é\u2028z",
]
WRITTEN = [
    (form, extension)
    for form, value in FORMATS.items()
    for extension in ((".csv", ".tsv") if value.is_table else (*value.extensions[:1],))
    if value.write
]
NAMES = st.sampled_from(AWKWARD) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@st.composite
def labelled_taxonomies(draw: st.DrawFn) -> Taxonomy:
    """Random trees with awkward names, the same one often twice, and ids on all, on some or on no nodes."""
    tree = draw(taxonomies(max_nodes=12))
    count = tree.num_nodes
    names = draw(st.lists(NAMES, min_size=count, max_size=count))
    numbers = draw(st.permutations(range(count)))
    has_id = {
        "all": [True] * count,
        "none": [False] * count,
        "classes": (tree.child_counts == 0).tolist(),
        "some": draw(st.lists(st.booleans(), min_size=count, max_size=count)),
    }[draw(st.sampled_from(["all", "none", "classes", "some"]))]
    ids = [f"{number:03d}" if given_id else "" for number, given_id in zip(numbers, has_id, strict=True)]
    places: set[tuple[int, str, str]] = set()
    for node in range(count):
        if (int(tree.parents[node]), names[node], ids[node]) in places:
            names[node] += f" {node}"
        places.add((int(tree.parents[node]), names[node], ids[node]))
    return Taxonomy(tuple(names), tree.parents, tree.leaves, tuple(ids))


def class_facts(taxonomy: Taxonomy) -> list[list[tuple[str, str]]]:
    """Names and ids along the path of each class, in class order."""
    ids = taxonomy.ids or ("",) * taxonomy.num_nodes
    return [[(taxonomy.names[node], ids[node]) for node in taxonomy.path(leaf)] for leaf in taxonomy.leaves.tolist()]


def assert_same(back: Taxonomy, taxonomy: Taxonomy) -> None:
    assert class_facts(back) == class_facts(taxonomy)
    assert back.num_nodes == taxonomy.num_nodes
    assert (back.distance_matrix() == taxonomy.distance_matrix()).all()


@pytest.mark.parametrize(("form", "extension"), WRITTEN)
@same_folder
@given(taxonomies())
def test_every_format_holds_a_plain_tree(tmp_path: Path, form: str, extension: str, taxonomy: Taxonomy) -> None:
    path = tmp_path / f"tree{extension}"
    taxonomy.write(path, format=form)
    assert_same(Taxonomy.read(path, format=form), taxonomy)


@pytest.mark.parametrize(("form", "extension"), WRITTEN)
@same_folder
@given(labelled_taxonomies())
def test_what_is_written_reads_back_the_same_or_is_refused(
    tmp_path: Path, form: str, extension: str, taxonomy: Taxonomy
) -> None:
    path = tmp_path / f"tree{extension}"
    try:
        taxonomy.write(path, format=form)
    except TaxonomyError:
        assert form not in ("json", "yaml")
        return
    again = Taxonomy.read(path, format=form)
    assert_same(again, taxonomy)
    assert again == taxonomy or form not in ("json", "yaml")  # these keep even the order of the nodes


@same_folder
@given(graphs())
def test_graphs_are_held_by_edges_and_json(tmp_path: Path, taxonomy: Taxonomy) -> None:
    for name, form in (("g.json", None), ("g.csv", "edges"), ("g.tsv", "edges")):
        taxonomy.write(tmp_path / name, format=form)
        again = Taxonomy.read(tmp_path / name)
        assert again.class_names == taxonomy.class_names
        assert again.distance_matrix().tolist() == taxonomy.distance_matrix().tolist()
        assert again.is_tree == taxonomy.is_tree


@given(labelled_taxonomies() | graphs())
def test_the_arrays_of_a_model_folder_hold_every_taxonomy(taxonomy: Taxonomy) -> None:
    assert taxonomy_from_dict(json.loads(json.dumps(taxonomy_to_dict(taxonomy)))) == taxonomy


@pytest.mark.parametrize(("form", "extension"), [pair for pair in WRITTEN if FORMATS[pair[0]].is_table])
@pytest.mark.parametrize("with_ids", [False, True])
def test_tables_hold_quotes_commas_tabs_and_line_ends(
    tmp_path: Path, form: str, extension: str, with_ids: bool
) -> None:
    names = [name for name in AWKWARD if name == name.strip()]
    ids = [f"0{number}" for number in range(len(names))] if with_ids else []
    parents = [-1, 0, 0, -1, 3, 3, 3, 4, 4, 4, -1, -1, -1]
    taxonomy = Taxonomy.from_arrays(names, parents[: len(names)], ids=ids)
    taxonomy.write(tmp_path / f"tree{extension}", format=form)
    assert_same(Taxonomy.read(tmp_path / f"tree{extension}", format=form), taxonomy)


@pytest.mark.parametrize("form", ["csv", "edges", "lines", "json", "newick"])
def test_a_chain_of_10000_levels_is_written_and_read(tmp_path: Path, form: str) -> None:
    chain = Taxonomy.from_arrays([f"n{node}" for node in range(10_001)], [*range(-1, 9_999), 9_998])
    chain.write(tmp_path / "tree", format=form)
    assert Taxonomy.read(tmp_path / "tree", format=form) == chain


def test_what_is_written_can_be_read_by_people(tmp_path: Path) -> None:
    Taxonomy.from_arrays(["é", "b"], [-1, 0], ids=["", "7"]).write(tmp_path / "tree.json")
    text = (tmp_path / "tree.json").read_text(encoding="utf-8")
    assert json.loads(text) == [{"name": "é", "children": [{"name": "b", "id": "7", "class": 0}]}]
    assert "é" in text
    Taxonomy.from_paths([("06", "06.10"), ("06", "a b"), ("x", "x_y"), ("x", "it's")]).write(tmp_path / "tree.nwk")
    assert (tmp_path / "tree.nwk").read_text() == "((06.10,'a b')'06',('x_y','it''s')x);\n"
    Taxonomy.from_paths([("a", "x"), ("b", "y"), ("a", "z")]).write(tmp_path / "tree.nwk")
    numbered = "((x[&hiercos_class=0],z[&hiercos_class=2])a,(y[&hiercos_class=1])b);\n"
    assert (tmp_path / "tree.nwk").read_text() == numbered


def test_names_of_levels_that_a_table_reads_otherwise_are_not_written(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog")]).with_ranks(["id", "level_2"])
    taxonomy.write(tmp_path / "t.csv")
    assert Taxonomy.read(tmp_path / "t.csv") == taxonomy


@pytest.mark.parametrize("extension", [".csv", ".tsv", ".tab"])
def test_an_edge_table_is_recognised_by_its_header(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"tree{extension}"
    TOY.write(path, format="edges")
    assert path.read_text().startswith("parent,child" if extension == ".csv" else "parent\tchild")
    assert Taxonomy.read(path) == TOY


@pytest.mark.parametrize(
    ("form", "taxonomy", "message"),
    [
        ("lines", Taxonomy.from_paths([("a>b",)]), "'a>b': a line cannot hold a name with '>'"),
        ("lines", Taxonomy.from_arrays(["a"], [-1], ids=["1"]), "lines cannot hold ids"),
        ("lines", Taxonomy.from_paths([("\ufeffa",)]), "byte order mark"),
        ("csv", Taxonomy.from_paths([(" a",)]), "' a': a table cannot hold white space around a name"),
        ("csv", Taxonomy.from_arrays(["a", "b"], [-1, 0], ids=["1", ""]), "'a': a table holds the ids of all nodes"),
        ("csv", Taxonomy.from_arrays(["a", "a"], [-1, -1], ids=["1", ""]), "'a': two siblings of one name"),
        ("edges", Taxonomy.from_paths([("a", "x"), ("b", "x")]), "name 'x' is both 'a > x' and 'b > x'"),
        ("edges", Taxonomy.from_arrays(["a", "b"], [-1, 0], ids=["1", ""]), "here some are empty"),
        ("json", Taxonomy.from_paths([("\ud800",)]), "cannot be encoded in UTF-8"),
        ("yaml", Taxonomy.from_paths([[str(level) for level in range(81)]]), "json and edges hold any number"),
        ("newick", Taxonomy.from_arrays(["a"], [-1], ids=["1"]), "newick cannot hold ids"),
    ],
)
def test_a_refusal_names_the_file_and_the_value_and_writes_nothing(
    tmp_path: Path, form: str, taxonomy: Taxonomy, message: str
) -> None:
    with pytest.raises(TaxonomyError) as error:
        taxonomy.write(tmp_path / "tree.any", format=form)
    assert str(error.value).startswith(f"{tmp_path / 'tree.any'}: ")
    assert message in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        TOY.write(tmp_path / "absent" / "tree.csv")
