import torch
from hypothesis import given
from hypothesis import strategies as st

from hiercos.engine.batches import epoch_batches


@given(count=st.integers(1, 200), batch_size=st.integers(1, 64), seed=st.integers(0, 100), world=st.integers(1, 3))
def test_every_sample_is_seen_once_by_one_process(count: int, batch_size: int, seed: int, world: int) -> None:
    shares = [epoch_batches(count, batch_size, seed=seed, rank=rank, world_size=world) for rank in range(world)]
    assert sorted(torch.cat([batch for share in shares for batch in share]).tolist()) == list(range(count))
    sizes = [sum(len(share[step]) for share in shares) for step in range(len(shares[0]))]
    assert max(sizes) <= batch_size
    assert max(sizes) - min(sizes) <= 1


def test_the_order_depends_on_the_seed_alone() -> None:
    first, again, other = (torch.cat(epoch_batches(50, 8, seed=seed)).tolist() for seed in (1, 1, 2))
    assert first == again != other
