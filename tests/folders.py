"""Model folders that a test changes on purpose."""

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
