"""Manifests: the commit point of a folder, with the SHA-256 of each of its files. Plain Python, open to every package.

The files of a folder are written first and the manifest last, so a folder with a manifest is complete. Every file is
checked as it is read. A file that the manifest does not list is no part of the folder.
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
from hiercos.files import write_atomically
from hiercos.options import json_object

MANIFEST, FORMAT, VERSION = "manifest.json", "hiercos-manifest", 1


class ManifestError(FaultsError):
    """A folder whose files are not those that were written, or that was not written completely."""


@dataclass(frozen=True)
class Manifest:
    """Files of a folder with their checksums.

    Attributes:
        folder: folder with the files.
        files: SHA-256 of each file by name; two of them while the file is being replaced. None for a folder without a
            manifest, whose files are read unchecked: one of an earlier version, or an unfinished one.
    """

    folder: Path
    files: Mapping[str, tuple[str, ...]] | None

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
        return cls(folder, {name: tuple(sums) for name, sums in values["files"].items()})

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file() if self.files is None else name in self.files

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
        if not verify or self.files is None:
            yield content
            return
        with ThreadPoolExecutor(max_workers=1) as pool:
            digest = pool.submit(sha256, content)  # hashing releases the interpreter lock
            try:
                yield content
            finally:
                self._compare(name, digest.result())

    def _read(self, name: str) -> bytes:
        path = self.folder / name
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
def committed(folder: Path) -> Iterator[Write]:
    """A function that writes a file of a folder by name; the manifest is written at the end of the block.

    The folder has no manifest while the block runs, nor after an error in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    sums: dict[str, tuple[str, ...]] = {}

    def write(name: str, data: str | bytes) -> None:
        content = data.encode("utf-8") if isinstance(data, str) else data
        write_atomically(folder / name, content)
        sums[name] = (sha256(content),)

    yield write
    _write_manifest(folder, sums)


def replace_file(folder: Path, name: str, data: str | bytes) -> None:
    """Write a file of a folder and update its manifest, if it has one; a crash at any time leaves a valid folder.

    While the file is replaced, the manifest lists the checksums of both contents.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    listed = Manifest.of(folder).files
    if listed is not None and name in listed:
        _write_manifest(folder, {**listed, name: (*listed[name], sha256(content))})
    write_atomically(folder / name, content)
    if listed is not None:
        _write_manifest(folder, {**listed, name: (sha256(content),)})


def _write_manifest(folder: Path, sums: Mapping[str, tuple[str, ...]]) -> None:
    values = {"format": FORMAT, "version": VERSION, "files": {name: list(sums[name]) for name in sorted(sums)}}
    write_atomically(folder / MANIFEST, json.dumps(values, indent=2) + "\n")
