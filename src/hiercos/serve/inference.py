"""One thread of inference: requests wait in a bounded queue, and those that wait together are scored together."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hiercos.data import ColumnInputs, InputBatch, Inputs, as_inputs
from hiercos.decisions import Posterior
from hiercos.serve.limits import Limits, busy
from hiercos.serve.served_model import ServedModel

Use = Callable[[InputBatch, Posterior], Any]


@dataclass(eq=False)
class Job:
    """Inputs of one request that wait for their posterior."""

    served: ServedModel  # model to ask
    batch: InputBatch  # inputs with their row numbers
    use: Use  # function from the inputs and their posterior to the result, called in the thread of inference
    energies: bool  # whether the posterior needs the energies of the nodes
    deadline: float  # time of `time.monotonic` after which nobody waits for the result
    result: "Future[Any]" = field(default_factory=Future)

    def fits(self, other: "Job") -> bool:
        """Whether two jobs can be scored together; images of one request alone, so that memory is bounded."""
        kind = self.batch.inputs.kind
        same = self.served is other.served and self.energies == other.energies
        return same and kind == other.batch.inputs.kind != "images"

    def is_wanted(self) -> bool:
        """Whether somebody still waits for the result; a job that waited too long gets an error."""
        if not self.result.set_running_or_notify_cancel():
            return False
        if time.monotonic() <= self.deadline:
            return True
        self.result.set_exception(busy("the request waited too long; try again later"))
        return False


class Inference:
    """One thread that scores. A row's answer does not depend on the requests that share its batch."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.is_ready = True  # whether requests are accepted
        self._waiting: deque[Job] = deque()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "inference")

    @property
    def depth(self) -> int:
        """Number of requests that wait."""
        return len(self._waiting)

    def submit(
        self, served: ServedModel, batch: InputBatch, use: Use, *, energies: bool = False, bounded: bool = True
    ) -> "Future[Any]":
        """Queue some inputs; the future has what `use` returns. A full queue or a stopping service is status 503.

        A table that has begun to be answered, one batch at a time, is not bounded.
        """
        job = Job(served, batch, use, energies, time.monotonic() + self.limits.seconds)
        with self._lock:
            if not self.is_ready:
                raise busy("the service is stopping")
            if bounded and self.depth >= self.limits.queue:
                raise busy(f"{self.limits.queue} requests are waiting; try again later")
            self._waiting.append(job)
            self._thread.submit(self._answer_next)
        return job.result

    def stop(self) -> None:
        """Finish what was accepted, and end the thread."""
        with self._lock:
            self.is_ready = False
        self._thread.shutdown()

    def _answer_next(self) -> None:
        """Answer the job that waited longest and those behind it that fit it; none if another turn has."""
        jobs, rows = list[Job](), 0
        with self._lock:
            while self._waiting and (not jobs or jobs[0].fits(self._waiting[0])):
                rows += len(self._waiting[0].batch)
                if jobs and rows > self.limits.batch_rows:
                    break
                jobs.append(self._waiting.popleft())
        jobs = [job for job in jobs if job.is_wanted()]
        if jobs and not _answered(jobs):
            for job in jobs:  # one of them has a fault: each on its own
                _answered([job], alone=True)


def _answered(jobs: Sequence[Job], *, alone: bool = False) -> bool:
    """Whether a batch of jobs got its results; a job alone gets its error."""
    try:
        posterior, results, start = _posterior(jobs), [], 0
        for job in jobs:
            own = posterior if len(jobs) == 1 else posterior.rows(slice(start, start + len(job.batch)))
            results.append(job.use(job.batch, own))
            start += len(job.batch)
    except Exception as error:  # whatever it is, the thread goes on and the client is told
        if alone:
            jobs[0].result.set_exception(error)
        return False
    for job, result in zip(jobs, results, strict=True):
        job.result.set_result(result)
    return True


def _posterior(jobs: Sequence[Job]) -> Posterior:
    served, inputs = jobs[0].served, joined([job.batch.inputs for job in jobs])
    return served.model.calibrated(served.model.scores(inputs, served.config, energies=jobs[0].energies))


def joined(parts: Sequence[Inputs]) -> Inputs:
    """Inputs of one kind, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], ColumnInputs):
        return ColumnInputs.joined([part for part in parts if isinstance(part, ColumnInputs)])
    return as_inputs([value for part in parts for value in part.values(range(len(part)))], parts[0].kind)
