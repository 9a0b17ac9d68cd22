import pickle
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.errors import DataError
from hiercos.paper.fgvc_aircraft import BANNER, FGVC_AIRCRAFT, fgvc_aircraft
from paper_sets import AIRCRAFT, photograph, write_aircraft
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


@pytest.mark.parametrize("place", ["fgvc-aircraft-2013b", "fgvc-aircraft-2013b/data"])
def test_the_extracted_folder_may_be_the_root(tmp_path: Path, place: str) -> None:
    write_aircraft(tmp_path)
    assert len(fgvc_aircraft(tmp_path / place)) == 30


def test_the_banner_is_cut_and_nothing_else(tmp_path: Path) -> None:
    write_aircraft(tmp_path, banner=BANNER)
    images = fgvc_aircraft(tmp_path).inputs
    image = images.take([3, 4]).open(1)
    assert image.size == (60, 30)
    assert np.abs(np.asarray(image).astype(int)[:20] - (200, 30, 30)).max() < 10  # rows that no banner has touched
    again = pickle.loads(pickle.dumps(images))
    assert again.open(4).tobytes() == image.tobytes()


def test_a_cut_photograph_has_a_content_of_its_own(tmp_path: Path) -> None:
    data = write_aircraft(tmp_path)
    images = fgvc_aircraft(tmp_path).inputs
    assert images.content(0) != (data / "images" / "0000000.jpg").read_bytes()
    (data / "images" / "0000001.jpg").write_bytes(photograph((0, 0, 0)))
    assert images.content(0) != images.content(1)


def test_a_missing_image_is_an_error(tmp_path: Path) -> None:
    data = write_aircraft(tmp_path)
    (data / "images" / "0002003.jpg").unlink()
    expected = "ROOT/fgvc-aircraft-2013b/data/images/0002003.jpg: the lists name this image, but it is not there"
    assert fault_of(tmp_path) == expected


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "images_variant_val.txt",
            "0001000 707-320",
            "0001000",
            "row 1: expected an image and its variant, got '0001000'",
        ),
        (
            "images_variant_val.txt",
            "0001001 737-200",
            "0001000 737-200",
            "row 2: the image 0001000 is already in ROOT/fgvc-aircraft-2013b/data/images_variant_val.txt: row 1",
        ),
        (
            "images_variant_test.txt",
            "0002001 737-200",
            "0000001 737-200",
            "row 2: the image 0000001 is also in another split, "
            "ROOT/fgvc-aircraft-2013b/data/images_variant_train.txt: row 2",
        ),
        (
            "images_family_train.txt",
            "0000000 Boeing 707",
            "0000000 Boing 707",
            "row 1: 'Boing 707' is not in families.txt",
        ),
        (
            "variants.txt",
            "C-130\n",
            "C-130\nB-52\n",
            "row 5: no list has an image of 'B-52', so its family is not known",
        ),
    ],
)
def test_lists_that_do_not_fit_are_errors_with_their_row(
    tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    path = write_aircraft(tmp_path) / file
    path.write_text(path.read_text().replace(old, new, 1))
    assert f"ROOT/fgvc-aircraft-2013b/data/{file}: {message}" in fault_of(tmp_path).splitlines()


def test_a_variant_of_two_families_is_an_error(tmp_path: Path) -> None:
    path = write_aircraft(tmp_path) / "images_family_test.txt"
    path.write_text(path.read_text().replace("0002000 Boeing 707", "0002000 C-130"))
    assert fault_of(tmp_path) == (
        "ROOT/fgvc-aircraft-2013b/data/images_variant_test.txt: row 1: this image puts '707-320' under "
        "Boeing > C-130, others under Boeing > Boeing 707"
    )


def test_a_missing_list_and_a_missing_family_are_errors(tmp_path: Path) -> None:
    data = write_aircraft(tmp_path)
    lists = data / "images_family_test.txt"
    lists.write_text(lists.read_text().replace("0002000 Boeing 707\n", ""))
    assert "row 1: the image 0002000 has no family in the images_family lists" in fault_of(tmp_path)
    lists.unlink()
    expected = "ROOT/fgvc-aircraft-2013b/data/images_family_test.txt: there is no such file, but FGVC-Aircraft has one"
    assert fault_of(tmp_path) == expected


def test_where_there_is_nothing_it_is_said_what_to_put_where(tmp_path: Path) -> None:
    assert fault_of(tmp_path).startswith(
        "fgvc-aircraft is not in ROOT: expected fgvc-aircraft-2013b/data with variants.txt"
    )


def test_the_classes_of_the_paper_are_in_this_order() -> None:
    names = Taxonomy.read(shared("hierarchies", "fgvc_aircraft.csv")).class_names
    assert list(names) == sorted(names)
