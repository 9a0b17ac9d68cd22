import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hiercos import Taxonomy
from hiercos.decisions import RuleError, crm_scores, hops_order_scores
from hiercos.sklearn.ranking import answer_scores, log_probabilities, ranking_scores
from trees import TOY, TOY17, taxonomies

RULES = ("none", "crm", "hops")


def some_logs(taxonomy: Taxonomy, count: int = 20, seed: int = 0) -> torch.Tensor:
    scores = torch.randn(count, taxonomy.num_classes, generator=torch.Generator().manual_seed(seed))
    return log_probabilities(3 * scores, temperature=1.5)


def ranked(logs: torch.Tensor, rule: str, taxonomy: Taxonomy) -> torch.Tensor:
    return ranking_scores(logs, logs.argmax(dim=1).numpy(), rule, taxonomy)


def order(scores: torch.Tensor) -> list[list[int]]:
    return scores.sort(dim=1, descending=True, stable=True).indices.tolist()


def test_log_probabilities_are_those_of_a_softmax_at_a_temperature() -> None:
    logs = log_probabilities(torch.tensor([[2.0, 0.0]]), temperature=2.0)
    assert logs.dtype == torch.float64
    assert logs.exp().tolist()[0] == pytest.approx([0.7310585786300049, 0.2689414213699951], abs=1e-15)  # 1/(1+e^-1)


def test_a_score_that_is_not_a_number_is_named_with_its_row() -> None:
    for faulty in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"^X: row 2: a score is not a number$"):
            log_probabilities(torch.tensor([[0.0, 0.0], [0.0, faulty]]), temperature=1.0)


def test_crm_ranks_by_expected_distance() -> None:
    logs = some_logs(TOY17)
    torch.testing.assert_close(ranked(logs, "crm", TOY17), crm_scores(logs.exp(), TOY17))


@settings(max_examples=40, deadline=None)
@given(taxonomies(), st.sampled_from(RULES), st.integers(0, 100))
def test_the_answer_stands_first_in_the_ranking(taxonomy: Taxonomy, rule: str, seed: int) -> None:
    logs = some_logs(taxonomy, 5, seed)
    answers = answer_scores(logs, rule, taxonomy).argmax(dim=1)
    assert ranked(logs, rule, taxonomy).argmax(dim=1).tolist() == answers.tolist()


@settings(max_examples=40, deadline=None)
@given(taxonomies(), st.integers(0, 100))
def test_hops_keeps_the_likeliest_class_first_and_the_others_in_its_own_order(taxonomy: Taxonomy, seed: int) -> None:
    logs = some_logs(taxonomy, 5, seed)
    rows = zip(order(logs), order(hops_order_scores(logs.exp(), taxonomy)), strict=True)
    expected = [[likely[0], *(label for label in ruled if label != likely[0])] for likely, ruled in rows]
    if taxonomy.height > 1:
        assert order(ranked(logs, "hops", taxonomy)) == expected
    else:
        assert ranked(logs, "hops", taxonomy).equal(logs)


def test_under_hops_the_log_probabilities_are_dealt_out_anew() -> None:
    logs = torch.tensor([[0.5, 0.1, 0.4]], dtype=torch.float64).log()  # the dog before the car, though less likely
    torch.testing.assert_close(ranked(logs, "hops", TOY).exp(), torch.tensor([[0.5, 0.4, 0.1]]).double())


def test_under_hops_no_two_classes_are_equal() -> None:
    logs = torch.full((3, 17), 1 / 17, dtype=torch.float64).log()
    scores = ranked(logs, "hops", TOY17)
    assert all(len(set(row)) == 17 for row in scores.tolist())
    torch.testing.assert_close(scores, logs, rtol=1e-13, atol=0)


def test_among_equals_hops_keeps_the_class_first_that_was_answered() -> None:
    logs = torch.tensor([[0.4, 0.4, 0.2]] * 2, dtype=torch.float64).log()
    scores = ranking_scores(logs, np.array([0, 1]), "hops", TOY)
    assert order(scores) == [[0, 1, 2], [1, 0, 2]]


def test_a_row_does_not_depend_on_the_others() -> None:
    logs = some_logs(TOY17, 1030)
    for rule in RULES:
        together = ranked(logs, rule, TOY17)[-2:]
        torch.testing.assert_close(together, ranked(logs[-2:], rule, TOY17), rtol=1e-12, atol=1e-12)


def test_an_unknown_rule_is_refused() -> None:
    for rank in (answer_scores, ranked):
        with pytest.raises(RuleError, match="unknown rule 'best'"):
            rank(some_logs(TOY), "best", TOY)
