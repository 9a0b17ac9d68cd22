"""The command `hiercos`: parsing and printing only; heavy libraries are imported where they are used."""

import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; a signal while the modules are still being imported ends it without a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from hiercos.cli.app import main as run_command

    run_command()


def _end(number: int, _frame: object) -> None:
    os.write(sys.stderr.fileno(), b"error: Interrupted before anything was done.\n")
    os._exit(128 + number)  # an exception in the middle of an import can abort the process: C++ cannot pass it on
