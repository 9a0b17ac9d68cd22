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
        ("seed", -1),
    ],
)
def test_an_impossible_setting_is_named(setting: str, value: object) -> None:
    with pytest.raises(FaultsError, match=setting):
        TrainConfig(**{setting: value})
