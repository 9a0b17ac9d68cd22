"""Request checks: Host, token, size; and the answers to requests that failed."""

import hmac
import logging
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import JSONResponse, Response

from hiercos.serve.limits import Limits, ServeError, busy
from hiercos.serve.telemetry import Telemetry

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
LOG = logging.getLogger("hiercos.serve")
OPEN = ("/", "/page.css", "/page.js", "/health", "/ready")  # paths that need no token: they tell nothing of the model
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
]

PREFLIGHT = {"Access-Control-Allow-Methods": "GET, POST", "Access-Control-Allow-Headers": "authorization, content-type"}


class Guard:
    """ASGI middleware: Host and Origin, token, number and size of requests, headers, errors, times."""

    def __init__(self, app: App, limits: Limits, telemetry: Telemetry, *, hosts: set[str], token: str) -> None:
        self.app, self.limits, self.telemetry, self.hosts, self.token = app, limits, telemetry, hosts, token
        self._origins = {name.encode() for name in limits.names("origins")}
        self._open = self._held = 0  # open requests, and the bytes received of them

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, received = time.monotonic(), 0, 0
        origin = dict(scope["headers"]).get(b"origin", b"")
        shared = [(b"access-control-allow-origin", origin), (b"vary", b"origin")] if origin in self._origins else []

        async def receive_on() -> MutableMapping[str, Any]:
            nonlocal received  # counted, since a body may come without its length
            message = await receive()
            size = len(message.get("body", b""))
            received, self._held = received + size, self._held + size
            if received > self.limits.body_bytes:
                raise self._too_large()
            if self._held > self.limits.open_bytes:
                raise busy("the open requests have too many bytes together; try again later")
            return message

        async def send_on(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *HEADERS, *shared]
            await send(message)

        self._open += 1
        try:
            self._check(scope)
            if shared and scope["method"] == "OPTIONS":
                await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send_on)
                return
            await self.app(scope, receive_on, send_on)
        except Exception as error:
            if status:  # a stream that has begun: its connection is cut, so that nobody takes it for whole
                LOG.error("%s %s ended early: %s", scope["method"], _route(scope), _place(error))
                raise ConnectionAbortedError("the answer ended early") from None
            await error_answer(error)(scope, receive, send_on)
        finally:
            self._open, self._held = self._open - 1, self._held - received
            seconds = time.monotonic() - start
            self.telemetry.request(_route(scope), status, seconds)
            if self.limits.log:
                LOG.info("%s %s %d %.1f ms", scope["method"], _route(scope), status, 1000 * seconds)

    def _check(self, scope: Scope) -> None:
        """Raise a `ServeError` for a request that is not answered."""
        given = dict(scope["headers"])
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in given.items()}
        host = headers.get("host", "")
        if _name(host) not in self.hosts:
            raise ServeError(400, "the Host header names another machine (--set hosts=NAME allows a name)")
        origin = headers.get("origin", f"http://{host}")
        if origin.partition("://")[2] != host and origin.encode() not in self._origins:
            raise ServeError(403, "a page of another site may not call this service (--set origins=SITE allows one)")
        if self._open > self.limits.requests:
            raise busy(f"{self.limits.requests} requests are open; try again later")
        if self.token and scope["path"] not in OPEN and scope["method"] != "OPTIONS":
            scheme, _, token = headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(token.encode(), self.token.encode()):
                raise ServeError(401, "expected the token of this service: Authorization: Bearer TOKEN")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body_bytes:
            raise self._too_large()

    def _too_large(self) -> ServeError:
        return ServeError(413, f"expected at most {self.limits.body_bytes:,} bytes in a request (--set body_bytes)")


def _name(host: str) -> str:
    """Name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).lower()


def _route(scope: Scope) -> str:
    """Path of the route in the table of routes; "other" for a path that is none."""
    return getattr(scope.get("route"), "path", "other")


def _place(error: BaseException) -> str:
    """Type of an error and where it was raised, without its message, which may repeat an input."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in " + " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))


def error_answer(error: Exception) -> JSONResponse:
    """The answer to a request that failed: a status and one sentence; what is not the client's fault is logged."""
    if isinstance(error, ServeError):
        retry = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        needs_token = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
        return JSONResponse({"error": str(error)}, error.status, {**retry, **needs_token})
    LOG.error("failed: %s", _place(error))
    return JSONResponse({"error": "the service failed; its log says where"}, 500)
