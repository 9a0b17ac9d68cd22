"""The review of a queue: who works on which row, and the file of decisions, which survives a kill."""

import csv
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hiercos.errors import DataError
from hiercos.serve.errors import ServeError
from hiercos.serve.requests import Body
from hiercos.serve.review_rows import ReviewRow
from hiercos.storage import csv_text
from hiercos.taxonomy import Taxonomy

LEASE = 300.0  # seconds for which a row belongs to the person who is looking at it
COLUMNS = ("row", "sure", "confidence", "candidates", "settles")  # of a queue, besides its text or image


class DecisionBody(Body):
    """A decision of a person about a row."""

    place: int = Field(ge=0, description="Place of the row in the queue.")
    decision: Literal["node", "none", "skip", "undo"]
    node: str | None = Field(None, max_length=10_000, description="Path of the node, which may be an inner one.")
    who: str = Field(min_length=1, max_length=100, description="Name of the person.")


def queue_text(rows: list[ReviewRow], taxonomy: Taxonomy) -> str:
    """A queue as CSV."""
    kind = next(iter(rows[0].shown), "") if rows else ""
    lines: list[list[Any]] = [["row", *[kind] * bool(kind), *COLUMNS[1:]]]
    for row in rows:
        candidates = [[taxonomy.path_text(node), round(probability, 6)] for node, probability in row.candidates]
        sure = taxonomy.path_text(row.node) if row.node >= 0 else ""
        listed = json.dumps(candidates, ensure_ascii=False)
        lines.append([row.number, *row.shown.values(), sure, round(row.confidence, 6), listed, row.settles(taxonomy)])
    return csv_text(lines)


def read_queue(path: Path) -> list[dict[str, Any]]:
    """The rows of a queue that `hiercos review` wrote; a `DataError` for another file."""
    with path.open(encoding="utf-8", newline="") as file:
        found: list[dict[str, Any]] = list(csv.DictReader(file))
    for number, row in enumerate(found, 2):
        try:
            row["candidates"] = [{"path": path, "probability": p} for path, p in json.loads(row["candidates"])]
            row["row"], row["confidence"] = int(row["row"]), float(row["confidence"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: row {number}: expected a row of hiercos review") from error
        if not {"text", "image"} & row.keys():
            raise DataError(f"{path}: expected texts or images to review, got vectors")
    return found


@dataclass
class Review:
    """A queue and the decisions about it. Threads may share it."""

    rows: list[dict[str, Any]]
    feedback: Path  # file to which decisions are appended
    _decided: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)  # last decision by place and person
    _leases: dict[int, tuple[str, float]] = field(default_factory=dict)  # person and end, by place
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        places = {self.shown(place): place for place in range(len(self.rows))}
        for each in _written_decisions(self.feedback):
            if (place := places.get(str(each.get("text", each.get("image"))))) is not None:
                self._remember(place, each)

    def shown(self, place: int) -> str:
        """Text, or path of the image, of a row."""
        return str(self.rows[place].get("text") or self.rows[place].get("image"))

    def _remember(self, place: int, record: Mapping[str, Any]) -> None:
        key = (place, str(record["who"]))
        self._decided.pop(key, None)
        if record["decision"] != "undo":
            self._decided[key] = dict(record)

    def next(self, who: str, *, second: bool = False) -> dict[str, Any]:
        """The first row that nobody has decided on or looks at, or for a second opinion one that others decided on.

        It belongs to the person for `LEASE` seconds.
        """
        with self._lock:
            now, deciders = time.monotonic(), self._deciders()
            for place in range(len(self.rows)):
                other, until = self._leases.get(place, (who, now))
                is_open = second != (not deciders.get(place)) and who not in deciders.get(place, ())
                if is_open and (other == who or until < now):
                    self._leases[place] = (who, now + LEASE)
                    return {**self.row(place), **self._counts()}
            return {"place": None, **self._counts()}

    def row(self, place: int) -> dict[str, Any]:
        """A row as the page shows it; the path of an image stays here."""
        row = self.rows[place]
        image = {"image": f"review/image/{place}"} if row.get("image") else {}
        return {"place": place, **{name: row[name] for name in ("text", *COLUMNS) if name in row}, **image}

    def _deciders(self) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        for place, who in self._decided:
            found.setdefault(place, set()).add(who)
        return found

    def _counts(self) -> dict[str, Any]:
        """Rows in all and decided, and the share of those with several decisions on which all agree."""
        nodes: dict[int, list[Any]] = {}
        for (place, _), each in self._decided.items():
            if each["decision"] != "skip":
                nodes.setdefault(place, []).append(each.get("node"))
        shared = [len({*each}) == 1 for each in nodes.values() if len(each) > 1]
        agreement = sum(shared) / len(shared) if shared else None
        done = len(self._deciders())
        return {"rows": len(self.rows), "done": done, "shared": len(shared), "agreement": agreement}

    def decide(self, body: DecisionBody, node: str | None, digest: str) -> None:
        """Append a decision with the full path of its node and the model's SHA-256, and force it to disk."""
        if body.place >= len(self.rows):
            raise ServeError(404, f"there is no row {body.place} in the queue")
        row = self.rows[body.place]
        kind = "text" if row.get("text") else "image"
        record = {
            "row": row["row"],
            kind: row[kind],
            "answer": row["sure"],
            "decision": body.decision,
            "node": node,
            "who": body.who,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "model": digest,
        }
        with self._lock:
            with self.feedback.open("ab") as file:
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self._remember(body.place, record)
            self._leases.pop(body.place, None)


def _written_decisions(path: Path) -> list[dict[str, Any]]:
    """The decisions of a file; a last line that a kill cut short, which was not acknowledged, is taken away."""
    if not path.exists():
        path.touch()
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        os.truncate(path, len(whole))
    try:
        return [json.loads(line) for line in whole.splitlines() if line.strip()]
    except ValueError as error:
        raise DataError(f"{path}: expected decisions of a review, one JSON object a line") from error
