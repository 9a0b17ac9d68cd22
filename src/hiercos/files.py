"""Atomic, durable writing of files, and checks of input and output paths. Plain Python, open to every package.

A regular file is written under a temporary name in its own folder, forced to disk and renamed. Devices, pipes and the
process's own streams (`/dev/stdout`) are written directly, and symbolic links are followed.
"""

import csv
import errno
import io
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from hiercos.errors import DataError, FaultsError

try:
    import fcntl
except ImportError:  # Windows has no such locks: temporary files of other processes are kept for a day
    fcntl = None  # type: ignore[assignment]

PREFIX, ENDING = ".hiercos-", ".tmp"  # of temporary files; short, because the longest names leave no room
DAY = 86400.0  # seconds
WRITER_SECONDS = 2.0  # time in which a pipe that is read has to get a writer
FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, getattr(errno, "EDQUOT", errno.ENOSPC))  # of writing
_swept: set[str] = set()  # folders whose stale temporary files this process has removed


def csv_text(rows: Iterable[Iterable[Any]], delimiter: str = ",") -> str:
    r"""Rows as CSV text with \n at the end of each; a cell that holds a line end of any kind is quoted.

    Python's writer quotes only the characters of its own line end, so it writes \r\n here, which is shortened.

    Example:
        >>> csv_text([["a\rb", "c"]])
        '"a\rb",c\n'
    """
    text = io.StringIO(newline="")
    csv.writer(_ShortLineEnds(text), delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


class _ShortLineEnds:
    """Receiver of the lines of a CSV writer, each with its line end shortened to a line feed."""

    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream

    def write(self, line: str) -> int:
        """Write a line that ends with a carriage return and a line feed."""
        return self.stream.write(line[:-2] + "\n")


def write_atomically(path: str | os.PathLike[str], data: str | bytes, *, sync_name: bool = True) -> None:
    """Write a file under a temporary name in its own folder, then rename it into place.

    A reader sees the old file or the new one, never a partial one, and nothing is left behind on failure.

    Args:
        path: file to write or replace; its folder must exist.
        data: content of the file; text is encoded as UTF-8, with unchanged line ends.
        sync_name: see `written_atomically`.

    Raises:
        OSError: if the folder is missing or cannot be written.
    """
    content = data.encode("utf-8") if isinstance(data, str) else data
    with written_atomically(path, sync_name=sync_name) as stream:
        stream.write(content)


@contextmanager
def written_atomically(path: str | os.PathLike[str], *, sync_name: bool = True) -> Iterator[BinaryIO]:
    """Stream that writes a file piece by piece and renames it into place at the end of the block.

    The content and the new name are on disk at the end of the block. An existing file keeps its mode, and its owner
    where the system allows it; a symbolic link stays one and the file behind it is replaced. A device or a pipe is
    written directly.

    Args:
        path: file to write or replace; its folder must exist.
        sync_name: False if the caller forces the names in the folder to disk (`sync_folder`) after its last file.

    Raises:
        OSError: if the file cannot be written; the message names `path`, never the temporary file.
    """
    if _is_stream(Path(path)):
        with named_when_full(path), open(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as stream:
            yield stream
        return
    with _named(path) as target:
        temporary = target.with_name(f"{PREFIX}{secrets.token_hex(6)}{ENDING}")
    try:
        with _named(path), named_when_full(path), temporary.open("xb") as stream:
            _lock(stream)
            _copy_ownership(target, stream.fileno())
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with _named(path):
            os.replace(temporary, target)
            if sync_name:
                sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def named_when_full(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give errors of a full disk or a closed stream, which come without a name, that of a path."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno not in FULL:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


@contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The file behind a path, links followed; errors of the operating system inside name the path itself."""
    try:
        yield _target(Path(path))
    except OSError as error:
        if error.errno is None or error.filename is None:
            raise
        hidden = {os.fspath(name) for name in (error.filename, error.filename2) if isinstance(name, str | os.PathLike)}
        if not any(Path(name).name.startswith(PREFIX) or Path(name) == _resolved(path) for name in hidden):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _target(path: Path) -> Path:
    """The file that is replaced when a path is written; an OSError if it cannot be."""
    target = _resolved(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such folder", str(path.parent))
    sweep_temporaries(target.parent)
    try:
        mode = os.stat(path).st_mode  # also for a name that is too long, and a circle of links
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "The file is read-only", str(path))
    return target


def _resolved(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or an open stream of this process, which are written without a rename."""
    folder = os.path.realpath(path.parent)
    if folder == "/dev" or folder.startswith("/proc/"):  # /dev/stdout may lead to a regular file: append to it
        return path.exists()
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _copy_ownership(target: Path, descriptor: int) -> None:
    """Give a new file the mode of the one that it replaces, and its owner where the system allows it."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    if hasattr(os, "fchown"):
        with suppress(PermissionError):  # only an administrator may give files away; the mode is what protects them
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.chmod(descriptor if os.chmod in os.supports_fd else target, stat.S_IMODE(old.st_mode))


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk, after a rename; does nothing where folders cannot be opened (Windows)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems sync at close instead
            raise
    finally:
        os.close(descriptor)


def _lock(stream: BinaryIO) -> None:
    """Mark a temporary file as in use; the mark disappears with the process."""
    if fcntl is not None:
        with suppress(OSError):  # a file system without locks: the file is swept a day later
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sweep_temporaries(folder: Path, *, again: bool = False) -> None:
    """Remove temporary files that ended processes left in a folder, once in each process.

    Args:
        folder: folder to look through, without its subfolders.
        again: whether to look again if this process did before.
    """
    if str(folder) in _swept and not again:
        return
    _swept.add(str(folder))
    with os.scandir(folder) as entries:
        stale = [Path(entry.path) for entry in entries if _is_temporary(entry.name)]
    for file in stale:
        if _is_abandoned(file):
            file.unlink(missing_ok=True)


def _is_temporary(name: str) -> bool:
    return name.startswith(PREFIX) and name.endswith(ENDING)


def _is_abandoned(file: Path) -> bool:
    """Whether no process writes a temporary file any more."""
    try:
        with file.open("rb") as stream:
            if fcntl is None:
                return time.time() - file.stat().st_mtime > DAY
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # in use, removed meanwhile, or another user's
        return False
    return True


def check_writable(path: str | os.PathLike[str]) -> None:
    """Try whether a file can be written, without changing it.

    Raises:
        OSError: with the path, if its folder is missing or read-only, or the name is too long or that of a folder.
    """
    if _is_stream(Path(path)):
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return
    with _named(path) as target:
        _try_folder(target.parent)


def check_folder_writable(folder: str | os.PathLike[str]) -> None:
    """Try whether files can be written to a folder, which is made and removed again if it is missing.

    Raises:
        OSError: with the folder that cannot be made or written to.
    """
    place = Path(folder)
    missing = [each for each in (place, *place.parents) if not os.path.lexists(each)]
    made: list[Path] = []
    try:
        for each in reversed(missing):
            each.mkdir()
            made.append(each)
        if not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "Expected a folder, got a file", str(place))
        _try_folder(place)
    finally:
        for each in reversed(made):
            each.rmdir()


def _try_folder(folder: Path) -> None:
    """Make and remove a temporary file; an OSError that names the folder if that fails."""
    trial = folder / f"{PREFIX}{secrets.token_hex(6)}{ENDING}"
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one existing file or folder."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them does not exist
        return False


def first_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Content of a file, or of a pipe such as the output of another command, up to a number of bytes.

    Raises:
        OSError: if it cannot be read, or if nobody opens the pipe and writes for `WRITER_SECONDS`.
    """
    if not stat.S_ISFIFO(os.stat(path).st_mode):
        with open(path, "rb") as file:
            return file.read(most)
    latest = time.monotonic() + WRITER_SECONDS
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as pipe:
        while (first := pipe.read(min(most, io.DEFAULT_BUFFER_SIZE))) == b"":  # None if somebody is about to write
            if time.monotonic() > latest:
                raise TimeoutError(errno.ETIMEDOUT, "nobody writes into this pipe", os.fspath(path))
            time.sleep(0.01)
        os.set_blocking(pipe.fileno(), True)
        first = first or b""
        with io.BufferedReader(pipe) as rest:
            return first + rest.read(most - len(first))


def check_regular(path: str | Path, error: type[FaultsError] = DataError) -> None:
    """Raise an error for a pipe, a device or a socket, which could block or never end.

    Args:
        path: file to check; links are followed.
        error: type of the error.

    Raises:
        OSError: if there is no such file.
    """
    try:
        mode = os.stat(path).st_mode
    except ValueError as fault:  # a name with a null character
        raise error(f"{str(path)!r}: expected the name of a file ({fault})") from fault
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise error(f"{path}: expected a file, this is {kind}")
