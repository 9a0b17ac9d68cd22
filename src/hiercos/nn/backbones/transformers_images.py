"""Models of images from transformers as backbones."""

from typing import Any, Literal

import torch
from torch import Tensor, nn

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.nn.backbones.preprocessing import ImageTransform

Pooling = Literal["cls", "mean", "pooler"]


class TransformersImages(Backbone):
    """A model of images, its output pooled to one vector for each image.

    Args:
        model: of transformers; it takes `pixel_values`.
        preprocess: its images' transform.
        pooling: "pooler" takes the model's own pooled output, "cls" the first token, "mean" the mean over the patches
            or the positions of a map; without a choice, "pooler" where there is one and "mean" elsewhere.

    Shape:
        batch: (B, 3, S, S). Output: (B, F).
    """

    def __init__(self, model: nn.Module, preprocess: ImageTransform, pooling: Pooling | None = None) -> None:
        output = tried_output(model, preprocess.size)
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


def tried_output(model: nn.Module, size: int) -> Any:
    """The output for one blank image of S x S pixels, in evaluation mode."""
    with torch.no_grad():
        return model.eval()(pixel_values=torch.zeros(1, 3, size, size))


def class_tokens(hidden: Tensor, size: int, config: Any) -> int:
    """How many tokens stand before those of the patches: a class token, registers, or none."""
    patch = getattr(config, "patch_size", None)
    if hidden.ndim != 3 or not isinstance(patch, int):
        return 0
    return max(0, hidden.shape[1] - (size // patch) ** 2)  # fewer tokens than patches: they were merged on the way


def pool_images(output: Any, pooling: Pooling, tokens_before: int) -> Tensor:
    """One vector for each image, shape (B, F).

    Args:
        output: with last_hidden_state of shape (B, T, F), or (B, F, height, width) of a convolutional model.
        pooling: how.
        tokens_before: tokens that the mean leaves out.

    Raises:
        BackboneError: if the output does not have what the pooling takes.
    """
    hidden: Tensor = output.last_hidden_state
    if pooling == "pooler":
        vectors: Tensor | None = getattr(output, "pooler_output", None)
        if vectors is None:
            raise BackboneError("pooling: expected 'cls' or 'mean', as the model has no pooled output, got 'pooler'")
        return vectors.flatten(1)  # (B, F); convolutional models give (B, F, 1, 1)
    if hidden.ndim == 3:
        return hidden[:, 0] if pooling == "cls" else hidden[:, tokens_before:].mean(dim=1)
    if pooling == "cls":
        raise BackboneError("pooling: expected 'mean' or 'pooler', as the model has no tokens, got 'cls'")
    return hidden.mean(dim=(2, 3))


def drop_pooler(model: nn.Module) -> None:
    """Replace a pooling layer that is not used, so that its weights are neither trained nor hashed."""
    if isinstance(getattr(model, "pooler", None), nn.Module):
        model.pooler = nn.Identity()
