import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hiercos import HierarchicalClassifier, Taxonomy, TaxonomyError
from hiercos.cli.commands.taxonomy import app
from hiercos.cli.options.groups import OptionError
from hiercos.errors import FaultsError
from trees import TOY


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    TOY.write(tmp_path / "toy.csv")
    return tmp_path / "toy.csv"


def test_show_prints_the_tree_and_its_counts(toy: Path) -> None:
    result = run("show", toy)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "├── pet (2 classes)",
        "│   ├── cat",
        "│   └── dog",
        "└── vehicle (1 class)",
        "    └── car",
        "",
        "5 nodes, 3 classes, 2 levels",
        "nodes per level: 2, 3",
        "classes per level: 0, 3",
        "children per node, including the root: 1 to 2, mean 1.7",
        "nodes with one child, excluding the root: 1",
        "repeated names: none",
    ]


def test_show_folds_what_is_deep_or_large(toy: Path) -> None:
    lines = run("show", toy, "--depth", "1", "--children", "1").stdout.splitlines()
    assert lines[:2] == ["├── pet (2 classes) …", "└── … 1 more (1 class)"]


def test_show_lists_the_names_of_several_nodes(tmp_path: Path) -> None:
    paths = [(top, f"x{number}") for top in "ab" for number in range(12)]
    Taxonomy.from_paths(paths).write(tmp_path / "tree.txt")
    last = run("show", tmp_path / "tree.txt").stdout.splitlines()[-1]
    assert last.startswith("repeated names: 'x0' (2), 'x1' (2), ")
    assert last.endswith("'x9' (2) and 2 more")


def test_a_built_in_taxonomy_is_shown_by_its_name() -> None:
    assert "134 nodes, 100 classes, 5 levels" in run("show", "cifar100").stdout


def test_check_says_in_one_line_that_a_file_is_fine(toy: Path) -> None:
    assert run("check", toy).stdout == f"{toy}: valid, 5 nodes, 3 classes, 2 levels\n"


@pytest.mark.parametrize("command", ["show", "check"])
def test_a_bad_file_raises_every_fault_with_its_row(tmp_path: Path, command: str) -> None:
    (tmp_path / "tree.csv").write_text("a,b\nx,\n,y\nx,z\n")
    result = run(command, tmp_path / "tree.csv")
    assert isinstance(result.exception, TaxonomyError)
    assert len(result.exception.faults) == 2
    assert result.stdout == ""


def test_convert_writes_another_format_and_says_so_on_stderr(toy: Path, tmp_path: Path) -> None:
    result = run("convert", toy, tmp_path / "toy.json")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"wrote {tmp_path / 'toy.json'}: 5 nodes, 3 classes, 2 levels\n"
    assert Taxonomy.read(tmp_path / "toy.json") == TOY


def test_convert_takes_formats_that_the_extensions_do_not_tell(toy: Path, tmp_path: Path) -> None:
    assert run("convert", toy, tmp_path / "a", "--to-format", "edges").exit_code == 0
    assert run("convert", tmp_path / "a", tmp_path / "b.txt", "--format", "edges").exit_code == 0
    assert (tmp_path / "b.txt").read_text() == "pet > cat\npet > dog\nvehicle > car\n"


def test_convert_refuses_what_a_format_cannot_hold(tmp_path: Path) -> None:
    Taxonomy.from_paths([("a", "x"), ("b", "x")]).write(tmp_path / "tree.csv")
    result = run("convert", tmp_path / "tree.csv", tmp_path / "out.csv", "--to-format", "edges")
    assert isinstance(result.exception, TaxonomyError)
    assert not (tmp_path / "out.csv").exists()


OBO = """ontology: pets

[Term]
id: P:1
name: pet

[Term]
id: P:2
name: cat
is_a: P:1

[Term]
id: P:3
name: kitten
is_a: P:2
is_a: P:1

[Term]
id: P:4
name: dodo
is_obsolete: true
"""


@pytest.fixture
def obo(tmp_path: Path) -> Path:
    (tmp_path / "pets.obo").write_text(OBO)
    return tmp_path / "pets.obo"


