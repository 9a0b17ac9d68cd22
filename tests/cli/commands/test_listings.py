import dataclasses
import re
from pathlib import Path

import pytest

from hiercos.cli.app import run
from hiercos.cli.display.progress import TransferDisplay
from hiercos.data import BUILT_IN, Download, load_dataset
from hiercos.paper.download import checksum
from paper_sets import binary_file, cifar_images, tar_gz, write_aircraft
from web_server import served

NAMES = ("icd10cm", "cifar100", "fgvc-aircraft", "inaturalist19", "tiered-imagenet-h")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def offer(address: str, monkeypatch: pytest.MonkeyPatch, checksum: str, size: int = 1000) -> None:
    """Let CIFAR-100 come from another address."""
    download = Download(f"{address}/cifar-100-binary.tar.gz", size, checksum, "", ("cifar-100-binary",))
    monkeypatch.setitem(BUILT_IN._items, "cifar100", dataclasses.replace(BUILT_IN["cifar100"], downloads=(download,)))


def test_every_data_set_is_listed_with_its_size_and_what_to_put_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_aircraft(tmp_path)
    assert run(["data", "--root", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"Files are looked for in {tmp_path} " in out
    assert all(f"\n{name} (" in out for name in NAMES)
    assert "\nfgvc-aircraft (present)\n" in out
    assert "\ntiered-imagenet-h (absent)\n" in out
    assert "    608 classes, 12 levels\n" in out
    assert "    looks for cifar-100-binary/train.bin and test.bin" in out
    assert "    hiercos data cifar100 --download fetches 169 MB\n" in out


def test_the_variable_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_aircraft(tmp_path)
    monkeypatch.setenv("HIERCOS_DATA", str(tmp_path))
    assert run(["data", "fgvc-aircraft"]) == 0
    out = capsys.readouterr().out
    assert f"Files are looked for in {tmp_path} " in out
    assert "fgvc-aircraft (present)" in out
    assert "cifar100" not in out
    assert "fgvc-aircraft-2013b.tar.gz (2.75 GB, md5:d4acdd33327262359767eeaa97a4f732)\n" in out


def test_a_data_set_is_downloaded_on_request_and_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    web, root = tmp_path / "web", tmp_path / "root"
    web.mkdir()
    files = {
        f"cifar-100-binary/{name}.bin": binary_file(*cifar_images(3, seed))
        for seed, name in enumerate(("train", "test"))
    }
    archive = tar_gz(web / "cifar-100-binary.tar.gz", files)
    with served(web) as address:
        offer(address, monkeypatch, checksum(archive, "md5"))
        assert run(["data", "cifar100", "--download", "--root", str(root)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    first, *progress, last = err.splitlines()
    assert first.startswith(f"{address}/cifar-100-binary.tar.gz (1 kB, md5:")
    assert first.endswith(f" into {root}")
    assert re.fullmatch(r"cifar-100-binary\.tar\.gz  (\d+\.\d)/\1 MB", progress[-1])
    assert last == f"cifar100 is in {root}."
    assert len(load_dataset("cifar100", root=root)) == 30
    assert run(["data", "cifar100", "--download", "--root", str(root)]) == 0
    assert capsys.readouterr().err == f"cifar100 is in {root} already.\n"


def test_without_a_network_it_is_said_what_to_put_where_and_the_exit_code_is_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(tmp_path) as address:
        pass
    offer(address, monkeypatch, "md5:0")
    root = tmp_path / "root"
    assert run(["data", "cifar100", "--download", "--root", str(root)]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith(f"error: {address}/cifar-100-binary.tar.gz cannot be downloaded: ")
    assert err.endswith(f"; or put it into {root} by hand: {BUILT_IN['cifar100'].where}")
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "cifar10"], "unknown built-in data set 'cifar10'; did you mean 'cifar100'?"),
        (["data", "--download"], "--download: expected the name of a data set before it"),
        (
            ["data", "tiered-imagenet-h", "--download"],
            "--download: tiered-imagenet-h cannot be downloaded; put it into ",
        ),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--root", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"error: {message}")
    assert (out, err.count("\n")) == ("", 1)


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes any stream for a terminal then
    with TransferDisplay("toys.tar.gz") as display:
        display(500_000, 1_000_000)
        display(1_000_000, 1_000_000)
    err = capsys.readouterr().err
    assert "toys.tar.gz" in err
    assert "1.0/1.0 MB" in err
