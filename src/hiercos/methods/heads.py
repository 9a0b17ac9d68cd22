"""What stands before a method's classifier: nothing, or the transformation module."""

from torch import nn

from hiercos.nn import TransformationModule


def linear_head(
    in_features: int, out_features: int, *, width: int | None, dropout: float, momentum: float
) -> nn.Sequential:
    """A linear layer on the features (type I), or behind a transformation module of some width (type II).

    Args:
        in_features: F.
        out_features: of the linear layer.
        width: of the transformation module; None for no module.
        dropout: before the linear layer (type I) or before the blocks (type II).
        momentum: of the transformation module.
    """
    if width is None:
        return nn.Sequential(nn.Dropout(dropout), nn.Linear(in_features, out_features))
    body = TransformationModule(in_features, width, momentum=momentum, dropout=dropout)
    return nn.Sequential(body, nn.Linear(width, out_features))
