"""Limits of the service, each with a default that `--set` changes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hiercos.errors import FaultsError, suggestion


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may ask for.

    Attributes:
        body_bytes: largest body of a request.
        rows: most inputs of a request; tables have a limit of their own.
        table_rows: most rows of an uploaded table.
        pixels: most pixels of an image.
        seconds: longest wait of a request for its turn and its answer.
        queue: most requests that wait for the model.
        requests: most requests at the same time.
        batch_rows: most inputs that are scored together.
        hosts: further names, separated by commas, under which the service may be called.
        log: whether every request is logged: method, path, status and time, never the inputs.

    Raises:
        FaultsError: for a number below 1.
    """

    body_bytes: int = 64 << 20
    rows: int = 1_000
    table_rows: int = 1_000_000
    pixels: int = 40_000_000
    seconds: float = 30.0
    queue: int = 64
    requests: int = 256
    batch_rows: int = 256
    hosts: str = ""
    log: bool = False

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float) and not isinstance(value, bool) and not value >= 1:
                raise FaultsError(f"expected {name} of at least 1, got {value}")

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> "Limits":
        """Limits from the texts of `--set`, in the type of each.

        Raises:
            FaultsError: for an unknown name or a value of another type.
        """
        defaults = {entry.name: entry.default for entry in fields(cls)}
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name not in defaults:
                raise FaultsError(f"--set {name}: there is no such limit{suggestion(name, defaults)}")
            values[name] = _value(name, text, type(defaults[name]))
        return cls(**values)


def _value(name: str, text: str, kind: type) -> int | float | str | bool:
    if kind is bool and text in ("true", "false"):
        return text == "true"
    try:
        return kind(text) if kind is not bool else kind(int(text))
    except ValueError as error:
        kinds = {int: "an integer", float: "a number", bool: "true or false"}
        raise FaultsError(f"--set {name}={text}: expected {kinds[kind]}") from error
