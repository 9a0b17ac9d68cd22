import gc
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hiercos.geometry import leaf_scores
from hiercos.geometry.operations import tree_index
from trees import random_tree

CPU = torch.device("cpu")


def test_index_tensors_are_made_once_for_each_taxonomy_and_device() -> None:
    taxonomy, other = random_tree(1), random_tree(2)
    index = tree_index(taxonomy, CPU)
    assert tree_index(taxonomy, CPU) is index
    assert tree_index(random_tree(1), CPU) is index  # an equal value is the same taxonomy
    assert tree_index(other, CPU) is not index
    assert tree_index(taxonomy, torch.device("meta")).leaves.device.type == "meta"


def test_index_tensors_live_no_longer_than_their_taxonomy() -> None:
    taxonomy = random_tree(77)
    index = weakref.ref(tree_index(taxonomy, CPU))
    assert index() is not None
    del taxonomy
    gc.collect()
    assert index() is None


def test_parents_are_positions_within_the_level_above() -> None:
    taxonomy = random_tree(5)
    index = tree_index(taxonomy, CPU)
    assert index.sizes == tuple(
        taxonomy.level(level).stop - taxonomy.level(level).start for level in range(1, taxonomy.height + 1)
    )
    for level, parents in enumerate(index.parents, 2):
        above = taxonomy.level(level - 1).start
        assert (parents + above).tolist() == taxonomy.parents[taxonomy.level(level)].tolist()


def test_scores_made_first_in_inference_mode_can_be_trained_on_afterwards() -> None:
    taxonomy = random_tree(78)
    z = torch.ones(1, taxonomy.num_nodes, requires_grad=True)
    with torch.inference_mode():
        before = leaf_scores(z, taxonomy)
    after = leaf_scores(z, taxonomy)
    after.sum().backward()
    assert after.tolist() == before.tolist()
    assert z.grad is not None


def test_what_a_tracer_made_is_not_kept_for_others() -> None:
    taxonomy = random_tree(79)
    with FakeTensorMode():
        assert leaf_scores(torch.ones(3, taxonomy.num_nodes), taxonomy).shape == (3, taxonomy.num_classes)
    assert type(tree_index(taxonomy, CPU).leaves) is torch.Tensor
