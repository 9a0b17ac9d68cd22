"""A backbone trained with the head: exact resume, two rates, and a folder that answers like the model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from answer_rows import stored_rows
from colours import colour_data
from hiercos.data import Dataset, Source, Texts
from hiercos.encoders import EmbeddingError, ReadConfig
from hiercos.model import Classifier, class_scores, evaluate_scores
from hiercos.training import RawFeatures, Settings, fit, raw_features, train
from hiercos.training.checkpoint import RunProgress
from hiercos.training.schedule import make_optimizer, parameter_groups, set_learning_rate
from trees import TOY

SMALL = {"width": 1, "size": 8}
CONFIG = Settings(
    method="hier-cos",
    options={"width": 16, "dropout": 0.2},
    epochs=3,
    batch_size=12,
    optimizer="sgd",
    learning_rate=0.05,
    backbone_learning_rate=0.05,
    augment="pad-crop",
)


def small_data(fabric: Fabric, workers: int = 0) -> RawFeatures:
    config = ReadConfig(fabric, workers=workers)
    return raw_features(config, colour_data(), "wide-resnet-28", SMALL, pretrained=False)


class StopAfter:
    """A callback that stops the run in the middle of an epoch, as a kill would."""

    def __init__(self, epoch: int) -> None:
        self.last = epoch

    def batch(self, epoch: int, done: int, total: int) -> None:
        if epoch > self.last and done == 2:
            raise KeyboardInterrupt

    def epoch(self, progress: RunProgress, config: Settings) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_resumed_run_ends_with_the_same_bits_whatever_the_workers(fabric: Fabric, tmp_path: Path) -> None:
    data = small_data(fabric)
    train, val = data.training_samples(CONFIG), data.samples("val")
    whole = data.model(CONFIG)
    history = fit(fabric, whole, train, val, CONFIG)
    with pytest.raises(KeyboardInterrupt):
        fit(fabric, data.model(CONFIG), train, val, CONFIG, folder=tmp_path, callback=StopAfter(1))
    resumed = data.model(CONFIG)
    with_workers = small_data(fabric, workers=2).training_samples(CONFIG)
    again = fit(fabric, resumed, with_workers, val, CONFIG, folder=tmp_path, resume=True)
    assert all(torch.equal(whole.state_dict()[key], value) for key, value in resumed.state_dict().items())
    assert [epoch.loss for epoch in again.history] == [epoch.loss for epoch in history.history]
    assert history.history[-1].loss < history.history[0].loss


def test_a_run_leaves_a_folder_that_answers_from_images_like_the_model(fabric: Fabric, tmp_path: Path) -> None:
    data = small_data(fabric)
    records = train(data, CONFIG, fabric=fabric, folder=tmp_path, rules=["crm"]).records
    record, ruled = records["none"], records["crm"]
    assert record.data["backbone"]["fine_tuned"] is True
    assert record.config["augment"] == "pad-crop"
    stored, test = Classifier.load(tmp_path), data.samples("test")
    assert stored.kind == "images"
    assert evaluate_scores(fabric, stored.model, test, temperature=stored.temperature).metrics == pytest.approx(
        record.metrics, nan_ok=True
    )
    images = data.dataset.inputs.take(data.dataset.rows("test"))
    rows = stored_rows(stored, Source.of(images), fabric)
    winners = class_scores(fabric, stored.model, test).argmax(dim=1)
    assert [row["class"] for row in rows] == [data.taxonomy.class_names[label] for label in winners]
    assert rows[0]["image"] == images.name(0)
    assert ruled.metrics["top1"] == ruled.metrics["fpa"]


def test_a_backbone_of_many_classes_is_trained_by_its_own_default(
    fabric: Fabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiercos.training.settings.MANY_CLASSES", 2)
    settings = replace(CONFIG, method="committee", options={}, epochs=1)
    assert train(small_data(fabric), settings, fabric=fabric).classifier.model.method == "path-softmax"


def test_the_backbone_has_a_rate_of_its_own(fabric: Fabric) -> None:
    model = small_data(fabric).model(CONFIG)
    assert model.backbone is not None
    for rate, expected in ((None, 0.1), (0.01, 0.2), (0.0, 0.0)):
        config = replace(CONFIG, backbone_learning_rate=rate).resolved(100, trains_backbone=True)
        optimizer = make_optimizer(parameter_groups(model, config), config)
        set_learning_rate(optimizer, 1.0)
        head, backbone = optimizer.param_groups
        assert (head["lr"], backbone["lr"]) == (1.0, pytest.approx(expected))
        assert {id(weight) for weight in backbone["params"]} == {id(weight) for weight in model.backbone.parameters()}
        assert len(head["params"]) + len(backbone["params"]) == len(list(model.parameters()))


def test_models_start_from_their_seed(fabric: Fabric) -> None:
    data = small_data(fabric)
    first, again, other = (data.model(replace(CONFIG, seed=seed)).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[key], again[key]) for key in first)
    inside = [key for key in first if key.startswith("backbone.") and key.endswith("weight") and first[key].ndim == 4]
    assert inside
    assert not any(torch.equal(first[key], other[key]) for key in inside)


def test_texts_are_learned_from_end_to_end(fabric: Fabric) -> None:
    words = ("cat", "dog", "car")
    texts = Texts([f"{words[row % 3]} number {row}" for row in range(18)])
    split = np.array(["train", "train", "train", "train", "val", "test"])[np.arange(18) // 3]
    data = raw_features(
        ReadConfig(fabric),
        Dataset("words", TOY, texts, TOY.leaves[np.arange(18) % 3], split),
        "minilm",
        {},
        pretrained=True,
    )
    config = Settings(method="cross-entropy", epochs=2, batch_size=6, learning_rate=1e-3)
    model = data.model(config)
    progress = fit(fabric, model, data.training_samples(config), data.samples("val"), config)
    assert progress.history[1].loss < progress.history[0].loss
    with pytest.raises(EmbeddingError, match="augment 'pad-crop': expected none, 'minilm' has no augmentation"):
        data.training_samples(CONFIG)


def test_a_backbone_of_the_other_kind_is_refused(fabric: Fabric) -> None:
    with pytest.raises(EmbeddingError, match="'minilm' takes texts, but colours holds images"):
        raw_features(ReadConfig(fabric), colour_data(), "minilm", {})
