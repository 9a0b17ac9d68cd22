"""A stand-in for the Hugging Face Hub on this machine: repositories of models in memory, one commit each."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "a" * 40
TOKEN = "hf_token"
Repositories = dict[str, dict[str, bytes]]


class Handler(BaseHTTPRequestHandler):
    """What huggingface_hub asks for when it creates, uploads and downloads a model."""

    protocol_version = "HTTP/1.1"

    def __init__(self, repositories: Repositories, *arguments: Any) -> None:
        self.repositories = repositories
        super().__init__(*arguments)

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.answer({"error": "Invalid username or password."}, status=401)
        elif self.path == "/api/repos/create":
            named = json.loads(body)
            name = f"{named['organization']}/{named['name']}"
            self.repositories.setdefault(name, {})
            self.answer({"url": self.address(name)})
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            self.answer({"files": [{"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files]})
        elif "/commit/" in self.path:
            name = self.path.removeprefix("/api/models/").partition("/commit/")[0]
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    content = base64.b64decode(entry["value"]["content"])
                    self.repositories[name][entry["value"]["path"]] = content
            self.answer({"commitUrl": self.address(f"{name}/commit/{COMMIT}"), "commitOid": COMMIT})
        else:
            self.answer({"error": f"no {self.path}"}, status=404)

    def do_GET(self) -> None:
        name, _, rest = self.path.removeprefix("/api/models/").lstrip("/").partition("/resolve/")
        if rest:
            self.file(name, rest.partition("/")[2])
            return
        name = name.partition("/revision/")[0].partition("/tree/")[0]
        files = self.repositories.get(name)
        if files is None:
            self.answer({"error": "Repository not found"}, status=404, **{"X-Error-Code": "RepoNotFound"})
        elif "/tree/" in self.path:
            listed = [
                {"type": "file", "path": path, "size": len(files[path]), "oid": oid(files[path])} for path in files
            ]
            self.answer(listed)
        else:
            siblings = [{"rfilename": path} for path in files]
            self.answer({"id": name, "sha": COMMIT, "siblings": siblings, "private": False, "tags": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def address(self, path: str) -> str:
        return f"http://{self.headers['Host']}/{path}"

    def file(self, name: str, path: str) -> None:
        if path not in self.repositories[name]:
            self.answer({"error": "Entry not found"}, status=404, **{"X-Error-Code": "EntryNotFound"})
            return
        content = self.repositories[name][path]
        self.send(content, 200, "application/octet-stream", {"X-Repo-Commit": COMMIT, "ETag": f'"{oid(content)}"'})

    def answer(self, values: Any, status: int = 200, **headers: str) -> None:
        self.send(json.dumps(values).encode(), status, "application/json", headers)

    def send(self, content: bytes, status: int, kind: str, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def hub() -> Iterator[tuple[str, Repositories]]:
    """The address of an empty hub, and what it comes to hold, while it runs."""
    repositories: Repositories = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, repositories))
    server.daemon_threads = True  # connections are kept open by the client
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", repositories
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
