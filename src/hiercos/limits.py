"""Limits on what a file may ask for, so that a small file cannot use up the memory. Open to every package.

The environment variable HIERCOS_NO_LIMITS, set to anything, lifts all of them.
"""

import os

ARRAY_BYTES = 1 << 30  # of all arrays in an .npz file (up to 16 times its size are allowed), and of an image's file
PIXELS = 89_478_485  # of an image
TEXT_CHARACTERS = 1_000_000  # of a text or of any other cell of a table
NODES = 10_000_000  # of a taxonomy in a file
EXPANSION = 16  # bytes of arrays for each byte of a compressed file
VARIABLE = "HIERCOS_NO_LIMITS"


def limited(most: int) -> int:
    """A limit as it holds now; where limits are lifted, a number that nothing reaches."""
    return 1 << 48 if os.environ.get(VARIABLE) else most


def limit_fault(what: str, asked: int, most: int) -> str | None:
    """Sentence about a value above a limit, with the variable that lifts it; None if it is allowed.

    Example:
        >>> limit_fault("nodes", 10_000_001, NODES)
        'expected at most 10,000,000 nodes, got 10,000,001 (HIERCOS_NO_LIMITS=1 lifts all limits)'
    """
    if asked <= limited(most):
        return None
    return f"expected at most {most:,} {what}, got {asked:,} ({VARIABLE}=1 lifts all limits)"
