"""The command `hiercos`: parsing and printing only; heavy libraries are imported where they are used."""

import io
import os
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C while the modules are still being imported ends it without a traceback."""
    _open_closed_streams()
    if sys.platform != "win32":  # whose console is no file
        messages = io.BufferedWriter(Messages(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(messages, line_buffering=True, **LOSSLESS)
    try:
        from hiercos.cli.app import main as run_command
    except KeyboardInterrupt:
        sys.exit(130)
    run_command()


LOSSLESS: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace"}


class Messages(io.FileIO):
    """Standard error whose messages are lost where nobody takes them: that must not end the work they are about."""

    def write(self, content: Any) -> int:
        """Write the bytes, or lose them if the reader is gone or the disk is full."""
        try:
            return super().write(content)
        except OSError:
            return len(content)


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
            setattr(sys, name, open(descriptor, mode, closefd=False, **LOSSLESS))  # noqa: SIM115
