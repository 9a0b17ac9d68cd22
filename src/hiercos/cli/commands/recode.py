"""`hiercos recode`: data with labels of an old taxonomy as data with labels of a new one."""

from collections.abc import Iterator, Mapping, Sequence
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
    from hiercos.evaluation import Recoded, Recoder


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
    if label_column not in names:
        raise OptionError(f"{data}: expected a column {label_column!r} (--label-column names another)")
    table = read_crosswalk(crosswalk)
    found: list[NewRow] = []
    if taxonomy is not None:
        recoder, rows = Recoder(table, open_taxonomy(taxonomy)), read_table(data, columns=names)
        for cells, where in _rows(rows.columns, rows.numbers, data):
            found.append(_with_candidates(recoder, cells, label_column, recoder.candidates(cells[label_column], where)))
    else:
        opened, config = open_model(Path(str(model)), device_options, loading, batch_size=batch_size, workers=workers)
        recoder, reading = Recoder(table, opened.taxonomy), {**asdict(columns), "keep_columns": names}
        inputs = read_inputs(data, kind=opened.kind, **reading, callback=checking_lines())
        say(*inputs.notes)
        with counting_rows(opened.kind, "recoding", inputs.count) as advance:
            for batch, posterior in opened.batches(inputs, config):
                for place, (cells, where) in enumerate(_rows(batch.kept, batch.numbers, data)):
                    candidates = recoder.candidates(cells[label_column], where)
                    chosen = recoder.recoded(posterior.classes[place], candidates)
                    found.append(_with_label(recoder, cells, label_column, chosen, is_known=bool(candidates)))
                advance(len(posterior))
    _write(found, data, (output, queue), target_precision)


def _rows(
    columns: Mapping[str, Sequence[str]], numbers: Sequence[int], source: Path
) -> Iterator[tuple[dict[str, str], str]]:
    """Cells of each row, and its name in messages."""
    for place, number in enumerate(numbers):
        yield {name: cells[place] for name, cells in columns.items()}, f"{source}: row {number}"


def _with_candidates(
    recoder: "Recoder", cells: dict[str, str], label_column: str, nodes: Mapping[int, float]
) -> NewRow:
    """A row with its new label if that is one, else with its candidates."""
    texts = [recoder.taxonomy.path_text(node) for node in nodes]
    several = len(texts) > 1
    new = {label_column: "" if several else "".join(texts), "candidates": " | ".join(texts) if several else ""}
    return NewRow({**cells, **new, "old_label": cells[label_column]}, bool(nodes), several)


def _with_label(
    recoder: "Recoder", cells: dict[str, str], label_column: str, chosen: "Recoded", *, is_known: bool
) -> NewRow:
    """A row with its likeliest label."""
    path_text, probability = recoder.taxonomy.path_text, round(chosen.probability, 6)
    new = {label_column: path_text(chosen.node), "old_label": cells[label_column], "probability": probability}
    others = {"other_candidates": " | ".join(map(path_text, chosen.others))}
    return NewRow({**cells, **new, **others}, is_known, bool(chosen.others), chosen.probability)


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
    share = f" ({sum(chosen) / len(chosen):.1%} of them right by the model's probabilities)" if chosen else ""
    say(
        f"{len(found):,} rows, {len(open_rows):,} of them with several candidates: {sum(sure):,} in {output}, "
        f"{len(chosen):,} of these chosen{share}; {len(sure) - sum(sure):,} left to people."
    )
