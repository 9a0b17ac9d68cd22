"""A folder that one process replaces again and again while others read it: no false alarm, and never a mixture."""

import multiprocessing
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from hiercos.engine import StoredModel, load_model, save_model
from hiercos.manifest import Manifest, committed, replace_file
from hiercos.methods import Model
from hiercos.records import Record
from hiercos.sklearn.storage import StoredEstimator, load_estimator, save_estimator
from hiercos.taxonomy import label_codec
from records import record
from trees import TOY17

SECONDS = 1.0  # time of each race
NAMES = ("a", "b", "c")


def replace_contents(folder: Path) -> None:
    """Write three files with one number in turn, and now and then only one of them."""
    for number in range(10**9):
        with committed(folder) as write:
            for name in NAMES:
                write(name, str(number))
        replace_file(folder, "d", str(number))


def model_of(number: int) -> StoredModel:
    model = Model(TOY17, 6, "cross-entropy").eval()
    for weight in model.parameters():
        torch.nn.init.constant_(weight, float(number))
    return StoredModel(model, None, temperature=float(number))


def replace_models(folder: Path) -> None:
    torch.set_num_threads(1)
    for number in range(1, 10**9):
        save_model(folder, model_of(1 + number % 2), {"record.json": record(seed=1 + number % 2).to_json()})


def replace_estimators(folder: Path) -> None:
    torch.set_num_threads(1)
    for number in range(1, 10**9):
        model = model_of(1 + number % 2)
        stored = StoredEstimator(
            model, label_codec(np.array(TOY17.class_names, dtype=object), TOY17), {"seed": 1 + number % 2}, 6
        )
        save_estimator(folder, stored, flat=False)


def endless(write: Callable[[Path], None], folder: Path) -> None:
    os.fsync = lambda _: None  # the disk is slow, and no part of the race: without it there are more rounds
    write(folder)


@contextmanager
def replaced(folder: Path, write: Callable[[Path], None]) -> Iterator[None]:
    """Another process replaces the folder in an endless loop during the block."""
    writer = multiprocessing.get_context("fork").Process(target=endless, args=(write, folder))
    writer.start()
    try:
        while not (folder / "manifest.json").exists():
            assert writer.is_alive()
            time.sleep(0.01)
        yield
        assert writer.is_alive()
    finally:
        writer.kill()
        writer.join()


def answers(read: Callable[[], object]) -> set[object]:
    """Different answers of a reader that reads as often as it can for some time."""
    found, end = set(), time.monotonic() + SECONDS
    while time.monotonic() < end:
        found.add(read())
    return found


@pytest.mark.parametrize("verify", [True, False])
def test_files_read_while_they_are_replaced_belong_together(verify: bool, tmp_path: Path) -> None:
    def read() -> tuple[bytes, ...]:
        files = Manifest.of(tmp_path)
        contents = [files.content(name, verify=verify) for name in NAMES[:2]]
        time.sleep(random.choice((0.0, 0.0005, 0.03)))  # a reader that takes its time
        with files.checked_in_background() as checked:
            last = checked.content(NAMES[2], verify=verify)
        return (*contents, last)

    with replaced(tmp_path, replace_contents):
        found = answers(read)
    assert len(found) > 5
    assert all(len(set(contents)) == 1 for contents in found)


@pytest.mark.parametrize("verify", [True, False])
def test_a_model_that_is_loaded_while_it_is_replaced_is_the_old_or_the_new_one(verify: bool, tmp_path: Path) -> None:
    def read() -> tuple[float, ...]:
        stored = load_model(tmp_path, verify=verify)
        return (stored.temperature, *(weight.flatten()[-1].item() for weight in stored.model.parameters()))

    with replaced(tmp_path, replace_models):
        found = answers(read)
    assert len(found) == 2
    assert all(len(set(numbers)) == 1 for numbers in found)


def test_a_record_is_read_while_it_is_replaced(tmp_path: Path) -> None:
    with replaced(tmp_path, replace_models):
        assert answers(lambda: Record.read(tmp_path).seed) == {1, 2}


def test_an_estimator_is_read_as_one_with_its_model(tmp_path: Path) -> None:
    def read() -> tuple[float, float]:
        found = load_estimator(tmp_path)
        return (found.model.temperature, float(found.parameters["seed"]))

    with replaced(tmp_path, replace_estimators):
        assert answers(read) == {(1.0, 1.0), (2.0, 2.0)}
