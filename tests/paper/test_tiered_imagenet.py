from pathlib import Path

import pytest

from hiercos import Taxonomy
from hiercos.errors import DataError
from hiercos.paper.tiered_imagenet import TIERED_IMAGENET_H, tiered_imagenet
from paper_sets import SYNSETS, write_tiered
from trees import shared


def fault_of(root: Path) -> str:
    with pytest.raises(DataError) as error:
        tiered_imagenet(root)
    return str(error.value).replace(str(root), "ROOT")


@pytest.mark.parametrize("lists", ["", "txt"], ids=["folders", "lists"])
def test_the_tree_is_the_edge_list_cut_down_to_the_classes_of_the_split(tmp_path: Path, lists: str) -> None:
    assert not TIERED_IMAGENET_H.is_present(tmp_path)
    folder = write_tiered(tmp_path, lists=lists)
    assert TIERED_IMAGENET_H.is_present(tmp_path)
    dataset = tiered_imagenet(tmp_path)
    paths = [
        ("n00002684", "n00015388", "n01440764"),
        ("n00002684", "n00015388", "n01443537"),
        ("n00020827", "n07831146"),
    ]
    assert dataset.taxonomy == Taxonomy.from_paths(paths)
    assert dataset.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 3
    assert dataset.split.tolist() == ["train"] * 9 + ["val"] * 9 + ["test"] * 9
    place = "images" if lists else "val"
    assert dataset.inputs.name(13) == str(folder / place / "n01443537" / "n01443537_val1.JPEG")
    assert dataset.inputs.open(13).size == (40, 30)
    assert len(tiered_imagenet(folder)) == 27


def test_the_published_edges_give_the_papers_tree(tmp_path: Path) -> None:
    tree = Taxonomy.read(shared("hierarchies", "tiered_imagenet_h.csv"))
    folder = write_tiered(tmp_path, lists="txt")
    keys = tree.ids or tree.names
    parents = [keys[parent] if parent >= 0 else "n00001930" for parent in tree.parents]
    edges = "".join(f"{parent} {child}\n" for parent, child in zip(parents, keys, strict=True))
    (folder / "tiered_imagenet_isa.txt").write_text(edges)
    taxonomy = tiered_imagenet(tmp_path).taxonomy
    for synset, node in zip(SYNSETS, taxonomy.leaves, strict=True):
        expected = [keys[above] for above in tree.path(keys.index(synset))]
        assert [taxonomy.names[above] for above in taxonomy.path(int(node))] == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n00020827 n07831146", "n00020827", "row 6: expected 'parent child', got 'n00020827'"),
        (" n07831146", " n07831147", "no edge leads to the class 'n07831146' of the split"),
        ("n00001930 n00020827", "n00015388 n01440764", "row 5: 'n00015388', 'n01440764' is already row 3"),
        (
            "n00020827 n07836838",
            "n00020827 n01440764",
            "'n01440764' has 2 parents, 'n00015388', 'n00020827'; expected one",
        ),
    ],
)
def test_edges_that_are_no_tree_of_the_classes_are_errors(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = write_tiered(tmp_path) / "tiered_imagenet_isa.txt"
    file.write_text(file.read_text().replace(old, new))
    assert f"ROOT/tiered-imagenet-h/tiered_imagenet_isa.txt: {message}" in fault_of(tmp_path)


def test_a_listed_image_that_is_missing_is_an_error(tmp_path: Path) -> None:
    folder = write_tiered(tmp_path, lists="txt")
    (folder / "images" / "n01443537" / "n01443537_test2.JPEG").unlink()
    assert fault_of(tmp_path) == (
        "ROOT/tiered-imagenet-h/splits_tieredImageNet-H/test/n01443537.txt: row 3: there is no image "
        "'n01443537_test2.JPEG' in ROOT/tiered-imagenet-h (images/n01443537, train/n01443537, val/n01443537)"
    )


def test_where_there_is_nothing_it_is_said_what_to_put_where(tmp_path: Path) -> None:
    assert fault_of(tmp_path).startswith(
        "tiered-imagenet-h is not in ROOT: expected tiered-imagenet-h/ with a file isa.txt"
    )
