import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos.engine import RunProgress, TrainConfig
from hiercos.engine.run_state import Epoch
from hiercos.engine.scoring import array_scores
from hiercos.sklearn.training import LEAST_HELD_OUT, EpochLines, enough_epochs, held_out_rows, linear_defaults, train
from hiercos.sklearn.validation import LabelledArrays
from sklearn_clouds import UNEVEN, samples

CONFIG = TrainConfig(method="hier-cos", epochs=3, batch_size=32)


def trained(held_out: float, count: int = 200) -> tuple[object, RunProgress]:
    X, labels = samples(count)
    data = LabelledArrays(X, labels, None)
    return train(data, UNEVEN, CONFIG, held_out=held_out, most_features=256, device="cpu")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=400), st.floats(0, 0.9), st.integers(0, 5))
def test_an_even_share_of_every_class_is_held_out_and_never_all_of_it(
    labels: list[int], share: float, seed: int
) -> None:
    classes = np.array(labels)
    rows = held_out_rows(classes, share, seed)
    assert rows.sum() == 0 or rows.sum() >= LEAST_HELD_OUT
    for label in set(labels):
        of_class = classes == label
        assert not rows[of_class].all()
        assert rows[of_class].sum() <= share * of_class.sum() + 1


def test_a_tenth_of_each_class_is_held_out_by_seed() -> None:
    labels = np.arange(1000) % 10
    rows = held_out_rows(labels, 0.1, seed=1)
    assert np.bincount(labels[rows]).tolist() == [10] * 10
    assert rows.tolist() == held_out_rows(labels, 0.1, seed=1).tolist()
    assert rows.tolist() != held_out_rows(labels, 0.1, seed=2).tolist()


def test_a_few_samples_are_all_learned_from() -> None:
    assert not held_out_rows(np.arange(300) % 10, 0.1, seed=0).any()
    _, progress = trained(held_out=0.1, count=200)
    assert np.isnan(progress.history[-1].top1)
    assert progress.best_epoch == 3


def test_the_temperature_and_the_best_epoch_come_from_the_part_held_out() -> None:
    result, progress = trained(held_out=0.25)
    best = max(progress.history, key=lambda epoch: epoch.top1)
    assert progress.best_epoch == best.number
    aside = held_out_rows(samples(200)[1], 0.25, CONFIG.seed)
    scores = array_scores(result.model, samples(200)[0][aside], "cpu")
    labels = torch.tensor(samples(200)[1][aside])

    def loss(temperature: float) -> float:
        return float(torch.nn.functional.cross_entropy(scores / temperature, labels))

    assert loss(result.temperature) <= min(loss(1.0), loss(1.1 * result.temperature), loss(result.temperature / 1.1))


def test_the_features_are_scaled_by_those_learned_from() -> None:
    result, _ = trained(held_out=0.25)
    X, labels = samples(200)
    learned = X[~held_out_rows(labels, 0.25, CONFIG.seed)]
    np.testing.assert_allclose(result.model.standardize.mean, learned.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(result.model.standardize.scale, learned.std(axis=0), rtol=1e-5)


def test_the_pace_of_a_linear_layer_moves_a_logit_as_far_for_any_number_of_features() -> None:
    for features in (4, 250, 1280):
        defaults = linear_defaults(features, 10_000)
        assert defaults.learning_rate * features == pytest.approx(2.5)
        assert defaults.learning_rate * defaults.weight_decay == pytest.approx(0.003)


def test_the_weights_of_a_linear_layer_decay_the_less_the_more_samples_there_are() -> None:
    decays = [linear_defaults(25, count).weight_decay for count in (2, 1_000, 2_000, 100_000)]
    assert decays == pytest.approx([0.3, 0.3, 0.15, 0.003])


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 10**7), st.integers(2, 4096))
def test_epochs_make_about_the_steps_asked_for(count: int, batch_size: int) -> None:
    epochs = enough_epochs(count, batch_size, 300)
    steps = -(-count // batch_size)  # of an epoch
    assert 5 <= epochs <= 200
    assert epochs in (5, 200) or abs(epochs * steps - 300) <= steps / 2


def test_lines_tell_of_an_epoch_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    for top1 in (0.5, float("nan")):
        EpochLines().epoch(RunProgress([Epoch(2, 1.25, top1, top1, 0.1)]), TrainConfig(epochs=7))
    member = RunProgress([Epoch(2, 1.25, 0.5, 0.5, 0.1)], member="member 2 of 7 (haframe)")
    EpochLines().epoch(member, TrainConfig(epochs=7))
    out, err = capsys.readouterr()
    assert out == ""
    line = "epoch 2/7: loss 1.2500, top-1 0.5000 on validation\n"
    assert err == f"{line}epoch 2/7: loss 1.2500\nmember 2 of 7 (haframe): {line}"
