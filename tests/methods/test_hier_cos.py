import torch

from hiercos.geometry import leaf_scores, node_scores
from hiercos.methods import METHODS
from trees import TOY17


def test_the_span_of_the_subspaces_changes_the_scores_and_never_the_loss() -> None:
    z, labels = torch.randn(6, TOY17.num_nodes), torch.arange(6)
    full = METHODS["hier-cos"](TOY17, in_features=5)
    alone = METHODS["hier-cos"](TOY17, in_features=5, ancestors=False, descendants=False)
    assert torch.equal(full.loss(z, labels), alone.loss(z, labels))
    assert torch.equal(full.class_scores(z), leaf_scores(z, TOY17))
    torch.testing.assert_close(alone.class_scores(z), z.abs()[:, TOY17.leaves.tolist()])
    assert torch.equal(full.node_scores(z), node_scores(z, TOY17))
    torch.testing.assert_close(alone.node_scores(z), z.abs())
