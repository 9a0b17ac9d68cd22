from pathlib import Path
from typing import Any

import pytest

from hiercos import TaxonomyError
from hiercos.sklearn.inputs import taxonomy_argument
from sklearn_clouds import PATHS, UNEVEN
from trees import TOY


def test_a_taxonomy_is_itself() -> None:
    assert taxonomy_argument(UNEVEN) is UNEVEN


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_file_is_read_by_its_path_or_its_name(tmp_path: Path, suffix: str) -> None:
    UNEVEN.write(tmp_path / f"tree{suffix}")
    assert taxonomy_argument(tmp_path / f"tree{suffix}") == UNEVEN
    assert taxonomy_argument(str(tmp_path / f"tree{suffix}")) == UNEVEN


def test_paths_are_texts_or_tuples_in_class_order() -> None:
    assert taxonomy_argument(PATHS.tolist()) == UNEVEN
    assert taxonomy_argument([tuple(path.split(" > ")) for path in PATHS]) == UNEVEN
    assert taxonomy_argument([["car"], ["ant"]]).class_names == ("car", "ant")


def test_pairs_are_edges_where_no_child_is_named_twice() -> None:
    assert taxonomy_argument([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")]) == TOY
    deep = taxonomy_argument([("animal", "pet"), ("pet", "cat"), ("pet", "dog")])
    assert [deep.path_text(leaf) for leaf in deep.leaves] == ["animal > pet > cat", "animal > pet > dog"]
    twins = taxonomy_argument([("left", "eye"), ("right", "eye")])
    assert [twins.path_text(leaf) for leaf in twins.leaves] == ["left > eye", "right > eye"]


@pytest.mark.parametrize("source", [5, [], {}, None])
def test_anything_else_is_refused_with_what_was_expected(source: Any) -> None:
    with pytest.raises(TaxonomyError, match="expected a Taxonomy, a file, or a list of paths or edges, got"):
        taxonomy_argument(source)


@pytest.mark.parametrize("path", [5, ("pet", 5), None])
def test_a_path_of_anything_but_names_is_refused_with_its_row(path: Any) -> None:
    with pytest.raises(TaxonomyError, match=r"^row 2: expected a path, a text or a tuple of names, got"):
        taxonomy_argument([("pet", "cat"), path])


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(TaxonomyError, match=r"^nowhere\.csv: there is no such file"):
        taxonomy_argument("nowhere.csv")
