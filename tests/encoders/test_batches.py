import os
import signal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from colours import colour_images
from hiercos.data import Texts
from hiercos.data.inputs import Rows
from hiercos.encoders.backbones import ImageTransform, TrainTransform
from hiercos.encoders.batches import RawSamples, ReaderProcessError, epoch_batches

TRANSFORM = ImageTransform(8)
PARTS = list(torch.randperm(20, generator=torch.Generator().manual_seed(0)).split(6))


@given(count=st.integers(1, 200), batch_size=st.integers(1, 64), seed=st.integers(0, 100), world=st.integers(1, 3))
def test_every_sample_is_seen_once_by_one_process(count: int, batch_size: int, seed: int, world: int) -> None:
    shares = [epoch_batches(count, batch_size, seed=seed, rank=rank, world_size=world) for rank in range(world)]
    assert sorted(torch.cat([batch.rows for share in shares for batch in share]).tolist()) == list(range(count))
    steps = [[share[step] for share in shares] for step in range(len(shares[0]))]
    sizes = [sum(len(batch.rows) for batch in parts) for parts in steps]
    assert max(sizes) - min(sizes) <= 1
    if batch_size >= 4 * world:
        assert max(sizes) <= batch_size
    if count >= 2 * world:
        assert min(len(batch.rows) for parts in steps for batch in parts) >= 2
    assert all(sum(batch.weight for batch in parts) == pytest.approx(world) for parts in steps)


def test_the_order_depends_on_the_seed_alone() -> None:
    first, again, other = (
        torch.cat([batch.rows for batch in epoch_batches(50, 8, seed=seed)]).tolist() for seed in (1, 1, 2)
    )
    assert first == again != other


def batches(workers: int, seed: int, *, augment: bool = True) -> list[torch.Tensor]:
    changes = TrainTransform(TRANSFORM, "pad-crop") if augment else None
    samples = RawSamples(colour_images(20), TRANSFORM, changes, workers)
    return list(samples.batches(PARTS, seed=seed))


def test_random_changes_depend_on_the_seed_and_not_on_the_workers() -> None:
    state = torch.get_rng_state()
    here, workers, other = batches(0, seed=3), batches(2, seed=3), batches(0, seed=4)
    assert all(torch.equal(*pair) for pair in zip(here, workers, strict=True))
    assert not any(torch.equal(*pair) for pair in zip(here, other, strict=True))
    assert not torch.equal(batches(0, seed=3, augment=False)[0], here[0])
    assert torch.equal(torch.get_rng_state(), state)  # which dropout draws from


def test_batches_hold_their_rows_in_order() -> None:
    images = colour_images(20)
    for rows, batch in zip(PARTS, batches(0, seed=0, augment=False), strict=True):
        assert torch.equal(batch, TRANSFORM([images.open(row) for row in rows.tolist()]))


def test_a_reader_that_stops_early_leaves_no_thread_behind() -> None:
    samples = RawSamples(Texts(("a", "b", "c", "d")), _Upper())
    stream = samples.batches(torch.arange(4).split(1))
    assert next(stream) == ["A"]
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)


class _Upper:
    def __call__(self, samples: list[str]) -> list[str]:
        return [text.upper() for text in samples]

    def to_dict(self) -> dict[str, object]:
        return {}


class _Killed(Texts):
    """Texts whose reader process is killed, as by a system that is out of memory."""

    def values(self, rows: Rows) -> list[str]:
        if torch.utils.data.get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().values(rows)


def test_a_reader_process_that_dies_is_named() -> None:
    samples = RawSamples(_Killed(["a", "b", "c"]), _Upper(), workers=1, at_once=1)
    with pytest.raises(ReaderProcessError, match="a process that reads inputs ended unexpectedly, perhaps because"):
        list(samples.batches([torch.tensor([row]) for row in range(3)]))
