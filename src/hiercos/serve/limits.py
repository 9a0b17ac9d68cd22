"""Limits of the service, each with a default that `--set` changes, and the error of a request that is refused."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hiercos.errors import FaultsError, suggestion

Count = Annotated[int, Field(ge=1)]


class ServeError(FaultsError):
    """A request that is refused, with its HTTP status, and the seconds after which it may be tried again, if any."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.retry_after = status, retry_after


def busy(sentence: str) -> ServeError:
    """A refusal because of the load: status 503 with Retry-After."""
    return ServeError(503, sentence, retry_after=1)


class Body(BaseModel):
    """A JSON body: unknown names and numbers that are not finite are refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Limits(Body):
    """Limits of one request, and of all of them together."""

    body_bytes: Count = 64 << 20  # largest body of a request
    open_bytes: Count = 256 << 20  # most bytes received of all open requests together
    rows: Count = 1_000  # most inputs of a request; tables have a limit of their own
    table_rows: Count = 1_000_000  # most rows of an uploaded table
    pixels: Count = 40_000_000  # most pixels of the images of a request together
    seconds: Annotated[float, Field(ge=1)] = 30.0  # longest wait of a request for its turn and its answer
    queue: Count = 64  # most requests that wait for the model
    requests: Count = 256  # most requests at the same time
    batch_rows: Count = 256  # most inputs that are scored together
    hosts: str = ""  # further names, separated by commas, under which the service may be called
    origins: str = ""  # sites, such as http://localhost:8080, separated by commas, whose pages may call the service
    log: bool = False  # whether every request is logged: method, path, status and time, never the inputs

    def names(self, limit: str) -> set[str]:
        """The parts of a limit that is a list separated by commas, in lower case."""
        return {*getattr(self, limit).lower().replace(" ", "").split(",")} - {""}

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> "Limits":
        """Limits from the texts of `--set`."""
        try:
            return cls.model_validate(texts)
        except ValidationError as error:
            raise FaultsError(f"--set {fault_sentence(error.errors(), cls.model_fields)}") from error


def fault_sentence(errors: Sequence[Any], known: Collection[str] = ()) -> str:
    """Sentence on the first faulty value of pydantic's errors; for a union, the faults of its fitting types."""
    first, (name, *_) = errors[0], errors[0]["loc"] or [""]
    if not name:
        return str(first["msg"])
    if first["type"] == "extra_forbidden":
        return f"{name}: there is no such name{suggestion(name, known)}"
    if first["type"] == "missing":
        return f"{name}: expected a value, got none"
    own = [each for each in errors if each["loc"][:1] == (name,)]
    of_values = [each for each in own if not each["type"].endswith(("_type", "_parsing"))] or own
    place = ".".join(str(part) for part in of_values[0]["loc"] if part == name or isinstance(part, int))
    sentences = " or ".join(dict.fromkeys(each["msg"] for each in of_values))
    return f"{place}: {sentences.replace(' or Input should be', ' or')}"
