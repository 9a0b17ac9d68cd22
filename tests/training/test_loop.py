import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric

from blobs import FEATURES, blob_data, cloud
from hiercos.encoders import LabelledVectors
from hiercos.methods import Model
from hiercos.model import evaluate
from hiercos.records import CHECKPOINT
from hiercos.training import Settings, fit
from hiercos.training.checkpoint import RunProgress, RunState, find_checkpoint
from hiercos.training.loop import TrainingError, check_weights, validate
from hiercos.training.schedule import Plateau
from trees import TOY, TOY17

OPTIONS = {"dropout": 0.3}
PATIENT = Settings("cross-entropy-mlp", OPTIONS, max_epochs=60, batch_size=32, learning_rate=0.02, patience=2)


def model_of(config: Settings) -> Model:
    torch.manual_seed(config.seed)
    return Model(TOY17, FEATURES, config.method, config.options)


def data() -> tuple[LabelledVectors, LabelledVectors]:
    prepared = blob_data(TOY17, 340)
    return prepared.samples("train"), prepared.samples("val")


class StopAfter:
    """A callback that stops the run in the middle of an epoch, as a kill would."""

    def __init__(self, epoch: int) -> None:
        self.last, self.closed = epoch, False

    def batch(self, epoch: int, done: int, total: int) -> None:
        if epoch > self.last and done == 2:
            raise KeyboardInterrupt

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after every epoch, however short it is."""
    monkeypatch.setattr("hiercos.training.checkpoint.SECONDS", 0.0)


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
@pytest.mark.parametrize("method", ["hier-cos", "cross-entropy-mlp"])
def test_a_resumed_run_ends_with_the_same_bits(fabric: Fabric, tmp_path: Path, method: str, optimizer: str) -> None:
    config = Settings(method=method, options=OPTIONS, epochs=5, batch_size=32, optimizer=optimizer)
    train, val = data()
    whole = model_of(config)
    history = fit(fabric, whole, train, val, config)
    callback = StopAfter(2)
    with pytest.raises(KeyboardInterrupt):
        fit(fabric, model_of(config), train, val, config, folder=tmp_path, callback=callback)
    assert callback.closed
    assert len((tmp_path / "log.csv").read_text().splitlines()) >= 2  # a header and the epochs of the checkpoint
    resumed = model_of(config)
    again = fit(fabric, resumed, train, val, config, folder=tmp_path, resume=True)
    assert all(torch.equal(whole.state_dict()[key], value) for key, value in resumed.state_dict().items())
    figures = [(epoch.loss, epoch.top1, epoch.hops) for epoch in history.history]
    assert [(epoch.loss, epoch.top1, epoch.hops) for epoch in again.history] == figures


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file opened in the line that ended
def test_a_run_interrupted_at_any_line_resumes_to_the_same_bits(fabric: Fabric, tmp_path: Path) -> None:
    config = Settings("cross-entropy", epochs=4, batch_size=200)
    train, val = data()
    whole = model_of(config)
    fit(fabric, whole, train, val, config)
    lines = counted_lines(lambda: fit(fabric, model_of(config), train, val, config, folder=tmp_path))
    least = 0
    for number in range(1, lines, max(1, lines // 30)):
        folder = tmp_path / str(number)
        folder.mkdir()
        counted_lines(lambda: fit(fabric, model_of(config), train, val, config, folder=folder), stop=number)  # noqa: B023
        if (folder / CHECKPOINT).is_file():
            epochs = len(find_checkpoint(folder, {}).progress["history"])
            assert epochs >= least  # a later end keeps more
            least = epochs
        resumed = model_of(config)
        fit(fabric, resumed, train, val, config, folder=folder, resume=True)
        assert all(torch.equal(whole.state_dict()[key], value) for key, value in resumed.state_dict().items())
    assert least == config.epochs


def counted_lines(work: Callable[[], object], stop: int = 0) -> int:
    """Number of lines of the training and its checkpoints that are run; interrupted at line `stop`, as by Ctrl-C."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.endswith(("training/loop.py", "training/checkpoint.py", "hiercos/storage.py")):
            return None
        if event == "line":
            count += 1
            if count == stop:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        assert stop
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, list(range(1, 13))), (math.inf, [12])])
def test_a_checkpoint_is_written_when_the_last_is_old_and_after_the_last_epoch(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, expected: list[int]
) -> None:
    monkeypatch.setattr("hiercos.training.checkpoint.SECONDS", seconds)
    written: list[int] = []
    write = RunState.write

    def counted(state: RunState, folder: Path) -> None:
        written.append(len(state.progress.history))
        write(state, folder)

    monkeypatch.setattr(RunState, "write", counted)
    config = Settings("path-softmax", options=OPTIONS, epochs=12, batch_size=32)
    fit(fabric, model_of(config), *data(), config, folder=tmp_path)
    assert written == expected


def test_the_weights_of_the_best_epoch_are_kept(fabric: Fabric) -> None:
    config = Settings("path-softmax", epochs=6, batch_size=16, learning_rate=0.02, schedule="constant")
    train, val = data()
    model = model_of(config)
    progress = fit(fabric, model, train, val, config)
    best = max(progress.history, key=lambda epoch: epoch.top1)
    assert progress.best == best
    assert evaluate(fabric, model, val)["top1"] == best.top1


def measures(progress: RunProgress) -> list[tuple[float, float, float]]:
    """The measures of validation that patience looks at, higher is better."""
    return [(epoch.top1, epoch.hops, -epoch.log_loss) for epoch in progress.history]


