"""A method that takes raw inputs, registered for a test only."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods import METHODS, Method, MethodRow, MethodTraits, SummedProbabilities
from hiercos.taxonomy import Taxonomy

RAW = "raw-linear"


def raw_linear(taxonomy: Taxonomy, in_features: int) -> Method:
    """A linear layer on features as they are, dense or sparse."""
    linear = nn.Linear(in_features, taxonomy.num_classes)
    return Method(linear, CrossEntropyLoss(), nn.Identity(), SummedProbabilities(taxonomy))


@contextmanager
def raw_method() -> Iterator[str]:
    """Add the method to the table within a context."""
    METHODS.add(RAW, MethodRow(raw_linear, MethodTraits(raw_inputs=True)))
    try:
        yield RAW
    finally:
        del METHODS._items[RAW]
