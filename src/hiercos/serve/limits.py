"""Limits of the service, each with a default that `--set` changes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hiercos.errors import FaultsError, suggestion


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may ask for."""

    body_bytes: int = 64 << 20  # largest body of a request
    open_bytes: int = 256 << 20  # most bytes received of all open requests together
    rows: int = 1_000  # most inputs of a request; tables have a limit of their own
    table_rows: int = 1_000_000  # most rows of an uploaded table
    pixels: int = 40_000_000  # most pixels of the images of a request together
    seconds: float = 30.0  # longest wait of a request for its turn and its answer
    queue: int = 64  # most requests that wait for the model
    requests: int = 256  # most requests at the same time
    batch_rows: int = 256  # most inputs that are scored together
    hosts: str = ""  # further names, separated by commas, under which the service may be called
    origins: str = ""  # sites, such as http://localhost:8080, separated by commas, whose pages may call the service
    log: bool = False  # whether every request is logged: method, path, status and time, never the inputs

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, int | float) and not isinstance(value, bool) and not value >= 1:
                raise FaultsError(f"expected {name} of at least 1, got {value}")

    def names(self, limit: str) -> set[str]:
        """The parts of a limit that is a list separated by commas, in lower case."""
        return {*getattr(self, limit).lower().replace(" ", "").split(",")} - {""}

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> "Limits":
        """Limits from the texts of `--set`, in the type of each."""
        defaults = {entry.name: entry.default for entry in fields(cls)}
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name not in defaults:
                raise FaultsError(f"--set {name}: there is no such limit{suggestion(name, defaults)}")
            values[name] = _value(name, text, type(defaults[name]))
        return cls(**values)


def _value(name: str, text: str, kind: type) -> int | float | str | bool:
    try:
        return {"true": True, "false": False}[text] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        kinds = {int: "an integer", float: "a number", bool: "true or false"}
        raise FaultsError(f"--set {name}={text}: expected {kinds[kind]}") from error
