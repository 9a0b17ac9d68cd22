"""A short, seeded part of `make fuzz`, and the kept corpus."""

import warnings
from pathlib import Path

import pytest

from fuzzing import CORPUS, SECONDS, fuzz, outcome, targets

INPUTS = 1500
MEMORY = 3 << 30  # bytes, with all libraries loaded


@pytest.mark.filterwarnings("ignore")  # of libraries that read damaged files
def test_mutated_files_are_read_or_refused_by_every_reader(tmp_path: Path) -> None:
    report = fuzz(tmp_path, INPUTS, seed=0)
    assert report.findings == {}
    assert sum(report.inputs.values()) == INPUTS
    assert max(report.slowest.values()) < SECONDS
    assert report.memory < MEMORY


def test_every_file_of_the_corpus_is_read_or_refused(tmp_path: Path) -> None:
    known = {target.name: target for target in targets(tmp_path)}
    files = sorted(path for path in CORPUS.rglob("*") if path.is_file())
    assert files
    for file in files:
        if (target := known.get(file.parent.name)) is None:  # its library is not installed
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert outcome(target, tmp_path / f"input{target.suffix}", file.read_bytes())[1] is None, file
