import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hiercos.errors import DataError
from hiercos.paper.inaturalist19 import INATURALIST19, inaturalist19, split_within_classes
from paper_sets import SPECIES, photograph, write_files, write_inaturalist


def fault_of(root: Path) -> str:
    with pytest.raises(DataError) as error:
        inaturalist19(root)
    return str(error.value).replace(str(root), "ROOT")


def test_the_tree_is_that_of_the_category_file_and_classes_are_in_the_order_of_ids(tmp_path: Path) -> None:
    assert not INATURALIST19.is_present(tmp_path)
    folder = write_inaturalist(tmp_path)
    assert INATURALIST19.is_present(tmp_path)
    dataset = inaturalist19(tmp_path)
    paths = [
        tuple(dataset.taxonomy.names[node] for node in dataset.taxonomy.path(leaf)) for leaf in dataset.taxonomy.leaves
    ]
    assert paths == [SPECIES[0], SPECIES[1], SPECIES[3]]
    row = [dataset.inputs.name(row) for row in range(60)].index(str(folder / "train_val2019/Group/3/030004.jpg"))
    assert dataset.taxonomy.class_names[dataset.labels[row]] == "Cirsium arvense"
    assert dataset.inputs.open(row).size == (40, 30)
    assert len(inaturalist19(folder)) == 60


def test_without_the_papers_split_each_class_is_split_70_15_15_and_it_is_said(tmp_path: Path) -> None:
    folder = write_inaturalist(tmp_path)
    dataset = inaturalist19(tmp_path)
    for split, count in (("train", 14), ("val", 3), ("test", 3)):
        assert np.bincount(dataset.labels[dataset.rows(split)]).tolist() == [count] * 3
    note = "the paper's split is missing: 70% train, 15% val and 15% test of each class were chosen by hash."
    assert dataset.notes == (f"{folder}: {note}",)


def test_the_split_of_an_image_does_not_depend_on_the_folder_or_the_order() -> None:
    keys = [f"train_val2019/Group/{label}/{row}.jpg" for row in range(50) for label in (0, 1)]
    labels = np.array([0, 1] * 50)
    split = split_within_classes(keys, labels)
    order = np.random.default_rng(0).permutation(100)
    shuffled = split_within_classes([keys[row] for row in order], labels[order])
    assert shuffled.tolist() == split[order].tolist()
    assert [(split[labels == 0] == name).sum() for name in ("train", "val", "test")] == [35, 7, 8]


def test_the_lists_of_a_published_split_are_used_and_what_they_leave_out_is_said(tmp_path: Path) -> None:
    folder = write_inaturalist(tmp_path)
    lists = {
        f"splits_inat19/{split}/nat{number:04d}.txt": f"{number:02d}{row:04d}.jpg\n".encode()
        for row, split in enumerate(("train", "val", "test"))
        for number in SPECIES
    }
    write_files(folder, lists)
    dataset = inaturalist19(tmp_path)
    assert dataset.split.tolist() == ["train"] * 3 + ["val"] * 3 + ["test"] * 3
    assert dataset.labels.tolist() == [0, 1, 2] * 3
    assert dataset.inputs.name(3) == str(folder / "train_val2019/Group/0/000001.jpg")
    assert dataset.notes == (f"{folder}: 51 of 60 images are in no list of splits_inat19 and left out.",)


def test_images_in_folders_of_splits_need_no_annotations(tmp_path: Path) -> None:
    folder = tmp_path / "inaturalist19"
    names = ("train/nat0000/b", "train/nat0000/a", "train/nat0003/c", "val/nat0001/d", "test/nat0003/e")
    write_files(folder, {f"{name}.jpg": photograph((1, 2, 3)) for name in names})
    shutil.copy(write_inaturalist(tmp_path / "official") / "categories.json", folder)
    dataset = inaturalist19(tmp_path)
    assert dataset.labels.tolist() == [0, 0, 2, 1, 2]
    assert dataset.split.tolist() == ["train", "train", "train", "val", "test"]
    assert dataset.inputs.name(0) == str(folder / "train/nat0000/a.jpg")
    assert dataset.notes == ()
    write_files(folder, {"test/Ants/f.jpg": b""})
    assert fault_of(tmp_path) == "ROOT/inaturalist19/test/Ants/f.jpg: there is no category 'Ants'"


def test_without_a_category_file_the_tree_has_the_obfuscated_names(tmp_path: Path) -> None:
    (write_inaturalist(tmp_path) / "categories.json").unlink()
    assert inaturalist19(tmp_path).taxonomy.class_names == ("hidden 0", "hidden 1", "hidden 3")


def test_where_there_is_nothing_it_is_said_what_to_put_where(tmp_path: Path) -> None:
    assert fault_of(tmp_path).startswith("inaturalist19 is not in ROOT: expected inaturalist19/ with categories.json")


def test_a_category_without_a_name_and_a_missing_image_are_errors(tmp_path: Path) -> None:
    folder = write_inaturalist(tmp_path)
    (folder / "train_val2019/Group/1/010003.jpg").unlink()
    assert fault_of(tmp_path) == (
        "ROOT/inaturalist19/train_val2019/Group/1/010003.jpg: the annotations name this image, but it is not there"
    )
    categories = json.loads((folder / "categories.json").read_text())
    del categories[1]["order"]
    (folder / "categories.json").write_text(json.dumps(categories))
    assert "categories.json: expected categories with an id and kingdom, phylum, " in fault_of(tmp_path)
