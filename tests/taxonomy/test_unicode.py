"""Names in Unicode's two forms: an accent as part of its letter (NFC) or after it (NFD)."""

from pathlib import Path

import pytest

from hiercos import Taxonomy
from hiercos.errors import visible
from hiercos.taxonomy import LabelReader, TaxonomyError, taxonomy_of_labels, tree_lines

ONE, TWO = "caf\xe9", "cafe\u0301"


def test_a_label_is_found_in_either_form() -> None:
    for written in (ONE, TWO):
        reader = LabelReader(Taxonomy.from_paths([("food", written), ("food", "tea")]))
        for label in (ONE, TWO):
            assert reader.read([label, f"food > {label}"], source="any").tolist() == [1, 1]
        assert reader.taxonomy.class_names[0] == written  # as the user wrote it


def test_both_forms_among_siblings_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=f"path 2: '{TWO}' under 'food' is already path 1"):
        Taxonomy.from_paths([("food", ONE), ("food", TWO)])
    Taxonomy.from_paths([("food", ONE), ("drink", TWO)])
    (tmp_path / "tree.csv").write_text(f"parent,child\n{ONE},a\n{TWO},b\n")
    with pytest.raises(TaxonomyError, match=f"row 3: '{TWO}' under the top is already row 2"):
        Taxonomy.read(tmp_path / "tree.csv")


def test_paths_in_both_forms_make_one_class() -> None:
    labels = [f"food > {ONE}", f"food > {TWO}"]
    assert taxonomy_of_labels(labels, source="any", row_name=str).class_names == (ONE,)


def test_control_characters_are_shown_escaped() -> None:
    tree = Taxonomy.from_paths([("a\x1b[2J", "b\nc"), ("d", "e\u202e")])
    lines = "\n".join(tree_lines(tree, depth=9, children=9))
    assert "\x1b" not in lines
    assert "\u202e" not in lines
    assert r"a\x1b[2J" in lines
    assert visible("line\n\x07 \xe9") == "line\\n\\x07 \xe9"
