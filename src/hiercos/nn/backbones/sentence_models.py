"""The prefix `sentence-transformers:`: models that were made to compare sentences, with their own pooling."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.nn.backbones.extras import import_extra
from hiercos.nn.backbones.hub import faults_named, model_folder, quiet
from hiercos.nn.backbones.registry import BACKBONES
from hiercos.nn.backbones.tokens import Tokens

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
