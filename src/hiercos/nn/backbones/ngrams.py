"""The backbone `ngrams`: hashed n-grams of words and characters in a trained embedding bag."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hiercos.nn.backbones.backbone import BACKBONES, Backbone, BackboneError

KINDS = (("word", 1, 2), ("char_wb", 3, 4))  # analyzer of scikit-learn, shortest and longest n-gram
SCALE = 10.0  # embeddings are stored at a tenth of their size, because a backbone trains at a tenth of the head's rate


class HashedNgrams:
    """Converts texts to hashed n-grams; a `Preprocess`.

    Words and characters each have half of the buckets. A text's weights, 1 + log of the counts, have length 1.

    Args:
        buckets: number of hash buckets.

    Shape:
        texts: B strings. Output: a dict of tensors: buckets (T,) and weights (T,) of all n-grams, text after text, and
        starts (B,), the position of the first of each text.
    """

    def __init__(self, buckets: int) -> None:
        if buckets < len(KINDS):
            raise ValueError(f"expected at least {len(KINDS)} buckets, got {buckets}")
        self.buckets = buckets

    def __call__(self, samples: Sequence[str]) -> dict[str, Tensor]:
        """Texts to a batch of buckets, weights and starts."""
        from scipy.sparse import hstack
        from sklearn.feature_extraction.text import HashingVectorizer

        counts = hstack(
            [
                HashingVectorizer(
                    analyzer=analyzer,
                    token_pattern=r"(?u)\b\w+\b" if analyzer == "word" else None,
                    ngram_range=(shortest, longest),
                    n_features=self.buckets // len(KINDS),
                    alternate_sign=False,
                    norm=None,
                ).transform(samples)
                for analyzer, shortest, longest in KINDS
            ],
            format="csr",
        )
        weights = 1 + np.log(counts.data)
        rows = np.repeat(np.arange(len(samples)), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, np.square(weights), minlength=len(samples)))
        return {
            "buckets": torch.tensor(counts.indices, dtype=torch.int64),
            "weights": torch.tensor(weights / lengths[rows], dtype=torch.float32),
            "starts": torch.tensor(counts.indptr[:-1], dtype=torch.int64),
        }

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {"ngrams": [list(kind) for kind in KINDS], "buckets": self.buckets}


class NgramBackbone(Backbone):
    """Weighted sums of the embeddings of a text's n-grams.

    Args:
        preprocess: hashing of the n-grams.
        width: width F of the embeddings.

    Shape:
        batch: output of `HashedNgrams` for B texts. Output: (B, F); zeros for a text without n-grams.
    """

    def __init__(self, preprocess: HashedNgrams, width: int) -> None:
        if width < 1:
            raise ValueError(f"expected a width of at least 1, got {width}")
        super().__init__("texts", width, preprocess)
        self.embeddings = nn.EmbeddingBag(preprocess.buckets, width, mode="sum")
        nn.init.normal_(self.embeddings.weight, std=1 / (SCALE * math.sqrt(width)))

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """A batch of hashed n-grams to features, shape (B, F)."""
        weights = batch["weights"].to(self.embeddings.weight.dtype)
        sums: Tensor = self.embeddings(batch["buckets"], batch["starts"], per_sample_weights=weights)
        return SCALE * sums


@BACKBONES.register("ngrams", trained=False)
def ngrams(*, pretrained: bool = True, width: int = 256, buckets: int = 2**17) -> Backbone:
    """Hashed n-grams of words and characters for texts: 256 features, always trained with the head.

    Args:
        pretrained: False; there are no trained weights.
        width: number of features.
        buckets: number of hash buckets; n-grams that share one share an embedding.
    """
    if pretrained:
        raise BackboneError("backbone 'ngrams' has no trained weights: train it with the head (hiercos train)")
    return NgramBackbone(HashedNgrams(buckets), width)
