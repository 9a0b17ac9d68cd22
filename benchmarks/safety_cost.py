"""Cost of checksums, locks and fsync in train, predict and load_model: the whole time over the time without them.

The time inside these functions is summed while train and predict run, so that the quotient hardly depends on what else
the machine does. `load_model` computes the checksum of the weights in another thread: it is run with and without
checksums in turn, as the first load of a process each, as in a command, and again and again in one process, whose
memory is then in use already. The shortest of each counts.

    python benchmarks/safety_cost.py
"""

import argparse
import contextlib
import os
import struct
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from hiercos import files, locks, manifest
from hiercos.cli.app import run
from hiercos.engine import load_model, run_state


class Clock:
    """Seconds in the measured functions, and how many of them call each other at the moment."""

    inside, depth = 0.0, 0


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its time added to the clock; a call within a measured one counts once."""

    def wrapper(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        Clock.depth += 1
        try:
            return function(*arguments, **options)
        finally:
            Clock.depth -= 1
            Clock.inside += 0.0 if Clock.depth else time.perf_counter() - began

    return wrapper


@contextlib.contextmanager
def measured() -> Iterator[None]:
    """Measure all functions of safety: forcing to disk, checksums, manifests, locks, and the sweep for stale files."""
    places = [(os, "fsync"), (manifest, "sha256"), (manifest, "_write_manifest"), (run_state, "_checksum")]
    places += [(locks, "_acquired"), (files, "sweep_temporaries"), (files, "sync_folder")]
    with contextlib.ExitStack() as stack:
        for module, name in places:
            stack.enter_context(mock.patch.object(module, name, timed(getattr(module, name))))
        yield


def quotient(name: str, work: Callable[[], object], repeats: int) -> None:
    """Print the time of work, the part of it that safety takes, and the quotient."""
    work()  # imports and caches
    Clock.inside, began = 0.0, time.perf_counter()
    with measured():
        for _ in range(repeats):
            work()
    whole = time.perf_counter() - began
    safety = Clock.inside
    print(f"{name:12} {whole / repeats:8.4f} s, for safety {safety / repeats:8.4f} s: {whole / (whole - safety):.3f}")


class Anything(str):
    """A checksum that equals every other."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


def loading_quotient(folder: Path, rounds: int) -> None:
    """Print the shortest time of `load_model` with and without checksums, and the quotients of time and processor time.

    While other programs use all cores, the thread that hashes waits for one. The processor time does not depend on
    that; it is what loading costs where only one core is free.
    """
    size = (folder / "model.safetensors").stat().st_size / 2**20
    for name, seconds in (("first load", first_seconds), ("load_model", load_seconds)):
        times: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        for number in range(2 * rounds):
            times[number % 2 == 0].append(seconds(folder, number % 2 == 0))
        best, least = ({kind: min(each[part] for each in times[kind]) for kind in times} for part in (0, 1))
        print(
            f"{name:12} {best[True]:8.4f} s, without checksums {best[False]:8.4f} s: {best[True] / best[False]:.3f} "
            f"(processor time {least[True] / least[False]:.3f}; {size:.1f} MiB of weights)"
        )


def load_seconds(folder: Path, verify: bool) -> tuple[float, float]:
    """Time and processor time of loading a model, with or without checksums."""
    checksum = manifest.sha256 if verify else lambda _: Anything()
    with mock.patch.object(manifest, "sha256", checksum):
        began, used = time.perf_counter(), time.process_time()
        load_model(folder, verify=verify)
        return time.perf_counter() - began, time.process_time() - used


def first_seconds(folder: Path, verify: bool) -> tuple[float, float]:
    """Time and processor time of loading a model in a new process, a copy of this one."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        code = 1
        try:
            os.write(writing, struct.pack("dd", *load_seconds(folder, verify)))
            code = 0
        finally:  # whatever happens, the child does not continue in the code of the parent
            if code:
                traceback.print_exc()
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as answer:
        packed = answer.read()
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"{folder}: the model could not be loaded in a new process")
    seconds, used = struct.unpack("dd", packed)
    return seconds, used


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="icd10cm:9")
    parser.add_argument("--epochs", default="5")
    parser.add_argument("--rounds", type=int, default=30, help="repetitions of load_model")
    parser.add_argument("--model", type=Path, help="measure only load_model, of this folder")
    options = parser.parse_args()
    torch.set_num_threads(1)  # a copy of a process has only one of its threads, and would wait for the others
    if options.model:
        loading_quotient(options.model, options.rounds)
        return
    with tempfile.TemporaryDirectory() as name:
        place, number = Path(name), iter(range(10**6))

        def train() -> None:
            target = str(place / f"run-{next(number)}")
            arguments = [options.data, "--epochs", options.epochs, "--device", "cpu", "--method", "hier-cos"]
            assert run(["train", *arguments, "--out", target]) == 0

        def predict() -> None:
            texts, output = str(place / "texts.csv"), str(place / "out.csv")
            assert run(["predict", str(place / "run-0"), texts, "--output", output]) == 0

        (place / "texts.csv").write_text("text\n" + "chronic pain of the left heart\n" * 5_000)
        quotient("train", train, 1)
        quotient("predict", predict, 2)
        loading_quotient(place / "run-0", options.rounds)


if __name__ == "__main__":
    main()
