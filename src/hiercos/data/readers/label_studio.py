"""Exports of Label Studio: rows of its JSON and JSON-MIN, and the label in a cell of any of its forms."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hiercos.checks import ARRAY_BYTES, limit_fault
from hiercos.errors import DataError
from hiercos.storage import check_regular

TAG = "taxonomy"  # key of the paths of a result


def exported_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Tasks by number from 1, as objects of their data and of the label of each tag; one for each annotation.

    Raises:
        DataError: for a file that is no list of objects.
    """
    check_regular(path)
    if fault := limit_fault("file bytes", path.stat().st_size, ARRAY_BYTES):
        raise DataError(f"{path}: {fault}")
    try:
        tasks = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: expected an export of Label Studio, a JSON list ({error})") from error
    for number, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        try:
            found = _rows(task)
        except (AttributeError, KeyError, TypeError) as error:
            raise DataError(f"{path}: row {number}: expected a task of Label Studio, got {str(task)[:60]}") from error
        yield from ((number, row) for row in found)


def _rows(task: dict[str, Any]) -> list[dict[str, Any]]:
    """A task of JSON-MIN, or its data with the results of each annotation that was not cancelled."""
    if "data" not in task:
        return [{name: exported_label(value) for name, value in task.items()}]
    made = [each["result"] for each in task.get("annotations", ()) if not each.get("was_cancelled")]
    return [
        {**task["data"], **{each["from_name"]: exported_label([each["value"]]) for each in results if "value" in each}}
        for results in made or [[]]  # relations between results have no value
    ]


def exported_label(value: Any) -> Any:
    """Paths of a taxonomy tag, such as `[{"taxonomy": [["pet", "cat"]]}]` or its JSON, as a label; other values stay.

    Example:
        >>> exported_label('[{"taxonomy": [["pet", "cat"], ["car"]]}]'), exported_label("[sic]")
        ('pet > cat | car', '[sic]')
    """
    try:
        found = json.loads(value) if isinstance(value, str) and value.startswith("[{") else value
        paths = [path for each in found for path in each[TAG]]
        return " | ".join(" > ".join(path) for path in paths)
    except (ValueError, TypeError, KeyError, RecursionError):
        return value
