"""Errors of a request, each with its HTTP status and one sentence."""

from hiercos.errors import FaultsError


class ServeError(FaultsError):
    """A request that is refused, with its HTTP status, and the seconds after which it may be tried again, if any."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(sentence)
        self.status, self.retry_after = status, retry_after


def busy(sentence: str) -> ServeError:
    """A refusal because of the load: status 503 with Retry-After."""
    return ServeError(503, sentence, retry_after=1)
