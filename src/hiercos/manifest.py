"""Manifests: the commit point of a folder, with the SHA-256 of each of its files. Plain Python, open to every package.

The files of a folder are written first and the manifest last, so a folder with a manifest is complete. Every file is
checked as it is read. A file that the manifest does not list is no part of the folder.

A folder that has a manifest is replaced without being lost: the new files are written under other names, a manifest
that says so is the commit point, and then they are renamed one by one. A manifest that is read before or after a crash
gives the old folder or the new one, never a mixture.

A reader opens all listed files together with the manifest, and opens them again if another manifest has come meanwhile.
The open files outlive a rename, so what is read later belongs to this manifest whatever other processes do.

Of large files the manifest holds the SHA-256 of parts, too, so that several threads can compare one file with it.
"""

import hashlib
import io
import json
import os
import stat
import time
import weakref
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from hiercos.errors import FaultsError
from hiercos.files import check_regular, sync_folder, write_atomically
from hiercos.options import json_object

MANIFEST, FORMAT, VERSION = "manifest.json", "hiercos-manifest", 1
PENDING = "pending"  # key of a manifest whose files are being renamed
PARTS = "parts"  # key of the checksums of the parts of large files
SMALL = 1 << 20  # bytes below which hashing takes less time than starting a thread while other programs use all cores
HASHERS = max(1, min(4, (os.cpu_count() or 1) - 1))  # threads that hash beside the one that loads
NEXT = ".hiercos-next-"  # prefix of the temporary names of new files
LONGEST_WAIT = 10.0  # seconds to wait for a moment in which nobody replaces the folder
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe is opened without waiting


class ManifestError(FaultsError):
    """A folder whose files are not those that were written, or that was not written completely."""


class Part(NamedTuple):
    """A part of a large file: its size in bytes and its SHA-256."""

    size: int
    sha256: str


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


class BackgroundChecks:
    """Checksums that other threads compute while the content is used already.

    Args:
        pool: threads.
    """

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._checks: list[tuple[Future[str], memoryview, Container[str], Path]] = []

    def add(self, part: memoryview, expected: Container[str], path: Path) -> None:
        """Begin to compute the SHA-256 of a file or a part of it, which should be one of those expected."""
        self._checks.append((self._pool.submit(sha256, part), part, expected, path))

    def finish(self) -> None:
        """Wait for all checksums; this thread computes those that are not begun, from the last one.

        Raises:
            ManifestError: if one of them is not as expected.
        """
        for digest, part, expected, path in reversed(self._checks):
            if (sha256(part) if digest.cancel() else digest.result()) not in expected:
                raise _changed(path)


@dataclass(frozen=True)
class Manifest:
    """Files of a folder with their checksums.

    Attributes:
        folder: folder with the files.
        files: SHA-256 of each file by name; two of them while the file is being replaced. None for a folder without a
            manifest, whose files are read unchecked: one of an earlier version, or an unfinished one.
        is_pending: whether files may still have the names that they were written under, see `NEXT`.
        opened: listed files that exist, by name.
        parts: size and SHA-256 of each part of large files, by name; not of a file that is being replaced.
        background: checks that are finished later, see `checked_in_background`; None for checks at once.
    """

    folder: Path
    files: Mapping[str, tuple[str, ...]] | None
    is_pending: bool = False
    opened: Mapping[str, OpenFile] = field(default_factory=dict, repr=False, compare=False)
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict, repr=False)
    background: BackgroundChecks | None = field(default=None, repr=False, compare=False)

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
            sums, is_pending, parts = _listed(path, current.content())
            opened = {name: file for name in sums if (file := _opened(folder, name, is_pending=is_pending))}
            if current.is_at(path):  # files are renamed only after another manifest has come
                return cls(folder, sums, is_pending, opened, parts)
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
        if not verify or self.files is None:
            return content
        if self.background is not None and len(content) >= SMALL:
            self._begin_check(name, memoryview(content), self.background)
        elif sha256(content) not in self.files[name]:
            raise _changed(self.folder / name)
        return content

    @contextmanager
    def checked_in_background(self) -> Iterator["Manifest"]:
        """This manifest, whose large files are compared with their checksums by other threads while the block runs.

        Nothing that the block made of their content may be used before its end. An error in the block gives way to that
        of a file that was changed.
        """
        with ThreadPoolExecutor(max_workers=HASHERS) as pool:
            checks = BackgroundChecks(pool)
            try:
                yield replace(self, background=checks)
            finally:
                checks.finish()

    def _begin_check(self, name: str, content: memoryview, checks: BackgroundChecks) -> None:
        """Begin to compare the parts of a listed file with their checksums, or the whole if they are not listed."""
        assert self.files is not None
        path, parts = self.folder / name, self.parts.get(name, ())
        if sum(part.size for part in parts) != len(content):
            checks.add(content, self.files[name], path)
            return
        for part in parts:
            checks.add(content[: part.size], (part.sha256,), path)
            content = content[part.size :]

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


