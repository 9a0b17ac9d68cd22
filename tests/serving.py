"""A small model of texts with all files of a run, and clients of a service over it."""

import csv
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from hiercos.cli.app import run
from hiercos.model import Classifier
from hiercos.serve import Limits, Review, ServedModel, Service, create_app, served_model
from trees import TOY

WORDS = {"cat": "furry purring whiskers", "dog": "furry barking tail", "car": "metal wheels engine"}


def texts_of(count: int) -> list[tuple[str, str]]:
    """Texts with their classes in turn, no two alike."""
    names = [*WORDS]
    chosen = [(number, names[number % 3]) for number in range(count)]
    return [(f"{WORDS[name].split()[number // 3 % 3]} thing {number}", name) for number, name in chosen]


def write_rows(path: Path, count: int = 120) -> Path:
    """A labelled table of texts."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *texts_of(count)])
    return path


def trained_folder(folder: Path) -> Path:
    """A model folder that `hiercos train` wrote."""
    TOY.write(folder / "tree.csv")
    data = write_rows(folder / "rows.csv", 360)
    words = ["train", str(data), "--taxonomy", str(folder / "tree.csv"), "--method", "tree-logistic"]
    assert run([*words, "--out", str(folder / "model")]) == 0
    return folder / "model"


def loaded(folder: Path, name: str = "toy") -> ServedModel:
    """The model of a folder under a name."""
    return served_model(name, folder, Classifier.load(folder))


def client_of(
    models: ServedModel | list[ServedModel],
    *,
    token: str = "",
    review: Review | None = None,
    load: Callable[[str], ServedModel] | None = None,
    **limits: Any,
) -> TestClient:
    """A client of a service with these limits; it is to be used as a context manager, which ends the service."""
    given = models if isinstance(models, list) else [models]
    service = Service({each.name: each for each in given}, Limits(**limits), token=token, load=load, review=review)
    return TestClient(create_app(service), base_url="http://localhost", raise_server_exceptions=False)


@contextmanager
def running(service: Service, port: int = 0) -> Iterator[str]:
    """Address of a service on a port of 127.0.0.1, by default a free one, until the end of the block."""
    config = uvicorn.Config(create_app(service), port=port, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
