from pathlib import Path
from typing import Any

import pytest
import torch

from encoders.backbones import tiny_models
from hiercos.encoders.backbones import BackboneError, load_backbone

library = pytest.importorskip("sentence_transformers")
TEXTS = ["a cat sleeps", "dog", "a red car runs about a cat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT, the mean of its tokens and a linear layer after it; a prompt stands before every text."""
    from sentence_transformers.base.modules import Dense, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(0)
    inner, whole = tmp_path_factory.mktemp("bert"), tmp_path_factory.mktemp("sentences")
    tiny_models.bert(inner)
    parts = [Transformer(str(inner)), Pooling(tiny_models.WIDTH), Dense(tiny_models.WIDTH, 6)]
    model = library.SentenceTransformer(
        modules=parts, prompts={"topic": "about "}, default_prompt_name="topic", device="cpu"
    )
    model.save_pretrained(str(whole), create_model_card=False)
    return whole


def encoded(folder: Path) -> torch.Tensor:
    model: Any = library.SentenceTransformer(str(folder), device="cpu")
    return model.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)


def test_features_are_the_librarys_own_embeddings(folder: Path) -> None:
    backbone = load_backbone(f"sentence-transformers:{folder}").eval()
    with torch.no_grad():
        features = backbone(backbone.preprocess(TEXTS))
    assert (backbone.kind, backbone.num_features, features.shape) == ("texts", 6, (3, 6))
    torch.testing.assert_close(features, encoded(folder))


def test_the_prompt_is_part_of_the_identity(folder: Path) -> None:
    identity = load_backbone(f"sentence-transformers:{folder}").identity()
    assert identity["preprocessing"]["prompt"] == "about "
    assert identity == load_backbone(f"sentence-transformers:{folder}").identity()


def test_it_is_built_again_without_its_weights(folder: Path) -> None:
    backbone = load_backbone(f"sentence-transformers:{folder}")
    again = load_backbone(f"sentence-transformers:{folder}", pretrained=False)
    same = {name for name, value in again.state_dict().items() if torch.equal(value, backbone.state_dict()[name])}
    assert same == set()
    again.load_state_dict(backbone.state_dict())
    assert again.identity() == backbone.identity()


def test_loading_is_quiet(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_backbone(f"sentence-transformers:{folder}")
    assert capfd.readouterr() == ("", "")


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "2_Dense").mkdir()
    (tmp_path / "2_Dense" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(BackboneError, match=r"pytorch_model.bin: expected weights as safetensors, got a pickle$"):
        load_backbone(f"sentence-transformers:{tmp_path}")


def test_a_name_that_cannot_be_downloaded_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BackboneError, match=r"^backbone 'sentence-transformers:no/such': .* pass the folder$"):
        load_backbone("sentence-transformers:no/such")