def test_a_tree_is_taken_from_an_ontology(obo: Path) -> None:
    for under in ("P:1", "pet"):
        result = run("show", obo, "--under", under, "--parents", "first")
        assert result.stdout.splitlines()[:2] == ["└── cat [P:2] (1 class)", "    └── kitten [P:3]"]
        assert result.stderr == ""
    assert run("check", obo).stdout.endswith("1 node with several parents\n")
    assert "'kitten' has 2 parents, 'cat', 'pet'" in str(run("check", obo, "--parents", "one").exception)


def test_a_term_that_loses_its_last_child_is_said_unless_the_classes_are_chosen(obo: Path, tmp_path: Path) -> None:
    obo.write_text(OBO.replace("is_a: P:2\nis_a: P:1", "is_a: P:1\nis_a: P:2"))
    note = f"{obo}: 1 node without children is now a class: cat.\n"
    for arguments in (["check", obo], ["convert", obo, tmp_path / "out.csv"]):
        assert note in run(*arguments, "--parents", "first").stderr
    (tmp_path / "classes.txt").write_text("P:2\nP:3\n")
    chosen = run("check", obo, "--parents", "first", "--classes", tmp_path / "classes.txt")
    assert (chosen.exit_code, chosen.stderr) == (0, "")


def test_ids_are_dropped_on_request_where_a_format_has_no_place_for_them(obo: Path, tmp_path: Path) -> None:
    arguments = ["convert", obo, tmp_path / "out.nwk", "--parents", "first"]
    assert "newick cannot hold ids; csv, edges, json and yaml can" in str(run(*arguments).exception)
    assert run(*arguments, "--without-ids").exit_code == 0
    assert (tmp_path / "out.nwk").read_text() == "(((kitten)cat)pet);\n"


def test_ids_that_alone_tell_siblings_apart_are_not_dropped(tmp_path: Path) -> None:
    Taxonomy.from_arrays(["a", "a"], [-1, -1], ids=["1", "2"]).write(tmp_path / "tree.json")
    result = run("convert", tmp_path / "tree.json", tmp_path / "out.nwk", "--without-ids")
    assert str(result.exception).startswith("--without-ids: 2 nodes under the root are called 'a'")


def test_sizes_agree_in_number(tmp_path: Path) -> None:
    Taxonomy.from_paths([("cat",)]).write(tmp_path / "one.txt")
    assert run("check", tmp_path / "one.txt").stdout.endswith(": valid, 1 node, 1 class, 1 level\n")


def test_classes_come_from_the_first_words_of_a_file(obo: Path, tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("P:2 cat, house cat\n\n")
    assert run("convert", obo, tmp_path / "out.csv", "--classes", tmp_path / "classes.txt").exit_code == 0
    assert Taxonomy.read(tmp_path / "out.csv").names == ("pet", "cat")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--parents", "last"], "--parents last: expected one of all, first, shortest, one"),
        (["--classes", "nothing.txt"], "--classes nothing.txt: cannot be read"),
        (["--classes", "/dev/null"], "--classes /dev/null: expected an id on each line, got none"),
    ],
)
def test_bad_choices_of_terms_are_refused(obo: Path, options: list[str], message: str) -> None:
    result = run("check", obo, *options)
    assert isinstance(result.exception, OptionError)
    assert message in str(result.exception)


def test_a_part_may_be_taken_of_a_tree(toy: Path, tmp_path: Path) -> None:
    (tmp_path / "classes.txt").write_text("car\n\npet and more\n")
    assert run("check", toy, "--under", "pet").stdout.endswith("2 nodes, 2 classes, 1 level\n")
    classes = ["--classes", str(tmp_path / "classes.txt")]
    run("convert", toy, tmp_path / "part.txt", *classes)
    assert (tmp_path / "part.txt").read_text() == "vehicle > car\npet\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--under", "pte"], "--under: unknown label 'pte': not in TREE; the nearest known label is 'pet'"),
        (["--under", "dog"], "TREE: 'dog' has no children: expected a node with others below it"),
        (["--classes", "CLASSES"], "--classes CLASSES: row 3: unknown label 'crow': not in TREE"),
    ],
)
def test_a_part_that_is_not_there_is_refused(toy: Path, tmp_path: Path, options: list[str], message: str) -> None:
    (tmp_path / "classes.txt").write_text("cat\n\ncrow\n")
    names = {"CLASSES": str(tmp_path / "classes.txt"), "TREE": str(toy)}
    for key, name in names.items():
        message = message.replace(key, name)
    exception = run("check", toy, *(names.get(option, option) for option in options)).exception
    assert isinstance(exception, FaultsError)
    assert str(exception).startswith(message)


