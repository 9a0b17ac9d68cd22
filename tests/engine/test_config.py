import json

import pytest

from hiercos.engine import TrainConfig
from hiercos.errors import FaultsError


def test_settings_survive_the_way_through_json_values() -> None:
    config = TrainConfig(method="cross-entropy-mlp", options={"width": 8}, epochs=3, gradient_clip=1.0)
    assert TrainConfig(**json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("epochs", 0),
        ("batch_size", 1),
        ("precision", "bf16-true"),
        ("learning_rate", -1.0),
        ("learning_rate", float("nan")),
        ("optimizer", "adam"),
        ("schedule", "step"),
        ("gradient_clip", 0.0),
        ("patience", 0),
        ("patience", 3),  # with the schedule cosine
        ("seed", -1),
    ],
)
def test_an_impossible_setting_is_named(setting: str, value: object) -> None:
    with pytest.raises(FaultsError, match=setting):
        TrainConfig(**{setting: value})


def test_a_plateau_needs_patience() -> None:
    with pytest.raises(FaultsError, match="patience with the schedule plateau only, got no patience with plateau"):
        TrainConfig(schedule="plateau")


def test_settings_without_patience_are_those_of_older_records() -> None:
    assert "patience" not in TrainConfig().to_dict()
    patient = TrainConfig(patience=3, schedule="plateau")
    assert TrainConfig(**json.loads(json.dumps(patient.to_dict()))) == patient
