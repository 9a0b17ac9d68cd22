import torch

from hiercos.methods import METHODS
from trees import TOY


def test_flat_methods_answer_at_a_level_with_the_summed_probabilities() -> None:
    method = METHODS["cross-entropy"](TOY, in_features=2)
    logits = torch.tensor([[0.2, 0.2, 0.6]]).log()  # cat, dog, car
    # nodes: pet, vehicle, cat, dog, car
    torch.testing.assert_close(method.node_scores(logits), torch.tensor([[0.4, 0.6, 0.2, 0.2, 0.6]]))
    assert torch.equal(method.class_scores(logits), logits)


def test_a_method_is_shown_by_the_names_of_its_parts() -> None:
    method = METHODS["cross-entropy"](TOY, in_features=2)
    parts = "head=Linear, loss=CrossEntropyLoss, class_scores=Identity, node_scores=SummedProbabilities"
    assert repr(method) == f"Method({parts})"
