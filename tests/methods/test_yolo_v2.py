import torch

from hiercos.methods import METHODS
from trees import TOY, TOY17


def test_class_probabilities_are_products_along_the_path() -> None:
    method = METHODS["yolo-v2"](TOY, in_features=2)
    # nodes: pet .4, vehicle .6; given pet, cat .25 and dog .75; the car is an only child, whatever its logit
    logits = torch.tensor([[0.4, 0.6, 0.25, 0.75, 99.0]]).log()
    torch.testing.assert_close(method.class_scores(logits).exp(), torch.tensor([[0.1, 0.3, 0.6]]))
    torch.testing.assert_close(method.node_scores(logits), torch.tensor([[0.4, 0.6, 0.1, 0.3, 0.6]]))


def test_the_scores_are_a_distribution_already() -> None:
    method = METHODS["yolo-v2"](TOY17, in_features=2)
    scores = method.class_scores(5 * torch.randn(4, TOY17.num_nodes))
    torch.testing.assert_close(scores.exp().sum(dim=1), torch.ones(4))
    torch.testing.assert_close(scores.softmax(dim=1), scores.exp())
