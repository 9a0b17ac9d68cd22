import torch

from hiercos.geometry.frames import decaying_similarities
from hiercos.methods import METHODS
from trees import TOY, TOY17


def test_a_feature_on_the_frame_scores_the_prescribed_cosines() -> None:
    head = METHODS["haframe"](TOY17, in_features=5, gamma=3.0).head
    head.body = torch.nn.Identity()
    outputs = head(head.frame)  # the vectors of the classes themselves
    expected = torch.tensor(decaying_similarities(TOY17, 3.0), dtype=torch.float32)
    torch.testing.assert_close(outputs[:, :-1], expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(outputs[:, -1], torch.ones(17))


def test_the_frame_is_saved_with_the_weights_and_never_trained() -> None:
    head = METHODS["haframe"](TOY, in_features=5).head
    assert head.state_dict()["frame"].shape == (3, 3)
    assert "frame" not in dict(head.named_parameters())
