"""The prefix `transformers:`: image or text models from transformers, as their configuration says."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.encoders.backbones.preprocessing import ImageTransform, read_image_transform
from hiercos.encoders.backbones.table import BackboneError
from hiercos.encoders.backbones.weights import (
    import_extra,
    load_transformer,
    loading_errors,
    model_folder,
    quiet_transformers,
)
from hiercos.methods import Backbone

Pooling = Literal["cls", "mean", "pooler"]


class TransformersImages(Backbone):
    """An image model from transformers, its output pooled to one vector per image.

    Args:
        model: transformers model that takes `pixel_values`.
        preprocess: image preprocessing.
        pooling: "pooler" for the model's own pooled output, "cls" for the first token, "mean" for the mean over patches
            or positions; by default "pooler" if the model has a pooled output, else "mean".

    Shape:
        batch: (B, 3, S, S). Output: (B, F).
    """

    def __init__(self, model: nn.Module, preprocess: ImageTransform, pooling: Pooling | None = None) -> None:
        output = probed_output(model, preprocess.size)
        if pooling is None:
            pooling = "mean" if getattr(output, "pooler_output", None) is None else "pooler"
        tokens_before = class_tokens(output.last_hidden_state, preprocess.size, model.config)
        super().__init__("images", pool_images(output, pooling, tokens_before).shape[1], preprocess)
        if pooling != "pooler":
            drop_pooler(model)
        self.model = model
        self.pooling: Pooling = pooling
        self.tokens_before = tokens_before

    def forward(self, batch: Tensor) -> Tensor:
        """Images, shape (B, 3, S, S), to features, shape (B, F)."""
        return pool_images(self.model(pixel_values=batch), self.pooling, self.tokens_before)


def probed_output(model: nn.Module, size: int) -> Any:
    """Output for one blank image of size x size pixels, in evaluation mode."""
    with torch.no_grad():
        return model.eval()(pixel_values=torch.zeros(1, 3, size, size))


def class_tokens(hidden: Tensor, size: int, config: Any) -> int:
    """Number of tokens before those of the patches: a class token, registers, or none."""
    patch = getattr(config, "patch_size", None)
    if hidden.ndim != 3 or not isinstance(patch, int):
        return 0
    return max(0, hidden.shape[1] - (size // patch) ** 2)  # fewer tokens than patches: the model merges them


def pool_images(output: Any, pooling: Pooling, tokens_before: int) -> Tensor:
    """One vector per image, shape (B, F).

    Args:
        output: model output with last_hidden_state of shape (B, T, F), or (B, F, height, width) for a convolutional
            model.
        pooling: "cls", "mean" or "pooler".
    """
    hidden: Tensor = output.last_hidden_state
    if pooling == "pooler":
        return _pooled(output).flatten(1)  # (B, F); convolutional models give (B, F, 1, 1)
    if hidden.ndim == 3:
        return hidden[:, 0] if pooling == "cls" else hidden[:, tokens_before:].mean(dim=1)
    if pooling == "cls":
        raise BackboneError("pooling: expected 'mean' or 'pooler', as the model has no tokens, got 'cls'")
    return hidden.mean(dim=(2, 3))


def _pooled(output: Any) -> Tensor:
    """The model's own pooled output."""
    vectors: Tensor | None = getattr(output, "pooler_output", None)
    if vectors is None:
        raise BackboneError("pooling: expected 'cls' or 'mean', as the model has no pooled output, got 'pooler'")
    return vectors


def drop_pooler(model: nn.Module) -> None:
    """Replace an unused pooling layer, so that its weights are neither trained nor hashed."""
    if isinstance(getattr(model, "pooler", None), nn.Module):
        model.pooler = nn.Identity()


def transformers_model(model: str, *, pretrained: bool = True, pooling: Pooling | None = None) -> Backbone:
    """An image or text model from transformers, from a folder or the Hugging Face Hub.

    Args:
        pretrained: whether to load the weights (default); False draws them at random, but still needs the folder.
        pooling: "cls", "mean" or "pooler"; by default an image model uses its own pooling if it has one, else the mean
            over patches, and a text model the mean over tokens.
    """
    name = f"transformers:{model}"
    folder = model_folder(model, extra="transformers", backbone=name)
    loaded, pooler_usable = load_transformer(folder, extra="transformers", pretrained=pretrained, backbone=name)
    if pooling == "pooler" and not pooler_usable:
        raise BackboneError(f"backbone {name!r}: expected pooling to be 'cls' or 'mean', as the pooler has no weights")
    backbone: TransformersImages | TransformersTexts
    if loaded.main_input_name == "pixel_values":
        transform = read_image_transform(folder, backbone=name)
        backbone = TransformersImages(loaded, transform, pooling or (None if pooler_usable else "mean"))
    elif loaded.main_input_name == "input_ids":
        backbone = text_backbone(loaded, folder, pooling or "mean", extra="transformers", backbone=name)
    else:
        raise BackboneError(
            f"backbone {name!r}: expected a model that takes pixel_values or input_ids, got {loaded.main_input_name}"
        )
    backbone.options = {"pooling": backbone.pooling}
    return backbone


