"""How the search for faulty images goes, on stderr."""

import sys
import time
from collections.abc import Callable

from hiercos.cli.groups import is_first_process

EVERY = 10.0  # seconds between two lines


def checking_lines() -> Callable[[int, int], None] | None:
    """Says how many images are checked, if it takes longer than ten seconds; None in any process but the first."""
    told = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= EVERY:
            told = time.monotonic()
            sys.stderr.write(f"checked {done:,} of {total:,} images\n")
            sys.stderr.flush()

    return tell if is_first_process() else None
