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


def test_energies_of_shares_are_those_of_the_softmax_that_the_loss_compares() -> None:
    method, labels = METHODS["hier-cos"](TOY17, in_features=5, reading="shares", alpha=0.0), torch.arange(17)
    assert method.energies is not None
    z = method.head.eval()(torch.randn(17, 5)).detach()
    shares = z.softmax(dim=1)
    torch.testing.assert_close(method.energies(z), shares)
    nodes = [TOY17.ancestors.list(leaf).tolist() for leaf in TOY17.leaves]
    on_path = torch.stack([shares[:, path].sum(dim=1) for path in nodes], dim=1)
    torch.testing.assert_close(method.class_scores(z), on_path.sqrt())
    targets = torch.zeros(17, TOY17.num_nodes, dtype=torch.float64).scatter_add(1, *method.loss.class_targets(labels))
    expected = (torch.xlogy(targets, targets) - targets * shares.log()).sum(dim=1).mean()
    torch.testing.assert_close(method.loss(z, labels).double(), expected)
