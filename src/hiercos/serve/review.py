"""The review of a queue: who works on which row, and the file of decisions, which survives a kill."""

import csv
import errno
import json
import mimetypes
import os
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout
from pydantic import Field

from hiercos.errors import DataError
from hiercos.evaluation import ReviewRow
from hiercos.serve.limits import Body, ServeError, busy
from hiercos.storage import csv_text
from hiercos.taxonomy import Taxonomy

LEASE = 300.0  # seconds for which a row belongs to the person who is looking at it
BEGIN = b'{"row": '  # of a decision's line
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
    """A queue and the decisions about it. Threads may share it; processes may not, until `close`."""

    rows: list[dict[str, Any]]
    feedback: Path  # file to which decisions are appended
    _decided: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)  # last decision by place and person
    _leases: dict[int, tuple[str, float]] = field(default_factory=dict)  # person and end, by place
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._file_lock = FileLock(f"{self.feedback}.lock", blocking=False, thread_local=False)
        try:
            self._file_lock.acquire()
        except Timeout as error:
            raise DataError(f"{self.feedback}: another server writes decisions to this file") from error
        places = {self.shown(place): place for place in range(len(self.rows))}
        try:
            written = _written_decisions(self.feedback)
        except BaseException:
            self.close()
            raise
        for each in written:
            if (place := places.get(str(each.get("text", each.get("image"))))) is not None:
                self._remember(place, each)

    def close(self) -> None:
        """Leave the file of decisions to others."""
        self._file_lock.release(force=True)
        with suppress(OSError):  # Windows keeps an open file
            os.unlink(self._file_lock.lock_file)

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

        It belongs to the person for `LEASE` seconds. A row that the person has skipped is left to others.
        """
        with self._lock:
            now, decided = time.monotonic(), self._nodes()
            for place in range(len(self.rows)):
                other, until = self._leases.get(place, (who, now))
                is_open = second == (place in decided) and (place, who) not in self._decided
                if is_open and (other == who or until < now):
                    self._leases[place] = (who, now + LEASE)
                    return {**self.row(place), **self._counts()}
            return {"place": None, **self._counts()}

    def row(self, place: int) -> dict[str, Any]:
        """A row as the page shows it, with the content of its image, whose path stays here."""
        row = self.rows[place]
        path = Path(row.get("image") or os.devnull)
        kind, content = mimetypes.guess_type(path)[0], path.read_bytes() if path.is_file() else b""
        image = {"image": f"data:{kind};base64,{b64encode(content).decode()}"} if content else {}
        return {"place": place, **{name: row[name] for name in ("text", *COLUMNS) if name in row}, **image}

    def _nodes(self) -> dict[int, list[Any]]:
        """The nodes that people decided on by place, None for none of the taxonomy; skipping decides nothing."""
        found: dict[int, list[Any]] = {}
        for (place, _), each in self._decided.items():
            if each["decision"] != "skip":
                found.setdefault(place, []).append(each.get("node"))
        return found

    def _counts(self) -> dict[str, Any]:
        """Rows in all and decided, and the share of those with several decisions on which all agree."""
        nodes = self._nodes()
        shared = [len({*each}) == 1 for each in nodes.values() if len(each) > 1]
        agreement = sum(shared) / len(shared) if shared else None
        return {"rows": len(self.rows), "done": len(nodes), "shared": len(shared), "agreement": agreement}

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
            try:
                _append(self.feedback, json.dumps(record, ensure_ascii=False).encode() + b"\n")
            except OSError as error:
                raise busy(f"the decision was not written ({error.strerror}); try again later") from error
            self._remember(body.place, record)
            self._leases.pop(body.place, None)


def _append(path: Path, line: bytes) -> None:
    """Append a line and force it to disk; after an error the file is as it was."""
    with path.open("ab", buffering=0) as file:
        size = file.tell()
        try:
            if file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def _written_decisions(path: Path) -> list[dict[str, Any]]:
    """The decisions of a file; a last line that a kill cut short, which was not acknowledged, is taken away."""
    path.touch()
    content, found = path.read_bytes(), list[dict[str, Any]]()
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        try:
            found.append(_decision(line))
        except (KeyError, TypeError, ValueError) as error:
            is_ours = bool(found) or BEGIN.startswith(line[: len(BEGIN)])  # another file is never cut
            if line.endswith(b"\n") or not is_ours or not isinstance(error, ValueError):
                expected = "expected a decision of a review, with 'decision' and 'who'"
                raise DataError(f"{path}: row {number}: {expected}") from error
            os.truncate(path, len(content) - len(line))
            return found
    if content and not content.endswith(b"\n"):
        _append(path, b"\n")
    return found


def _decision(line: bytes) -> dict[str, Any]:
    """A decision from a line of a file; an error for another line."""
    values: dict[str, Any] = json.loads(line)
    return {**values, "decision": values["decision"], "who": values["who"]}