def test_a_patient_run_ends_with_its_decay_and_keeps_the_last_weights(fabric: Fabric) -> None:
    train, val = data()
    model = model_of(PATIENT)
    progress = fit(fabric, model, train, val, PATIENT)
    values = torch.tensor(measures(progress))
    improved = [epoch for epoch in range(len(values)) if epoch == 0 or (values[epoch] > values[:epoch].amax(0)).any()]
    constant = next(epoch for epoch in range(2, 60) if not {epoch - 1, epoch - 2} & set(improved))
    assert len(values) == progress.best_epoch == constant + math.ceil(constant / 2) < 60
    assert validate(fabric, model, val)["log_loss"] == progress.history[-1].log_loss


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("after", [-1, 0, 1])  # epochs after the end of the constant rate
def test_a_run_resumed_on_a_plateau_ends_with_the_same_bits(fabric: Fabric, tmp_path: Path, after: int) -> None:
    train, val = data()
    whole = model_of(PATIENT)
    progress = fit(fabric, whole, train, val, PATIENT)
    constant = Plateau.after(measures(progress), 2, 60).constant
    assert constant is not None
    with pytest.raises(KeyboardInterrupt):
        fit(fabric, model_of(PATIENT), train, val, PATIENT, folder=tmp_path, callback=StopAfter(constant + after))
    resumed = model_of(PATIENT)
    again = fit(fabric, resumed, train, val, PATIENT, folder=tmp_path, resume=True)
    assert all(torch.equal(whole.state_dict()[key], value) for key, value in resumed.state_dict().items())
    assert [epoch.log_loss for epoch in again.history] == [epoch.log_loss for epoch in progress.history]
    assert (tmp_path / "log.csv").read_text().splitlines()[0] == "number,loss,top1,hops,seconds,log_loss"


def test_without_validation_the_course_of_an_earlier_training_is_followed(fabric: Fabric) -> None:
    train, _ = data()
    model = model_of(PATIENT)
    progress = fit(fabric, model, train, None, PATIENT, course=4)
    assert (len(progress.history), model.course) == (6, 4)  # and half as many at a falling rate
    assert len(fit(fabric, model_of(PATIENT), train, None, PATIENT).history) == 43  # 300 steps of 32 of 204 samples


def test_training_learns_and_a_clipped_gradient_still_does(fabric: Fabric) -> None:
    config = Settings(method="cross-entropy", epochs=12, batch_size=32, learning_rate=0.05, gradient_clip=0.5)
    train, val = data()
    progress = fit(fabric, model_of(config), train, val, config)
    assert progress.history[-1].loss < progress.history[0].loss / 2
    assert progress.best.top1 > 0.9


def test_features_are_standardized_over_the_training_data(fabric: Fabric) -> None:
    train, val = data()
    shifted = LabelledVectors(train.features * 50 + 7, train.labels)
    config = Settings("path-softmax", epochs=1)
    model = model_of(config)
    fit(fabric, model, shifted, val, config)
    scaled = model.standardize(shifted.features)
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(FEATURES), atol=1e-4, rtol=0)
    torch.testing.assert_close(scaled.std(dim=0, correction=0), torch.ones(FEATURES), atol=1e-4, rtol=0)


def test_bfloat16_runs_through_the_same_loop() -> None:
    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    fabric.launch()
    config = Settings("path-softmax", epochs=3, batch_size=32, learning_rate=0.01, precision="bf16-mixed")
    train, val = data()
    progress = fit(fabric, model_of(config), train, val, config)
    assert progress.history[-1].loss < progress.history[0].loss


def test_one_sample_is_too_few(fabric: Fabric) -> None:
    features, labels = cloud(TOY, 1)
    one = LabelledVectors(features, labels)
    with pytest.raises(TrainingError, match="at least 2 training samples, got 1"):
        fit(fabric, Model(TOY, FEATURES, "cross-entropy"), one, one, Settings())


def test_a_sample_of_weight_2_counts_as_two_and_one_of_weight_0_not_at_all(fabric: Fabric) -> None:
    train, _ = data()
    repeats = torch.arange(len(train)) % 3
    rows = torch.arange(len(train)).repeat_interleave(repeats)
    config = Settings("cross-entropy", epochs=5, batch_size=1000, standardize=False)
    weighted, repeated = model_of(config), model_of(config)
    fit(fabric, weighted, train, None, config, weights=repeats.float())
    fit(fabric, repeated, LabelledVectors(train.features[rows], train.labels[rows]), None, config)
    torch.testing.assert_close(weighted.state_dict(), repeated.state_dict(), rtol=1e-4, atol=1e-5)


def test_a_loss_that_is_not_finite_names_its_batch(fabric: Fabric) -> None:
    train, val = data()
    config = Settings("cross-entropy", optimizer="sgd", weight_decay=0.0, patience=None, epochs=50)
    config = replace(config, batch_size=len(train), learning_rate=1e38)  # one step an epoch: the weights overflow later
    with pytest.raises(TrainingError, match=r"epoch \d: the loss is (nan|inf) in batch 1 of 1;"):
        fit(fabric, model_of(config), train, val, config)


def test_features_near_the_limit_of_float32_are_named(fabric: Fabric) -> None:
    train, val = data()
    features = train.features.clone()
    features[:, 2] = torch.linspace(-3e38, 3e38, len(features))
    config = Settings(method="cross-entropy", epochs=1)
    with pytest.raises(TrainingError, match=r"feature 3 \(column 2\) has values near the limit of float32"):
        fit(fabric, model_of(config), LabelledVectors(features, train.labels), val, config)


def test_weights_that_overflow_are_named() -> None:
    model = model_of(Settings(method="cross-entropy"))
    check_weights(model, 1)
    with torch.no_grad():
        next(model.head.parameters()).fill_(torch.inf)
    with pytest.raises(TrainingError, match=r"epoch 4: the weights head\.\S+ are no longer finite"):
        check_weights(model, 4)
