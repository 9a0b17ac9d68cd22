"""The queue in front of the model."""

import threading
from concurrent.futures import Future

import pytest

from hiercos.data import InputBatch, Texts
from hiercos.decisions import Posterior
from hiercos.serve import Inference, Limits, ServedModel, ServeError
from serving import client_of


def batch(*texts: str) -> InputBatch:
    return InputBatch(range(1, len(texts) + 1), Texts(texts))


def sizes(inputs: InputBatch, posterior: Posterior) -> tuple[int, int]:
    return len(inputs), len(posterior)


class Held:
    """An inference whose thread waits in its first job until it is let go."""

    def __init__(self, served: ServedModel, limits: Limits) -> None:
        self.inference, self.go, entered = Inference(limits), threading.Event(), threading.Event()

        def wait(inputs: InputBatch, posterior: Posterior) -> None:
            entered.set()
            self.go.wait(20)

        self.first: Future[None] = self.inference.submit(served, batch("a"), wait)
        entered.wait(20)


def test_a_full_queue_refuses_and_a_stop_finishes_what_was_accepted(toy: ServedModel) -> None:
    held = Held(toy, Limits(queue=2))
    accepted = [held.inference.submit(toy, batch("furry", "metal"), sizes) for _ in range(2)]
    with pytest.raises(ServeError, match="2 requests are waiting") as refused:
        held.inference.submit(toy, batch("furry"), sizes)
    assert (refused.value.status, refused.value.retry_after) == (503, 1)
    stopping = threading.Thread(target=held.inference.stop)
    held.go.set()
    stopping.start()
    assert [each.result(20) for each in accepted] == [(2, 2), (2, 2)]
    stopping.join(20)
    with pytest.raises(ServeError, match="stopping"):
        held.inference.submit(toy, batch("furry"), sizes)


def test_jobs_that_wait_together_are_scored_together_up_to_the_limit(toy: ServedModel) -> None:
    held = Held(toy, Limits(batch_rows=4))
    seen: list[Posterior] = []
    jobs = [
        held.inference.submit(toy, batch("furry", "metal"), lambda _, posterior: seen.append(posterior.scores.base))
        for _ in range(3)
    ]
    held.go.set()
    for job in jobs:
        job.result(20)
    held.inference.stop()
    assert seen[0] is seen[1] is not seen[2]


def test_a_fault_of_one_job_is_not_that_of_its_neighbours(toy: ServedModel) -> None:
    held = Held(toy, Limits())

    def fail(inputs: InputBatch, posterior: Posterior) -> None:
        raise KeyError("mine")

    good, bad = held.inference.submit(toy, batch("furry"), sizes), held.inference.submit(toy, batch("metal"), fail)
    held.go.set()
    assert good.result(20) == (1, 1)
    with pytest.raises(KeyError, match="mine"):
        bad.result(20)
    held.inference.stop()


def test_a_request_that_waited_too_long_is_told_so(toy: ServedModel) -> None:
    with client_of(toy, seconds=1) as client:
        inference = client.app.state.service.inference
        go = threading.Event()
        inference.submit(toy, batch("a"), lambda *_: go.wait(20))
        answer = client.post("/predict", json={"inputs": "furry"})
        go.set()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "within 1 seconds" in answer.json()["error"]
