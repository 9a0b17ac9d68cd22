import pickle
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.errors import DataError
from hiercos.paper.fgvc_aircraft import BANNER, FGVC_AIRCRAFT, fgvc_aircraft
from paper_sets import AIRCRAFT, write_aircraft
from trees import shared


def fault_of(root: Path) -> str:
    with pytest.raises(DataError) as error:
        fgvc_aircraft(root)
    return str(error.value).replace(str(root), "ROOT")


def test_the_tree_is_that_of_the_lists_and_the_splits_are_official(tmp_path: Path) -> None:
    assert not FGVC_AIRCRAFT.is_present(tmp_path)
    data = write_aircraft(tmp_path)
    assert FGVC_AIRCRAFT.is_present(tmp_path)
    dataset = fgvc_aircraft(tmp_path)
    assert dataset.taxonomy == Taxonomy.from_paths(AIRCRAFT)
    assert dataset.labels.tolist() == [*range(5), *range(5)] * 3
    assert dataset.split.tolist() == ["train"] * 10 + ["val"] * 10 + ["test"] * 10
    assert dataset.inputs.name(11) == str(data / "images" / "0001001.jpg")
    assert dataset.notes == ()


def test_the_banner_is_cut_and_nothing_else(tmp_path: Path) -> None:
    write_aircraft(tmp_path, banner=BANNER)
    images = fgvc_aircraft(tmp_path).inputs
    image = images.take([3, 4]).open(1)
    assert image.size == (60, 30)
    assert np.abs(np.asarray(image).astype(int)[:20] - (200, 30, 30)).max() < 10  # rows that no banner has touched
    again = pickle.loads(pickle.dumps(images))
    assert again.open(4).tobytes() == image.tobytes()


def test_a_list_that_is_missing_or_names_nothing_is_an_error(tmp_path: Path) -> None:
    path = write_aircraft(tmp_path) / "images_variant_val.txt"
    path.write_text(path.read_text().replace("0001000 707-320", "0001000", 1))
    assert fault_of(tmp_path).endswith("_val.txt: row 1: expected an image and its variant, got '0001000'")
    path.unlink()
    assert fault_of(tmp_path).endswith("images_variant_val.txt: there is no such file, but FGVC-Aircraft has one")


def test_a_missing_image_is_an_error(tmp_path: Path) -> None:
    data = write_aircraft(tmp_path)
    (data / "images" / "0002003.jpg").unlink()
    expected = "ROOT/fgvc-aircraft-2013b/data/images/0002003.jpg: the lists name this image, but it is not there"
    assert fault_of(tmp_path) == expected


def test_where_there_is_nothing_it_is_said_what_to_put_where(tmp_path: Path) -> None:
    assert fault_of(tmp_path).startswith(
        "fgvc-aircraft is not in ROOT: expected fgvc-aircraft-2013b/data with variants.txt"
    )


def test_the_classes_of_the_paper_are_in_this_order() -> None:
    names = Taxonomy.read(shared("hierarchies", "fgvc_aircraft.csv")).class_names
    assert list(names) == sorted(names)
