"""`hiercos recode`: data with labels of an old taxonomy as data with labels of a new one."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import FILE_FORMATS, check_format, chosen_format, emit
from hiercos.cli.display.progress import checking_lines, counting_rows
from hiercos.cli.model_loading import open_model
from hiercos.cli.options import common as options
from hiercos.cli.options.common import LoadOptions, check_target
from hiercos.cli.options.groups import DeviceOptions, InputOptions, OptionError, grouped, say

if TYPE_CHECKING:
    from hiercos.data import InputBatch
    from hiercos.decisions import Posterior
    from hiercos.evaluation import Recoded, Recoder

Rows = list[dict[str, Any]]


@grouped
def recode(
    *,
    data: Annotated[Path, typer.Argument(help="Table of inputs with a column of old labels.", exists=True)],
    crosswalk: Annotated[
        Path,
        typer.Option(help="Table with the new nodes of each old one; see hiercos taxonomy crosswalk.", exists=True),
    ],
    model: Annotated[Path, typer.Option(help="Model of the new taxonomy: a folder, or an .onnx file.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the rows with their new labels.")],
    queue: Annotated[
        Path | None, typer.Option(help="File for the rows that a person should decide.", show_default=False)
    ] = None,
    target_precision: Annotated[
        float | None,
        typer.Option(
            help="Share of right labels to expect among rows with several candidates; less sure ones go to --queue.",
            max=1,
            min=0,
        ),
    ] = None,
    label_column: Annotated[str, typer.Option(help="Column of the old labels.")] = "label",
    columns: InputOptions,
    device_options: DeviceOptions,
    loading: LoadOptions,
    workers: options.Workers = 0,
    batch_size: options.BatchSize = None,
) -> None:
    """Give each row the likeliest of the new labels that its old label may have become.

    All columns are kept; old_label, probability and other_candidates are added. Rows whose old label is gone go to
    --queue, with the likeliest class of all.
    """
    if target_precision is not None and queue is None:
        raise OptionError("--target-precision: expected --queue FILE with it, for the rows that are less sure")
    formats = [chosen_format(None, file, "csv") for file in (output, queue or output)]
    for option, file, form in (("--output", output, formats[0]), ("--queue", queue, formats[1])):
        check_format(form, file, FILE_FORMATS)
        check_target(option, file)
    from hiercos.data import column_names, read_inputs
    from hiercos.evaluation import Recoder, read_crosswalk, sure_rows

    table = read_crosswalk(crosswalk)
    opened, config = open_model(model, device_options, loading, batch_size=batch_size, workers=workers)
    names = column_names(data)
    if label_column not in names:
        raise OptionError(f"{data}: expected a column {label_column!r} (--label-column names another)")
    reading = {**asdict(columns), "keep_columns": names}
    unlabelled = read_inputs(data, kind=opened.kind, **reading, callback=checking_lines())
    say(*unlabelled.notes)
    recoder = Recoder(table, opened.taxonomy)
    rows: Rows = []
    found: list[Recoded] = []
    with counting_rows(opened.kind, "recoding", unlabelled.count) as advance:
        for batch, posterior in opened.batches(unlabelled, config):
            for row, each in _recoded(recoder, batch, posterior, label_column=label_column, source=data):
                rows.append(row)
                found.append(each)
            advance(len(posterior))
    import numpy as np

    known = np.array([bool(recoder.candidates(row["old_label"], "")) for row in rows])
    if queue is None and not known.all():
        gone = rows[int(known.argmin())]["old_label"]
        raise OptionError(
            f"{data}: {(~known).sum()} rows have a label that is gone, such as {gone!r}: expected --queue FILE for them"
        )
    sure = known.copy()
    if target_precision is not None:  # among rows with several candidates; the others are certain
        is_open = np.array([bool(each.others) for each in found])
        sure[is_open] = sure_rows(np.array([each.probability for each in found])[is_open], target_precision)
    emit([row for row, is_sure in zip(rows, sure, strict=True) if is_sure], formats[0], output)
    if queue is not None:
        emit([row for row, is_sure in zip(rows, sure, strict=True) if not is_sure], formats[1], queue)
    say(_summary(found, sure))


def _recoded(
    recoder: "Recoder", batch: "InputBatch", posterior: "Posterior", *, label_column: str, source: Path
) -> "Iterator[tuple[dict[str, Any], Recoded]]":
    """Each row of a batch with its new label, and what is known of that."""
    path_text = recoder.taxonomy.path_text
    for place, number in enumerate(batch.numbers):
        old = batch.kept[label_column][place]
        each = recoder.recoded(posterior, place, recoder.candidates(old, f"{source}: row {number}"))
        row: dict[str, Any] = {name: cells[place] for name, cells in batch.kept.items()}
        row |= {label_column: path_text(each.node), "old_label": old, "probability": round(each.probability, 6)}
        yield row | {"other_candidates": " | ".join(map(path_text, each.others))}, each


def _summary(found: "list[Recoded]", sure: Any) -> str:
    several = [(each.probability, is_sure) for each, is_sure in zip(found, sure, strict=True) if each.others]
    kept = [probability for probability, is_sure in several if is_sure]
    share = f" ({sum(kept) / len(kept):.1%} of them right by the model's probabilities)" if kept else ""
    return (
        f"{len(found):,} rows, {len(several):,} of them with several candidates: {int(sure.sum()):,} recoded, "
        f"{len(kept):,} by choice{share}; {int((~sure).sum()):,} left to people."
    )
