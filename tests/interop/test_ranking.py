import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.decisions import RuleError, crm_scores, hops_order_scores
from hiercos.interop.ranking import answer_scores, log_probabilities, ranking_scores
from trees import TOY, TOY17, taxonomies

RULES = ("none", "crm", "hops")


def some_logs(taxonomy: Taxonomy, count: int = 20, seed: int = 0) -> torch.Tensor:
    scores = torch.randn(count, taxonomy.num_classes, generator=torch.Generator().manual_seed(seed))
    return log_probabilities(3 * scores, temperature=1.5)


def order(scores: torch.Tensor) -> list[list[int]]:
    return scores.sort(dim=1, descending=True, stable=True).indices.tolist()


def test_log_probabilities_are_those_of_a_softmax_at_a_temperature() -> None:
    logs = log_probabilities(torch.tensor([[2.0, 0.0]]), temperature=2.0)
    assert logs.dtype == torch.float64
    assert logs.exp().tolist()[0] == pytest.approx([0.7310585786300049, 0.2689414213699951], abs=1e-15)  # 1/(1+e^-1)


def test_crm_ranks_by_expected_distance() -> None:
    logs = some_logs(TOY17)
    torch.testing.assert_close(ranking_scores(logs, "crm", TOY17), crm_scores(logs.exp(), TOY17))


@settings(max_examples=40, deadline=None)
@given(taxonomies(), st.sampled_from(RULES), st.integers(0, 100))
def test_the_answer_stands_first_in_the_ranking(taxonomy: Taxonomy, rule: str, seed: int) -> None:
    logs = some_logs(taxonomy, 5, seed)
    answers = answer_scores(logs, rule, taxonomy).argmax(dim=1)
    assert ranking_scores(logs, rule, taxonomy).argmax(dim=1).tolist() == answers.tolist()


@settings(max_examples=40, deadline=None)
@given(taxonomies(), st.integers(0, 100))
def test_hops_keeps_the_likeliest_class_first_and_the_others_in_its_own_order(taxonomy: Taxonomy, seed: int) -> None:
    logs = some_logs(taxonomy, 5, seed)
    rows = zip(order(logs), order(hops_order_scores(logs.exp(), taxonomy)), strict=True)
    expected = [[likely[0], *(label for label in ruled if label != likely[0])] for likely, ruled in rows]
    if taxonomy.height > 1:
        assert order(ranking_scores(logs, "hops", taxonomy)) == expected
    else:
        assert ranking_scores(logs, "hops", taxonomy).equal(logs)


def test_under_hops_the_log_probabilities_are_dealt_out_anew() -> None:
    logs = torch.tensor([[0.5, 0.1, 0.4]], dtype=torch.float64).log()  # the dog before the car, though less likely
    torch.testing.assert_close(ranking_scores(logs, "hops", TOY).exp(), torch.tensor([[0.5, 0.4, 0.1]]).double())


def test_under_hops_no_two_classes_are_equal() -> None:
    logs = torch.full((3, 17), 1 / 17, dtype=torch.float64).log()
    scores = ranking_scores(logs, "hops", TOY17)
    assert all(len(set(row)) == 17 for row in scores.tolist())
    torch.testing.assert_close(scores, logs, rtol=1e-13, atol=0)


def test_a_row_does_not_depend_on_the_others() -> None:
    logs = some_logs(TOY17, 1030)
    for rule in RULES:
        together = ranking_scores(logs, rule, TOY17)[-2:]
        torch.testing.assert_close(together, ranking_scores(logs[-2:], rule, TOY17), rtol=1e-12, atol=1e-12)


def test_an_unknown_rule_is_refused() -> None:
    for rank in (answer_scores, ranking_scores):
        with pytest.raises(RuleError, match="unknown rule 'best'"):
            rank(some_logs(TOY), "best", TOY)
