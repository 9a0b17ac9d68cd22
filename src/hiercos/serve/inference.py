"""One thread of inference: requests wait in a bounded queue, and those that wait together are scored together."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hiercos.data import ColumnInputs, InputBatch, Inputs, as_inputs
from hiercos.decisions import Posterior
from hiercos.serve.errors import busy
from hiercos.serve.limits import Limits
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
        kinds = {self.batch.inputs.kind, other.batch.inputs.kind}
        return self.served is other.served and self.energies == other.energies and kinds in ({"texts"}, {"vectors"})


class Inference:
    """The thread that scores. A row's answer does not depend on the requests that share its batch."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._waiting: queue.Queue[Job | None] = queue.Queue(limits.queue)
        self._next: Job | None = None  # taken from the queue, but not of the batch before it
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inference", daemon=True)
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether requests are accepted."""
        return self._thread.is_alive() and not self._stopping.is_set()

    @property
    def depth(self) -> int:
        """Number of requests that wait."""
        return self._waiting.qsize()

    def submit(self, served: ServedModel, batch: InputBatch, use: Use, *, energies: bool = False) -> "Future[Any]":
        """Queue some inputs; the future has what `use` returns. A full queue or a stopping service is status 503."""
        if not self.is_ready:
            raise busy("the service is stopping")
        job = Job(served, batch, use, energies, time.monotonic() + self.limits.seconds)
        try:
            self._waiting.put_nowait(job)
        except queue.Full as error:
            raise busy(f"{self.limits.queue} requests are waiting; try again later") from error
        return job.result

    def stop(self) -> None:
        """Finish what was accepted, and end the thread."""
        self._stopping.set()
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while jobs := self._batch():
            open_jobs = [job for job in jobs if self._is_wanted(job)]
            if open_jobs and not _answered(open_jobs):
                for job in open_jobs:  # one of them has a fault: each on its own
                    _answered([job], alone=True)

    def _batch(self) -> list[Job]:
        """The job that waited longest with others that fit it; none at the end."""
        first = self._next or self._waiting.get()
        self._next = None
        if first is None:
            return []
        jobs, rows = [first], len(first.batch)
        with suppress(queue.Empty):
            while rows < self.limits.batch_rows:
                job = self._waiting.get_nowait()
                if job is None:
                    self._waiting.put(None)  # the end, after this batch
                    break
                rows += len(job.batch)
                if rows > self.limits.batch_rows or not first.fits(job):
                    self._next = job
                    break
                jobs.append(job)
        return jobs

    @staticmethod
    def _is_wanted(job: Job) -> bool:
        """Whether somebody still waits for a job; others get an error."""
        if not job.result.set_running_or_notify_cancel():
            return False
        if time.monotonic() <= job.deadline:
            return True
        job.result.set_exception(busy("the request waited too long; try again later"))
        return False


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
