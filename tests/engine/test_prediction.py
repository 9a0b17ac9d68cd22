import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from hiercos.data import Texts, UnlabelledInputs, Vectors
from hiercos.engine import Model, StoredModel
from hiercos.engine.encoders import ReadConfig
from hiercos.engine.prediction import best_classes, prediction_rows
from hiercos.errors import DataError
from trees import TOY17


def test_a_row_holds_the_path_of_the_winning_class_and_blanks_beyond_it(fabric: Fabric) -> None:
    torch.manual_seed(0)
    model = Model(TOY17, 4, "cross-entropy").eval()
    vectors = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    rows = prediction_rows(StoredModel(model, None), UnlabelledInputs.in_memory(Vectors(vectors)), ReadConfig(fabric))
    winners = model(torch.tensor(vectors)).argmax(dim=1)
    for row, label in zip(rows, winners.tolist(), strict=True):
        names = [TOY17.names[node] for node in TOY17.path(int(TOY17.leaves[label]))]
        assert [row[f"level_{level}"] for level in range(1, 5)] == names + [""] * (4 - len(names))
        assert row["class"] == names[-1]


def test_the_best_classes_have_a_row_each_in_falling_order(fabric: Fabric) -> None:
    model = Model(TOY17, 4, "cross-entropy").eval()
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    inputs = UnlabelledInputs.in_memory(Vectors(vectors), (5, 6, 7))
    rows = prediction_rows(StoredModel(model, None), inputs, ReadConfig(fabric), top=4)
    order = model(torch.tensor(vectors)).argsort(dim=1, descending=True)[:, :4]
    assert [(row["row"], row["rank"]) for row in rows[:5]] == [(5, 1), (5, 2), (5, 3), (5, 4), (6, 1)]
    assert [row["class"] for row in rows] == [TOY17.class_names[label] for label in order.flatten().tolist()]
    every = prediction_rows(StoredModel(model, None), inputs, ReadConfig(fabric), top=100)
    assert [row["rank"] for row in every] == [*range(1, 18)] * 3


def test_equal_scores_rank_the_lower_class_first_and_what_is_no_number_is_refused() -> None:
    scores = torch.tensor([[1.0, 2.0, 2.0, 0.0]])
    assert best_classes(scores, 1).tolist() == [[1]]
    assert best_classes(scores, 3).tolist() == [[1, 2, 0]]
    with pytest.raises(ValueError, match="row 0: a score is not a number"):
        best_classes(scores.log().sqrt(), 2)


def test_confidence_is_the_softmax_at_the_temperature_of_the_model_whatever_its_rule(fabric: Fabric) -> None:
    model = Model(TOY17, 4, "cross-entropy").eval()
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    stored = StoredModel(model, None, rule="crm", temperature=2.0)
    rows = prediction_rows(stored, UnlabelledInputs.in_memory(Vectors(vectors)), ReadConfig(fabric), confidence=True)
    shares = (model(torch.tensor(vectors)) / 2).softmax(dim=1).detach()
    for row, share in zip(rows, shares, strict=True):
        assert row["confidence"] == pytest.approx(float(share[TOY17.class_names.index(row["class"])]), abs=1e-6)


def test_vectors_of_another_width_are_an_error(fabric: Fabric) -> None:
    stored = StoredModel(Model(TOY17, 4, "cross-entropy").eval(), None)
    with pytest.raises(DataError, match="takes vectors of 4 features, got 5"):
        prediction_rows(stored, UnlabelledInputs.in_memory(Vectors(np.ones((1, 5)))), ReadConfig(fabric))
    with pytest.raises(DataError, match="takes vectors, got texts"):
        prediction_rows(stored, UnlabelledInputs.in_memory(Texts(["a text"])), ReadConfig(fabric))