def _changed(path: Path) -> ManifestError:
    return ManifestError(f"{path}: the file was changed after it was written (its SHA-256 differs)")


def _listed(path: Path, content: bytes) -> tuple[dict[str, tuple[str, ...]], bool, dict[str, list[Part]]]:
    """Checksums by name in a manifest, whether its files are being renamed, and the parts of large files by name.

    Raises:
        ManifestError: if it is damaged.
    """
    values = json_object(path, content, ManifestError)
    files, parts = values.get("files"), values.get(PARTS, {})
    is_known = (values.get("format"), values.get("version")) == (FORMAT, VERSION)
    if not is_known or not _are_lists(files, _is_sum) or not _are_lists(parts, _is_part):
        raise ManifestError(f"{path}: expected a {FORMAT} of version {VERSION}, it was changed")
    sums = {name: tuple(each) for name, each in files.items()}
    return sums, values.get(PENDING) is True, {name: [Part(*part) for part in each] for name, each in parts.items()}


def _are_lists(values: Any, is_valid: Callable[[Any], bool]) -> TypeGuard[dict[str, list[Any]]]:
    """Whether these are lists of valid values by the name of a file, none of them empty."""
    return isinstance(values, dict) and all(
        _is_file_name(name) and isinstance(each, list) and each and all(map(is_valid, each))
        for name, each in values.items()
    )


def _is_sum(value: Any) -> bool:
    return isinstance(value, str)


def _is_part(value: Any) -> bool:
    return isinstance(value, list) and [type(each) for each in value] == [int, str] and value[0] > 0


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


def sha256(content: bytes | memoryview) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _parts(content: bytes) -> list[Part]:
    """Parts of a large file, each half of the rest or `SMALL`: the first ones are long, the last ones even out threads.

    A thread needs the interpreter lock after each part, for which it waits while another thread runs Python code; hence
    there are few.
    """
    rest, parts = memoryview(content), []
    while rest and len(content) >= SMALL:
        size = min(len(rest), max(SMALL, len(rest) // 2))
        parts.append(Part(size, sha256(rest[:size])))
        rest = rest[size:]
    return parts


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
    _check_replaceable(folder / MANIFEST)
    try:
        finish_renaming(folder)
    except BusyFolderError:
        raise
    except ManifestError:  # a damaged folder, which cannot be read any more
        (folder / MANIFEST).unlink()
    is_replaced = any((folder / name).is_file() for name in (MANIFEST, earlier))
    sums: dict[str, tuple[str, ...]] = {}
    parts: dict[str, Sequence[Part]] = {}

    def write(name: str, data: str | bytes) -> None:
        content = data.encode("utf-8") if isinstance(data, str) else data
        _check_replaceable(folder / name)
        write_atomically(folder / (f"{NEXT}{name}" if is_replaced else name), content, sync_name=False)
        sums[name] = (sha256(content),)
        parts[name] = _parts(content)

    yield write
    sync_folder(folder)
    _write_manifest(folder, sums, parts, is_pending=is_replaced)
    finish_renaming(folder)


def _check_replaceable(path: Path) -> None:
    """Raise a `ManifestError` for a pipe or a device, which would be written into and could wait for a reader."""
    if path.exists():
        check_regular(path, ManifestError)


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
        _write_manifest(folder, manifest.files, manifest.parts)


def replace_file(folder: Path, name: str, data: str | bytes) -> None:
    """Write a file of a folder and update its manifest, if it has one; a crash at any time leaves a valid folder.

    While the file is replaced, the manifest lists the checksums of both contents.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    for each in (MANIFEST, name):
        _check_replaceable(folder / each)
    finish_renaming(folder)
    manifest = Manifest.of(folder)
    listed, parts = manifest.files, {**manifest.parts, name: ()}
    if listed is not None and name in listed:
        _write_manifest(folder, {**listed, name: (*listed[name], sha256(content))}, parts)
    write_atomically(folder / name, content)
    if listed is not None:
        _write_manifest(folder, {**listed, name: (sha256(content),)}, parts)


def _write_manifest(
    folder: Path, sums: Mapping[str, tuple[str, ...]], parts: Mapping[str, Sequence[Part]], *, is_pending: bool = False
) -> None:
    """Write the checksums of files, and those of the parts of some of them."""
    divided = {name: [list(part) for part in parts[name]] for name in sorted(parts) if parts[name]}
    values = {
        "format": FORMAT,
        "version": VERSION,
        "files": {name: list(sums[name]) for name in sorted(sums)},
        **({PARTS: divided} if divided else {}),
        **({PENDING: True} if is_pending else {}),
    }
    write_atomically(folder / MANIFEST, json.dumps(values, indent=2) + "\n")
