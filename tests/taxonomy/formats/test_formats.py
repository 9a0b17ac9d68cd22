from pathlib import Path

import pytest

from hiercos import Taxonomy, TaxonomyError
from taxonomy_files import faults_of, read_text
from trees import TOY


def test_the_format_may_be_given_whatever_the_extension(tmp_path: Path) -> None:
    assert read_text(tmp_path, "tree", "pet > cat\npet > dog\nvehicle > car\n", format="lines") == TOY


def test_an_unknown_extension_says_the_formats(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.xml", "") == [
        "unknown extension '.xml': expected one of .csv, .tsv, .tab, .txt, .json, "
        "or a format named among csv, tsv, edges, edges-tsv, lines, json, json-flat"
    ]


def test_an_unknown_format_says_the_formats(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "tree.csv", "", format="edge") == [
        "unknown format 'edge': expected one of csv, tsv, edges, edges-tsv, lines, json, json-flat"
    ]


def test_bytes_that_are_not_utf8_are_named_with_their_row(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_bytes(b"a,b\nx,y\nx,caf\xe9\n")
    with pytest.raises(TaxonomyError, match=r"tree\.csv: row 3: byte 0xe9 is not UTF-8"):
        Taxonomy.read(tmp_path / "tree.csv")


def test_a_file_that_is_missing_or_a_folder_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"tree\.csv: cannot be read: No such file"):
        Taxonomy.read(tmp_path / "tree.csv")
    with pytest.raises(TaxonomyError, match="cannot be read: Is a directory"):
        Taxonomy.read(tmp_path, format="csv")
