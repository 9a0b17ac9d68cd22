"""The command `hiercos`: parsing and printing only; heavy libraries are imported where they are used."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; a signal while the modules are still being imported ends it without a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    from hiercos.cli.app import main as run_command

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()


def _end(number: int, _frame: object) -> None:
    sys.stderr.write("error: Interrupted before anything was done.\n")
    sys.stderr.flush()
    sys.exit(128 + number)
