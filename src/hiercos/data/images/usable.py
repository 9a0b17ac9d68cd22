"""Data sets of images, every one of which can be decoded."""

from dataclasses import replace

from hiercos.data.dataset import Dataset
from hiercos.data.images.collections import Images
from hiercos.data.images.faulty import CheckCallback, check_on_error, usable_rows


def with_usable_images(dataset: Dataset, on_error: str, callback: CheckCallback | None = None) -> Dataset:
    """The data set if all its images can be decoded, or the part of it that can, with a note; others stay as they are.

    Args:
        dataset: of any kind.
        on_error: "fail" to raise for faulty images, "skip" to leave them out.
        callback: as in `usable_rows`.

    Raises:
        DataError: with every faulty image.
    """
    check_on_error(on_error)
    if not isinstance(dataset.inputs, Images):
        return dataset
    rows, notes = usable_rows(dataset.inputs, source=dataset.source, on_error=on_error, callback=callback)
    if len(rows) == len(dataset):
        return dataset
    return replace(
        dataset,
        inputs=dataset.inputs.take(rows),
        labels=dataset.labels[rows],
        split=dataset.split[rows],
        notes=(*dataset.notes, *notes),
    )
