"""Labelled rows that a model did not learn from."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hiercos.cli.checking import checking_lines
from hiercos.cli.groups import ColumnOptions

if TYPE_CHECKING:
    from hiercos.data import TestSamples
    from hiercos.engine import StoredModel


def held_out_samples(folder: Path, stored: "StoredModel", data: str, columns: ColumnOptions) -> "TestSamples":
    """The test rows of data for the model of a folder, whose record says what it was trained on; notes go to stderr."""
    from hiercos.data import load_test_samples
    from hiercos.records import Record

    record = Record.find(folder, stored.rule)
    trained_on = None if record is None else str(record.data["fingerprint"])
    samples = load_test_samples(
        data, stored.model.taxonomy, trained_on=trained_on, **asdict(columns), watch=checking_lines()
    )
    for note in samples.notes:
        typer.echo(note, err=True)
    return samples
