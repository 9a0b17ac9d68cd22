import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from hiercos.data import DataError
from hiercos.data.inputs import UnlabelledInputs
from hiercos.engine import Model, StoredModel
from hiercos.engine.predict import prediction_rows
from hiercos.engine.readers import Reading
from trees import TOY17


def test_a_row_holds_the_path_of_the_winning_class_and_blanks_beyond_it(fabric: Fabric) -> None:
    torch.manual_seed(0)
    model = Model(TOY17, 4, "cross-entropy").eval()
    vectors = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    rows = prediction_rows(StoredModel(model, None), UnlabelledInputs(tuple(range(1, 201)), vectors), Reading(fabric))
    winners = model(torch.tensor(vectors)).argmax(dim=1)
    for row, label in zip(rows, winners.tolist(), strict=True):
        names = [TOY17.names[node] for node in TOY17.path(int(TOY17.leaves[label]))]
        assert [row[f"level_{level}"] for level in range(1, 5)] == names + [""] * (4 - len(names))
        assert row["class"] == names[-1]


def test_vectors_of_another_width_are_an_error(fabric: Fabric) -> None:
    stored = StoredModel(Model(TOY17, 4, "cross-entropy").eval(), None)
    with pytest.raises(DataError, match="takes vectors of 4 features, got 5"):
        prediction_rows(stored, UnlabelledInputs((1,), np.ones((1, 5), dtype=np.float32)), Reading(fabric))
    with pytest.raises(DataError, match="takes vectors, got texts"):
        prediction_rows(stored, UnlabelledInputs((1,), ("a text",)), Reading(fabric))
