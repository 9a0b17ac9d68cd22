"""A web server of this machine for tests of downloads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(SimpleHTTPRequestHandler):
    """Files of a folder; of those whose name begins with `cut-`, only the first half comes."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def copyfile(self, source, outputfile) -> None:
        content = source.read()
        outputfile.write(content[: len(content) // 2] if "/cut-" in self.path else content)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of this folder, while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
