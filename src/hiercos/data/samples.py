"""Labelled samples as read from a source, and the options for reading them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hiercos.data.dataset import FeatureOrigin
from hiercos.data.images.decoding import CheckCallback, check_on_error, usable_rows
from hiercos.data.inputs import Inputs
from hiercos.errors import RowName
from hiercos.taxonomy import AnyArray, IntArray, Taxonomy

TEXT_COLUMN, PATH_COLUMN, LABEL_COLUMN, SPLIT_COLUMN = "text", "path", "label", "split"


@dataclass(frozen=True)
class SourceOptions:
    """Options for reading the user's own data; see `load_dataset`."""

    text_column: str | None = None
    path_column: str | None = None
    label_column: str = LABEL_COLUMN
    split_column: str = SPLIT_COLUMN
    root: str | Path | None = None
    on_error: str = "fail"
    callback: CheckCallback | None = None

    def __post_init__(self) -> None:
        check_on_error(self.on_error)


@dataclass(frozen=True)
class SourceSamples:
    """Rows of a file or folder: inputs are checked (see `faults`), labels and splits are not yet.

    Attributes:
        inputs: M texts, vectors or images.
        labels: label of each sample as the user wrote it, M values.
        split: split of each sample, M values; None if the data have no splits.
        row_name: function from a row index to its name in messages.
        notes: sentences for the user about decisions made while reading.
        taxonomy: taxonomy that came with the samples; None if none did.
        origin: origin of vectors that a backbone computed.
        path_form: form of labels that are paths, for messages.
        faults: sentences about unusable inputs; they are raised together with the faults of labels and splits.
    """

    inputs: Inputs
    labels: Sequence[str] | AnyArray
    split: Sequence[str] | AnyArray | None
    row_name: RowName
    notes: tuple[str, ...] = ()
    taxonomy: Taxonomy | None = None
    origin: FeatureOrigin | None = None
    path_form: str = "labels such as 'a > b > c'"
    faults: tuple[str, ...] = ()

    def take(self, rows: IntArray) -> "SourceSamples":
        """Samples at these rows."""
        names = [self.row_name(int(row)) for row in rows]
        return replace(
            self,
            inputs=self.inputs.take(rows),
            labels=np.asarray(self.labels)[rows],
            split=None if self.split is None else np.asarray(self.split)[rows],
            row_name=names.__getitem__,
        )


def with_usable_images(
    samples: SourceSamples, *, source: str, options: SourceOptions, row_name: RowName | None = None
) -> SourceSamples:
    """Samples whose image can be decoded, with a note about the others; see `usable_rows`."""
    rows, notes = usable_rows(
        samples.inputs, source=source, on_error=options.on_error, row_name=row_name, callback=options.callback
    )
    kept = samples if len(rows) == len(samples.inputs) else samples.take(rows)
    return replace(kept, notes=(*samples.notes, *notes))
