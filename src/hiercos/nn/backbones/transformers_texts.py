"""Models of texts from transformers as backbones."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos.nn.backbones.backbone import Backbone, BackboneError
from hiercos.nn.backbones.tokens import Tokens
from hiercos.nn.backbones.transformers_images import Pooling, drop_pooler


class TransformersTexts(Backbone):
    """A model of texts, its tokens pooled to one vector for each text.

    Args:
        model: of transformers; it takes `input_ids` and `attention_mask`.
        preprocess: its tokenizer.
        pooling: "mean" over the tokens that are not padding, "cls" the first token, "pooler" the model's own.
        normalize: to vectors of length 1.

    Shape:
        batch: what `Tokens` makes of B texts. Output: (B, F).
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
    """One vector for each text, shape (B, F); zeros for a text without a token.

    Args:
        output: with last_hidden_state of shape (B, T, F).
        mask: (B, T), 0 where there is padding.
        pooling: how.

    Raises:
        BackboneError: if the model has no pooled output of its own and it was asked for.
    """
    hidden: Tensor = output.last_hidden_state
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "pooler":
        vectors: Tensor | None = getattr(output, "pooler_output", None)
        if vectors is None:
            raise BackboneError("pooling: expected 'cls' or 'mean', as the model has no pooled output, got 'pooler'")
        return vectors
    weights = mask.unsqueeze(2).to(hidden.dtype)  # (B, T, 1)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
