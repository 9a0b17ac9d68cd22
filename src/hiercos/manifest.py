"""Manifests: the commit point of a folder, with the SHA-256 of each of its files. Plain Python, open to every package.

The files of a folder are written first and the manifest last, so a folder with a manifest is complete. Every file is
checked as it is read. A file that the manifest does not list is no part of the folder.

A folder that has a manifest is replaced without being lost: the new files are written under other names, a manifest
that says so is the commit point, and then they are renamed one by one. Whoever reads in between finds the old folder or
the new one.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hiercos.errors import FaultsError
from hiercos.files import sync_folder, write_atomically
from hiercos.options import json_object

MANIFEST, FORMAT, VERSION = "manifest.json", "hiercos-manifest", 1
PENDING = "pending"  # key of a manifest whose files are being renamed
SMALL = 1 << 20  # bytes that are hashed in less time than another thread needs to start on a busy machine
NEXT = ".hiercos-next-"  # prefix of new files that will replace others


class ManifestError(FaultsError):
    """A folder whose files are not those that were written, or that was not written completely."""


@dataclass(frozen=True)
class Manifest:
    """Files of a folder with their checksums.

    Attributes:
        folder: folder with the files.
        files: SHA-256 of each file by name; two of them while the file is being replaced. None for a folder without a
            manifest, whose files are read unchecked: one of an earlier version, or an unfinished one.
        is_pending: whether files may still have the names that they were written under, see `NEXT`.
    """

    folder: Path
    files: Mapping[str, tuple[str, ...]] | None
    is_pending: bool = False

    @classmethod
    def of(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder.

        Raises:
            ManifestError: for a damaged manifest.
        """
        path = folder / MANIFEST
        if not path.is_file():
            return cls(folder, None)
        values = json_object(path, path.read_bytes(), ManifestError)
        if (values.get("format"), values.get("version")) != (FORMAT, VERSION) or not _are_checksums(values):
            raise ManifestError(f"{path}: expected a {FORMAT} of version {VERSION}, it was changed")
        sums = {name: tuple(sums) for name, sums in values["files"].items()}
        return cls(folder, sums, is_pending=values.get(PENDING) is True)

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file() if self.files is None else name in self.files

    def path(self, name: str) -> Path:
        """Path of a file of the folder, which is another one until it is renamed."""
        following = self.folder / f"{NEXT}{name}"
        return following if self.is_pending and following.is_file() else self.folder / name

    def content(self, name: str, *, verify: bool = True) -> bytes:
        """Content of a file, checked against its SHA-256.

        Args:
            name: name of the file.
            verify: whether to compute the checksum; False for a large file whose owner trusts the disk.

        Raises:
            ManifestError: if the file is missing, is not listed, or was changed.
        """
        content = self._read(name)
        if verify and self.files is not None:
            self._compare(name, sha256(content))
        return content

    @contextmanager
    def verified_in_background(self, name: str, *, verify: bool = True) -> Iterator[bytes]:
        """Content of a large file, whose SHA-256 is computed by another thread while the block uses the content.

        Nothing that the block made may be used before its end. An error in the block gives way to that of a file that
        was changed. For the arguments and errors see `content`.
        """
        content = self._read(name)
        if not verify or self.files is None or len(content) < SMALL:
            if verify and self.files is not None:
                self._compare(name, sha256(content))
            yield content
            return
        with ThreadPoolExecutor(max_workers=1) as pool:
            digest = pool.submit(sha256, content)  # hashing releases the interpreter lock
            try:
                yield content
            finally:
                self._compare(name, digest.result())

    def _read(self, name: str) -> bytes:
        path = self.path(name)
        if self.files is None:
            return path.read_bytes()
        if name not in self.files:
            raise ManifestError(f"{path}: not listed in {MANIFEST}, so it is no part of this folder")
        try:
            return path.read_bytes()
        except FileNotFoundError as error:
            raise ManifestError(f"{path}: the file is missing, but {MANIFEST} lists it") from error

    def _compare(self, name: str, digest: str) -> None:
        if self.files is not None and digest not in self.files[name]:
            path = self.folder / name
            raise ManifestError(f"{path}: the file was changed after it was written (its SHA-256 differs)")


def _are_checksums(values: Mapping[str, Any]) -> bool:
    files = values.get("files")
    return isinstance(files, dict) and all(
        isinstance(sums, list) and sums and all(isinstance(each, str) for each in sums) for sums in files.values()
    )


def sha256(content: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


Write = Callable[[str, str | bytes], None]


@contextmanager
def committed(folder: Path, earlier: str = MANIFEST) -> Iterator[Write]:
    """A function that writes a file of a folder by name; the manifest is written at the end of the block.

    A new folder has no manifest while the block runs, nor after an error in it. A folder that is replaced keeps its
    files until the end of the block, and after an error in it.

    Args:
        folder: folder to write; created if missing.
        earlier: name of a file by which a folder from before manifests is known.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        finish_renaming(folder)
    except ManifestError:  # a damaged folder, which cannot be read any more
        (folder / MANIFEST).unlink()
    is_replaced = any((folder / name).is_file() for name in (MANIFEST, earlier))
    sums: dict[str, tuple[str, ...]] = {}

    def write(name: str, data: str | bytes) -> None:
        content = data.encode("utf-8") if isinstance(data, str) else data
        write_atomically(folder / (f"{NEXT}{name}" if is_replaced else name), content)
        sums[name] = (sha256(content),)

    yield write
    _write_manifest(folder, sums, is_pending=is_replaced)
    finish_renaming(folder)


def finish_renaming(folder: Path) -> None:
    """Rename the new files of a folder that was replaced, if a crash prevented it; remove those of a failed attempt."""
    manifest = Manifest.of(folder) if (folder / MANIFEST).is_file() else Manifest(folder, None)
    for path in sorted(folder.glob(f"{NEXT}*")):
        name = path.name.removeprefix(NEXT)
        if manifest.is_pending and name in manifest:
            path.replace(folder / name)
        else:
            path.unlink()
    if manifest.is_pending and manifest.files is not None:
        sync_folder(folder)
        _write_manifest(folder, manifest.files)


def replace_file(folder: Path, name: str, data: str | bytes) -> None:
    """Write a file of a folder and update its manifest, if it has one; a crash at any time leaves a valid folder.

    While the file is replaced, the manifest lists the checksums of both contents.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    finish_renaming(folder)
    listed = Manifest.of(folder).files
    if listed is not None and name in listed:
        _write_manifest(folder, {**listed, name: (*listed[name], sha256(content))})
    write_atomically(folder / name, content)
    if listed is not None:
        _write_manifest(folder, {**listed, name: (sha256(content),)})


def _write_manifest(folder: Path, sums: Mapping[str, tuple[str, ...]], *, is_pending: bool = False) -> None:
    values = {"format": FORMAT, "version": VERSION, "files": {name: list(sums[name]) for name in sorted(sums)}}
    write_atomically(folder / MANIFEST, json.dumps(values | ({PENDING: True} if is_pending else {}), indent=2) + "\n")
