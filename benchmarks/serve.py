"""Load on hiercos serve: python benchmarks/serve.py MODEL TABLE

Clients on 127.0.0.1, in Node.js, send one row of the column `text` a request and wait for the answer. Prints requests a
second, latencies and memory, beside a bare loop of the same `Classifier` over single rows and an empty endpoint of the
same server; then the same with half of the clients sending garbage. At most ten minutes a run.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil

from hiercos.data import read_inputs
from hiercos.model import Classifier

LOAD = Path(__file__).with_name("load.js")
START = (
    "import sys; from hiercos.cli.app import main; sys.argv = ['hiercos', 'serve', sys.argv[1], '--port', '0']; main()"
)


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--clients", type=int, default=16)
    asked = parser.parse_args()
    if shutil.which("node") is None:
        sys.exit("the load comes from Node.js: expected the program node")
    texts = list(read_inputs(asked.table, kind="texts").whole().inputs.values(range(500)))
    print(f"bare loop of single rows: {bare_loop(asked.model, texts):.0f} a second")
    with subprocess.Popen([sys.executable, "-c", START, str(asked.model)], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        port = int(next(line for line in server.stderr if "Serving" in line).rpartition(":")[2])
        memory = psutil.Process(server.pid).memory_info
        common = {"port": port, "clients": asked.clients, "seconds": asked.seconds}
        bodies = [json.dumps({"inputs": text}) for text in texts]
        for name, values in {
            "empty endpoint": {"path": "/health", "bodies": [""], "garbage": 0, "seconds": min(10, asked.seconds)},
            "one row a request": {"path": "/predict", "bodies": bodies, "garbage": 0},
            "half of the clients garbage": {"path": "/predict", "bodies": bodies, "garbage": asked.clients // 2},
        }.items():
            before, wanted = memory().rss, {**common, **values}
            found = load(wanted)
            rate = sum(count for status, count in found["statuses"].items() if status == "200") / wanted["seconds"]
            grown = (memory().rss - before) / 1e6
            print(
                f"{name}: {rate:.0f} a second, {found}, memory {memory().rss / 1e6:.0f} MB ({grown:+.0f})", flush=True
            )
        server.terminate()


def bare_loop(model: Path, texts: list[str], seconds: float = 8.0) -> float:
    """Answers a second of a loop over single rows in this process."""
    classifier, count = Classifier.load(model), 0
    classifier.answers(texts[0])
    end = time.monotonic() + seconds
    for text in cycle(texts):
        classifier.answers(text)
        count += 1
        if time.monotonic() > end:
            break
    return count / seconds


def load(values: dict[str, Any]) -> dict[str, Any]:
    """What the clients saw."""
    run = subprocess.run(["node", str(LOAD)], input=json.dumps(values), capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout))


if __name__ == "__main__":
    main()
