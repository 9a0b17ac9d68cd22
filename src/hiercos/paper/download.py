"""Download of archives into the data root: complete, with a verified checksum, and never outside the root."""

import hashlib
import http.client
import secrets
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from typing import IO, Any

from hiercos.data import Download, DownloadError, Transfer, shown_size

CHUNK = 1 << 20  # bytes read at a time
TIMEOUT = 30  # seconds without data


def checksum(source: bytes | Path, kind: str) -> str:
    """Checksum of bytes or of a file, which is read in chunks.

    Args:
        kind: hash function of hashlib, such as "md5" or "sha1".

    Example:
        >>> checksum(b"abc", "md5")
        'md5:900150983cd24fb0d6963f7d28e17f72'
    """
    digest = _digest(kind)
    if isinstance(source, bytes):
        digest.update(source)
    else:
        with source.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return f"{kind}:{digest.hexdigest()}"


def has_checksum(source: bytes | Path, published: str) -> bool:
    """Whether bytes or a file have a published checksum."""
    return checksum(source, published.partition(":")[0]) == published


def _digest(kind: str) -> Any:
    return hashlib.new(kind, usedforsecurity=False)


def fetch(download: Download, root: Path, progress: Transfer) -> None:
    """Download an archive, check it, extract it and remove it; an archive that is already there is used and kept.

    Args:
        root: data root; created if missing.
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


def _receive(download: Download, target: Path, progress: Transfer) -> None:
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


def _copy(answer: Any, file: IO[bytes], download: Download, progress: Transfer) -> str:
    """Write the response in chunks and return its checksum."""
    kind = download.checksum.partition(":")[0] or "md5"
    digest = _digest(kind)
    total = int(answer.headers.get("Content-Length") or 0)
    done = 0
    while chunk := answer.read(CHUNK):
        file.write(chunk)
        digest.update(chunk)
        done += len(chunk)
        progress(done, max(total or download.size, done))
    if total and done != total:
        raise DownloadError(f"{download.url}: expected {total:,} bytes, got {done:,}: the connection ended early")
    return f"{kind}:{digest.hexdigest()}"


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
