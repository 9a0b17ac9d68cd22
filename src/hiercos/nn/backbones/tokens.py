"""From texts to the numbers of tokens, by a tokenizer of transformers."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from torch import Tensor

UNKNOWN_LENGTH = 512  # tokens, where neither the tokenizer nor the model says how many it takes
UNLIMITED = 10**9  # a tokenizer that does not know says 10^30


class Tokens:
    """Texts to one batch of token numbers, the shorter ones padded; a `Preprocess`.

    Args:
        tokenizer: of transformers.
        max_length: in tokens; the rest of a text is left out.
        prompt: put before every text.

    Shape:
        texts: B strings. Output: a dict of tensors (B, T), T the tokens of the longest text: input_ids, attention_mask
        and what else the model takes.
    """

    def __init__(self, tokenizer: Any, max_length: int, prompt: str = "") -> None:
        if tokenizer.pad_token is None:  # as with most models that write texts; padding is masked anyway
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
        """A hash of the tokenizer and the rest, as JSON."""
        return {"tokenizer": self.fingerprint, "max_length": self.max_length, "prompt": self.prompt}


def tokenizer_hash(tokenizer: Any) -> str:
    """SHA-256 of all that decides the tokens of a text, but for padding and truncation, which a call sets."""
    content = {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab(), "pad": tokenizer.pad_token_id}
    if tokenizer.is_fast:
        rules = json.loads(tokenizer.backend_tokenizer.to_str())
        content["rules"] = {**rules, "padding": None, "truncation": None}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def longest_input(tokenizer: Any, config: Any) -> int:
    """The number of tokens that a tokenizer and its model both take."""
    limits = (tokenizer.model_max_length, getattr(config, "max_position_embeddings", None))
    return min((int(limit) for limit in limits if limit and limit < UNLIMITED), default=UNKNOWN_LENGTH)
