"""Files and folders that are whole or absent. Plain Python, open to every package.

A file is written under a temporary name beside it, forced to disk and renamed. A committed folder has a `config.json`,
written last, with the SHA-256 of each of its files and of itself; a file that it does not list does not belong to it.

To replace a committed folder, the new files are written under other names, then the new `config.json`, then they get
their own names. A reader takes the file with the right checksum under either name, so that an end at any time leaves
the old folder or the new one.
"""

import csv
import errno
import hashlib
import json
import os
import secrets
import stat
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from hiercos.checks import json_object
from hiercos.errors import DataError, FaultsError

CONFIG, FILES, DIGEST = "config.json", "files", "sha256"  # the last file of a folder, and its keys with checksums
LOCK = ".lock"
HIDDEN = ".hiercos-"  # prefix of the names of files that are not finished; short, for the longest names
NEXT = f"{HIDDEN}next-"  # prefix of a file that replaces one of a committed folder
FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, getattr(errno, "EDQUOT", errno.ENOSPC))  # of writing


class StorageError(FaultsError):
    """A folder that is not whole, or that another process writes to."""


def csv_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    r"""Rows as CSV text with \n at the end of each; a cell that holds a line end of any kind is quoted.

    Python's writer quotes only the characters of its own line end, so it writes \r\n here, which is shortened.

    Example:
        >>> csv_text([["a\rb", "c"]])
        '"a\rb",c\n'
    """
    lines: list[str] = []
    csv.writer(SimpleNamespace(write=lines.append), delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return "".join(f"{line[:-2]}\n" for line in lines)


def write(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file completely or not at all; text is encoded as UTF-8, with unchanged line ends. See `writing`."""
    with writing(path) as stream:
        stream.write(data.encode("utf-8") if isinstance(data, str) else data)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Stream whose content gets the name of a file at the end of the block; nothing is left after an error.

    A symbolic link stays one and the file behind it is replaced. A device or a pipe is written directly.
    """
    if _is_stream(path):
        with named_errors(path), open(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f"{HIDDEN}{secrets.token_hex(6)}")
    with named_errors(path, temporary):
        _check_replaceable(path)
        try:
            with temporary.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
            _sync_names(target.parent)
        finally:
            with suppress(OSError):
                temporary.unlink()


def _is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a device, a pipe or an open stream of this process; /dev/stdout may lead to a regular file."""
    place = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    is_opened = place == "/dev" or place.startswith(("/dev/fd", "/proc/"))
    return os.path.exists(path) and (is_opened or not (os.path.isfile(path) or os.path.isdir(path)))


def _check_replaceable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError for a folder, a read-only file, a name that is too long and a circle of links."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "The file is read-only", os.fspath(path))


@contextmanager
def named_errors(path: str | os.PathLike[str], temporary: Path | None = None) -> Iterator[None]:
    """Give the name of a path to errors of a full disk, which have none, and to those of its temporary file."""
    try:
        yield
    except OSError as error:
        is_unnamed = error.filename is None and error.errno in FULL
        if is_unnamed or (temporary is not None and str(error.filename) == str(temporary)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _sync_names(folder: Path) -> None:
    """Force the names in a folder to disk; does nothing where folders cannot be opened (Windows)."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # some network file systems sync at close instead
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if a file could not be written, without changing it; a trial is made in its folder."""
    if _is_stream(path):
        return
    _check_replaceable(path)
    place = os.path.dirname(os.path.realpath(path))
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise OSError(error.errno, error.strerror, place) from error


def check_regular(path: str | os.PathLike[str], error: type[FaultsError] = DataError) -> None:
    """Raise an error of this type for a folder, a pipe or a device, which could block or never end."""
    try:
        mode = os.stat(path).st_mode
    except ValueError as fault:  # a name with a null character
        raise error(f"{os.fspath(path)!r}: expected the name of a file ({fault})") from fault
    if not stat.S_ISREG(mode):
        raise error(f"{path}: expected a file, this is {'a folder' if stat.S_ISDIR(mode) else 'a pipe or a device'}")


@contextmanager
def folder(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is made if it is missing, and removed again if nothing was written to it.

    The lock ends with its process. What ended processes left unfinished is completed or removed.
    """
    missing = [each for each in (path, *path.parents) if not os.path.lexists(each)]
    path.mkdir(parents=True, exist_ok=True)
    place = os.path.join(os.path.realpath(path), LOCK)
    lock = FileLock(place, blocking=False, is_singleton=True)  # a thread may hold it twice
    try:
        with lock:
            if lock.lock_counter == 1:
                _settle(path)
            try:
                yield
            finally:
                if lock.lock_counter == 1:
                    with suppress(OSError):  # Windows keeps an open file
                        os.unlink(place)
    except Timeout as error:
        raise StorageError(
            f"{path}: another process is writing to this folder; wait for it, or choose another folder"
        ) from error
    finally:
        with suppress(OSError):  # no longer empty
            for each in missing:
                each.rmdir()


def _settle(path: Path) -> None:
    """Finish or undo the commit of an ended process, and remove its temporary files."""
    sums: Mapping[str, str] = {}
    with suppress(StorageError):
        sums = opened(path).sums
    for file in [*path.glob(f"{HIDDEN}*"), *path.glob(f"*/{HIDDEN}*")]:
        target = file.with_name(file.name.removeprefix(NEXT))
        if file.is_file() and sums.get(target.relative_to(path).as_posix()) == sha256(file.read_bytes()):
            os.replace(file, target)
        else:
            file.unlink(missing_ok=True)


def sha256(content: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def commit(path: Path, files: Mapping[str, str | bytes], config: Mapping[str, Any]) -> None:
    """Write a folder of files, or replace one; `config.json` is written last.

    Args:
        path: folder, created if missing. Files of an earlier commit that are not written again are removed.
        files: content of each file by name, which may stand one folder below.
        config: JSON values that `config.json` holds beside the checksums.
    """
    with folder(path):
        _commit(path, files, config, {})


def update(path: Path, files: Mapping[str, str | bytes]) -> None:
    """Replace files of a committed folder, or add some; see `commit`."""
    with folder(path):
        found = opened(path)
        _commit(path, files, found.config, found.sums)


def _commit(path: Path, files: Mapping[str, str | bytes], config: Mapping[str, Any], kept: Mapping[str, str]) -> None:
    is_replaced, old, sums = (path / CONFIG).exists(), {}, dict(kept)
    with suppress(StorageError):
        old = dict(opened(path).sums)
    for name in (*files, CONFIG):
        if (path / name).exists():
            check_regular(path / name, StorageError)
    for name, data in files.items():
        content, target = data.encode("utf-8") if isinstance(data, str) else data, path / name
        target.parent.mkdir(exist_ok=True)
        write(_next(target) if is_replaced else target, content)
        sums[name] = sha256(content)
    values = {**config, FILES: sums}
    write(path / CONFIG, json.dumps({**values, DIGEST: _digest(values)}, indent=2) + "\n")
    for name in files if is_replaced else ():
        os.replace(_next(path / name), path / name)
    for name in old.keys() - sums.keys():
        (path / name).unlink(missing_ok=True)
    _sync_names(path)


def _next(path: Path) -> Path:
    return path.with_name(f"{NEXT}{path.name}")


def _digest(values: Mapping[str, Any]) -> str:
    """SHA-256 of JSON values, however they are laid out in a file."""
    return sha256(json.dumps(values, sort_keys=True).encode())


@dataclass(frozen=True)
class Folder:
    """A committed folder, as its `config.json` was when it was opened."""

    path: Path  # the folder
    config: Mapping[str, Any]  # JSON values of `config.json`, without checksums
    sums: Mapping[str, str]  # SHA-256 of each file by name

    def __contains__(self, name: str) -> bool:
        return name in self.sums

    def content(self, name: str) -> bytes:
        """Content of a listed file, compared with its checksum."""
        path = self.path / name
        found = [each for each in (path, _next(path)) if each.exists()]
        for each in found:
            check_regular(each, StorageError)
            with suppress(FileNotFoundError):  # renamed meanwhile
                content = each.read_bytes()
                if sha256(content) == self.sums[name]:
                    return content
        if opened(self.path).sums != self.sums:
            raise StorageError(f"{self.path}: another process replaced this folder while it was read; try again")
        missing, changed = f"the file is missing, but {CONFIG} lists it", "the file was changed after it was written"
        raise StorageError(f"{path}: {f'{changed} (its SHA-256 differs)' if found else missing}")

    def check(self, optional: Container[str] = ()) -> None:
        """Compare all files with their checksums; see `content`."""
        for name in self.sums:
            if name not in optional or (self.path / name).exists():
                self.content(name)


def opened(path: "str | Path | Folder") -> Folder:
    """Open a committed folder; one that is open already is returned, so that its files belong together."""
    if isinstance(path, Folder):
        return path
    file = Path(path) / CONFIG
    if not file.exists():
        raise StorageError(f"{path}: not a folder that hiercos wrote, or not completely; it has no {CONFIG}")
    check_regular(file, StorageError)
    values = json_object(file, file.read_bytes(), StorageError)
    digest, sums = values.pop(DIGEST, None), values.get(FILES)
    if digest is None or not isinstance(sums, dict) or not all(map(_is_inside, sums)):
        raise StorageError(f"{file}: expected the checksums of the files of a folder that hiercos wrote")
    if digest != _digest(values):
        raise StorageError(f"{file}: the file was changed after it was written (its SHA-256 differs)")
    return Folder(Path(path), {name: value for name, value in values.items() if name != FILES}, sums)


def _is_inside(name: str) -> bool:
    """Whether the name of a file leads nowhere but into its folder."""
    return not ("\\" in name or "\0" in name or {"/", ".."} & {*PurePosixPath(name).parts})


def cache_folder(name: str) -> Path:
    """Folder of files that can be made again: `name` in the folder HIERCOS_CACHE, by default `~/.cache/hiercos`."""
    root = os.environ.get("HIERCOS_CACHE")
    return (Path(root) if root else Path.home() / ".cache" / "hiercos") / name
