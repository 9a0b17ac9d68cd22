import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hiercos.engine.batches import epoch_batches


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
