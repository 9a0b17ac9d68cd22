"""`hiercos recode`: data with labels of an old taxonomy as data with labels of a new one."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import emit, file_format
from hiercos.cli.display.progress import checking_lines, counting_rows
from hiercos.cli.model_loading import open_model
from hiercos.cli.options import common as options
from hiercos.cli.options.common import LoadOptions, check_target
from hiercos.cli.options.groups import DeviceOptions, InputOptions, OptionError, grouped, say

if TYPE_CHECKING:
    from hiercos.data import Table
    from hiercos.evaluation import Recoder
    from hiercos.taxonomy import Floats

NEW_COLUMNS = ("old_label", "probability", "other_candidates", "candidates")


@dataclass(frozen=True)
class OldRow:
    """A row of the table."""

    cells: Mapping[str, Any]  # of the output: without a new label, and with the old one
    label_column: str
    candidates: Mapping[int, float]  # new nodes that its label may be, with their weights


@dataclass(frozen=True)
class NewRow:
    """A row with its new label."""

    cells: Mapping[str, Any]
    is_known: bool  # whether the crosswalk has a new label for its old one
    has_others: bool  # whether it has several
    probability: float = 1.0  # probability of the label among them


@grouped
def recode(
    *,
    data: Annotated[Path, typer.Argument(help="Table of inputs with a column of old labels.", exists=True)],
    crosswalk: Annotated[
        Path,
        typer.Option(help="Table with the new nodes of each old one; see hiercos taxonomy crosswalk.", exists=True),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the rows with their new labels.")],
    model: Annotated[
        Path | None, typer.Option(help="Model of the new taxonomy, which chooses among several candidates.")
    ] = None,
    taxonomy: Annotated[
        Path | None, typer.Option(help="The new taxonomy, instead of a model: the candidates stay in a column.")
    ] = None,
    queue: Annotated[
        Path | None, typer.Option(help="File for the rows that a person should decide.", show_default=False)
    ] = None,
    target_precision: Annotated[
        float | None,
        typer.Option(
            help="Share of right labels to expect among rows with several candidates; less sure ones go to --queue.",
            min=0,
            max=1,
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
    --queue, with the likeliest class of all. With --taxonomy instead of --model, a row with several candidates has them
    in the column candidates, from which hiercos train learns.
    """
    if (model is None) == (taxonomy is None):
        raise OptionError("expected one of --model and --taxonomy")
    if target_precision is not None and (queue is None or model is None):
        raise OptionError("--target-precision: expected --model, and --queue FILE for the rows that are less sure")
    for option, file in (("--output", output), ("--queue", queue)):
        if file is not None:
            file_format(option, file)
        check_target(option, file)
    from hiercos.data import column_names, read_inputs, read_table
    from hiercos.evaluation import Recoder, read_crosswalk
    from hiercos.taxonomy import open_taxonomy

    names = column_names(data)
    if replaced := [name for name in NEW_COLUMNS if name in names]:
        say(f"{data}: the columns {', '.join(replaced)} are written anew.")
    if label_column not in names:
        raise OptionError(f"{data}: expected a column {label_column!r} (--label-column names another)")
    links = read_crosswalk(crosswalk)
    table = read_table(data, columns=names)
    if taxonomy is not None:
        recoder = Recoder(links, open_taxonomy(taxonomy))
        found = [_with_candidates(recoder, row) for row in _rows(recoder, table, data, label_column)]
    else:
        opened, config = open_model(Path(str(model)), device_options, loading, batch_size=batch_size, workers=workers)
        recoder = Recoder(links, opened.taxonomy)
        rows = dict(zip(table.numbers, _rows(recoder, table, data, label_column), strict=True))
        reading = {**asdict(columns), "columns": opened.columns, "read_elsewhere": names}
        inputs = read_inputs(data, kind=opened.kind, **reading, callback=checking_lines())
        say(*inputs.notes)
        found = []
        with counting_rows(opened.kind, "recoding", inputs.count) as advance:
            for batch, posterior in opened.batches(inputs, config):
                for number, probabilities in zip(batch.numbers, posterior.classes, strict=True):
                    found.append(_with_label(recoder, rows[number], probabilities))
                advance(len(posterior))
    _write(found, data, (output, queue), target_precision)


def _rows(recoder: "Recoder", table: "Table", source: Path, label_column: str) -> Iterator[OldRow]:
    """The rows of a table with the new nodes that their old labels may be."""
    for place, number in enumerate(table.numbers):
        cells = {name: column[place] for name, column in table.columns.items()}
        label = cells[label_column]
        candidates = recoder.candidates(label, f"{source}: row {number}")
        yield OldRow({**cells, label_column: "", "old_label": label}, label_column, candidates)


def _with_candidates(recoder: "Recoder", row: OldRow) -> NewRow:
    """A row with its new label if that is one, else with its candidates."""
    texts = [recoder.taxonomy.path_text(node) for node in row.candidates]
    several = len(texts) > 1
    new = {row.label_column: "" if several else "".join(texts), "candidates": " | ".join(texts) if several else ""}
    return NewRow({**row.cells, **new}, bool(texts), several)


def _with_label(recoder: "Recoder", row: OldRow, probabilities: "Floats") -> NewRow:
    """A row with its likeliest label."""
    chosen, path_text = recoder.recoded(probabilities, row.candidates), recoder.taxonomy.path_text
    new = {row.label_column: path_text(chosen.node), "probability": round(chosen.probability, 6)}
    others = {"other_candidates": " | ".join(map(path_text, chosen.others))}
    return NewRow({**row.cells, **new, **others}, bool(row.candidates), bool(chosen.others), chosen.probability)


def _write(found: list[NewRow], data: Path, files: tuple[Path, Path | None], target: float | None) -> None:
    """Write the rows that are sure enough, and the others for a person; say how many there are."""
    from hiercos.evaluation import sure_rows

    output, queue = files
    open_rows = [place for place, row in enumerate(found) if row.has_others]
    sure = [row.is_known for row in found]
    gone = [row.cells["old_label"] for row in found if not row.is_known]
    if gone and queue is None:
        raise OptionError(
            f"{data}: {len(gone)} rows have a label that is gone, such as {gone[0]!r}: expected --queue FILE"
        )
    if target is not None:  # among rows with several candidates; the others are certain
        for place, is_sure in zip(
            open_rows, sure_rows([found[each].probability for each in open_rows], target), strict=True
        ):
            sure[place] = bool(is_sure)
    columns = list(found[0].cells) if found else []
    for option, file, is_kept in (("--output", output, True), ("--queue", queue, False)):
        if file is not None:
            rows = [row.cells for row, is_sure in zip(found, sure, strict=True) if is_sure == is_kept]
            emit(rows, file_format(option, file), file, columns=columns)
    chosen = [found[place].probability for place in open_rows if sure[place] and "probability" in found[place].cells]
    mean = sum(chosen) / len(chosen) if chosen else 1.0
    share = f" ({mean:.1%} of them right by the model, which is too sure of rows it learned from)" if chosen else ""
    say(
        f"{len(found):,} rows, {len(open_rows):,} of them with several candidates: {sum(sure):,} in {output}, "
        f"{len(chosen):,} of these chosen{share}; {len(sure) - sum(sure):,} left to people."
    )
