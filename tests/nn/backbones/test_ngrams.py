from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from hiercos.cli.app import run
from hiercos.data import Dataset, Texts
from hiercos.engine import ReadConfig, TrainConfig, class_scores, load_model, prepare_fine_tuning, train_run
from hiercos.nn.backbones import BackboneError, load_backbone
from hiercos.nn.backbones.ngrams import SCALE, HashedNgrams
from trees import TOY

TEXTS = ["a red car", "Red car", "??", "blue red car red"]


def test_features_are_weighted_sums_of_the_embeddings_of_a_text() -> None:
    torch.manual_seed(0)
    backbone = load_backbone("ngrams", pretrained=False, width=3, buckets=64)
    batch = backbone.preprocess(TEXTS)
    ends = [*batch["starts"].tolist()[1:], len(batch["buckets"])]
    features = backbone(batch)
    for row, (start, end) in enumerate(zip(batch["starts"].tolist(), ends, strict=True)):
        total = torch.zeros(3)
        for position in range(start, end):
            total += batch["weights"][position] * backbone.embeddings.weight[batch["buckets"][position]]
        torch.testing.assert_close(features[row], SCALE * total)


def test_words_and_characters_have_their_own_halves_of_the_buckets_and_weights_of_length_one() -> None:
    batch = HashedNgrams(1000)(["cat"])
    assert sorted(batch["buckets"].lt(500).tolist(), reverse=True) == [True] + [False] * 5  # cat; " ca" "cat" "at " ...
    assert batch["weights"].square().sum() == pytest.approx(1)


def test_a_text_without_ngrams_is_zero_and_equal_texts_are_equal_alone_and_among_many() -> None:
    backbone = load_backbone("ngrams", pretrained=False, width=4, buckets=1 << 12)
    together = backbone(backbone.preprocess(["", "a red car", "cat"]))
    assert not together[0].any()
    torch.testing.assert_close(backbone(backbone.preprocess(["A red  car"]))[0], together[1])


def test_it_cannot_be_used_frozen_or_without_buckets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BackboneError, match="'ngrams' has no trained weights: train it with the head"):
        load_backbone("ngrams")
    with pytest.raises(BackboneError, match="expected at least 2 buckets, got 1"):
        load_backbone("ngrams", pretrained=False, buckets=1)
    with pytest.raises(BackboneError, match="expected a width of at least 1, got 0"):
        load_backbone("ngrams", pretrained=False, width=0)
    assert run(["embed", "icd10cm:10", "--backbone", "ngrams", "--output", str(tmp_path / "f.npz")]) == 2
    assert "train it with the head" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_texts_are_learned_end_to_end_and_the_folder_answers_alike(tmp_path: Path) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    texts = Texts([f"{('cat', 'dog', 'car')[row % 3]} number {row}" for row in range(60)])
    split = np.array(["train"] * 36 + ["val"] * 12 + ["test"] * 12)
    dataset = Dataset("words", TOY, texts, np.arange(60) % 3, split)
    options = {"width": 16, "buckets": 1024}
    data = prepare_fine_tuning(ReadConfig(fabric), dataset, "ngrams", options, pretrained=False)
    config = TrainConfig(method="hier-cos", epochs=10, batch_size=8, learning_rate=0.02)
    records = train_run(fabric, data, config, tmp_path / "m")
    assert records["none"].metrics["top1"] == 1.0
    stored = load_model(tmp_path / "m")
    assert stored.encoder is not None
    found = class_scores(
        fabric, stored.model, stored.encoder.samples(texts.take(np.arange(48, 60)), ReadConfig(fabric))
    )
    with np.load(tmp_path / "m" / "scores.npz") as arrays:
        torch.testing.assert_close(found, torch.tensor(arrays["scores"]), atol=1e-5, rtol=1e-5)


def test_the_command_trains_it_without_being_told_to_unfreeze(tmp_path: Path) -> None:
    rows = [f"{name} number {row},{name}" for row in range(20) for name in ("cat", "dog", "car")]
    (tmp_path / "texts.csv").write_text("\n".join(["text,label", *rows]))
    TOY.write(tmp_path / "tree.json")
    arguments = ["--taxonomy", str(tmp_path / "tree.json"), "--backbone", "ngrams", "--backbone-option", "buckets=512"]
    folder = tmp_path / "m"
    options = ["--method", "cross-entropy", "--epochs", "2", "--device", "cpu"]
    assert run(["train", str(tmp_path / "texts.csv"), *arguments, *options, "--out", str(folder)]) == 0
    assert (folder / "backbone.safetensors").is_file()
    assert load_model(folder).model.backbone is not None
