"""What every registered method promises, whatever it is."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from blobs import FEATURES, cloud
from hiercos import Taxonomy
from hiercos.methods import METHODS
from trees import TOY17, random_tree, taxonomies

# The margin term of HAFeat is a mean over pairs of neighbours in the batch, not over samples.
PER_SAMPLE = {"hafeat-1": {"margin_levels": ()}, "hafeat-2": {"margin_levels": ()}}

every_method = pytest.mark.parametrize("name", list(METHODS))
SOLVED_ONLY = ("centroids", "one-vs-rest", "siblings")  # sparse weights
trained_by_steps = pytest.mark.parametrize("name", [name for name in METHODS if name not in SOLVED_ONLY])


@every_method
@settings(max_examples=15, deadline=None)
@given(taxonomy=taxonomies(), batch=st.integers(2, 5))
def test_every_method_scores_classes_and_nodes_of_any_taxonomy(name: str, taxonomy: Taxonomy, batch: int) -> None:
    torch.manual_seed(0)
    method = METHODS[name](taxonomy, in_features=7)
    outputs = method.head(torch.randn(batch, 7))
    assert method.class_scores(outputs).shape == (batch, taxonomy.num_classes)
    assert method.node_scores(outputs).shape == (batch, taxonomy.num_nodes)
    loss = method.loss(outputs, torch.zeros(batch, dtype=torch.int64))
    assert loss.shape == ()
    assert torch.isfinite(loss)


@trained_by_steps
@pytest.mark.parametrize("taxonomy", [TOY17, random_tree(3)], ids=["toy17", "random"])
def test_gradients_reach_every_parameter(name: str, taxonomy: Taxonomy) -> None:
    torch.manual_seed(0)
    features, labels = cloud(taxonomy, 4 * taxonomy.num_classes)
    method = METHODS[name](taxonomy, in_features=FEATURES)
    method.loss(method.head(features), labels).backward()
    still = [key for key, value in method.head.named_parameters() if value.grad is None or not value.grad.any()]
    assert still == []


@trained_by_steps
def test_the_loss_falls_and_the_classes_are_learnt(name: str) -> None:
    torch.manual_seed(0)
    features, labels = cloud(TOY17, 340)
    features = features.repeat(1, TOY17.height)  # a method may give each level a slice of its own
    method = METHODS[name](TOY17, in_features=features.shape[1])
    optimizer = torch.optim.AdamW(method.head.parameters(), lr=1e-2)
    losses = []
    for step in range(60):
        optimizer.zero_grad()
        loss = method.loss(method.head(features), labels)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if step % 10 == 9 and losses[-1] < 0.7 * losses[0]:
            accuracy = (method.class_scores(method.head(features)).argmax(dim=1) == labels).float().mean()
            if accuracy > 0.9:
                return
    pytest.fail(f"after 60 steps the loss is {losses[-1]:.3f} of {losses[0]:.3f}, or few classes are right")


@every_method
def test_the_same_seed_makes_the_same_method(name: str) -> None:
    states = []
    for _ in range(2):
        torch.manual_seed(5)
        states.append(METHODS[name](TOY17, in_features=6).head.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


@every_method
def test_the_state_of_a_method_round_trips(name: str) -> None:
    first, second = (METHODS[name](TOY17, in_features=6) for _ in range(2))
    first.head(torch.randn(8, 6))  # moves running statistics
    second.head.load_state_dict(first.head.state_dict())
    first.head.eval()
    second.head.eval()
    features = torch.randn(4, 6)
    assert torch.equal(first.class_scores(first.head(features)), second.class_scores(second.head(features)))


@every_method
def test_a_sample_of_weight_two_counts_like_two_samples(name: str) -> None:
    torch.manual_seed(0)
    method = METHODS[name](TOY17, in_features=FEATURES, **PER_SAMPLE.get(name, {}))
    method.head.eval()
    features, labels = cloud(TOY17, 20)
    outputs = method.head(features)
    weights = torch.ones(20).index_fill(0, torch.tensor([3]), 2.0)
    twice = torch.cat([torch.arange(20), torch.tensor([3])])
    torch.testing.assert_close(
        method.loss(outputs, labels, weights), method.loss(outputs[twice], labels[twice]), rtol=1e-5, atol=1e-6
    )
