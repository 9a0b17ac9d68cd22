"""The parameters of an estimator, checked when it is fitted: scikit-learn wants none checked in the constructor."""

from typing import Any

from hiercos.errors import FaultsError
from hiercos.options import description, fits

KINDS: dict[str, Any] = {
    "method": str,
    "rule": str | None,
    "epochs": int | None,
    "batch_size": int,
    "learning_rate": float | None,
    "weight_decay": float | None,
    "validation_fraction": float | None,
    "dropout": float,
    "sparse_components": int,
    "warm_start": bool,
    "verbose": bool | int,
    "device": str,
}
LEAST = {
    "batch_size": 2,
    "weight_decay": 0,
    "dropout": 0,
    "sparse_components": 1,
}  # `TrainConfig` knows others


class ParameterError(FaultsError):
    """Parameters of the wrong kind or beyond a limit, every one of them."""


def check_parameters(values: dict[str, Any]) -> None:
    """Raise a `ParameterError` unless every parameter that is known here, by name, has a possible value.

    Example:
        >>> check_parameters({"epochs": 2.5})
        Traceback (most recent call last):
        hiercos.interop.parameters.ParameterError: epochs: expected an integer or none, got 2.5
    """
    kinds = {name: kind for name, kind in KINDS.items() if name in values}
    if faults := [
        f"{name}: expected {description(kind)}, got {values[name]!r}"
        for name, kind in kinds.items()
        if not fits(values[name], kind)
    ]:
        raise ParameterError(faults)
    if values.get("dropout", 0) >= 1:
        raise ParameterError(f"dropout: expected a share below 1, got {values['dropout']}")
    if low := [name for name, least in LEAST.items() if values.get(name) is not None and values[name] < least]:
        raise ParameterError(f"{name}: expected at least {LEAST[name]}, got {values[name]}" for name in low)
