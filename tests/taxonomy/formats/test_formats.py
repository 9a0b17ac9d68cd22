from pathlib import Path

import pytest

from hiercos import Taxonomy, TaxonomyError
from hiercos.taxonomy import read_terms
from hiercos.taxonomy.formats import holds_terms
from taxonomy_files import faults_of, read_text
from trees import TOY


def test_the_format_may_be_given_whatever_the_extension(tmp_path: Path) -> None:
    assert read_text(tmp_path, "tree", "pet > cat\npet > dog\nvehicle > car\n", format="lines") == TOY


def test_an_unknown_extension_says_the_formats(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.xml", "") == [
        "unknown extension '.xml': expected one of .csv, .tsv, .tab, .txt, .json, .yaml, .yml, .nwk, .newick, .tre, "
        ".obo, .noun, or a format named among csv, tsv, edges, edges-tsv, lines, json, json-flat, yaml, newick, obo, "
        "wordnet"
    ]


def test_an_unknown_format_says_the_formats(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.csv", "", format="edge") == [
        "unknown format 'edge': expected one of csv, tsv, edges, edges-tsv, lines, json, json-flat, yaml, newick, obo, "
        "wordnet"
    ]


def test_formats_that_are_only_read_are_not_offered_for_writing(tmp_path: Path) -> None:
    for path, name in ((tmp_path / "tree.xml", None), (tmp_path / "tree.csv", "xml")):
        with pytest.raises(TaxonomyError, match=r"unknown (extension|format) .* json-flat, yaml, newick$") as error:
            TOY.write(path, format=name)
        assert ".obo" not in str(error.value)


def test_bytes_that_are_not_utf8_are_named_with_their_row(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_bytes(b"a,b\nx,y\nx,caf\xe9\n")
    with pytest.raises(TaxonomyError, match=r"tree\.csv: row 3: byte 0xe9 is not UTF-8"):
        Taxonomy.read(tmp_path / "tree.csv")


def test_a_file_that_is_missing_or_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"tree\.csv: cannot be read: No such file"):
        Taxonomy.read(tmp_path / "tree.csv")
    with pytest.raises(TaxonomyError, match="cannot be read: Is a directory"):
        Taxonomy.read(tmp_path, format="csv")


@pytest.mark.parametrize("extension", [".obo", ".noun"])
def test_a_format_that_is_only_read_is_not_written(tmp_path: Path, extension: str) -> None:
    with pytest.raises(TaxonomyError, match=r"this format can only be read: expected one of csv, .*, newick$"):
        TOY.write(tmp_path / f"tree{extension}")
    assert list(tmp_path.iterdir()) == []


def test_a_tree_is_no_graph_of_terms(tmp_path: Path) -> None:
    TOY.write(tmp_path / "tree.csv")
    with pytest.raises(TaxonomyError, match=r"tree\.csv: expected a graph of terms \(obo, wordnet\), got a tree"):
        read_terms(tmp_path / "tree.csv")


@pytest.mark.parametrize(
    ("path", "format", "graph"),
    [
        ("data.noun", None, True),
        ("GO.OBO", None, True),
        ("any", "obo", True),
        ("data.noun", "csv", False),
        ("cifar100", None, False),
        ("tree.csv", "no format", False),
    ],
)
def test_graphs_of_terms_are_known_by_extension_or_format(path: str, format: str | None, graph: bool) -> None:
    assert holds_terms(path, format) == graph
