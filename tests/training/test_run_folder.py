import json
from pathlib import Path

import numpy as np
import pytest

from hiercos import storage
from hiercos.data import PixelImages, Texts, Vectors
from hiercos.decisions import Posterior
from hiercos.model import ClassScores
from hiercos.training.run_folder import (
    INPUTS,
    SCORES,
    SIDE,
    read_report_inputs,
    report_inputs_file,
    rows_for_report,
    scores_file,
    stored_scores,
)
from trees import TOY


def test_telling_rows_are_mistakes_alone() -> None:
    posterior = Posterior([[0.9, 0.05, 0.05], [0.9, 0.05, 0.05], [0.05, 0.05, 0.9]], TOY)
    assert rows_for_report(posterior, np.array([0, 1, 0])).tolist() == [1, 2]
    assert rows_for_report(posterior, np.array([0, 0, 2])).tolist() == []


def test_of_many_mistakes_the_far_and_the_frequent_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hiercos.training.run_folder.WORST", 2)
    monkeypatch.setattr("hiercos.training.run_folder.PAIRS", 1)
    monkeypatch.setattr("hiercos.training.run_folder.OF_PAIR", 1)
    answers, labels = np.array([1, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1])
    posterior = Posterior(np.eye(3)[answers], TOY)
    assert rows_for_report(posterior, labels).tolist() == [0, 3, 4]  # the two vehicles, and one cat that is a dog


def test_texts_are_stored_by_row_and_cut(tmp_path: Path) -> None:
    files = report_inputs_file(Texts(["a", "<b>é</b>", "c" * 900]), np.array([1, 2]))
    storage.commit(tmp_path, files, {})
    found = read_report_inputs(tmp_path)
    assert found[1] == {"row": 1, "name": "text 2", "text": "<b>é</b>"}
    assert len(found[2]["text"]) == 500
    assert found[2]["text"].endswith("c…")
    assert sorted(found) == [1, 2]
    (tmp_path / INPUTS).unlink()  # to keep them private
    assert read_report_inputs(tmp_path) == {}


def test_images_are_stored_as_thumbnails() -> None:
    pytest.importorskip("PIL")
    pixels = np.zeros((2, 200, 300, 3), dtype=np.uint8)
    files = report_inputs_file(PixelImages(pixels, ["first.png", "second.png"]), np.array([1]))
    [stored] = json.loads(files[INPUTS])["inputs"]
    assert stored["name"] == "second.png"
    assert stored["image"].startswith("data:image/jpeg;base64,")
    assert len(stored["image"]) < 2000
    assert SIDE < 200


def test_vectors_are_not_stored(tmp_path: Path) -> None:
    assert report_inputs_file(Vectors(np.zeros((3, 2))), np.array([0])) == {}
    storage.commit(tmp_path, {}, {})
    assert read_report_inputs(tmp_path) == {}


def test_samples_labelled_with_an_inner_node_are_left_out() -> None:
    posterior = Posterior([[0.9, 0.05, 0.05], [0.9, 0.05, 0.05]], TOY)
    assert rows_for_report(posterior, np.array([3, 2])).tolist() == [1]  # 3 is the node of the pets


def test_the_probabilities_of_nodes_for_themselves_are_stored_with_the_scores(tmp_path: Path) -> None:
    scores = ClassScores(np.zeros((2, 3)), marginals=np.array([[0.9, 0.8, 0.7, 0.6, 0.5]] * 2))
    storage.commit(tmp_path, {SCORES: scores_file(scores, np.array([0, 2]), {})}, {})
    found = stored_scores(storage.opened(tmp_path)).scores.posterior(TOY, 1.0)
    np.testing.assert_array_equal(found.each_node, scores.marginals)
