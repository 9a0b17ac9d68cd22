"""Manifests: the commit point of a folder, with the SHA-256 of each of its files. Plain Python, open to every package.

The files of a folder are written first and the manifest last, so a folder with a manifest is complete. Every file is
checked as it is read. A file that the manifest does not list is no part of the folder.

A folder that has a manifest is replaced without being lost: the new files are written under other names, a manifest
that says so is the commit point, and then they are renamed one by one. A manifest that is read before or after a crash
gives the old folder or the new one, never a mixture.

A reader opens all listed files together with the manifest, and opens them again if another manifest has come meanwhile.
The open files outlive a rename, so what is read later belongs to this manifest whatever other processes do.
"""

import hashlib
import io
import json
import os
import stat
import time
import weakref
from collections.abc import Callable, Container, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hiercos.errors import FaultsError
from hiercos.files import sync_folder, write_atomically
from hiercos.options import json_object

MANIFEST, FORMAT, VERSION = "manifest.json", "hiercos-manifest", 1
PENDING = "pending"  # key of a manifest whose files are being renamed
SMALL = 1 << 20  # bytes below which hashing takes less time than starting another thread on a busy machine
NEXT = ".hiercos-next-"  # prefix of the temporary names of new files
LONGEST_WAIT = 10.0  # seconds to wait for a moment in which nobody replaces the folder
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe is opened without waiting


class ManifestError(FaultsError):
    """A folder whose files are not those that were written, or that was not written completely."""


class BusyFolderError(ManifestError):
    """A folder that other processes replace all the time."""


class OpenFile:
    """A file that stays open, and so readable, when its name is given to another one; closed with this object.

    Raises:
        FileNotFoundError: if there is no such file.
        ManifestError: for a folder, a pipe or a device.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, READING)
        weakref.finalize(self, os.close, self._descriptor)
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise ManifestError(f"{path}: expected a file, this is a folder, a pipe or a device")

    def content(self) -> bytes:
        """Content of the file."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        with io.FileIO(self._descriptor, closefd=False) as stream:
            return stream.readall()

    def is_at(self, path: Path) -> bool:
        """Whether a path leads to this file."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        except FileNotFoundError:
            return False


@dataclass(frozen=True)
class Manifest:
    """Files of a folder with their checksums.

    Attributes:
        folder: folder with the files.
        files: SHA-256 of each file by name; two of them while the file is being replaced. None for a folder without a
            manifest, whose files are read unchecked: one of an earlier version, or an unfinished one.
        is_pending: whether files may still have the names that they were written under, see `NEXT`.
        opened: listed files that exist, by name.
    """

    folder: Path
    files: Mapping[str, tuple[str, ...]] | None
    is_pending: bool = False
    opened: Mapping[str, OpenFile] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, folder: Path) -> "Manifest":
        """Read the manifest of a folder and open its files, all of them old or all new if the folder is replaced.

        Raises:
            ManifestError: for a damaged manifest, or a folder that is replaced all the time.
        """
        path, end = folder / MANIFEST, time.monotonic() + LONGEST_WAIT
        while path.exists():
            try:
                current = OpenFile(path)
            except FileNotFoundError:  # removed meanwhile
                continue
            sums, is_pending = _listed(path, current.content())
            opened = {name: file for name in sums if (file := _opened(folder, name, is_pending=is_pending))}
            if current.is_at(path):  # files are renamed only after another manifest has come
                return cls(folder, sums, is_pending, opened)
            if time.monotonic() > end:
                raise BusyFolderError(f"{folder}: other processes replace this folder all the time; try again later")
        return cls(folder, None)

    @classmethod
    def at(cls, folder: "str | Path | Manifest") -> "Manifest":
        """The manifest of a folder; one that was read before is returned, so that its files belong together."""
        return folder if isinstance(folder, Manifest) else cls.of(Path(folder))

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file() if self.files is None else name in self.files

    def check(self, optional: Container[str] = ()) -> None:
        """Compare all listed files with their checksums.

        Args:
            optional: names of files that may be missing.

        Raises:
            ManifestError: if a file is missing or was changed.
        """
        for name in self.files or ():
            if name in self.opened or name not in optional:
                self.content(name)

    def is_removed(self, name: str) -> bool:
        """Whether a listed file does not exist any more."""
        return self.files is not None and name in self.files and name not in self.opened

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
        if len(content) < SMALL:
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
        path = self.folder / name
        if self.files is None:
            content = path.read_bytes()
            if (self.folder / MANIFEST).exists():
                raise ManifestError(f"{self.folder}: another process wrote this folder at the same time; try again")
            return content
        if name not in self.files:
            raise ManifestError(f"{path}: not listed in {MANIFEST}, so it is no part of this folder")
        if name not in self.opened:
            raise ManifestError(f"{path}: the file is missing, but {MANIFEST} lists it")
        return self.opened[name].content()

    def _compare(self, name: str, digest: str) -> None:
        if self.files is not None and digest not in self.files[name]:
            path = self.folder / name
            raise ManifestError(f"{path}: the file was changed after it was written (its SHA-256 differs)")


def _listed(path: Path, content: bytes) -> tuple[dict[str, tuple[str, ...]], bool]:
    """Checksums by name in a manifest, and whether its files are being renamed; a `ManifestError` if it is damaged."""
    values = json_object(path, content, ManifestError)
    if (values.get("format"), values.get("version")) != (FORMAT, VERSION) or not _are_checksums(values):
        raise ManifestError(f"{path}: expected a {FORMAT} of version {VERSION}, it was changed")
    return {name: tuple(sums) for name, sums in values["files"].items()}, values.get(PENDING) is True


def _are_checksums(values: Mapping[str, Any]) -> bool:
    files = values.get("files")
    return isinstance(files, dict) and all(
        _is_file_name(name) and isinstance(sums, list) and sums and all(isinstance(each, str) for each in sums)
        for name, sums in files.items()
    )


def _is_file_name(name: str) -> bool:
    """Whether a name is that of a file in the folder itself: a manifest opens nothing elsewhere."""
    return name not in ("", os.curdir, os.pardir) and not any(each in name for each in ("/", "\\", "\0"))


def _opened(folder: Path, name: str, *, is_pending: bool) -> OpenFile | None:
    """A listed file, under its temporary name if it has not been renamed; None if there is none."""
    for each in (f"{NEXT}{name}", name) if is_pending else (name,):
        try:
            return OpenFile(folder / each)
        except FileNotFoundError:
            continue
    return None


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
        earlier: name of a file that marks a complete folder of a version without manifests.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        finish_renaming(folder)
    except BusyFolderError:
        raise
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
