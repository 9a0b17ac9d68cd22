"""The walk of a row through a command: the files whose functions are called more often when there are more rows."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PLAIN = {"checks", "errors", "records", "registry", "storage"}  # open to all packages
COUNTING = """
import json, sys, threading
from collections import Counter
from hiercos.cli.app import run

calls = Counter()

def count(frame, event, argument):
    code = frame.f_code
    if event == "call" and "/src/hiercos/" in code.co_filename:
        calls[code.co_filename.split("/src/hiercos/")[1].removesuffix(".py"), code.co_qualname] += 1

threading.setprofile(count)
sys.setprofile(count)
code = run(sys.argv[2:])
sys.setprofile(None)
threading.setprofile(None)
with open(sys.argv[1], "w") as file:
    json.dump([[*key, number] for key, number in calls.items()], file)
sys.exit(code)
"""


def calls(file: Path, arguments: Sequence[str]) -> dict[tuple[str, str], int]:
    """Number of calls of each function of the package in a command, by module path and name, in order of the first."""
    command = [sys.executable, "-c", COUNTING, str(file), *arguments]
    subprocess.run(command, check=True, capture_output=True)
    return {(module, name): number for module, name, number in json.loads(file.read_text())}


def row_walk(folder: Path, few: Sequence[str], many: Sequence[str]) -> list[str]:
    """Files of the package that a row passes through, such as "model/scoring", in the order of their first call.

    Args:
        folder: folder for a temporary file.
        few: arguments of the command on few rows.
        many: arguments of the same command on several times as many.
    """
    before, after = calls(folder / "calls.json", few), calls(folder / "calls.json", many)
    grown = [module for (module, name), number in after.items() if number > before.get((module, name), 0)]
    return [module for module in dict.fromkeys(grown) if module not in PLAIN]
