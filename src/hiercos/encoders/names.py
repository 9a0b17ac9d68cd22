"""Names of encoders, augmentations, devices and precisions as users write them. Needs no torch."""

from typing import Literal, get_args

Augment = Literal["none", "pad-crop", "resized-crop"]
Border = Literal["reflect", "zero"]
DEVICES = ("auto", "cpu", "cuda", "mps")
Precision = Literal["32-true", "bf16-mixed", "16-mixed"]
PRECISIONS: tuple[str, ...] = get_args(Precision)

TFIDF = "tfidf"
BESIDE = f"{TFIDF}+"  # before the name of a backbone of texts, whose features stand beside TF-IDF vectors
DEFAULT_ENCODERS = {"images": "efficientnet-lite0", "texts": TFIDF}  # by kind of inputs; vectors need none


def includes_tfidf(name: str) -> bool:
    """Whether a name stands for TF-IDF vectors, alone or beside the features of a backbone."""
    return name == TFIDF or name.startswith(BESIDE)
