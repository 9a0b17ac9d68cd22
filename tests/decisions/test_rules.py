import json
from dataclasses import dataclass

import numpy as np
import pytest

from hiercos.decisions import RULES, Posterior, RuleError, rule, rule_from_dict
from hiercos.decisions.class_rules import Likeliest
from hiercos.errors import FaultsError
from trees import TOY, TOY17

SCORES = np.random.default_rng(0).normal(size=(5, 17)).astype(np.float32)


def test_the_rules_are_the_published_names() -> None:
    ranked, stopped = ["none", "crm", "hops", "auto"], ["back-off", "majority", "plurality", "speciesnet", "darts"]
    assert sorted(RULES) == sorted([*ranked, *stopped, "hf-beta", "hie", "costs", "several", "unknown"])


def test_without_a_rule_the_scores_are_the_ranking() -> None:
    posterior = Posterior.from_scores(SCORES, TOY17, temperature=2.0)
    assert np.array_equal(rule("none").ranking(posterior), SCORES)
    assert rule("none")(posterior).classes.tolist() == SCORES.argmax(axis=1).tolist()


def test_the_lower_class_is_answered_among_equal_scores() -> None:
    posterior = Posterior.from_scores([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, -1.0, 5.0]], TOY)
    assert rule("none")(posterior).classes.tolist() == [1, 0, 2]


def test_the_temperature_can_change_the_answer() -> None:
    scores = [[1.0, 0.9, 1.1]]  # car by a little, and two pets
    cold, warm = (Posterior.from_scores(scores, TOY, temperature=temperature) for temperature in (0.01, 1.0))
    assert rule("crm")(cold).classes.tolist() == [2]
    assert rule("crm")(warm).classes.tolist() == [0]


def test_the_path_of_an_answer_leads_to_it_and_the_reason_names_it() -> None:
    decision = rule("none")(Posterior([[0.0, 1.0, 0.0]], TOY))
    assert [TOY.names[node] for node in decision.paths[0].tolist()] == ["pet", "dog"]
    assert decision.why(0) == "pet > dog: probability 1, class score 1"


def test_the_answer_heads_the_short_list_and_the_likeliest_follow() -> None:
    posterior = Posterior([[0.3, 0.28, 0.42]], TOY)
    decision = rule("crm")(posterior)
    assert decision.classes.tolist() == [0]
    listed = rule("crm").short_list(posterior, 3)
    assert listed.classes.tolist() == [[0, 2, 1]]
    assert listed.probabilities.tolist() == [[0.3, 0.42, 0.28]]
    assert rule("crm").short_list(posterior, 99).classes.shape == (1, 3)
    assert rule("crm").short_list(posterior, 1).classes.tolist() == [[0]]


@pytest.mark.parametrize("name", ["none", "crm", "hops", "auto"])
def test_a_rule_survives_json(name: str) -> None:
    given = rule(name)
    assert rule_from_dict(json.loads(json.dumps(given.to_dict()))) == given


def test_an_unknown_rule_or_parameter_is_an_error() -> None:
    with pytest.raises(RuleError, match=r"unknown rule 'risk'; there are: "):
        rule("risk")
    with pytest.raises(RuleError, match="rule 'crm': got an unexpected keyword argument 'depth'"):
        rule("crm", depth=3)
    with pytest.raises(RuleError, match="expected a rule as an object with a name"):
        rule_from_dict({"exact_up_to": 3})
    assert issubclass(RuleError, FaultsError)


def test_a_rule_of_ones_own_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RULES, "_items", dict(RULES._items))

    @RULES.register("second")
    @dataclass(frozen=True)
    class SecondBest(Likeliest):
        criterion = "second place"

        def class_values(self, posterior: Posterior) -> np.ndarray:  # type: ignore[type-arg]
            return -np.abs(np.argsort(np.argsort(-posterior.scores, axis=1), axis=1) - 1).astype(float)

    assert rule("second")(Posterior([[0.5, 0.3, 0.2]], TOY)).classes.tolist() == [1]
