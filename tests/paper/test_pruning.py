import pytest
import torch

from hiercos.data import Vectors
from hiercos.methods import Model
from hiercos.model import Classifier, ModelError
from hiercos.paper import level_costs, level_model
from trees import TOY17


def stored(**options: object) -> Classifier:
    torch.manual_seed(0)
    model = Model(TOY17, 5, "hier-cos", options)
    model.standardize.fit(torch.randn(30, 5) + 2)
    model.train()(torch.randn(40, 5))  # batch statistics other than 0 and 1
    return Classifier(model.eval(), None)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"width": 8},
        {"basis": "random"},
        {"width": 8, "basis": "random"},
    ],
)
@pytest.mark.parametrize("level", [1, 2, 4])
def test_the_pruned_model_has_the_coordinates_of_its_level_and_fewer_weights(options: dict, level: int) -> None:
    whole, features = stored(**options), torch.randn(6, 5)
    pruned = level_model(whole, level)
    nodes = TOY17.level(level)
    with torch.no_grad():
        z = whole.model(features)[:, nodes]
        torch.testing.assert_close(pruned.model(features), z)
        torch.testing.assert_close(pruned.model.class_scores(pruned.model(features)), z.abs())
    assert pruned.model.taxonomy.class_names == TOY17.names[nodes]
    sizes = [sum(value.numel() for value in each.model.state_dict().values()) for each in (whole, pruned)]
    assert sizes[1] < sizes[0]


def test_a_model_that_has_no_such_level_or_method_is_refused() -> None:
    with pytest.raises(ModelError, match="expected a level from 1 to 4, got 5"):
        level_model(stored(), 5)
    with pytest.raises(
        ModelError, match="expected a model of 'hier-cos' with frozen features to prune, got one of 'hxe'"
    ):
        level_model(Classifier(Model(TOY17, 5, "hxe"), None), 1)


def test_the_cost_of_pruning_is_measured_at_the_level() -> None:
    whole = stored(width=8)
    features = torch.randn(20, 5)
    answers = whole.model.node_scores(whole.model(features))[:, TOY17.level(1)].argmax(dim=1)
    labels = 17 + answers.numpy()  # the whole model is right; nodes of level 1 come first
    costs = level_costs(whole, level_model(whole, 1), Vectors(features.numpy()), labels, 1)
    assert costs["whole"].accuracy == 1
    assert costs["whole"].samples == costs["pruned"].samples == 20
    assert 0 <= costs["pruned"].accuracy <= 1
    assert costs["pruned"].size < costs["whole"].size
