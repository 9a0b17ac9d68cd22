"""Records in; tables, figures and one HTML file out."""

from hiercos.report.ablation import AblationGroup, ablation_results
from hiercos.report.document import Results, Section, comparison_results
from hiercos.report.forms import FORMS, results_text, write_results
from hiercos.report.grid import Cell, Grid
from hiercos.report.intervals import INTERVALS, Estimate, Interval, paired_difference, t_interval
from hiercos.report.page import write_report
from hiercos.report.reference import best_flat_line, checked_reference
from hiercos.report.results import COLUMNS, Column, Line, csv_text, figure, line_of, result_row, summarize
from hiercos.report.verdict import verdict

__all__ = [
    "COLUMNS",
    "FORMS",
    "INTERVALS",
    "AblationGroup",
    "Cell",
    "Column",
    "Estimate",
    "Grid",
    "Interval",
    "Line",
    "Results",
    "Section",
    "ablation_results",
    "best_flat_line",
    "checked_reference",
    "comparison_results",
    "csv_text",
    "figure",
    "line_of",
    "paired_difference",
    "result_row",
    "results_text",
    "summarize",
    "t_interval",
    "verdict",
    "write_report",
    "write_results",
]
