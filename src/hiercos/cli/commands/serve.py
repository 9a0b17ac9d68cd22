"""`hiercos serve`: models behind HTTP, with a page."""

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.app import TerminatedError
from hiercos.cli.model_loading import open_model
from hiercos.cli.options.common import (
    LoadOptions,
    check_model_folder,
    check_target,
    named_texts,
    needs_serve_extra,
    opened_model,
)
from hiercos.cli.options.groups import DeviceOptions, OptionError, grouped, say

if TYPE_CHECKING:
    from hiercos.serve import ServedModel

TOKEN = "HIERCOS_TOKEN"  # environment variable, which unlike an option no list of processes shows


@grouped
def serve(
    *,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...", help="Folders of hiercos train or .onnx files, each called by its name or as NAME=PATH."
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 8000,
    queue: Annotated[
        Path | None, typer.Option(help="Rows of hiercos review to decide on, on the page.", show_default=False)
    ] = None,
    feedback: Annotated[
        Path | None, typer.Option(help="File to which decisions are appended.", show_default=False)
    ] = None,
    device_options: DeviceOptions,
    loading: LoadOptions,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A limit as name=value, see docs/serve.md; repeatable.", show_default=False),
    ] = None,
) -> None:
    """Serve models over HTTP: a JSON interface described in /openapi.json, and a page at /.

    If the environment variable HIERCOS_TOKEN is set, requests must carry it. The signal HUP loads the models again.
    """
    named = named_models(models)
    if (queue is None) != (feedback is None):
        raise OptionError("--queue: expected --feedback with it, and the other way round")
    check_target("--feedback", feedback)
    with needs_serve_extra():
        from hiercos.serve import Limits, Review, Service, read_queue, run_server, served_model
    limits = Limits.of_texts(named_texts(set_, "--set"))
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    logging.getLogger("hiercos.serve").setLevel(logging.INFO)

    def load(name: str) -> "ServedModel":
        files = opened_model(named[name])  # once, so that the model and its facts belong together
        model, config = open_model(files, device_options, loading, batch_size=None, workers=0)
        return served_model(name, files, model, config)

    review = None if queue is None or feedback is None else Review(read_queue(queue), feedback)
    loaded = {name: load(name) for name in named}
    service = Service(loaded, limits, token=os.environ.get(TOKEN, ""), host=host, load=load, review=review)
    with suppress(KeyboardInterrupt, TerminatedError):  # what the server raises again when it has finished
        run_server(service, host, port, lambda address: say(f"Serving {', '.join(named)} at {address}"))
    say("Stopped.")


def named_models(models: list[str]) -> dict[str, Path]:
    """Paths of models by name: NAME=PATH, or the name of the folder or file."""
    named: dict[str, Path] = {}
    for text in models:
        name, equals, rest = text.partition("=")
        path = Path(rest if equals and not Path(text).exists() else text)
        name = name if path != Path(text) else path.resolve().stem
        if name in named:
            raise OptionError(f"{text}: two models are called {name!r}; expected NAME=PATH")
        if path.suffix.lower() != ".onnx" or path.is_dir():
            check_model_folder(path)
        named[name] = path
    return named
