"""The service: its models, its thread of inference, and the server that runs it."""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from hiercos.data import InputBatch
from hiercos.errors import FaultsError
from hiercos.serve.inference import Inference, Use
from hiercos.serve.limits import Limits, ServeError, busy
from hiercos.serve.review import Review
from hiercos.serve.served_model import ServedModel
from hiercos.serve.telemetry import Telemetry

LOG = logging.getLogger("hiercos.serve")
HOSTS = ("localhost", "127.0.0.1", "[::1]")

Load = Callable[[str], ServedModel]  # function from the name of a model to the model, read from its folder


class Service:
    """Models behind names, the first of which answers by default, with the one thread that asks them."""

    def __init__(
        self,
        models: Mapping[str, ServedModel],
        limits: Limits | None = None,
        *,
        token: str = "",
        host: str = "127.0.0.1",
        load: Load | None = None,
        review: Review | None = None,
    ) -> None:
        self.review = review
        self.models, self.limits, self.token = dict(models), limits or Limits(), token
        self.load = load or (lambda name: self.models[name])
        self.hosts = {*HOSTS, in_address(host).lower()} | self.limits.names("hosts")
        self.telemetry, self.inference = Telemetry(), Inference(self.limits)
        self._loading = threading.Lock()

    def served(self, name: str | None) -> ServedModel:
        """A model by its name, the first one by default; a `ServeError` with status 404 for an unknown name."""
        models = self.models
        if name is None:
            return next(iter(models.values()))
        if name not in models:
            raise ServeError(404, f"there is no model of this name; there are: {', '.join(models)}")
        return models[name]

    def reload(self) -> bool:
        """Load every model again, and return whether all were loaded; until then, and else, the old ones answer."""
        with self._loading:
            try:
                self.models = {name: self.load(name) for name in self.models}
            except (FaultsError, OSError) as error:
                LOG.error("the old models stay, since one was not loaded again: %s", error)
                return False
        LOG.info("loaded again: %s", ", ".join(self.models))
        return True

    async def result(self, served: ServedModel, batch: InputBatch, use: Use, **options: bool) -> Any:
        """What `use` returns for inputs and their posterior; status 503 if the queue is full or the time is over."""
        future = self.inference.submit(served, batch, use, **options)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.seconds)
        except TimeoutError as error:
            raise busy(f"no answer within {self.limits.seconds:g} seconds; try again later") from error


def in_address(host: str) -> str:
    """A host as in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def run_server(service: Service, host: str, port: int, started: Callable[[str], None]) -> None:
    """Answer requests until SIGTERM or SIGINT, then finish what was accepted; `started` is told the address."""
    import uvicorn

    from hiercos.serve.app import create_app

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=2048) as listener:
        address = f"http://{in_address(host)}:{listener.getsockname()[1]}"
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else an answer waits 40 ms for an ACK
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: threading.Thread(target=service.reload).start())
        config = uvicorn.Config(
            create_app(service),
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=int(service.limits.seconds) + 5,
        )
        started(address)
        uvicorn.Server(config).run(sockets=[listener])
