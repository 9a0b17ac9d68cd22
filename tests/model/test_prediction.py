import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from hiercos.data import InputBatch, Source, Texts, Vectors, in_batches
from hiercos.decisions import rule
from hiercos.encoders import ReadConfig, TextFeatures, TfidfEncoder
from hiercos.methods import Model
from hiercos.model import AnswerColumns, Classifier, answer_columns
from trees import TOY17


def answers(stored: Classifier, inputs: Source, fabric: Fabric, top: int | None = None) -> AnswerColumns:
    """The columns of all batches."""
    batches = stored.batches(inputs, ReadConfig(fabric))
    parts = [answer_columns(batch, posterior, stored.rule, top=top) for batch, posterior in batches]
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def vectors(rows: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.random.default_rng(0).normal(size=(rows, 4)).astype(np.float32)


def test_a_row_holds_the_path_of_the_winning_class_and_blanks_beyond_it(fabric: Fabric) -> None:
    torch.manual_seed(0)
    model = Model(TOY17, 4, "cross-entropy").eval()
    found = answers(Classifier(model, None), Source.of(Vectors(vectors(200))), fabric)
    winners = model(torch.tensor(vectors(200))).argmax(dim=1)
    for row, label in enumerate(winners.tolist()):
        names = [TOY17.names[node] for node in TOY17.path(int(TOY17.leaves[label]))]
        assert [found[f"level_{level}"][row] for level in range(1, 5)] == names + [""] * (4 - len(names))
        assert found["class"][row] == names[-1]


def test_the_likeliest_classes_have_a_row_each_in_falling_order(fabric: Fabric) -> None:
    model = Model(TOY17, 4, "cross-entropy").eval()
    inputs, stored = (
        Source("a", "vectors", in_batches(InputBatch((5, 6, 7), Vectors(vectors(3))))),
        Classifier(model, None),
    )
    found = answers(stored, inputs, fabric, top=4)
    order = model(torch.tensor(vectors(3))).argsort(dim=1, descending=True)[:, :4]
    assert list(zip(found["row"], found["rank"], strict=True))[:5] == [(5, 1), (5, 2), (5, 3), (5, 4), (6, 1)]
    assert found["class"] == [TOY17.class_names[label] for label in order.flatten().tolist()]
    assert answers(stored, inputs, fabric, top=100)["rank"] == [*range(1, 18)] * 3


def test_confidence_is_the_softmax_at_the_temperature_of_the_model_whatever_its_rule(fabric: Fabric) -> None:
    model = Model(TOY17, 4, "cross-entropy").eval()
    stored = Classifier(model, None, rule=rule("crm"), temperature=2.0)
    found = answers(stored, Source.of(Vectors(vectors(3))), fabric)
    shares = (model(torch.tensor(vectors(3))) / 2).softmax(dim=1).detach()
    for name, confidence, share in zip(found["class"], found["confidence"], shares, strict=True):
        assert confidence == pytest.approx(float(share[TOY17.class_names.index(name)]), abs=1e-6)


@pytest.mark.parametrize(
    ("batch_size", "sizes"), [(None, [256, 256, 256, 132]), (100, [200] * 4 + [100]), (512, [512, 388]), (900, [900])]
)
def test_texts_are_read_in_whole_batches_of_any_size(fabric: Fabric, batch_size: int | None, sizes: list[int]) -> None:
    texts = [f"word{number % 9} word{number % 7}" for number in range(900)]
    features = TextFeatures.fit(texts)
    stored = Classifier(Model(TOY17, features.width, "logistic").eval(), TfidfEncoder(features))
    inputs = Source.of(Texts(texts))
    found = list(stored.batches(inputs, ReadConfig(fabric, batch_size)))
    assert [len(batch) for batch, _ in found] == sizes
    assert [len(posterior) for _, posterior in found] == sizes
