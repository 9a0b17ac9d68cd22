import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos.methods import Projection, csr_tensor


def low_rank(rank: int = 3) -> sp.csr_matrix:
    """Samples (40, 30) that vary in a few directions."""
    generator = np.random.default_rng(0)
    return sp.csr_matrix((generator.normal(size=(40, rank)) @ generator.normal(size=(rank, 30))).astype(np.float32))


def test_a_projection_keeps_the_directions_that_samples_vary_in_and_no_others() -> None:
    matrix = low_rank()
    projection = Projection.fit(matrix, dim=10, seed=0)
    assert (projection.in_features, projection.num_features) == (30, 3)
    features, dense = projection(csr_tensor(matrix)), torch.tensor(matrix.toarray())
    assert features.square().mean() == pytest.approx(1, rel=1e-4)
    scale = features.norm() / dense.norm()
    torch.testing.assert_close(features @ features.T, scale**2 * dense @ dense.T, atol=1e-3, rtol=1e-3)


def test_samples_that_are_all_zero_give_zeros() -> None:
    empty = sp.csr_matrix((4, 6), dtype=np.float32)
    assert not Projection.fit(empty, dim=2, seed=0)(csr_tensor(empty)).any()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 6), st.integers(1, 40), st.floats(0, 1), st.integers(0, 99))
def test_a_sparse_product_equals_the_dense_one(rows: int, width: int, density: float, seed: int) -> None:
    matrix = sp.random(rows, width, density=density, format="csr", dtype=np.float32, random_state=seed)
    projection = Projection(torch.randn(width, 3, generator=torch.Generator().manual_seed(seed)))
    dense = torch.tensor(matrix.toarray())
    torch.testing.assert_close(csr_tensor(matrix).to_dense(), dense)
    torch.testing.assert_close(projection(csr_tensor(matrix)), projection(dense), atol=1e-5, rtol=1e-5)
