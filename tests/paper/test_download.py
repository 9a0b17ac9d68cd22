import dataclasses
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hiercos.data import Download, DownloadError
from hiercos.paper.download import checksum, fetch
from paper_sets import tar_gz
from web_server import served

FILES = {"toys/cat.txt": b"cat", "toys/more/dog.txt": b"dog" * 1000}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "web"
    folder.mkdir()
    with served(folder) as address:
        yield folder, address


def offered(web: tuple[Path, str], name: str = "toys.tar.gz", files: dict[str, bytes] | None = None) -> Download:
    folder, address = web
    archive = tar_gz(folder / name, FILES if files is None else files)
    return Download(f"{address}/{name}", archive.stat().st_size, checksum(archive, "md5"), "", ("toys",))


def fault_of(download: Download, root: Path) -> str:
    with pytest.raises(DownloadError) as error:
        fetch(download, root, lambda *_: None)
    return str(error.value).replace(str(root), "ROOT")


def test_an_archive_is_received_checked_extracted_and_removed(web: tuple[Path, str], tmp_path: Path) -> None:
    download = offered(web)
    root = tmp_path / "new" / "root"
    assert not download.is_done(root)
    progress: list[tuple[int, int]] = []
    fetch(download, root, lambda *bytes_: progress.append(bytes_))
    assert progress[-1] == (download.size, download.size)
    assert {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.txt")} == FILES
    assert [path.name for path in root.iterdir()] == ["toys"]
    assert download.is_done(root)


def test_other_bytes_than_published_are_refused_and_nothing_is_left(web: tuple[Path, str], tmp_path: Path) -> None:
    download = dataclasses.replace(offered(web), checksum="md5:0")
    fault = fault_of(download, tmp_path / "root")
    assert fault.startswith(f"{download.url}: expected the checksum md5:0, got md5:")
    assert list((tmp_path / "root").iterdir()) == []


def test_an_archive_that_is_not_there_and_a_server_that_is_not_are_one_sentence(
    web: tuple[Path, str], tmp_path: Path
) -> None:
    download = dataclasses.replace(offered(web), url=f"{web[1]}/none.tar.gz")
    assert (
        fault_of(download, tmp_path / "root") == f"{download.url} cannot be downloaded: HTTP Error 404: File not found"
    )
    with served(tmp_path) as address:
        gone = dataclasses.replace(download, url=f"{address}/toys.tar.gz")
    assert fault_of(gone, tmp_path / "root").startswith(f"{gone.url} cannot be downloaded: [Errno")


@pytest.mark.parametrize("kind", ["path", "link"])
def test_an_archive_that_points_out_of_the_folder_is_refused(web: tuple[Path, str], tmp_path: Path, kind: str) -> None:
    download = offered(web, files={"toys/cat.txt": b"cat", "../outside.txt": b"!"})
    if kind == "link":
        archive = web[0] / "toys.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            member = tarfile.TarInfo("toys/link")
            member.type, member.linkname = tarfile.SYMTYPE, "/etc"
            tar.addfile(member, io.BytesIO())
        download = dataclasses.replace(download, checksum=checksum(archive, "md5"))
    assert fault_of(download, tmp_path / "root").startswith(
        "toys.tar.gz: expected a complete and safe .tar.gz archive, but "
    )
    assert list((tmp_path / "root").iterdir()) == []
    assert not (tmp_path / "outside.txt").exists()


def test_an_archive_that_is_there_already_is_used_and_stays(web: tuple[Path, str], tmp_path: Path) -> None:
    download = dataclasses.replace(offered(web), url="http://nowhere.invalid/toys.tar.gz")
    (web[0] / "toys.tar.gz").rename(tmp_path / "toys.tar.gz")
    fetch(download, tmp_path, lambda *_: None)
    assert download.is_done(tmp_path)
    assert (tmp_path / "toys.tar.gz").is_file()


def test_what_is_there_is_never_replaced(web: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "root" / "toys").mkdir(parents=True)
    expected = "ROOT/toys already exists: move it away first, it is not replaced"
    assert fault_of(offered(web), tmp_path / "root") == expected
    other = dataclasses.replace(offered(web), members=("games",))
    assert fault_of(other, tmp_path / "root") == expected
    assert list((tmp_path / "root" / "toys").iterdir()) == []


def test_what_has_no_room_is_not_begun(web: tuple[Path, str], tmp_path: Path) -> None:
    download = dataclasses.replace(offered(web), size=10**18, url="http://nowhere.invalid/toys.tar.gz")
    assert fault_of(download, tmp_path).startswith(
        "ROOT: expected disk space for the archive and its content, 2000000 TB, got "
    )


def test_a_connection_that_ends_early_leaves_nothing(web: tuple[Path, str], tmp_path: Path) -> None:
    download = offered(web, "cut-toys.tar.gz")
    assert "ended early" in fault_of(download, tmp_path / "root")
    assert list((tmp_path / "root").iterdir()) == []
