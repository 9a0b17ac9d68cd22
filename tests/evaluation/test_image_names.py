import pytest

from hiercos.errors import DataError
from hiercos.evaluation.image_predictions import matched_images


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        (["a/1.jpg", "b/1.jpg"], ["b/1.jpg", "a/1.jpg"]),
        (["a/1.jpg", "b/1.jpg"], ["/data/b/1.jpg", "/data/a/1.jpg"]),
        (["/data/a/1.jpg", "/data/b/1.jpg"], ["b/1.jpg", "./a/1.jpg"]),
        (["a/1.jpg", "b/1.jpg"], ["C:\\data\\b\\1.jpg", "C:\\data\\a\\1.jpg"]),
    ],
)
def test_paths_match_whichever_folder_they_start_from(wanted: list[str], given: list[str]) -> None:
    assert matched_images(wanted, given, source="p.csv") == [1, 0]


def test_an_equal_path_goes_before_a_longer_one() -> None:
    assert matched_images(["a/1.jpg"], ["x/a/1.jpg", "a/1.jpg", "y/a/1.jpg"], source="p.csv") == [1]


def test_what_is_not_there_is_absent_and_a_name_is_no_end_of_another_name() -> None:
    assert matched_images(["1.jpg", "b/2.jpg"], ["a/11.jpg", "c/2.jpg"], source="p.csv") == [-1, -1]


def test_paths_that_cannot_be_told_apart_are_faults() -> None:
    with pytest.raises(DataError) as error:
        matched_images(["1.jpg", "c/2.jpg", "d/2.jpg"], ["a/1.jpg", "b/1.jpg", "2.jpg"], source="p.csv")
    assert error.value.faults == (
        "p.csv: '1.jpg' may be several images: expected more of its folders in the path",
        "p.csv: '2.jpg' may be 'c/2.jpg' or 'd/2.jpg': expected longer paths",
    )
