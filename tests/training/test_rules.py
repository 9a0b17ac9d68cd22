"""Runs under decision rules: what is recorded, and what the model answers by."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.decisions import Posterior, fit_temperature, rule
from hiercos.metrics import functional as HF
from hiercos.model import Classifier, class_scores, sample_scores
from hiercos.records import RunError, read_records
from hiercos.training import Settings, SettingsError, train
from trees import TOY17

CONFIG = Settings("cross-entropy", epochs=3, batch_size=32, learning_rate=0.02, refit=False)


@pytest.mark.parametrize("name", ["crm", "hops"])
def test_a_run_under_a_rule_has_the_metrics_of_the_rules_order(fabric: Fabric, tmp_path: Path, name: str) -> None:
    data = blob_data(TOY17, 340)
    records = train(data, CONFIG, fabric=fabric, folder=tmp_path, rules=[name]).records
    model, val, test = Classifier.load(tmp_path).model, data.samples("val"), data.samples("test")
    temperature = fit_temperature(class_scores(fabric, model, val), val.labels)
    posterior = Posterior.from_scores(class_scores(fabric, model, test), TOY17, temperature=temperature)
    ranking, ruled = torch.from_numpy(rule(name).ranking(posterior)), records[name]
    assert (ruled.rule, ruled.temperature) == (name, temperature)
    assert ruled.metrics["hops"] == pytest.approx(float(HF.hops(ranking, test.labels, TOY17).mean()))
    assert ruled.metrics["fpa"] == ruled.metrics["top1"]
    assert list(records) == ["none", name]


def test_rules_asked_for_later_are_decided_from_the_scores_that_were_left(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    together = train(data, CONFIG, fabric=fabric, folder=tmp_path / "together", rules=["crm", "hops"]).records
    train(data, CONFIG, fabric=fabric, folder=tmp_path / "later")
    scored = (tmp_path / "later" / "test" / "scores.npz").stat().st_mtime_ns
    later = train(data, CONFIG, fabric=fabric, folder=tmp_path / "later", resume=True, rules=["crm", "hops"]).records
    assert (tmp_path / "later" / "test" / "scores.npz").stat().st_mtime_ns == scored  # nothing is scored again
    for name in ("none", "crm", "hops"):
        assert later[name].metrics == pytest.approx(together[name].metrics, nan_ok=True)
    assert list(read_records(tmp_path / "later")) == ["none", "crm", "hops"]


def test_a_given_temperature_is_used_and_a_record_at_another_one_is_made_anew(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    fitted = train(data, CONFIG, fabric=fabric, folder=tmp_path, rules=["crm"]).records["crm"]
    given = train(data, CONFIG, fabric=fabric, folder=tmp_path, temperature=1.0, resume=True, rules=["crm"]).records[
        "crm"
    ]
    assert fitted.temperature != given.temperature == 1.0
    assert train(data, CONFIG, fabric=fabric, folder=tmp_path, resume=True, rules=["crm"]).records["crm"] == given


def test_a_model_answers_by_its_rule_at_its_temperature(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    records = train(data, replace(CONFIG, rule="crm"), fabric=fabric, folder=tmp_path).records
    stored, test = Classifier.load(tmp_path), data.samples("test")
    assert stored.rule == rule("crm")
    assert stored.temperature == records["crm"].temperature
    scores = sample_scores(fabric, stored.model, test)
    answers = stored.rule(stored.calibrated(scores)).classes
    assert np.mean(answers == test.labels.numpy()) == pytest.approx(records["crm"].metrics["top1"])


def test_a_finished_run_is_not_given_another_rule(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    train(data, replace(CONFIG, rule="crm"), fabric=fabric, folder=tmp_path)
    with pytest.raises(RunError, match="holds a finished run with another rule"):
        train(data, replace(CONFIG, rule="hops"), fabric=fabric, folder=tmp_path, resume=True)


def test_a_class_prior_is_stored_with_the_model_and_used_by_every_rule(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    config = replace(CONFIG, class_prior="balanced")
    records = train(data, config, fabric=fabric, folder=tmp_path, rules=["crm"]).records
    stored, test = Classifier.load(tmp_path), data.samples("test")
    counts = np.bincount(data.samples("train").labels, minlength=17)
    scores = sample_scores(fabric, stored.model, test)
    adjusted = scores.classes.astype(np.float64) / stored.temperature - np.log(counts)
    assert records["none"].metrics["top1"] == pytest.approx(np.mean(adjusted.argmax(axis=1) == test.labels.numpy()))
    for name in ("none", "crm"):
        answers = rule(name)(stored.calibrated(scores)).classes
        assert np.mean(answers == test.labels.numpy()) == pytest.approx(records[name].metrics["top1"])
    later = train(data, config, fabric=fabric, folder=tmp_path, resume=True, rules=["hops"]).records["hops"]
    ranking = torch.from_numpy(rule("hops").ranking(stored.calibrated(scores)))
    assert later.metrics["hops"] == pytest.approx(float(HF.hops(ranking, test.labels, TOY17).mean()))
    assert records["none"].config["class_prior"] == "balanced"


def test_a_prior_of_another_number_of_classes_is_refused(fabric: Fabric, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="class_prior: expected a prior of each of the 17 classes, got 2"):
        train(blob_data(TOY17, 340), replace(CONFIG, class_prior=(0.5, 0.5)), fabric=fabric, folder=tmp_path)


def test_the_default_rule_is_measured_by_its_answer_its_list_and_its_order(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    records = train(data, replace(CONFIG, rule="auto"), fabric=fabric, folder=tmp_path, rules=["crm", "hops"]).records
    stored, test = Classifier.load(tmp_path), data.samples("test")
    posterior = stored.calibrated(sample_scores(fabric, stored.model, test))
    answers, found = stored.rule(posterior).classes, records["auto"].metrics
    assert stored.rule.to_dict()["answer"] in ("none", "crm")
    assert found["top1"] == found["fpa"] == pytest.approx(np.mean(answers == test.labels.numpy()))
    listed = stored.rule.short_list(posterior, 5).classes
    assert found["top5"] == pytest.approx((listed == test.labels.numpy()[:, None]).any(axis=1).mean())
    ranking = torch.from_numpy(stored.rule.ranking(posterior))
    assert found["hops"] == pytest.approx(float(HF.hops(ranking, test.labels, TOY17).mean()))
    assert found["ahd_at_5"] == pytest.approx(
        float(HF.average_hierarchical_distance(ranking, test.labels, TOY17, k=5).mean())
    )
    assert found["log_loss"] == pytest.approx(records["none"].metrics["log_loss"])
    assert found["top5"] >= records["hops"].metrics["top5"]


def test_a_rule_that_is_fitted_is_fitted_again_where_it_is_asked_for_later(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    together = train(data, replace(CONFIG, rule="auto"), fabric=fabric, folder=tmp_path / "together").records
    again = train(data, replace(CONFIG, rule="auto"), fabric=fabric, folder=tmp_path / "together", resume=True)
    assert again.records == together
    train(data, CONFIG, fabric=fabric, folder=tmp_path / "later")
    later = train(data, CONFIG, fabric=fabric, folder=tmp_path / "later", resume=True, rules=["auto"]).records
    assert later["auto"].metrics == pytest.approx(together["auto"].metrics, nan_ok=True)
