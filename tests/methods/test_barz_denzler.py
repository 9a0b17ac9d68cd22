import torch

from hiercos.geometry.frames import class_frame, height_similarities
from hiercos.methods import METHODS
from trees import TOY, TOY17


def test_a_class_embedding_is_answered_with_the_similarities_of_its_class() -> None:
    method = METHODS["barz-denzler"](TOY, in_features=2)
    f = 3 * class_frame(height_similarities(TOY))  # the length of an embedding does not matter
    cosines = torch.tensor([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    torch.testing.assert_close(method.class_scores(f), cosines, rtol=0, atol=1e-6)
    # nodes: pet, vehicle, cat, dog, car; for a cat, pet is as near as the cat and vehicle as the car
    torch.testing.assert_close(method.node_scores(f[:1]), torch.tensor([[1, 0, 1, 0.5, 0]]), rtol=0, atol=1e-6)


def test_the_answer_of_a_level_is_the_ancestor_of_the_nearest_class() -> None:
    method = METHODS["barz-denzler"](TOY17, in_features=2)
    f = torch.randn(50, TOY17.num_classes)
    nearest = method.class_scores(f).argmax(dim=1)
    tops = [TOY17.path(int(leaf))[0] for leaf in TOY17.leaves[nearest.numpy()]]
    assert method.node_scores(f)[:, TOY17.level(1)].argmax(dim=1).tolist() == tops
