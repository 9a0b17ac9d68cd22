"""`hiercos predict`: predictions of a model at every level."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hiercos.cli.display.output import FIFTYONE, FORMATS, check_format, chosen_format, streamed
from hiercos.cli.display.progress import checking_lines, counting_rows
from hiercos.cli.model_loading import open_model
from hiercos.cli.options import common as options
from hiercos.cli.options.answers import AnswerOptions, BoundRequest, RowOptions
from hiercos.cli.options.common import LoadOptions, check_target
from hiercos.cli.options.groups import DeviceOptions, InputOptions, OptionError, check_option, grouped, say

if TYPE_CHECKING:
    from hiercos.data import InputBatch, Source
    from hiercos.decisions import Posterior, Rule
    from hiercos.model import AnswerColumns, BaseClassifier, Explainer


PROBABILITIES = ("nodes", "levels")


@dataclass(frozen=True)
class KeptInputOptions(InputOptions):
    """Options for inputs, and for their columns that are kept beside the answers."""

    keep_columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of the input table to copy to the answers, separated by commas, or all.", show_default=False
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Arguments of `read_inputs`; names with a comma in them are in quotes, as in CSV."""
        names = [] if self.keep_columns is None else next(csv.reader([self.keep_columns], skipinitialspace=True), [])
        if self.keep_columns is not None and not all(name.strip() for name in names or [""]):
            raise OptionError(f"--keep-columns {self.keep_columns}: expected names of columns, or all")
        return {**asdict(self), "keep_columns": [name.strip() for name in names]}


@dataclass(frozen=True)
class AnswerTableOptions:
    """Options for the table of answers: its rows and columns, its format and file."""

    top: Annotated[
        int | None,
        typer.Option(min=1, help="Rows per input: the answer, then the likeliest other classes.", show_default=False),
    ] = None
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="The words or columns that speak most for the answer against the likeliest other class.",
        ),
    ] = False
    probabilities: Annotated[
        str | None,
        typer.Option(
            help="nodes: instead of answers, the probability of every node. levels: also that of each level's node.",
            show_default=False,
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join((*FORMATS, FIFTYONE))}; by default the extension of --output."),
    ] = None
    output: options.Output = None
    csv_safe: options.CsvSafe = False

    def checked_format(self, answers: AnswerOptions) -> str:
        """The format to write.

        Raises:
            OptionError: for a format that cannot be written, and for kinds of answers that exclude each other.
        """
        chosen = chosen_format(self.format, self.output, "csv")
        check_format(chosen, self.output, (*FORMATS, FIFTYONE))
        if self.probabilities is not None:
            check_option("--probabilities", self.probabilities, PROBABILITIES)
        kinds = {
            "--explain": self.explain,
            "--probabilities nodes": self.of_nodes,
            "--top": self.top is not None,
        }
        given = [name for name, is_given in kinds.items() if is_given]
        if len(given) > 1:
            raise OptionError(f"{' and '.join(given)}: expected one of them, since each has other columns")
        if chosen == FIFTYONE and (given or self.probabilities):
            option = [*given, "--probabilities"][0]
            raise OptionError(f"{option}: expected another format, because FiftyOne stores one class per image")
        if answers.stop_options and (self.top is not None or self.of_nodes):
            raise OptionError(f"{given[0]}: expected no {' or '.join(answers.stop_options)} with it")
        check_target("--output", self.output)
        return chosen

    @property
    def of_nodes(self) -> bool:
        """Whether to write the probabilities of all nodes instead of answers."""
        return self.probabilities == "nodes"

    def columns(
        self, batch: "InputBatch", posterior: "Posterior", rule: "Rule", explainer: "Explainer"
    ) -> "AnswerColumns":
        """The answers to a batch of inputs, or the probabilities of all nodes, as columns."""
        from hiercos.model import answer_columns, probability_columns

        if self.of_nodes:
            return probability_columns(batch, posterior)
        shown: dict[str, Any] = {"top": self.top, "explainer": explainer if self.explain else None}
        return answer_columns(batch, posterior, rule, **shown, level_confidences=self.probabilities == "levels")

    def counts_levels(self, rule: "Rule") -> bool:
        """Whether the answers have a column `level`: there is one for each input, at any level."""
        from hiercos.decisions import NodeRule, Several

        return isinstance(rule, NodeRule) and not isinstance(rule, Several) and self.top is None and not self.of_nodes


def level_counts(columns: "AnswerColumns") -> Counter[int | None]:
    """Number of answers at each level, 0 for no answer and None for classes, from the columns `level` and `class`."""
    return Counter(None if name else level for level, name in zip(columns["level"], columns["class"], strict=True))


def counts_sentence(counts: Counter[int | None]) -> list[str]:
    """The counts of classes, then from the deepest level up, as a sentence; none if every answer is a class.

    Example:
        >>> counts_sentence(level_counts({"level": [2, 0, 1, 2], "class": ["cat", "", "", "car"]}))
        ['4 rows: 2 answered with a class, 1 at level 1, 1 not at all (cannot say).']
    """
    levels = sorted((level for level in counts if level is not None), reverse=True)
    if not levels:
        return []
    parts = [f"{counts[None]:,} answered with a class"]
    parts += [f"{counts[level]:,} {f'at level {level}' if level else 'not at all (cannot say)'}" for level in levels]
    return [f"{counts.total():,} {'row' if counts.total() == 1 else 'rows'}: {', '.join(parts)}."]


