"""The command `hiercos`: parsing and printing only; heavy libraries are imported where they are used."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C while the modules are still being imported ends it without a traceback."""
    _open_closed_streams()
    try:
        from hiercos.cli.app import main as run_command
    except KeyboardInterrupt:
        sys.exit(130)
    run_command()


def _open_closed_streams() -> None:
    """Open the streams that the caller closed, or the next file that is opened would be taken for one of them.

    Messages are then lost, and writing to the standard output is an error.
    """
    for descriptor, flags in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free number, which is this one
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False))  # noqa: SIM115
