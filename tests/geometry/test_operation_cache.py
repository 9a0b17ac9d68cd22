import gc
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from hiercos.geometry import leaf_scores, tree_operations
from trees import random_tree

CPU = torch.device("cpu")


def test_operations_are_made_once_for_each_taxonomy_and_device() -> None:
    taxonomy, other = random_tree(1), random_tree(2)
    operations = tree_operations(taxonomy, CPU)
    assert tree_operations(taxonomy, CPU) is operations
    assert tree_operations(random_tree(1), CPU) is operations  # an equal value is the same taxonomy
    assert tree_operations(other, CPU) is not operations
    assert tree_operations(taxonomy, torch.device("meta")).leaves.device.type == "meta"


def test_operations_live_no_longer_than_their_taxonomy() -> None:
    taxonomy = random_tree(77)
    operations = weakref.ref(tree_operations(taxonomy, CPU))
    assert operations() is not None
    del taxonomy
    gc.collect()
    assert operations() is None


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
    assert type(tree_operations(taxonomy, CPU).leaves) is torch.Tensor