@grouped
def predict(
    *,
    model: Annotated[Path, typer.Argument(help="Folder that hiercos train wrote, or .onnx file of hiercos export.")],
    inputs: Annotated[
        str,
        typer.Argument(
            help="Folder of images, image, table of texts or paths, .npz of vectors, or - for one input per line."
        ),
    ],
    device_options: DeviceOptions,
    columns: KeptInputOptions,
    answers: AnswerOptions,
    by_row: RowOptions,
    loading: LoadOptions,
    workers: options.Workers = 0,
    batch_size: options.BatchSize = None,
    table: AnswerTableOptions,
) -> None:
    """Predict the class and its ancestors: one row per input, one column per level.

    A column of a level has the level's name in the taxonomy, such as genus; unnamed levels are level_1, level_2, ….
    The levels are the ancestors of the answer, so they always form a path of the taxonomy. The column score is the
    value of the answer under the decision rule, confidence its probability: the predicted class is not always the most
    probable one. With --confidence or a target, the answer is the deepest node that is sure enough.
    """
    chosen = table.checked_format(answers)
    answers.check(model)  # before torch is imported
    reading = columns.settings()
    from hiercos.data import read_inputs
    from hiercos.model import UNAVAILABLE

    opened, config = open_model(model, device_options, loading, batch_size=batch_size, workers=workers)
    if chosen == FIFTYONE and opened.kind != "images":
        raise OptionError(f"--format {FIFTYONE}: expected a model of images, this one takes {opened.kind}")
    weights = by_row.weights(inputs, opened.taxonomy)
    bound = BoundRequest.of(answers.request(opened.taxonomy), opened.rule, opened.calibration, weights)
    kind = "vectors" if inputs.lower().endswith(".npz") and "vectors" in opened.kinds else opened.kind
    given = {**reading, "columns": opened.columns, "read_elsewhere": [by_row.within_column or ""]}
    unlabelled = read_inputs(inputs, kind=kind, **given, callback=checking_lines())
    say(*unlabelled.notes)
    counts, unexplained = _write_answers(opened, config, unlabelled, bound, table)
    say(*counts_sentence(counts))
    if unexplained:
        say(f"--explain: there are no reasons ({UNAVAILABLE}), because {opened.no_reasons}.")


def _write_answers(
    opened: "BaseClassifier[Any]", config: Any, inputs: "Source", bound: BoundRequest, table: AnswerTableOptions
) -> tuple[Counter[int | None], bool]:
    """Write the answers to all inputs, batch by batch.

    Returns:
        Number of answers at each level, see `level_counts`, and whether reasons were asked for that there are not.
    """
    from hiercos.model import IN_JSON_ALONE, UNAVAILABLE, node_value_columns

    chosen = chosen_format(table.format, table.output, "csv")
    counts, unexplained = Counter[int | None](), set[str]()
    counting = counting_rows(opened.kind, "predicting", inputs.count)
    writing = streamed(chosen, table.output, csv_safe=table.csv_safe, in_blocks=table.explain)
    with counting as advance, writing as write_columns:
        write = keeping_columns(write_columns)

        def answer(batch: "InputBatch", posterior: "Posterior") -> None:
            changed = bound.changed(posterior, batch.numbers) if bound.changes else posterior
            found = table.columns(batch, changed, bound.rule, opened.contributions)
            unexplained.update({UNAVAILABLE}.intersection(found.get("because", ())))
            if table.counts_levels(bound.rule):
                counts.update(level_counts(found))
            write(batch, {name: found[name] for name in found if chosen == "json" or name not in IN_JSON_ALONE})
            advance(len(posterior))

        if table.of_nodes and (scored := opened.node_scores(inputs, config)) is not None:
            for batch, values in scored:
                write(batch, node_value_columns(batch, values, opened.taxonomy))
                advance(len(values))
            return counts, False
        with in_background(answer) as answer_later:  # while the network computes the next batch
            for batch, posterior in opened.batches(inputs, config, energies=table.explain):
                answer_later(batch, posterior)
    return counts, bool(unexplained)


def keeping_columns(write: "Callable[[AnswerColumns], None]") -> "Callable[[InputBatch, AnswerColumns], None]":
    """A function that writes the answers to a batch with the kept columns of the input; it says which are renamed."""
    from hiercos.model import kept_names, with_kept_columns

    told: set[str] = set()

    def write_batch(batch: "InputBatch", columns: "AnswerColumns") -> None:
        for name, shown in kept_names(list(batch.kept), columns).items():
            if name != shown and name not in told:
                say(f"The column {name!r} of the input is called {shown!r} in the output.")
                told.add(name)
        write(with_kept_columns(columns, batch))

    return write_batch


@contextmanager
def in_background(work: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """A function that runs `work` in a thread, one call at a time and in order; it waits for the call before it."""
    pending: list[Future[None]] = []

    def later(*arguments: Any) -> None:
        while pending:
            pending.pop().result()
        pending.append(pool.submit(work, *arguments))

    with ThreadPoolExecutor(max_workers=1) as pool:
        yield later
        for call in pending:
            call.result()
