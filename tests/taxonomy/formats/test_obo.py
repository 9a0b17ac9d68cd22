import builtins
from pathlib import Path
from typing import Any

import pytest

from hiercos import Taxonomy
from hiercos.taxonomy import TaxonomyError, read_terms
from hiercos.taxonomy.terms import read_obo
from taxonomy_files import faults_of, read_text

HEADER = "format-version: 1.2\nontology: toy\n"


def stanza(given_id: str, name: str, *lines: str, kind: str = "Term") -> str:
    return "\n".join(["", f"[{kind}]", f"id: {given_id}", f"name: {name}", *lines, ""])


TEXT = HEADER + "".join(
    [
        stanza("T:1", "pet"),
        stanza("T:2", "cat", "is_a: T:1 ! pet", "relationship: part_of T:4"),
        stanza("T:3", "dodo", "is_obsolete: true"),
        stanza("T:4", "vehicle, old", 'def: "A thing" []'),
        stanza("T:5", "car", 'is_a: T:4 {source="x"} ! vehicle'),
        stanza("part_of", "part of", kind="Typedef"),
    ]
)


def test_terms_are_nodes_by_their_ids_and_only_is_a_makes_a_parent(tmp_path: Path) -> None:
    taxonomy = read_text(tmp_path, "toy.obo", TEXT)
    assert taxonomy.names == ("pet", "vehicle, old", "cat", "car")
    assert taxonomy.ids == ("T:1", "T:4", "T:2", "T:5")
    assert taxonomy.class_names == ("cat", "car")


def test_a_file_without_a_header_is_read_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    taxonomy = read_text(tmp_path, "toy.obo", TEXT.removeprefix(HEADER).lstrip())
    assert taxonomy == read_text(tmp_path, "whole.obo", TEXT)
    assert caplog.records == []


def test_obsolete_terms_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "toy.obo").write_text(TEXT)
    assert read_terms(tmp_path / "toy.obo").notes == ("1 obsolete term was left out.",)


def test_a_term_with_several_parents_makes_a_graph_or_keeps_one(tmp_path: Path) -> None:
    (tmp_path / "toy.obo").write_text(TEXT + stanza("T:6", "toy car", "is_a: T:5", "is_a: T:1"))
    graph = Taxonomy.read(tmp_path / "toy.obo")
    assert (graph.is_tree, graph.several_parents) == (False, 1)
    with pytest.raises(
        TaxonomyError, match=r"toy.obo: row 34: T:6 \('toy car'\) has 2 parents, T:5, T:1; expected one"
    ):
        Taxonomy.read(tmp_path / "toy.obo", parents="one")
    taxonomy = read_terms(tmp_path / "toy.obo").tree(parents="first")
    assert taxonomy.path_text(int(taxonomy.leaves[1])) == "vehicle, old > car > toy car"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (TEXT + stanza("T:2", "cat"), ["row 34: id 'T:2' is already row 9"]),
        (
            TEXT + stanza("T:6", "moa", "is_a: T:3") + stanza("T:7", "x", "is_a: X:9"),
            [
                "row 34: T:6 ('moa') is below T:3, which is not a term of the file",
                "row 39: T:7 ('x') is below X:9, which is not a term of the file",
            ],
        ),
        (HEADER, ["expected terms ([Term]), got none"]),
        (HEADER + "\n[Term]\nno tag\n", ["not OBO that obonet can read (Tag-value pair parsing failed for: no tag)"]),
        (HEADER + "\n[Term]\nname: x\n", ["not OBO that obonet can read ('id')"]),
    ],
)
def test_every_fault_is_said_with_its_row(tmp_path: Path, text: str, faults: list[str]) -> None:
    assert faults_of(tmp_path, "toy.obo", text) == faults


def test_without_obonet_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "obonet":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(TaxonomyError, match=r"reading OBO needs obonet: pip install 'hiercos\[obo\]'"):
        read_obo(TEXT)
