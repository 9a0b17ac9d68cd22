import json
from pathlib import Path
from typing import Any

import pytest
import torch

from encoders.backbones import tiny_models
from encoders.backbones.photos import noise
from encoders.backbones.tiny_models import PATCH, SIZE, WIDTH, transformers
from hiercos.encoders.backbones import BackboneError, ImageTransform, load_backbone

PHOTOS = [noise(40, 50), noise(32, 32, seed=1), noise(90, 30, seed=2)]
TEXTS = ["a cat sleeps", "dog", "a red car runs about a cat"]


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    torch.manual_seed(0)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def features(name: str, samples: Any, **options: Any) -> torch.Tensor:
    backbone = load_backbone(name, **options).eval()
    with torch.no_grad():
        result = backbone(backbone.preprocess(samples))
    assert result.shape == (len(samples), backbone.num_features)
    assert result.isfinite().all()
    return result


def outputs(model: Any, **batch: torch.Tensor) -> Any:
    with torch.no_grad():
        return model(**batch)


def test_a_vit_gives_its_pooled_output(tmp_path: Path) -> None:
    model = tiny_models.vit(tmp_path)
    backbone = load_backbone(f"transformers:{tmp_path}")
    expected = ImageTransform(SIZE, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), interpolation="bilinear")
    assert (backbone.kind, backbone.num_features, backbone.preprocess) == ("images", WIDTH, expected)
    direct = outputs(model, pixel_values=expected(PHOTOS)).pooler_output
    assert torch.equal(features(f"transformers:{tmp_path}", PHOTOS), direct)


def test_the_first_token_and_the_mean_over_patches_are_options(tmp_path: Path) -> None:
    hidden = outputs(tiny_models.vit(tmp_path), pixel_values=prepared(PHOTOS)).last_hidden_state  # (3, 17, 16)
    assert hidden.shape[1] == 1 + (SIZE // PATCH) ** 2
    assert torch.equal(features(f"transformers:{tmp_path}", PHOTOS, pooling="cls"), hidden[:, 0])
    torch.testing.assert_close(features(f"transformers:{tmp_path}", PHOTOS, pooling="mean"), hidden[:, 1:].mean(dim=1))


def prepared(photos: Any) -> torch.Tensor:
    return ImageTransform(SIZE, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), interpolation="bilinear")(photos)


def test_a_vit_without_weights_for_its_pooling_is_averaged(tmp_path: Path) -> None:
    model = tiny_models.vit_classifier(tmp_path)
    hidden = outputs(model.vit, pixel_values=prepared(PHOTOS)).last_hidden_state
    torch.testing.assert_close(features(f"transformers:{tmp_path}", PHOTOS), hidden[:, 1:].mean(dim=1))
    first, second = (load_backbone(f"transformers:{tmp_path}").identity() for _ in range(2))
    assert first == second
    assert first["options"] == {"pooling": "mean"}
    with pytest.raises(BackboneError, match=r"expected pooling to be 'cls' or 'mean', as the pooler has no weights$"):
        load_backbone(f"transformers:{tmp_path}", pooling="pooler")


def test_registers_are_left_out_of_the_mean(tmp_path: Path) -> None:
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.Dinov2WithRegistersConfig(**sizes, image_size=SIZE, patch_size=PATCH, num_register_tokens=3)
    model = tiny_models.saved(transformers.Dinov2WithRegistersModel(config), tmp_path, tiny_models.IMAGES)
    hidden = outputs(model, pixel_values=prepared(PHOTOS)).last_hidden_state
    assert hidden.shape[1] == 1 + 3 + 16
    torch.testing.assert_close(features(f"transformers:{tmp_path}", PHOTOS, pooling="mean"), hidden[:, 4:].mean(dim=1))


def test_a_resnet_gives_the_mean_of_its_maps(tmp_path: Path) -> None:
    model = tiny_models.resnet(tmp_path)
    transform = ImageTransform(28, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25), "crop", 0.875, "bilinear")
    maps = outputs(model, pixel_values=transform(PHOTOS)).last_hidden_state
    assert load_backbone(f"transformers:{tmp_path}").preprocess == transform
    for pooling in (None, "mean", "pooler"):
        torch.testing.assert_close(features(f"transformers:{tmp_path}", PHOTOS, pooling=pooling), maps.mean(dim=(2, 3)))
    with pytest.raises(BackboneError, match=r"expected 'mean' or 'pooler', as the model has no tokens, got 'cls'$"):
        load_backbone(f"transformers:{tmp_path}", pooling="cls")


