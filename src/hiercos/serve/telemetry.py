"""Counters of the service in the text format of Prometheus."""

import json
import math
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # upper ends of the latency histogram
HELP = {
    "hiercos_requests_total": ("counter", "Requests by route and status."),
    "hiercos_request_seconds": ("histogram", "Time from the request to the end of its answer."),
    "hiercos_rows_total": ("counter", "Inputs answered."),
    "hiercos_answers_total": ("counter", "Answers by the level they stopped at: class, a number, or 0 for none."),
    "hiercos_confidence_sum": ("counter", "Sum of the probabilities of the answers; over rows_total, their mean."),
    "hiercos_queue_depth": ("gauge", "Requests that wait for the model."),
}


class Telemetry:
    """Counts of requests and answers. Threads may share it."""

    def __init__(self) -> None:
        self._values: dict[str, Counter[str]] = {family: Counter() for family in HELP}  # by family and line
        self._lock = threading.Lock()

    def _add(self, family: str, amount: float = 1, part: str = "", **labels: str) -> None:
        escaped = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in labels.items())
        line = f"{family}{part}{{{','.join(escaped)}}}" if labels else f"{family}{part}"
        self._values[family][line] += amount  # type: ignore[assignment]  # sums of floats, too

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self._add("hiercos_requests_total", route=route, status=str(status))
            for end in (*SECONDS, math.inf):
                shown = str(end).replace("inf", "+Inf")
                self._add("hiercos_request_seconds", float(seconds <= end), "_bucket", le=shown)
            self._add("hiercos_request_seconds", seconds, "_sum")
            self._add("hiercos_request_seconds", 1, "_count")

    def answers(self, model: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """Count the answers to some inputs, given as columns of `answer_columns`, one row for each input."""
        rows = len(columns["row"])
        levels, classes, confidences = columns.get("level", [None] * rows), columns.get("class"), columns["confidence"]
        if (sets := columns.get("answers")) is not None:  # the most probable label of each
            confidences = [labels[0]["confidence"] if labels else 0 for labels in sets]
            classes, levels = [""] * rows, [f"{len(labels)} labels" for labels in sets]
        with self._lock:
            self._add("hiercos_rows_total", rows, model=model)
            self._add("hiercos_confidence_sum", sum(value or 0 for value in confidences), model=model)
            for name, level in zip(classes or (), levels, strict=True):
                self._add("hiercos_answers_total", model=model, level="class" if name else str(level))

    def text(self, queue_depth: int) -> str:
        """All counters, and the gauge of the queue."""
        with self._lock:
            self._values["hiercos_queue_depth"]["hiercos_queue_depth"] = queue_depth
            lines = []
            for family, (kind, sentence) in HELP.items():
                lines += [f"# HELP {family} {sentence}", f"# TYPE {family} {kind}"]
                lines += [f"{line} {value:.10g}" for line, value in self._values[family].items()]
        return "\n".join(lines) + "\n"
