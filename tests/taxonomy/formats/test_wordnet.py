"""Lines as WordNet 3.0 has them, cut to some of their pointers; and its own file, where Debian's package put it."""

from pathlib import Path

import pytest

from hiercos import Taxonomy
from hiercos.taxonomy import TaxonomyError, read_terms
from taxonomy_files import faults_of

NOUNS = """\
  1 This software and database is being provided to you, the LICENSEE, by
  2 Princeton University under the following license.
00001740 03 n 01 entity 0 001 ~ 02083346 n 0000 | that which is perceived
02083346 05 n 02 canine 1 canid 0 002 @ 00001740 n 0000 #m 02083672 n 0000 | any of various fissiped mammals | or so
01317541 05 n 01 domestic_animal 0 001 @ 00001740 n 0000 | any of various animals
02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 003 @ 02083346 n 0000 @ 01317541 n 0000 %p 02158846 n 0000 | a
09481120 17 n 01 Rin_Tin_Tin 0 001 @i 02084071 n 0000 | a famous one
"""
DEBIAN = Path("/usr/share/wordnet/data.noun")


def test_hypernyms_are_parents_and_offsets_ids(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(NOUNS)
    terms = read_terms(tmp_path / "data.noun")
    assert list(terms.by_id) == ["n00001740", "n02083346", "n01317541", "n02084071", "n09481120"]
    assert terms.by_id["n02084071"].parents == ("n02083346", "n01317541")
    taxonomy = terms.tree(under="n00001740", parents="first")
    assert [taxonomy.path_text(leaf) for leaf in taxonomy.leaves] == ["domestic animal", "canine > dog > Rin Tin Tin"]


def test_a_part_that_is_a_tree_needs_no_choice(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(NOUNS)
    assert read_terms(tmp_path / "data.noun").tree(under="n02083346").names == ("dog", "Rin Tin Tin")


def test_a_noun_with_several_hypernyms_makes_a_graph(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(NOUNS)
    assert Taxonomy.read(tmp_path / "data.noun").several_parents == 1
    with pytest.raises(
        TaxonomyError, match=r"row 6: n02084071 \('dog'\) has 2 parents, n02083346, n01317541; expected"
    ):
        Taxonomy.read(tmp_path / "data.noun", parents="one")


@pytest.mark.parametrize(
    "line",
    [
        "abc",
        "00001740 03 v 01 breathe 0 000 | a verb",
        "00001740 03 n 01 entity 0 003 ~ 02083346 n 0000 | fewer pointers than it says",
        "00001740 03 n zz entity 0 000 | no number of words",
        "0000174x 03 n 01 entity 0 000 | no offset",
    ],
)
def test_other_lines_are_faults(tmp_path: Path, line: str) -> None:
    (fault,) = faults_of(tmp_path, "any", NOUNS + line, format="wordnet")
    assert fault.startswith("row 8: expected a noun of WordNet's data.noun, got '")


def test_a_file_without_nouns_is_refused(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "data.noun", "") == ["expected WordNet's data.noun, got no nouns"]


def test_a_hypernym_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    line = "02084071 05 n 01 dog 0 001 @ 02083346 n 0000 | a"
    assert faults_of(tmp_path, "data.noun", line) == [
        "row 1: n02084071 ('dog') is below n02083346, which is not a term of the file"
    ]


@pytest.mark.skipif(not DEBIAN.exists(), reason="WordNet is not here (Debian's package wordnet-base)")
def test_the_synsets_of_imagenet_are_found_in_wordnet_itself() -> None:
    terms = read_terms(DEBIAN)
    assert len(terms.by_id) == 82_115
    dogs = terms.tree(under="n02084071")
    assert (dogs.num_nodes, dogs.num_classes, dogs.height) == (189, 147, 5)
    three = terms.tree(classes=["n02123045", "n02099601", "n02958343"], parents="first")  # tabby, golden retriever, car
    assert three.class_names == ("tabby", "golden retriever", "car")
    assert three.distance_matrix().tolist() == [[0, 6, 14], [6, 0, 14], [14, 14, 0]]
