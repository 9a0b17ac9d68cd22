"""The results of learning curves: one table per number of training samples, and figures over all of them."""

from collections.abc import Sequence

from hiercos.metric_table import MetricSpec, metric_spec
from hiercos.records import Record
from hiercos.report.document import Results, Section
from hiercos.report.results import IntervalConvention, best_flat_line, result_row, summarize, verdict

SHOWN = ("top1", "macro_accuracy", "ahd_at_1", "hops", "top5", "log_loss", "train_seconds", "epochs")
COLUMNS: tuple[MetricSpec, ...] = tuple(metric_spec(name) for name in SHOWN)


def learning_curve_results(records: Sequence[Record], *, interval: IntervalConvention = "sample") -> Results:
    """The results of learning curves.

    Args:
        records: records of all runs, each with its number of shots in `data["shots"]`; the same seeds everywhere.
        interval: convention of the confidence intervals over the draws.
    """
    sections = []
    for shots in dict.fromkeys(record.data["shots"] for record in records):
        own = [record for record in records if record.data["shots"] == shots]
        lines = tuple(summarize(own, interval=interval))
        size = own[0].data["sizes"]["train"]
        title = f"All {size} training samples" if shots == "all" else f"{shots} a class ({size} training samples)"
        sections.append(Section(title, lines, best_flat_line(lines)))
    return Results(
        tuple(sections),
        tuple({"shots": record.data["shots"], **result_row(record)} for record in records),
        "\n".join(f"{section.title}: {verdict(section.lines)}" for section in sections),
        columns=COLUMNS,
        points=tuple(str(section.lines[0].records[0].data["shots"]) for section in sections),
    )
