import torch

from hiercos.methods import METHODS
from trees import TOY, TOY17


def test_the_logits_of_classes_are_sums_of_node_scores_along_their_paths() -> None:
    head, features = METHODS["path-softmax"](TOY17, in_features=5).head.eval(), torch.randn(6, 5)
    nodes = head[0](features)  # (6, N)
    paths = [list(TOY17.path(int(leaf))) for leaf in TOY17.leaves]
    expected = torch.stack([nodes[:, path].sum(dim=1) for path in paths], dim=1)
    torch.testing.assert_close(head(features), expected)


def test_scores_are_the_logits_and_levels_their_summed_probabilities() -> None:
    method = METHODS["path-softmax"](TOY, in_features=2)
    logits = torch.tensor([[0.2, 0.2, 0.6]]).log()  # cat, dog, car
    assert torch.equal(method.class_scores(logits), logits)
    torch.testing.assert_close(method.node_scores(logits), torch.tensor([[0.4, 0.6, 0.2, 0.2, 0.6]]))


def test_without_a_width_the_node_scores_are_linear() -> None:
    head = METHODS["path-softmax"](TOY, in_features=2, width=None).head
    assert sum(weight.numel() for weight in head.parameters()) == 5 * (2 + 1)
