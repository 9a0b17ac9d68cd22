"""The divergences of Hier-COS, from which its probabilities come: against loops, the loss, and through a training."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lightning_fabric import Fabric
from torch import Tensor

from blobs import blob_data, cloud
from geometry.spans import normal
from hiercos import HierarchicalClassifier, Taxonomy
from hiercos.data import Dataset, Vectors
from hiercos.decisions import Posterior, fit_factor, rule
from hiercos.evaluation.variant_answers import rule_of
from hiercos.losses import HierCOSLoss
from hiercos.methods import METHODS, Divergences, Model
from hiercos.metrics import functional as HF
from hiercos.model import Classifier, ClassScores, class_scores, sample_scores
from hiercos.taxonomy import taxonomy_change
from hiercos.training import Settings, features_of, run_folder, train
from hiercos.training.extend import extended_model
from trees import TOY17, ancestor_sets, graphs, taxonomies

UNEVEN = Taxonomy.from_paths([("f",), ("a", "d"), ("a", "c"), ("b", "only", "leaf")])
TRAINING = Settings("hier-cos", epochs=3, batch_size=32, learning_rate=0.02, width=16)


def slow_evidence(z: Tensor, taxonomy: Taxonomy, factor: float) -> list[list[float]]:
    """-KL(P | softmax |z|) with the entropy of P times a factor, by loops over sets of ancestors."""
    rows = []
    for row in z.double().abs():
        log_q, found = row.log_softmax(dim=0).tolist(), []
        for leaf in taxonomy.leaves.tolist():
            above, depth = ancestor_sets(taxonomy)[leaf], int(taxonomy.depths[leaf])
            of_level = [sum(taxonomy.depths[node] == level for node in above) for level in range(1, depth + 1)]
            weights = {node: math.exp(2 / (depth + 1 - taxonomy.depths[node])) for node in above}
            weights = {node: weight / of_level[taxonomy.depths[node] - 1] for node, weight in weights.items()}
            target = {node: weight / math.fsum(weights.values()) for node, weight in weights.items()}
            entropy = -math.fsum(p * math.log(p) for p in target.values())
            found.append(factor * entropy + math.fsum(p * log_q[node] for node, p in target.items()))
        rows.append(found)
    return rows


@settings(deadline=None, max_examples=60)
@given(st.one_of(taxonomies(), graphs()), st.integers(0, 1000), st.sampled_from([0.0, 1.0, 2.5]))
def test_the_evidence_is_minus_the_divergence_with_a_factor_of_the_entropy(
    taxonomy: Taxonomy, seed: int, factor: float
) -> None:
    evidence, z = Divergences(HierCOSLoss(taxonomy)), 3 * normal(4, taxonomy.num_nodes, seed=seed).float()
    evidence.factor.fill_(factor)
    found = evidence(z)
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found, slow_evidence(z, taxonomy, factor), rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=40)
@given(
    st.one_of(taxonomies(), graphs()),
    st.integers(0, 1000),
    st.sampled_from([1.0, 2.0]),
    st.sampled_from(["leaf", "uniform", "root"]),
)
def test_the_likeliest_class_has_the_smallest_divergence_of_the_loss(
    taxonomy: Taxonomy, seed: int, exponent: float, direction: str
) -> None:
    loss = HierCOSLoss(taxonomy, alpha=0, exponent=exponent, direction=direction)  # type: ignore[arg-type]
    z, evidence = 3 * normal(3, taxonomy.num_nodes, seed=seed).double(), Divergences(loss)
    found = evidence(z)
    divergences = torch.stack(
        [torch.stack([loss(row[None], torch.tensor([label])) for label in range(taxonomy.num_classes)]) for row in z]
    )
    torch.testing.assert_close(found.double(), -divergences, rtol=1e-5, atol=1e-5)
    method = METHODS["hier-cos"](taxonomy, in_features=4)
    posterior = Posterior.from_scores(found, taxonomy, order=method.class_scores(z))
    chosen = divergences.gather(1, torch.tensor(rule("auto")(posterior).classes)[:, None])
    torch.testing.assert_close(chosen[:, 0], divergences.amin(dim=1), rtol=1e-5, atol=1e-5)


def test_a_divergence_by_hand_on_an_uneven_tree() -> None:
    evidence = Divergences(HierCOSLoss(UNEVEN))
    heavy = math.exp(2) / (math.exp(2) + math.e)  # share of a leaf below one parent: .7311
    z = torch.zeros(1, UNEVEN.num_nodes)
    z[0, UNEVEN.names.index("a")], z[0, UNEVEN.names.index("d")] = 1.0, -3.0
    log_z = math.log(UNEVEN.num_nodes - 2 + math.e + math.exp(3))
    entropy = -heavy * math.log(heavy) - (1 - heavy) * math.log(1 - heavy)
    found = dict(zip(UNEVEN.class_names, evidence(z)[0].tolist(), strict=True))
    assert found["f"] == pytest.approx(-log_z, abs=1e-6)  # its target is one node, whose entropy is 0
    assert found["d"] == pytest.approx(3 * heavy + (1 - heavy) - log_z + entropy, abs=1e-6)
    assert found["c"] == pytest.approx((1 - heavy) - log_z + entropy, abs=1e-6)
    shares = torch.tensor([2 / 3, 1, 2]).exp() / torch.tensor([2 / 3, 1, 2]).exp().sum()
    assert found["leaf"] == pytest.approx(-log_z - float((shares * shares.log()).sum()), abs=1e-6)


def test_what_is_published_has_no_evidence_and_the_commands_recommend_it() -> None:
    assert METHODS["hier-cos"](UNEVEN, in_features=4).evidence is None
    assert isinstance(METHODS["hier-cos"](UNEVEN, in_features=4, reading="shares").evidence, Divergences)
    with pytest.raises(ValueError, match="reading"):
        METHODS["hier-cos"](UNEVEN, in_features=4, reading="x")
    assert Settings("hier-cos").method_options("hier-cos")["reading"] == "shares"
    assert "reading" not in Settings("hier-cos", published=True).method_options("hier-cos")


def test_tables_are_no_larger_than_the_tree() -> None:
    many = Taxonomy.from_paths([(f"branch {leaf % 50}", f"class {leaf}") for leaf in range(2000)] + [("single",)])
    buffers = dict(Divergences(HierCOSLoss(many)).named_buffers())
    assert max(each.numel() for each in buffers.values()) <= many.num_nodes


def test_a_trained_model_is_calibrated_stored_and_read_by_its_evidence(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    trained = train(data, replace(TRAINING, refit=False), fabric=fabric, folder=tmp_path, rules=["crm", "auto"])
    stored, val, test = Classifier.load(tmp_path), data.samples("val"), data.samples("test")
    evidence = stored.model.evidence
    assert evidence is not None
    assert float(evidence.factor) == float(trained.classifier.model.evidence.factor) != 1  # type: ignore[union-attr]
    held_out = sample_scores(fabric, stored.model, val).of_probabilities
    plain = held_out + float(1 - evidence.factor) * evidence.constants.numpy()
    temperature, added = fit_factor(plain, evidence.constants, val.labels)
    assert (stored.temperature, 1 + added) == (
        pytest.approx(temperature, rel=1e-4),
        pytest.approx(float(evidence.factor), rel=1e-3),
    )
    posterior = stored.calibrated(sample_scores(fabric, stored.model, test))
    z = stored.model(test.features).detach()
    logits = torch.tensor(slow_evidence(z, TOY17, float(evidence.factor))) / stored.temperature
    np.testing.assert_allclose(posterior.classes, logits.softmax(dim=1), atol=1e-5)
    np.testing.assert_array_equal(rule("none").ranking(posterior), stored.model.class_scores(z))
    labels, logs = test.labels[:, None], torch.from_numpy(posterior.logs)
    for record in trained.records.values():
        assert record.metrics["log_loss"] == pytest.approx(-logs.gather(1, labels).mean().item(), rel=1e-5)
        assert record.metrics["top1"] == pytest.approx(
            np.mean(rule_of(record)(posterior).classes == test.labels.numpy())
        )
    norms = class_scores(fabric, stored.model, test)
    assert trained.records["none"].metrics["hops"] == pytest.approx(float(HF.hops(norms, test.labels, TOY17).mean()))
    left = run_folder.tested_run(tmp_path, held_out=False).posterior
    np.testing.assert_array_equal(left.classes, posterior.classes)
    np.testing.assert_array_equal(left.order, posterior.order)
    held = run_folder.tested_run(tmp_path, held_out=True).posterior
    np.testing.assert_allclose(
        held.classes, stored.calibrated(sample_scores(fabric, stored.model, val)).classes, atol=1e-5
    )
    later = train(data, replace(TRAINING, refit=False), fabric=fabric, folder=tmp_path, resume=True, rules=["hops"])
    ranking = torch.from_numpy(rule("hops").ranking(posterior))
    assert later.records["hops"].metrics["hops"] == pytest.approx(float(HF.hops(ranking, test.labels, TOY17).mean()))
    with pytest.raises(ValueError, match="expected the evidence of 'hier-cos' beside its class scores"):
        stored.calibrated(ClassScores(norms.numpy()))


def test_a_factor_is_fitted_across_few_samples_too_and_a_given_temperature_keeps_it(fabric: Fabric) -> None:
    features, labels = cloud(UNEVEN, 60)
    data = Dataset(
        "rows", UNEVEN, Vectors(features.numpy()), UNEVEN.leaves[labels.numpy()], np.full(60, ""), purpose="train"
    )
    found = train(data, TRAINING, fabric=fabric).classifier
    assert found.model.evidence is not None
    assert float(found.model.evidence.factor) != 1
    kept = train(data, TRAINING, fabric=fabric, temperature=2.0).classifier
    assert kept.model.evidence is not None
    assert (kept.temperature, float(kept.model.evidence.factor)) == (2.0, 1.0)


def test_inner_labels_are_learned_from_and_do_not_count_in_the_fit(fabric: Fabric) -> None:
    data = blob_data(TOY17, 340)
    nodes = data.dataset.nodes.copy()
    nodes[::3] = TOY17.parents[nodes[::3]]
    nodes = np.where(nodes < 0, data.dataset.nodes, nodes)
    inner = features_of(replace(data.dataset, nodes=nodes))
    found = train(inner, replace(TRAINING, refit=False), fabric=fabric).classifier
    assert found.model.evidence is not None
    val = inner.samples("val")
    known = val.labels < TOY17.num_classes
    assert 0 < int(known.sum()) < len(known)
    assert found.calibration is not None
    assert len(found.calibration) == len(known)
    added, constants = float(found.model.evidence.factor) - 1, found.model.evidence.constants.numpy()
    scores = sample_scores(fabric, found.model, val).of_probabilities[known.numpy()]
    assert fit_factor(scores - added * constants, constants, val.labels[known])[1] == pytest.approx(added, abs=1e-3)


def test_a_graph_is_trained_and_read_by_its_evidence(fabric: Fabric, tmp_path: Path) -> None:
    edges = [("a", "b"), ("a", "c"), ("d", "c"), ("b", "x"), ("c", "x"), ("c", "y"), ("e", "z"), ("d", "w")]
    graph = Taxonomy.from_edges(edges)
    features = torch.eye(graph.num_classes, 6).repeat(40, 1) * 3 + normal(40 * graph.num_classes, 6, seed=1).float()
    nodes = np.tile(graph.leaves, 40)
    split = np.array(["train", "train", "val", "test"])[np.arange(len(nodes)) // graph.num_classes % 4]
    data = Dataset("graph", graph, Vectors(features.numpy()), nodes, split)
    train(data, replace(TRAINING, epochs=15), fabric=fabric, folder=tmp_path)
    stored = Classifier.load(tmp_path)
    assert stored.model.evidence is not None
    z = stored.model(features[:9]).detach()
    expected = slow_evidence(z, graph, float(stored.model.evidence.factor))
    np.testing.assert_allclose(stored.model.evidence(z), expected, rtol=1e-4, atol=1e-4)
    assert run_folder.tested_run(tmp_path, held_out=False).posterior.order is not None


def test_an_extended_model_keeps_its_factor() -> None:
    model = Model(UNEVEN, 4, "hier-cos", {"width": 8, "reading": "shares"})
    assert model.evidence is not None
    model.evidence.factor.fill_(0.4)
    larger = Taxonomy.from_paths([("f",), ("a", "d"), ("a", "c"), ("b", "only", "leaf"), ("b", "new")])
    grown = extended_model(model, taxonomy_change(UNEVEN, larger))
    assert grown.evidence is not None
    assert float(grown.evidence.factor) == pytest.approx(0.4)
    assert len(grown.evidence.constants) == 5


def test_an_estimator_orders_by_the_norm_and_reads_probabilities_off_the_divergence() -> None:
    features, labels = cloud(TOY17, 170, noise=2.0)
    names = [TOY17.path_text(int(leaf)) for leaf in TOY17.leaves[labels.numpy()]]
    found = HierarchicalClassifier(TOY17, method="hier-cos", rule="none", epochs=2).fit(features.numpy(), names)
    z, columns = found.model_(features).detach(), found.labels_.columns
    norms = found.model_.class_scores(z)[:, columns]
    np.testing.assert_allclose(found.decision_function(features.numpy()), norms, rtol=1e-4, atol=1e-5)
    probabilities = (found.model_.evidence(z).double() / found.temperature_).softmax(dim=1)[:, columns]
    np.testing.assert_allclose(found.predict_proba(features.numpy()), probabilities, atol=1e-5)
    likeliest = HierarchicalClassifier(TOY17, method="hier-cos", rule="crm", epochs=2).fit(features.numpy(), names)
    np.testing.assert_array_equal(likeliest.predict_proba(features.numpy()), found.predict_proba(features.numpy()))
