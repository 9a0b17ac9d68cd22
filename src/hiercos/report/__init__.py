"""Records in; tables, figures and one HTML file out."""

from hiercos.report.intervals import Estimate, paired_difference, t_interval
from hiercos.report.page import write_report
from hiercos.report.results import COLUMNS, Line, best_lines, cell, result_row, results_csv, summarize
from hiercos.report.verdict import verdict

__all__ = [
    "COLUMNS",
    "Estimate",
    "Line",
    "best_lines",
    "cell",
    "paired_difference",
    "result_row",
    "results_csv",
    "summarize",
    "t_interval",
    "verdict",
    "write_report",
]
