import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from hiercos.decisions import fit_temperature
from hiercos.decisions.posterior import softmax


def samples(seed: int, rows: int, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores, and labels drawn from their softmax at some temperature."""
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(rows, 6, generator=generator)
    labels = torch.multinomial((scores / temperature).softmax(dim=1), 1, generator=generator).squeeze(1)
    return scores, labels


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5, 40.0])
def test_the_temperature_that_made_the_labels_is_found(temperature: float) -> None:
    scores, labels = samples(0, 200_000, temperature)
    assert fit_temperature(scores, labels) == pytest.approx(temperature, rel=0.15 if temperature > 10 else 0.02)


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(1, 40), st.sampled_from([0.01, 0.5, 2.0, 100.0]))
def test_the_fit_is_never_less_likely_than_any_temperature_of_a_grid(seed: int, rows: int, scale: float) -> None:
    scores, labels = samples(seed, rows, scale)
    fitted = smoothed_loss(scores, labels, fit_temperature(scores, labels))
    for temperature in (1e-3, 0.1, 0.5, 1.0, 2.0, 10.0, 1e3):
        assert fitted <= smoothed_loss(scores, labels, temperature) + 1e-12


def smoothed_loss(scores: torch.Tensor, labels: torch.Tensor, temperature: float) -> float:
    """Slowly: the loss of all labels, and of one more sample, the mean of all, whose label is every class in turn."""
    logits = scores.double() / temperature
    classes = [cross_entropy(logits, torch.full_like(labels, label)).item() for label in range(scores.shape[1])]
    return (len(scores) * cross_entropy(logits, labels).item() + sum(classes) / len(classes)) / len(scores)


@pytest.mark.parametrize("rows", [3, 30, 3000])
def test_samples_that_are_all_right_get_the_confidence_of_one_more_that_may_be_any_class(rows: int) -> None:
    scores, labels = torch.eye(3).repeat(rows // 3, 1), torch.arange(3).repeat(rows // 3)
    confidence = softmax(scores.numpy(), fit_temperature(scores, labels))[0, 0]
    assert confidence == pytest.approx((rows + 1 / 3) / (rows + 1), abs=1e-6)


def test_scores_that_are_always_wrong_get_the_hottest_temperature() -> None:
    assert fit_temperature(torch.eye(3), torch.tensor([1, 2, 0])) == pytest.approx(1e3)


def test_constant_scores_leave_the_temperature_at_one() -> None:
    assert fit_temperature(torch.full((4, 3), 7.0), torch.tensor([0, 1, 2, 0])) == 1.0


def test_the_size_of_the_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labels = samples(1, 500, 2.0)
    whole = fit_temperature(scores, labels)
    monkeypatch.setattr("hiercos.decisions.calibration.CHUNK", 600)
    assert fit_temperature(scores, labels) == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        (torch.empty(0, 3), torch.empty(0, dtype=torch.long), "at least one sample"),
        (torch.ones(2, 3), torch.tensor([0]), "expected 2 labels"),
        (torch.ones(2, 3), torch.tensor([0, 3]), "row 1: expected a class from 0 to 2, got label 3"),
        (torch.tensor([[0.0, 1.0], [0.0, torch.nan]]), torch.tensor([0, 1]), "row 1: expected finite scores"),
    ],
)
def test_what_has_no_likelihood_is_refused(scores: torch.Tensor, labels: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_temperature(scores, labels)
