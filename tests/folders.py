"""Model folders that a test changes on purpose, and a disk that is nearly full."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hiercos.manifest import MANIFEST, Manifest, committed


def resealed(folder: Path) -> Path:
    """Write the manifest of a folder again, for the files as they are now; files that are gone are left out."""
    listed = Manifest.of(folder).files
    assert listed is not None, f"{folder} has no {MANIFEST}"
    contents = {name: (folder / name).read_bytes() for name in listed if (folder / name).is_file()}
    with committed(folder) as write:
        for name, content in contents.items():
            write(name, content)
    return folder


def unsealed(folder: Path) -> Path:
    """Remove the manifest of a folder, as in those of earlier versions."""
    (folder / MANIFEST).unlink()
    return folder


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond a number of bytes meanwhile, as on a full disk."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