def test_a_bert_gives_the_mean_of_the_tokens_that_are_not_padding(tmp_path: Path) -> None:
    model = tiny_models.bert(tmp_path)
    backbone = load_backbone(f"transformers:{tmp_path}")
    assert (backbone.kind, backbone.num_features) == ("texts", WIDTH)
    together = features(f"transformers:{tmp_path}", TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        alone = tiny_models.tokenizer()([text], return_tensors="pt")
        torch.testing.assert_close(row, outputs(model, **alone).last_hidden_state[0].mean(dim=0))


def test_a_bert_may_give_its_first_token_or_its_pooled_output(tmp_path: Path) -> None:
    model = tiny_models.bert(tmp_path)
    direct = outputs(model, **tiny_models.tokenizer()(TEXTS, padding=True, return_tensors="pt"))
    torch.testing.assert_close(
        features(f"transformers:{tmp_path}", TEXTS, pooling="cls"), direct.last_hidden_state[:, 0]
    )
    torch.testing.assert_close(features(f"transformers:{tmp_path}", TEXTS, pooling="pooler"), direct.pooler_output)


def test_texts_beyond_the_models_positions_are_cut(tmp_path: Path) -> None:
    tiny_models.bert(tmp_path)
    long, cut = features(f"transformers:{tmp_path}", ["cat " * 50, "cat " * 8])
    torch.testing.assert_close(long, cut)


@pytest.mark.parametrize("build", [tiny_models.vit, tiny_models.vit_classifier, tiny_models.resnet, tiny_models.bert])
def test_a_model_is_built_again_without_its_weights(build: Any, tmp_path: Path) -> None:
    build(tmp_path)
    backbone = load_backbone(f"transformers:{tmp_path}")
    identity = backbone.identity()
    again = load_backbone(identity["name"], pretrained=False, **identity["options"])
    assert again.identity()["weights"] != identity["weights"]
    again.load_state_dict(backbone.state_dict())
    assert again.identity() == identity


@pytest.mark.parametrize("build", [tiny_models.vit, tiny_models.resnet, tiny_models.bert])
def test_every_parameter_learns(build: Any, tmp_path: Path) -> None:
    build(tmp_path)
    pooling = "mean" if build is tiny_models.bert else None
    backbone = load_backbone(f"transformers:{tmp_path}", pooling=pooling).train()
    backbone(backbone.preprocess(TEXTS if backbone.kind == "texts" else PHOTOS)).square().sum().backward()
    assert [name for name, parameter in backbone.named_parameters() if parameter.grad is None] == []


def test_loading_is_quiet_and_leaves_the_librarys_settings(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tiny_models.vit_classifier(tmp_path)
    capfd.readouterr()
    logging = transformers.utils.logging
    before = logging.is_progress_bar_enabled(), logging.get_verbosity()
    load_backbone(f"transformers:{tmp_path}")
    assert capfd.readouterr() == ("", "")
    assert (logging.is_progress_bar_enabled(), logging.get_verbosity()) == before


def test_a_name_that_cannot_be_downloaded_is_one_sentence() -> None:
    with pytest.raises(BackboneError) as caught:
        load_backbone("transformers:google/vit-base-patch16-224")
    message = str(caught.value)
    assert message.startswith(
        "backbone 'transformers:google/vit-base-patch16-224': there is no folder 'google/vit-base-patch16-224', and "
        "it cannot be loaded from the Hugging Face Hub ("
    )
    assert message.endswith("); download it on a machine with a network, and pass the folder")
    assert "\n" not in message


def broken_weights(folder: Path) -> None:
    tiny_models.vit(folder)
    (folder / "model.safetensors").write_bytes(b"not weights")


def pickled_weights(folder: Path) -> None:
    model = tiny_models.vit(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def missing_layer(folder: Path) -> None:
    tiny_models.vit(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}))


def both_kinds(folder: Path) -> None:
    transformers.CLIPConfig().save_pretrained(folder)


def with_decoder(folder: Path) -> None:
    transformers.T5Config().save_pretrained(folder)


def of_sounds(folder: Path) -> None:
    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    convolutions = {"conv_dim": [8], "conv_kernel": [4], "conv_stride": [2], "num_feat_extract_layers": 1}
    config = transformers.Wav2Vec2Config(
        **small, **convolutions, num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2
    )
    tiny_models.saved(transformers.Wav2Vec2Model(config), folder)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda folder: None, "cannot be loaded: "),
        (broken_weights, "cannot be loaded: "),
        (pickled_weights, "cannot be loaded: "),
        (missing_layer, "has no weights for .*layer"),
        (both_kinds, "expected a model of images or of texts, got clip, which takes both$"),
        (with_decoder, "expected a model without a decoder after its encoder, got t5$"),
        (of_sounds, "expected a model that takes pixel_values or input_ids, got input_values$"),
    ],
)
def test_a_folder_that_is_no_use_is_one_sentence(make: Any, fault: str, tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(BackboneError, match=f"^backbone 'transformers:.*{fault}") as caught:
        load_backbone(f"transformers:{tmp_path}")
    assert len(str(caught.value).splitlines()) == 1


def test_an_unknown_pooling_is_refused_before_anything_is_loaded() -> None:
    with pytest.raises(
        BackboneError, match="option pooling: expected one of 'cls', 'mean', 'pooler' or none, got 'max'"
    ):
        load_backbone("transformers:no/such", pooling="max")
