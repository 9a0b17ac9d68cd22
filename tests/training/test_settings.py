import json

import pytest

from hiercos.errors import FaultsError
from hiercos.training import Settings, SettingsError, with_options


def test_settings_survive_the_way_through_json_values() -> None:
    config = Settings(method="cross-entropy-mlp", options={"width": 8}, epochs=3, gradient_clip=1.0)
    assert Settings(**json.loads(json.dumps(config.to_dict()))) == config


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
        ("max_epochs", 0),
        ("dropout", 1.0),
        ("width", 1.5),
        ("refit", "always"),
        ("seed", -1),
    ],
)
def test_an_impossible_setting_is_named(setting: str, value: object) -> None:
    with pytest.raises(FaultsError, match=setting):
        Settings(**{setting: value})


def test_an_exact_number_of_epochs_and_patience_exclude_each_other() -> None:
    with pytest.raises(FaultsError, match="patience 3: expected no epochs with it, which is an exact number"):
        Settings(epochs=5, patience=3)
    with pytest.raises(FaultsError, match="schedule plateau: expected patience instead of epochs with it"):
        Settings(epochs=5, schedule="plateau")
    with pytest.raises(FaultsError, match="schedule cosine: expected epochs with it"):
        Settings(schedule="cosine")


def test_what_is_left_open_suits_the_method_and_the_number_of_samples() -> None:
    found = Settings("hier-cos").resolved(1000)
    assert (found.batch_size, found.schedule, found.patience, found.max_epochs) == (50, "plateau", 4, 100)
    assert (found.options["width"], found.options["dropout"], found.rule) == (512, 0.1, "none")
    assert found.resolved(10) == found  # numbers stay
    exact = Settings("hier-cos", epochs=3, published=True, learning_rate=0.5).resolved(100_000)
    assert (exact.batch_size, exact.schedule, exact.most_epochs, exact.peak) == (256, "cosine", 3, 0.5)
    assert exact.options == {}
    assert (Settings().resolved(100).method, Settings().resolved(100).rule) == ("committee", "auto")
    assert Settings().resolved(100, trains_backbone=True).method == "path-softmax"


def test_settings_and_options_of_the_method_share_one_namespace() -> None:
    found = with_options(Settings("hier-cos"), {"alpha": 0.2, "patience": 7})
    assert (found.patience, found.options) == (7, {"alpha": 0.2})
    with pytest.raises(SettingsError, match="patients: there is no such setting or option of 'hier-cos'; did you mean"):
        with_options(found, {"patients": 3})
    with pytest.raises(SettingsError, match="there are: ") as error:
        with_options(found, {"zzz": 1})
    names = str(error.value).partition("there are: ")[2].split(", ")
    assert len(set(names)) == len(names)
    assert "options" not in names


def test_settings_that_have_their_defaults_are_left_out_of_a_record() -> None:
    assert {"patience", "targets", "refit"}.isdisjoint(Settings().to_dict())
    resolved = Settings(patience=3).resolved(500)
    assert Settings(**json.loads(json.dumps(resolved.to_dict()))) == resolved


def test_rows_are_not_set_aside_for_targets_under_a_class_prior() -> None:
    with pytest.raises(
        SettingsError, match=r"^targets: expected no class_prior with it, for which no guarantee holds$"
    ):
        Settings(targets=True, class_prior="balanced")
