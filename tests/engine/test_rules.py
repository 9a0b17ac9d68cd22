from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from hiercos.decisions import RULES, fit_temperature
from hiercos.engine import TrainConfig, adopt_rule, class_scores, load_model, rule_records, train_run
from hiercos.engine.rules import decided_scores
from hiercos.metrics import functional as HF
from trees import TOY17

CONFIG = TrainConfig(method="cross-entropy", epochs=3, batch_size=32, learning_rate=0.02)


@pytest.mark.parametrize("rule", ["crm", "hops"])
def test_a_run_under_a_rule_has_the_metrics_of_the_rules_order(fabric: Fabric, tmp_path: Path, rule: str) -> None:
    data = blob_data(TOY17, 340)
    record = train_run(fabric, data, CONFIG, tmp_path)
    (ruled,) = rule_records(fabric, data, record, tmp_path, [rule])
    model, val, test = load_model(tmp_path).model, data.samples("val"), data.samples("test")
    temperature = fit_temperature(class_scores(fabric, model, val), val.labels)
    scores = RULES[rule](class_scores(fabric, model, test), temperature, TOY17)
    assert (ruled.rule, ruled.temperature) == (rule, temperature)
    assert ruled.metrics["hops"] == pytest.approx(float(HF.hops(scores, test.labels, TOY17).mean()))
    assert ruled.metrics["fpa"] == ruled.metrics["top1"]
    assert rule_records(fabric, data, record, tmp_path, ["none", rule]) == [record, ruled]


def test_a_given_temperature_is_used_and_a_record_at_another_one_is_made_anew(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    record = train_run(fabric, data, CONFIG, tmp_path)
    (fitted,) = rule_records(fabric, data, record, tmp_path, ["crm"])
    (given,) = rule_records(fabric, data, record, tmp_path, ["crm"], temperature=1.0)
    test = data.samples("test")
    scores = RULES["crm"](class_scores(fabric, load_model(tmp_path).model, test), 1.0, TOY17)
    assert fitted.temperature != given.temperature == 1.0
    assert given.metrics["hops"] == pytest.approx(float(HF.hops(scores, test.labels, TOY17).mean()))
    assert rule_records(fabric, data, record, tmp_path, ["crm"]) == [given]


def test_no_rule_leaves_the_record_alone(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data()
    record = train_run(fabric, data, CONFIG, tmp_path)
    assert rule_records(fabric, data, record, tmp_path, ["none"]) == [record]


def test_a_model_that_adopted_a_rule_answers_by_it(fabric: Fabric, tmp_path: Path) -> None:
    data = blob_data(TOY17, 340)
    record = train_run(fabric, data, CONFIG, tmp_path)
    (ruled,) = rule_records(fabric, data, record, tmp_path, ["crm"])
    adopt_rule(tmp_path, ruled)
    stored, test = load_model(tmp_path), data.samples("test")
    assert ruled.temperature is not None
    expected = RULES["crm"](class_scores(fabric, stored.model, test), ruled.temperature, TOY17)
    own = class_scores(fabric, stored.model, test)
    torch.testing.assert_close(decided_scores(own, stored), expected, check_dtype=False)
    assert not np.array_equal(decided_scores(own, stored), own)
    adopt_rule(tmp_path, record)
    assert (load_model(tmp_path).rule, load_model(tmp_path).temperature) == ("none", 1.0)
