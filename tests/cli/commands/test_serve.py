"""`hiercos serve` as a process."""

import csv
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pytest

from hiercos.cli.app import run
from serving import trained_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_folder(tmp_path_factory.mktemp("model"))


@contextmanager
def server(*words: str, code: str = "") -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Address and process of a server on a free port of 127.0.0.1."""
    arguments = ["hiercos", "serve", "--port", "0", *words]
    start = f"import sys\nfrom hiercos.cli.app import main\nsys.argv = {arguments}\n{code}main()"
    command = [sys.executable, "-c", start]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if "Serving" in line)
            yield line.split()[-1], process
        finally:
            process.kill()


def post(address: str, body: Any, path: str = "predict") -> Any:
    request = urllib.request.Request(
        f"{address}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_a_stopped_server_answers_what_it_accepted(model: Path) -> None:
    found: list[Any] = []
    with server(str(model)) as (address, process):
        threads = [
            threading.Thread(target=lambda: found.append(post(address, {"inputs": ["a furry thing"] * 900})))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        wait_for_a_queue(address)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join(60)
        assert process.wait(60) == 0
    assert [len(each["answers"]) for each in found] == [900] * 4


def wait_for_a_queue(address: str) -> None:
    """Return when requests wait, or all of them are answered."""
    for _ in range(2000):
        text = urllib.request.urlopen(f"{address}/metrics").read().decode()
        depth = re.search(r"^hiercos_queue_depth (\d+)", text, re.MULTILINE)
        if (depth and int(depth[1]) > 1) or "hiercos_rows_total" in text:
            return


def test_a_replaced_folder_is_loaded_on_sighup_without_losing_a_request(model: Path, tmp_path: Path) -> None:
    from hiercos.model import Classifier

    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    hashes: list[str] = []
    with server(f"toy={folder}") as (address, process):
        first = post(address, {"inputs": "a furry thing"})["hash"]
        Classifier.load(folder).save(folder)
        process.send_signal(signal.SIGHUP)
        while not hashes or hashes[-1] == first:
            hashes.append(post(address, {"inputs": "a furry thing"})["hash"])
        (folder / "model.safetensors").write_bytes(b"damaged")
        process.send_signal(signal.SIGHUP)
        assert [post(address, {"inputs": "a furry thing"})["hash"] for _ in range(20)] == hashes[-1:] * 20


def test_an_onnx_file_is_served_without_torch(model: Path, tmp_path: Path) -> None:
    assert run(["export", str(model), "--onnx", str(tmp_path / "toy.onnx")]) == 0
    code = "import atexit\natexit.register(lambda: print('torch' in sys.modules, file=sys.stderr))\n"
    with server(str(tmp_path / "toy.onnx"), code=code) as (address, process):
        answer = post(address, {"inputs": "a furry thing", "confidence": 0.9})
        assert json.load(urllib.request.urlopen(f"{address}/model"))["curve"] is None
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1] == "False"
    assert (answer["model"], answer["answers"][0]["level_1"]) == ("toy", "pet")


FORKS = """
import os, signal, sys
import hiercos.serve.app, torch, uvicorn  # once for all servers, none of which has a thread of them
from hiercos.cli.app import main
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in sys.stdin:
    if not os.fork():
        print(os.getpid(), flush=True)
        main()
"""


@contextmanager
def forked_servers(*words: str) -> Iterator[Callable[[], tuple[str, int]]]:
    """A function that starts a server by a fork, and gives its address and process."""
    command = [sys.executable, "-c", f"import sys\nsys.argv = {['hiercos', 'serve', '--port', '0', *words]}{FORKS}"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        given, told, said = process.stdin, process.stdout, process.stderr
        assert given is not None
        assert told is not None
        assert said is not None

        def start() -> tuple[str, int]:
            given.write("\n")
            given.flush()
            found = int(told.readline())
            return next(line for line in said if "Serving" in line).split()[-1], found

        try:
            yield start
        finally:
            process.kill()


KILLS = int(os.environ.get("HIERCOS_KILLS", "5"))


@pytest.mark.long
def test_no_acknowledged_decision_is_lost_when_the_server_is_killed(model: Path, tmp_path: Path) -> None:
    words = [f"furry {a}{b}{a}{b} thing" for a in "abcdefghijklmnop" for b in "abcdefghijklmnop"]
    (tmp_path / "rows.csv").write_text("\n".join(["text", *words]))
    queue, feedback = str(tmp_path / "queue.csv"), tmp_path / "corrections.jsonl"
    assert run(["review", str(model), str(tmp_path / "rows.csv"), "--output", queue, "--rows", "256"]) == 0
    acknowledged: list[tuple[int, str]] = []
    random = np.random.default_rng(0)
    with forked_servers(str(model), "--queue", queue, "--feedback", str(feedback)) as start:
        for kill in range(KILLS):
            address, process = start()
            threading.Timer(random.uniform(0.05, 0.6), os.kill, [process, signal.SIGKILL]).start()
            for place in itertools.cycle(range(256)):
                body = {"place": place, "decision": "node", "node": "cat", "who": f"ann {kill}"}
                try:
                    post(address, body, "review/decisions")
                except (OSError, HTTPException):  # cut before or within the answer
                    break
                acknowledged.append((place, body["who"]))
    written = [json.loads(line) for line in feedback.read_text().splitlines() if line.endswith("}")]
    texts = [row["text"] for row in csv.DictReader(Path(queue).read_text().splitlines())]
    found = {(texts.index(each["text"]), each["who"]) for each in written}
    assert len(acknowledged) > KILLS
    assert {*acknowledged} <= found
    assert len(found) <= len(acknowledged) + KILLS  # at most the one that was being written


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["MODEL", "MODEL"], "two models are called 'model'"),
        (["nowhere"], "there is no such folder"),
        (["MODEL", "--set", "rowz=1"], "did you mean 'rows'"),
        (["MODEL", "--queue", "queue.csv"], "expected --feedback with it"),
        (["MODEL", "--host", "256.0.0.1"], "256.0.0.1"),
    ],
)
def test_wrong_usage_is_one_sentence(
    model: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", *(str(model) if word == "MODEL" else word for word in words)]) == 2
    assert sentence in capsys.readouterr().err
