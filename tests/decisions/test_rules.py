import pytest
import torch

from hiercos.decisions import RULES, RuleError, crm_scores, hops_order_scores
from hiercos.errors import FaultsError
from trees import TOY, TOY17

SCORES = torch.randn(5, 17, generator=torch.Generator().manual_seed(0))


def test_the_rules_are_the_published_names() -> None:
    assert list(RULES) == ["none", "crm", "hops"]


def test_no_rule_leaves_the_scores_alone() -> None:
    assert RULES["none"](SCORES, 2.0, TOY17) is SCORES


def test_the_other_rules_read_the_softmax_at_the_temperature() -> None:
    probabilities = (SCORES.double() / 2).softmax(dim=1)
    assert torch.equal(RULES["crm"](SCORES, 2.0, TOY17), crm_scores(probabilities, TOY17))
    assert torch.equal(RULES["hops"](SCORES, 2.0, TOY17), hops_order_scores(probabilities, TOY17))


def test_the_temperature_can_change_the_answer() -> None:
    scores = torch.tensor([[1.0, 0.9, 1.1]])  # car by a little, and two pets
    assert RULES["crm"](scores, 0.01, TOY).argmax().item() == 2
    assert RULES["crm"](scores, 1.0, TOY).argmax().item() == 0


def test_an_unknown_rule_is_an_error_that_lists_the_rules() -> None:
    with pytest.raises(RuleError, match="unknown rule 'risk'; expected one of none, crm, hops"):
        RULES["risk"]
    assert issubclass(RuleError, FaultsError)