def test_one_parent_of_each_node_is_kept_on_request_in_any_format(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text("parent,child\na,b\nb,c\nx,c\nx,d\n")
    assert run("convert", tmp_path / "graph.csv", tmp_path / "out.csv", "--parents", "shortest").exit_code == 0
    assert (tmp_path / "out.csv").read_text().splitlines() == ["level_1,level_2", "x,c", "x,d", "a,b"]
    chosen = run("check", tmp_path / "graph.csv", "--parents", "shortest")
    assert chosen.stdout == f"{tmp_path / 'graph.csv'}: valid, 5 nodes, 3 classes, 2 levels\n"
    assert chosen.stderr == f"{tmp_path / 'graph.csv'}: 1 node without children is now a class: b.\n"
    refused = run("check", tmp_path / "graph.csv", "--parents", "one")
    assert "graph.csv: 'c' has 2 parents, 'b', 'x'; expected one" in str(refused.exception)
    for refused in ("no.nwk", "no.csv", "no.yaml", "no.txt"):
        message = str(run("convert", tmp_path / "graph.csv", tmp_path / refused).exception)
        assert "this format holds trees, got a graph with 1 node of several parents; expected one of edges, " in message
        assert not (tmp_path / refused).exists()
    for written in (["out.json"], ["edges.csv", "--to-format", "edges"], ["edges.tsv", "--to-format", "edges"]):
        assert run("convert", tmp_path / "graph.csv", tmp_path / written[0], *written[1:]).exit_code == 0
        assert Taxonomy.read(tmp_path / written[0]) == Taxonomy.read(tmp_path / "graph.csv")


def test_many_nodes_that_become_classes_are_counted_and_some_named(tmp_path: Path) -> None:
    rows = [f"{parent},{child}" for child in range(12) for parent in (f"a{child}", f"b{child}")]
    (tmp_path / "graph.csv").write_text("\n".join(["parent,child", *rows]))
    told = run("check", tmp_path / "graph.csv", "--parents", "first").stderr
    assert told.endswith("12 nodes without children are now classes: b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, ….\n")


def test_the_formats_of_others_are_converted_by_their_extensions(toy: Path, tmp_path: Path) -> None:
    for step, following in (("toy.csv", "toy.nwk"), ("toy.nwk", "toy.yaml"), ("toy.yaml", "back.csv")):
        assert run("convert", tmp_path / step, tmp_path / following).exit_code == 0
    assert (tmp_path / "back.csv").read_text() == toy.read_text()


def test_taxonomies_are_read_without_importing_torch() -> None:
    code = "import sys, hiercos.taxonomy.describe; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_model_folder_stands_for_its_taxonomy(tmp_path: Path, toy: Path) -> None:
    model = tmp_path / "model"
    HierarchicalClassifier(TOY, method="gaussian").fit(np.eye(6), [0, 1, 2, 0, 1, 2]).save(model)
    assert run("show", model).stdout == run("show", toy).stdout
    assert run("check", model).stdout == f"{model}: valid, 5 nodes, 3 classes, 2 levels\n"
    assert run("convert", model, tmp_path / "tree.json").exit_code == 0
    assert Taxonomy.read(tmp_path / "tree.json") == TOY
    (tmp_path / "empty").mkdir()
    error = run("show", tmp_path / "empty").exception
    assert isinstance(error, TaxonomyError)
    assert str(error).endswith("empty: expected a file or the folder of a model, this folder has no taxonomy.json")
