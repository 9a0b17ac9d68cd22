"""Hard links between equal files of runs: the map from texts to features is the same in all runs of a comparison."""

import os
from collections.abc import Iterable
from pathlib import Path

from hiercos.manifest import SMALL, Manifest

TEMPORARY = ".hiercos-link-"  # prefix of the name of a link before it replaces the file


def link_equal_files(folder: Path, others: Iterable[Path]) -> None:
    """Replace large files of a complete run by hard links to equal files of other runs, which then take no space.

    Files are never changed in place, so the runs stay independent. Does nothing where a file system has no hard links.

    Args:
        folder: folder of the run.
        others: folders of other runs; those without a manifest are not complete and left out.
    """
    large = {name: sums for name, sums in (Manifest.of(folder).files or {}).items() if _is_large(folder / name)}
    for other in others if large else ():
        known = {} if other == folder else Manifest.of(other).files or {}
        for name in [name for name in large if known.get(name) == large[name]]:
            if _linked(other / name, folder / name):
                del large[name]


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size >= SMALL


def _linked(source: Path, target: Path) -> bool:
    """Whether the target is now the same file as the source."""
    temporary = target.with_name(f"{TEMPORARY}{target.name}")
    temporary.unlink(missing_ok=True)  # left by a process that was killed
    try:
        temporary.hardlink_to(source)
    except OSError:  # another device, or no hard links here
        return False
    os.replace(temporary, target)
    temporary.unlink(missing_ok=True)  # a rename to the same file leaves both names
    return True
