"""Hard links between equal files of runs: the map from texts to features is the same in all runs of a comparison."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hiercos.files import ENDING, PREFIX
from hiercos.manifest import Manifest, ManifestError

LEAST_LINKED = 1 << 20  # bytes from which a file is worth a link
TEMPORARY = f"{PREFIX}link{ENDING}"  # name of a link before it replaces a file


def link_equal_files(folders: Iterable[Path]) -> None:
    """Replace equal large files of complete runs by hard links, so that equal content is stored once.

    Files are never changed in place, so the runs stay independent. This only saves space: no file becomes a link to one
    that is damaged, files of unfinished runs stay as they are, and so do all where a file system has no hard links.

    Args:
        folders: folders of the runs.
    """
    sources: dict[tuple[str, tuple[str, ...]], Path] = {}  # folder that has a file, by the name and checksums
    for folder in folders:
        for name, sums in _large_files(folder):
            source = sources.setdefault((name, sums), folder)
            if source != folder and not _replace_by_link(name, sums, source, folder):
                sources[name, sums] = folder


def _large_files(folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Names and checksums of the large files of a complete run; none of any other."""
    try:
        manifest = Manifest.of(folder)
        files = {} if manifest.is_pending else manifest.files or {}
        return [item for item in files.items() if (folder / item[0]).stat().st_size >= LEAST_LINKED]
    except (ManifestError, OSError):
        return []


def _replace_by_link(name: str, sums: tuple[str, ...], source: Path, target: Path) -> bool:
    """Replace a file of one run by a link to the file of another with the same checksums.

    Returns:
        Whether they are now one file; False if the other is damaged or cannot be linked to, or if a run was replaced.
    """
    temporary = target / TEMPORARY
    try:
        if (source / name).samefile(target / name):
            return True
        original, replaced = Manifest.of(source), Manifest.of(target)
        original.content(name)  # raises an error if the file was damaged
        temporary.unlink(missing_ok=True)
        temporary.hardlink_to(source / name)
        is_equal = all((manifest.files or {}).get(name) == sums for manifest in (original, replaced))
        is_linked = is_equal and original.opened[name].is_at(temporary)
        if is_linked:
            temporary.replace(target / name)
    except (ManifestError, OSError):
        is_linked = False
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
    return is_linked
