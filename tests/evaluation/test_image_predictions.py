"""Answers of somebody's model, matched to five labelled images of the toy tree."""

from pathlib import Path

import numpy as np
import pytest

from hiercos.errors import DataError
from hiercos.evaluation.image_predictions import (
    ImagePrediction,
    ImagePredictions,
    LabelledImages,
    prediction_scores,
    read_labelled_images,
)
from trees import TOY

LABELLED = LabelledImages(("1.jpg", "2.jpg", "3.jpg"), TOY.leaves, "labels.csv")


def answers(image: str, *names: str) -> ImagePredictions:
    return ImagePredictions(image, [ImagePrediction(name, (name,)) for name in names])


def test_scores_fall_with_the_place_among_the_answers() -> None:
    found = [answers("x/2.jpg", "Car", "dog"), answers("x/3.jpg", "car"), answers("x/1.jpg", "cat", "DOG", "car")]
    scored = prediction_scores(found, LABELLED, TOY, "p.csv")
    assert scored.scores.tolist() == [[3, 2, 1], [0, 1, 2], [0, 0, 1]]
    assert scored.labels.tolist() == [0, 1, 2]
    assert np.asarray(scored.depth).tolist() == [3, 2, 1]
    assert scored.notes == ("Images have 1 to 3 of 3 classes ranked: metrics that need more leave them out.",)


def test_whole_rankings_need_no_words() -> None:
    found = [answers(f"{number}.jpg", "cat", "dog", "car") for number in (1, 2, 3)]
    assert prediction_scores(found, LABELLED, TOY, "p.csv").notes == ()


def test_what_is_no_class_is_left_out_and_said_and_a_class_counts_once() -> None:
    found = [
        answers("1.jpg", "lynx", "cat", "pet > cat", "lynx"),
        answers("2.jpg", "pet", "lynx"),
        answers("4.jpg", "lynx"),
    ]
    scored = prediction_scores(found, LABELLED, TOY, "p.csv")
    assert scored.scores.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert np.asarray(scored.depth).tolist() == [1, 0, 0]
    assert scored.notes == (
        "p.csv has no prediction for 1 of 3 images of labels.csv: no metric counts these.",
        "labels.csv has no label for 1 of 3 images of p.csv: these are left out.",
        "The taxonomy has no class for 4 of 6 predictions, such as 'lynx' (count 3): these are left out and those "
        "below move up (images whose first prediction is left out: 2).",
        "No class is left for 1 of 2 images: no metric counts these.",
        "Images have 1 of 3 classes ranked: metrics that need more leave them out.",
    )


def test_files_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(DataError) as error:
        prediction_scores([answers("9.jpg", "cat")], LABELLED, TOY, "p.csv")
    assert str(error.value) == "p.csv: none of its images is in labels.csv: got '9.jpg', expected paths such as '1.jpg'"
    with pytest.raises(
        DataError, match=r"p\.csv: no prediction is a class of the taxonomy\np\.csv has no prediction for 2 of 3"
    ) as error:
        prediction_scores([answers("1.jpg", "lynx")], LABELLED, TOY, "p.csv")
    assert "such as 'lynx'" in str(error.value)


def test_labels_are_read_from_a_table(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("split,label,path\ntest,cat,a/1.jpg\ntest,vehicle > car,a/2.jpg\n")
    labelled = read_labelled_images(tmp_path / "labels.csv", TOY)
    assert (labelled.paths, labelled.nodes.tolist()) == (("a/1.jpg", "a/2.jpg"), TOY.leaves[[0, 2]].tolist())
    (tmp_path / "labels.tsv").write_text("file\tspecies\n1.jpg\tdog\n")
    named = read_labelled_images(tmp_path / "labels.tsv", TOY, input_column="file", label_column="species")
    assert named.nodes.tolist() == [TOY.leaves[1]]


def test_every_fault_of_the_labels_is_said_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("path,label\n1.jpg,cat\n,cat\n1.jpg,dog\n")
    with pytest.raises(DataError) as error:
        read_labelled_images(path, TOY)
    assert error.value.faults == (
        f"{path}: row 3: expected the path of an image, got nothing",
        f"{path}: row 4: '1.jpg' is already row 2",
    )
