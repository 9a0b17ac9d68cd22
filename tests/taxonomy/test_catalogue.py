from pathlib import Path

import numpy as np
import pytest

from hiercos.taxonomy import Taxonomy, TaxonomyError, load_taxonomy, open_taxonomy
from hiercos.taxonomy.catalogue import check_taxonomy_source
from trees import TOY, shared


def test_cifar100_has_the_sizes_of_the_paper_and_the_order_of_its_labels() -> None:
    taxonomy = load_taxonomy("cifar100")
    assert (taxonomy.height, taxonomy.num_classes, taxonomy.num_nodes) == (5, 100, 134)
    assert np.diff(taxonomy.level_starts).tolist() == [2, 4, 8, 20, 100]
    assert set(taxonomy.depths[taxonomy.leaves].tolist()) == {5}
    assert taxonomy.child_counts[taxonomy.level(4)].tolist() == [5] * 20
    assert list(taxonomy.class_names) == sorted(taxonomy.class_names)
    assert taxonomy.class_names[:2] == ("apple", "aquarium_fish")


def test_cifar100_has_the_names_and_distances_of_the_shared_tree() -> None:
    expected = Taxonomy.read(shared("hierarchies", "cifar100.csv"))
    taxonomy = load_taxonomy("cifar100")
    assert taxonomy.class_names == expected.class_names
    assert (taxonomy.distance_matrix() == expected.distance_matrix()).all()


@pytest.mark.parametrize(
    ("name", "end"), [("cifar-10", r"did you mean 'cifar100'\?"), ("wordnet", "there are: cifar100")]
)
def test_an_unknown_name_suggests_the_nearest_or_lists_them_all(name: str, end: str) -> None:
    with pytest.raises(TaxonomyError, match=f"no taxonomy called '{name}' comes with the package .*; {end}$"):
        load_taxonomy(name)


def test_what_is_opened_is_a_file_or_else_a_name_of_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TOY.write(tmp_path / "tree.csv")
    monkeypatch.chdir(tmp_path)
    assert open_taxonomy("tree.csv") == open_taxonomy(tmp_path / "tree.csv") == TOY
    assert open_taxonomy("cifar100") == load_taxonomy("cifar100")
    (tmp_path / "cifar100").touch()
    with pytest.raises(TaxonomyError, match="cifar100: unknown extension ''"):
        open_taxonomy("cifar100")


@pytest.mark.parametrize("source", ["cifar100.csv", "./cifar100", "trees/cifar100"])
def test_a_name_with_a_folder_or_an_extension_is_a_file(source: str) -> None:
    with pytest.raises(TaxonomyError, match=r"cifar100.*: there is no such file$"):
        open_taxonomy(source)


def test_what_would_not_be_found_is_said_without_reading(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("this is no tree")
    check_taxonomy_source(tmp_path / "tree.csv")
    check_taxonomy_source("cifar100")
    with pytest.raises(TaxonomyError, match=r"no\.csv: there is no such file$"):
        check_taxonomy_source(tmp_path / "no.csv")
    unknown = r"^cifar10: there is no such file, and no built-in taxonomy of that name; did you mean 'cifar100'\?$"
    for door in (check_taxonomy_source, open_taxonomy):
        with pytest.raises(TaxonomyError, match=unknown):
            door("cifar10")


def test_a_folder_hides_a_built_in_name_only_if_it_holds_a_taxonomy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "cifar100"
    folder.mkdir()
    check_taxonomy_source("cifar100")
    assert open_taxonomy("cifar100") == load_taxonomy("cifar100")
    for source in ("./cifar100", folder):
        with pytest.raises(TaxonomyError, match=r"this folder has no taxonomy\.json$"):
            open_taxonomy(source)
    TOY.write(folder / "taxonomy.json")
    assert open_taxonomy("cifar100") == open_taxonomy(folder) == TOY
