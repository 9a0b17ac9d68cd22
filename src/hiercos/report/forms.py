"""Results as files: results.csv, results.md, results.tex, results.json and report.html."""

import json
import math
from pathlib import Path
from typing import Any

from hiercos.files import write_atomically
from hiercos.report.document import Results, Section
from hiercos.report.latex import results_latex
from hiercos.report.markdown import results_markdown
from hiercos.report.page import write_report
from hiercos.report.results import Estimate, csv_text

FORMS = {"csv": "csv", "markdown": "md", "latex": "tex", "json": "json"}  # output format -> file extension


def results_text(results: Results, form: str) -> str:
    """The results in one of the output formats."""
    if form == "csv":
        return csv_text(results.rows)
    return {"markdown": results_markdown, "latex": results_latex, "json": results_json}[form](results)


def write_results(results: Results, folder: Path) -> str:
    """Write the results to a folder in every format; returns the sentence of `write_report`."""
    for form, ending in FORMS.items():
        write_atomically(folder / f"results.{ending}", results_text(results, form))
    return write_report(results, folder / "report.html")


def results_json(results: Results) -> str:
    """The results as one JSON object: data, rows, means and differences with their intervals; nan becomes null."""
    record = results.records[0]
    values = {
        "data": dict(record.data),
        "taxonomy": dict(record.taxonomy),
        "seeds": results.seeds,
        "interval": results.interval,
        "verdict": results.verdict,
        "rows": [{name: _null_for_nan(value) for name, value in row.items()} for row in results.rows],
        "tables": [_table(results, section) for section in results.sections],
    }
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _table(results: Results, section: Section) -> dict[str, Any]:
    keys, reference = [column.name for column in results.columns], section.reference
    lines = [
        {"name": line.name, **{key: _estimate(line.estimate(key)) for key in keys}}  # each a mean and a half-width
        for line in section.lines
    ]
    differences = [
        {"name": line.name, **{key: _estimate(line.difference(reference, key)) for key in keys}}
        for line in section.others
        if reference is not None
    ]
    return {
        "title": section.title,
        "lines": lines,
        "reference": reference.name if reference else None,
        "differences": differences,
    }


def _estimate(estimate: Estimate) -> dict[str, float | None]:
    return {"mean": _null_for_nan(estimate.mean), "half_width": _null_for_nan(estimate.half_width)}


def _null_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
