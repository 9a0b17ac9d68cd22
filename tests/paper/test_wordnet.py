"""Lines as WordNet 3.0 has them, cut to some of their pointers."""

from pathlib import Path

import pytest

from hiercos.paper.wordnet import read_wordnet
from hiercos.taxonomy import TaxonomyError, kept_parents, part_below

NOUNS = """\
  1 This software and database is being provided to you, the LICENSEE, by
  2 Princeton University under the following license.
00001740 03 n 01 entity 0 001 ~ 02083346 n 0000 | that which is perceived
02083346 05 n 02 canine 1 canid 0 002 @ 00001740 n 0000 #m 02083672 n 0000 | any of various fissiped mammals | or so
01317541 05 n 01 domestic_animal 0 001 @ 00001740 n 0000 | any of various animals
02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 003 @ 02083346 n 0000 @ 01317541 n 0000 %p 02158846 n 0000 | a
09481120 17 n 01 Rin_Tin_Tin 0 001 @i 02084071 n 0000 | a famous one
"""


def faults_of(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(TaxonomyError) as error:
        read_wordnet(path)
    return [fault.removeprefix(f"{path}: ") for fault in error.value.faults]


def test_hypernyms_are_parents_and_offsets_ids(tmp_path: Path) -> None:
    (tmp_path / "data.noun").write_text(NOUNS)
    graph = read_wordnet(tmp_path / "data.noun")
    assert sorted(graph.ids) == ["n00001740", "n01317541", "n02083346", "n02084071", "n09481120"]
    assert graph.several_parents == 1
    assert part_below(graph, graph.ids.index("n02083346")).names == ("dog", "Rin Tin Tin")
    tree = kept_parents(graph, "first")
    paths = {tree.path_text(leaf) for leaf in tree.leaves}
    assert paths == {"entity > domestic animal", "entity > canine > dog > Rin Tin Tin"}


@pytest.mark.parametrize(
    "line",
    [
        "abc",
        "00001740 03 v 01 breathe 0 000 | a verb",
        "00001740 03 n 01 entity 0 003 ~ 02083346 n 0000 | fewer pointers than it says",
        "00001740 03 n 01 entity 0 99999999999999 @ 00001930 n 0000 | far fewer",
        "00001740 03 n zz entity 0 000 | no number of words",
        "0000174x 03 n 01 entity 0 000 | no offset",
    ],
)
def test_other_lines_are_faults(tmp_path: Path, line: str) -> None:
    (fault,) = faults_of(tmp_path / "any", NOUNS + line)
    assert fault.startswith("row 8: expected a noun of WordNet's data.noun, got '")


def test_a_file_without_nouns_and_a_missing_hypernym_are_refused(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "any", "") == ["expected WordNet's data.noun, got no nouns"]
    line = "09481120 17 n 01 Rin_Tin_Tin 0 001 @i 02084072 n 0000 | a famous one"
    assert faults_of(tmp_path / "any", NOUNS.splitlines()[2] + "\n" + line) == [
        "row 2: parent 'n02084072' is never a child, though blank parents mark the top"
    ]
