"""Download of archives into the data root: complete, with a verified checksum, and never outside the root."""

import hashlib
import http.client
import secrets
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any
from urllib.parse import urlsplit

CHUNK = 1 << 20  # bytes read at a time


class Checksum:
    """Incremental checksum.

    Args:
        kind: hash function of hashlib, such as "md5" or "sha1".
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._digest = hashlib.new(kind, usedforsecurity=False)

    def update(self, content: bytes) -> None:
        """Add some bytes."""
        self._digest.update(content)

    def __str__(self) -> str:
        return f"{self._kind}:{self._digest.hexdigest()}"


def checksum(source: bytes | Path, kind: str) -> str:
    """Checksum of bytes or of a file, which is read in chunks.

    Example:
        >>> checksum(b"abc", "md5")
        'md5:900150983cd24fb0d6963f7d28e17f72'
    """
    result = Checksum(kind)
    for chunk in _chunks(source) if isinstance(source, Path) else (source,):
        result.update(chunk)
    return str(result)


def has_checksum(source: bytes | Path, published: str) -> bool:
    """Whether bytes or a file have a published checksum."""
    return checksum(source, published.partition(":")[0]) == published


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


TIMEOUT = 30  # seconds without data
Progress = Callable[[int, int], None]  # called with the bytes received and the total


class DownloadError(Exception):
    """A download that failed: no network, no disk space, or a wrong checksum."""


@dataclass(frozen=True)
class Download:
    """A .tar.gz archive that holds a data set or a part of it.

    Attributes:
        url: address of the archive.
        size: published size in bytes, exact or rounded.
        checksum: published checksum, such as `md5:…`; "" if none is published.
        folder: folder below the data root to extract into; "" for the root itself.
        members: files and folders that the archive contains.
    """

    url: str
    size: int
    checksum: str
    folder: str
    members: tuple[str, ...]

    @property
    def name(self) -> str:
        """File name of the archive."""
        return PurePosixPath(urlsplit(self.url).path).name

    def is_done(self, root: Path) -> bool:
        """Whether all members exist."""
        return all((root / self.folder / member).exists() for member in self.members)


def fetch(download: Download, root: Path, progress: Progress) -> None:
    """Download an archive, check it, extract it and remove it; an archive that is already there is used and kept.

    Args:
        download: archive to fetch.
        root: data root; created if missing.
        progress: callback with the bytes received and the total.

    Raises:
        DownloadError: if the download fails, or would replace a file or folder; nothing of it is left then.
        OSError: if the root cannot be written.
    """
    folder = root / download.folder
    folder.mkdir(parents=True, exist_ok=True)
    if existing := [member for member in download.members if (folder / member).exists()]:
        raise DownloadError(f"{folder / existing[0]} already exists: move it away first, it is not replaced")
    archive = folder / download.name
    if archive.is_file() and download.checksum and has_checksum(archive, download.checksum):
        _extract(archive, folder, download.name)
        return
    _check_room(download, folder)
    received = _temporary(archive)
    try:
        _receive(download, received, progress)
        _extract(received, folder, download.name)
    finally:
        received.unlink(missing_ok=True)


def _check_room(download: Download, folder: Path) -> None:
    """Raise a DownloadError without disk space for the archive and its content, which is about as large (JPEGs)."""
    free = shutil.disk_usage(folder).free
    if free < 2 * download.size:
        raise DownloadError(
            f"{folder}: expected disk space for the archive and its content, {shown_size(2 * download.size)}, "
            f"got {shown_size(free)}"
        )


def _receive(download: Download, target: Path, progress: Progress) -> None:
    """Write the archive to a new file and check it."""
    request = urllib.request.Request(download.url, headers={"User-Agent": "hiercos"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer, target.open("xb") as file:
            received = _copy(answer, file, download, progress)
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{download.url} cannot be downloaded: {error}") from error
    except urllib.error.URLError as error:
        raise DownloadError(f"{download.url} cannot be downloaded: {error.reason}") from error
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DownloadError(f"{download.url} cannot be downloaded: the connection ended early ({error})") from error
    if download.checksum and received != download.checksum:
        raise DownloadError(f"{download.url}: expected the checksum {download.checksum}, got {received}")


def _copy(answer: Any, file: IO[bytes], download: Download, progress: Progress) -> str:
    """Write the response in chunks and return its checksum."""
    result = Checksum(download.checksum.partition(":")[0] or "md5")
    total = int(answer.headers.get("Content-Length") or 0)
    done = 0
    while chunk := answer.read(CHUNK):
        file.write(chunk)
        result.update(chunk)
        done += len(chunk)
        progress(done, max(total or download.size, done))
    if total and done != total:
        raise DownloadError(f"{download.url}: expected {total:,} bytes, got {done:,}: the connection ended early")
    return str(result)


def _extract(archive: Path, folder: Path, name: str) -> None:
    """Extract an archive into a temporary folder, then move its members into place.

    Members that point outside the folder, links out of it and devices are refused.
    """
    if not hasattr(tarfile, "data_filter"):
        raise DownloadError(f"{name}: extracting it safely needs Python 3.11.4 or newer; extract it by hand")
    temporary = _temporary(folder / "extracted")
    try:
        with tarfile.open(archive, "r:gz") as tar:
            tar.extractall(temporary, filter="data")
        for entry in temporary.iterdir():
            if (folder / entry.name).exists():
                raise DownloadError(f"{folder / entry.name} already exists: move it away first, it is not replaced")
            entry.replace(folder / entry.name)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DownloadError(f"{name}: expected a complete and safe .tar.gz archive, but {error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def shown_size(size: int) -> str:
    """A number of bytes in readable units.

    Example:
        >>> shown_size(168_513_733), shown_size(1_500)
        ('169 MB', '1.5 kB')
    """
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
