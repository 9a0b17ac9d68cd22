"""`hiercos review`: the rows worth a person's time."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from hiercos.cli.display.progress import checking_lines
from hiercos.cli.model_loading import open_model
from hiercos.cli.options.common import LoadOptions, check_target, needs_serve_extra, opened_model_folder
from hiercos.cli.options.groups import ColumnOptions, DeviceOptions, OptionError, check_option, grouped, say
from hiercos.storage import csv_text, write

SUSPECT_COLUMNS = ("label", "probability", "answer", "answer_probability")
QUEUES = ("page", "label-studio")


@grouped
def review(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train wrote, or .onnx file of hiercos export.")],
    inputs: Annotated[str, typer.Argument(help="Table of texts, or images; with --suspects the training data.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Queue to write: CSV, or JSON for Label Studio.")],
    rows: Annotated[int, typer.Option(min=1, help="Most rows of the queue.")] = 200,
    strategy: Annotated[str, typer.Option(help="How the rows are unsure, as docs/serve.md says.")] = "margin",
    for_: Annotated[str, typer.Option("--for", help=f"Where they are reviewed: {', '.join(QUEUES)}.")] = QUEUES[0],
    suspects: Annotated[
        bool, typer.Option("--suspects", help="Instead, labels of the training data that the model contradicts.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the strategy random.")] = 0,
    columns: ColumnOptions,
    device_options: DeviceOptions,
    loading: LoadOptions,
) -> None:
    """Choose the rows worth a person's time, for the page of hiercos serve --queue or for Label Studio.

    They are those the model is least sure of, spread over the branches, without near-duplicates. --suspects trains
    five models on parts of the data and lists the labels that the model of the other parts finds least probable.
    """
    from hiercos.evaluation import STRATEGIES, review_rows

    check_option("--strategy", strategy, STRATEGIES)
    check_option("--for", for_, QUEUES)
    check_target("--output", output)
    if suspects:
        from hiercos.encoders import ReadConfig

        config = ReadConfig(device_options.context())
        _write_suspects(model, inputs, output, rows, columns=columns, config=config, loading=loading)
        return
    from hiercos.data import read_inputs

    with needs_serve_extra():
        from hiercos.serve import queue_text, served_model, tasks
    opened, config = open_model(model, device_options, loading, batch_size=None, workers=0)
    if opened.kind in ("vectors", "columns"):
        raise OptionError(f"{model}: expected a model of texts or images, the queue has no {opened.kind}")
    reading = {name: asdict(columns)[name] for name in ("input_column", "root", "on_error")}
    source = read_inputs(inputs, kind=opened.kind, columns=opened.columns, **reading, callback=checking_lines())
    say(*source.notes)
    chosen = review_rows(opened.batches(source, config), rows, strategy, seed=seed)
    if for_ == "label-studio":
        version = served_model("", model, opened).digest[:12]
        text = json.dumps(tasks(chosen, opened.taxonomy, version), indent=1, ensure_ascii=False) + "\n"
    else:
        text = queue_text(chosen, opened.taxonomy)
    write(output, text)
    say(f"{len(chosen)} rows to review are in {output}.")


def _write_suspects(
    model: Path, data: str, output: Path, rows: int, *, columns: ColumnOptions, config: Any, loading: LoadOptions
) -> None:
    """Write the contradicted labels as CSV."""
    from hiercos.data import load_dataset
    from hiercos.evaluation import suspects
    from hiercos.records import Record

    files = opened_model_folder(model)
    stored = loading.load(files)
    record = Record.find(files, stored.rule.name)
    if record is None:
        raise OptionError(f"{model}: --suspects trains models as this one was trained: expected a folder with a record")
    reading = {**asdict(columns), "columns": stored.columns}
    dataset = load_dataset(data, taxonomy=stored.taxonomy, **reading, callback=checking_lines(), purpose="train")
    found, paths = suspects(stored, dataset, dict(record.config), rows, config), stored.taxonomy.path_text
    shown = [dataset.inputs.shown(each.row) for each in found]
    cells: list[list[Any]] = [["row", *(shown[0] if shown else []), *SUSPECT_COLUMNS]]
    for each, own in zip(found, shown, strict=True):
        judged = [paths(each.label), round(each.of_label, 6), paths(each.answer), round(each.of_answer, 6)]
        cells.append([each.row + 1, *own.values(), *judged])
    write(output, csv_text(cells))
    say(f"{len(found)} labels that the model contradicts are in {output}.")
