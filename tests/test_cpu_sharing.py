"""Turns on the cores between processes."""

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from hiercos import cpu_sharing
from hiercos.cpu_sharing import CpuTurns, cpu_turn, in_turns, share_cores

fcntl = pytest.importorskip("fcntl")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CpuTurns]:
    """Turns that this process takes, whatever the machine."""
    own = CpuTurns(tmp_path)
    monkeypatch.setattr(cpu_sharing, "_shared", own)
    yield own
    own.close()


def other_process(tmp_path: Path) -> CpuTurns:
    """Turns of another process: other descriptors of the same files."""
    return CpuTurns(tmp_path)


def is_free(tmp_path: Path) -> bool:
    with (tmp_path / "turn").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@pytest.mark.usefixtures("shared")
def test_a_turn_is_held_while_parts_are_made_and_used_and_ends_with_them(tmp_path: Path) -> None:
    held = []

    def parts() -> Iterator[int]:
        for part in range(3):
            held.append(is_free(tmp_path))
            yield part

    for part in in_turns(parts()):
        held.append(is_free(tmp_path))
        assert part in range(3)
    assert held == [False] * 6
    assert is_free(tmp_path)
    with cpu_turn():
        assert not is_free(tmp_path)
    assert is_free(tmp_path)


@pytest.mark.usefixtures("shared")
def test_a_failure_ends_the_turn(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        _ = [1 / part for part in in_turns([0, 1])]
    with pytest.raises(ZeroDivisionError), cpu_turn():
        assert 1 / 0
    assert is_free(tmp_path)


@pytest.mark.usefixtures("shared")
def test_two_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_sharing, "SECONDS", 0.02)
    monkeypatch.setattr(cpu_sharing, "LONGEST_WAIT", 60.0)
    other, order, stop = other_process(tmp_path), [], threading.Event()

    def compute() -> None:
        while not stop.is_set():
            other.begin()
            order.append("other")
            time.sleep(0.02)
            other.end()

    thread = threading.Thread(target=compute)
    thread.start()
    for _ in in_turns(range(10)):
        order.append("own")
        time.sleep(0.03)
    stop.set()
    thread.join()
    other.close()
    own = [place for place, name in enumerate(order) if name == "own"]
    between = [order[first + 1 : last].count("other") for first, last in pairwise(own)]
    assert sum(count <= 2 for count in between) >= 7  # of 9: nobody is passed over, unless a thread is stopped
    assert sum(between) >= 5


def test_a_process_that_waits_too_long_computes_without_a_turn(
    shared: CpuTurns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_sharing, "LONGEST_WAIT", 0.05)
    stopped = other_process(tmp_path)
    stopped.begin()
    start = time.monotonic()
    assert list(in_turns(range(3))) == [0, 1, 2]
    assert time.monotonic() - start >= 0.05
    monkeypatch.setattr(cpu_sharing, "LONGEST_WAIT", 60.0)
    start = time.monotonic()
    shared.begin()  # and does not wait again at once
    assert time.monotonic() - start < 50
    assert not is_free(tmp_path)  # the other's turn is untouched
    stopped.close()


@pytest.mark.parametrize(("threads", "takes_turns"), [("1", False), ("2", True), ("2,1", True), (None, True)])
def test_turns_are_taken_unless_two_such_processes_fit(
    threads: str | None, takes_turns: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu_sharing, "_shared", None)
    monkeypatch.setattr(cpu_sharing.os, "cpu_count", lambda: 2)
    monkeypatch.setenv("HOME", str(tmp_path))
    share_cores({} if threads is None else {"OMP_NUM_THREADS": threads})
    assert (cpu_sharing._shared is not None) == takes_turns
    if cpu_sharing._shared is not None:
        cpu_sharing._shared.close()


@pytest.mark.usefixtures("shared")
def test_without_the_command_no_turn_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_sharing, "_shared", None)
    assert [is_free(tmp_path) for _ in in_turns(range(2))] == [True, True]
    with cpu_turn():
        assert is_free(tmp_path)