def text_backbone(
    model: nn.Module,
    folder: Path,
    pooling: Pooling,
    *,
    extra: str,
    backbone: str,
    max_length: int | None = None,
    normalize: bool = False,
) -> "TransformersTexts":
    """A loaded text model as a backbone, with the tokenizer of its folder."""
    transformers = import_extra("transformers", extra=extra, backbone=backbone)
    with quiet_transformers(transformers), loading_errors(backbone, folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    tokens = Tokens(tokenizer, max_length or longest_input(tokenizer, model.config))
    return TransformersTexts(model, tokens, pooling, normalize=normalize)


UNKNOWN_LENGTH = 512  # limit in tokens if neither the tokenizer nor the model has one
UNLIMITED = 10**9  # a tokenizer without a limit reports 10^30


class Tokens:
    """Converts texts to one padded batch of token ids; a `Preprocess`.

    Args:
        tokenizer: tokenizer from transformers.
        max_length: largest number of tokens; the rest of a text is truncated.
        prompt: text put before every text; "" by default.

    Shape:
        texts: B strings. Output: a dict of tensors (B, T), T the tokens of the longest text: input_ids, attention_mask
        and other inputs of the model.
    """

    def __init__(self, tokenizer: Any, max_length: int, prompt: str = "") -> None:
        if tokenizer.pad_token is None:  # as in most generative models; padding is masked anyway
            tokenizer.pad_token = tokenizer.eos_token
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.prompt = prompt
        self.fingerprint = tokenizer_hash(tokenizer)

    def __call__(self, samples: Sequence[str]) -> dict[str, Tensor]:
        """Texts to a batch, shape (B, T) each."""
        texts = [self.prompt + text for text in samples]
        return dict(
            self.tokenizer(texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt")
        )

    def to_dict(self) -> dict[str, Any]:
        """A hash of the tokenizer and the other settings, as JSON values."""
        return {"tokenizer": self.fingerprint, "max_length": self.max_length, "prompt": self.prompt}


def tokenizer_hash(tokenizer: Any) -> str:
    """SHA-256 of all that determines the tokens of a text, except padding and truncation, which each call sets."""
    content = {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab(), "pad": tokenizer.pad_token_id}
    if tokenizer.is_fast:
        rules = json.loads(tokenizer.backend_tokenizer.to_str())
        content["rules"] = {**rules, "padding": None, "truncation": None}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def longest_input(tokenizer: Any, config: Any) -> int:
    """Largest number of tokens that both the tokenizer and its model accept."""
    limits = (tokenizer.model_max_length, getattr(config, "max_position_embeddings", None))
    return min((int(limit) for limit in limits if limit and limit < UNLIMITED), default=UNKNOWN_LENGTH)


class TransformersTexts(Backbone):
    """A text model from transformers, its tokens pooled to one vector per text.

    Args:
        model: transformers model that takes `input_ids` and `attention_mask`.
        preprocess: its tokenizer.
        pooling: "mean" over the tokens that are not padding, "cls" for the first token, "pooler" for the model's own.
        normalize: whether to scale the features to length 1; False by default.

    Shape:
        batch: output of `Tokens` for B texts. Output: (B, F).
    """

    def __init__(self, model: nn.Module, preprocess: Tokens, pooling: Pooling, *, normalize: bool = False) -> None:
        ones = torch.ones((1, 2), dtype=torch.long)
        with torch.no_grad():
            output = model.eval()(input_ids=ones, attention_mask=ones)
        super().__init__("texts", pool_texts(output, ones, pooling).shape[1], preprocess)
        if pooling != "pooler":
            drop_pooler(model)
        self.model = model
        self.pooling: Pooling = pooling
        self.normalize = normalize

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """A dict of tensors (B, T) to features, shape (B, F)."""
        vectors = pool_texts(self.model(**batch), batch["attention_mask"], self.pooling)
        return F.normalize(vectors, dim=1) if self.normalize else vectors


def pool_texts(output: Any, mask: Tensor, pooling: Pooling) -> Tensor:
    """One vector per text, shape (B, F); zeros for a text without tokens.

    Args:
        output: model output with last_hidden_state of shape (B, T, F).
        mask: attention mask, shape (B, T), 0 at padding.
        pooling: "cls", "mean" or "pooler".
    """
    hidden: Tensor = output.last_hidden_state
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "pooler":
        return _pooled(output)
    weights = mask.unsqueeze(2).to(hidden.dtype)  # (B, T, 1)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
