"""The command in a model card."""

from dataclasses import replace

import pytest

from hiercos.hub.card import published_source, train_command
from hiercos.training import Settings
from records import record


def written(**changes: object) -> str:
    command = train_command(replace(record(), **changes), taxonomy="taxonomy.json", weights="w.safetensors")
    assert command is not None
    return command


def test_commands_name_backbones_and_options_as_the_user_would() -> None:
    data = {"source": "hf:some/photos", "features": 5, "sizes": {"train": 10}}
    backbone = {"name": "resnet-50", "options": {"size": 64}, "weights": "ab"}
    assert "--backbone resnet-50 --set backbone.size=64 --set backbone.weights=w.safetensors" in written(
        data={**data, "backbone": backbone}
    )
    trained = {**backbone, "fine_tuned": True, "weights": None}
    assert "--unfreeze --set from_scratch=true" in written(data={**data, "backbone": trained})
    assert written(data={**data, "kind": "texts"}).startswith("hiercos train hf:some/photos --taxonomy taxonomy.json")
    assert "--taxonomy" not in written(data={**data, "source": "icd10cm:9"})
    config = {"options": {"width": None, "penalty": "printed", "ancestors": False}}
    words = "--set published=true --set width=null --set penalty=printed --set ancestors=false"
    assert words in written(config=config)
    usual = Settings(method="hier-cos").resolved(10)
    narrow = replace(usual, options={**usual.options, "width": 64})
    assert "--method hier-cos --set width=64 --out" in written(config=narrow.to_dict())
    fixed = {"options": {}, "epochs": 7, "schedule": "one-cycle"}
    assert "--epochs 7 --set schedule=one-cycle" in written(config=fixed)
    patient = {**usual.to_dict(), "max_epochs": 70, "standardize": False}
    assert "--set max_epochs=70 --set standardize=false --out" in written(config=patient)


@pytest.mark.parametrize(
    ("source", "shown"), [("/home/me/x.csv", "x.csv"), ("hf:a/b", "hf:a/b"), ("icd10cm:9", "icd10cm:9"), ("a/b", "b")]
)
def test_paths_of_this_machine_are_not_published(source: str, shown: str) -> None:
    assert published_source(source) == shown


@pytest.mark.parametrize(("prior", "words"), [(None, None), ("balanced", "--set class_prior=balanced")])
def test_a_class_prior_is_a_setting_of_the_command(prior: str | None, words: str | None) -> None:
    command = written(config={**record().config, "class_prior": prior})
    assert (words or "--method") in command
    assert ("class_prior" in command) == (prior is not None)


def test_a_prior_of_many_numbers_has_no_command() -> None:
    given = replace(record(), config={**record().config, "class_prior": [0.5, 0.5]})
    assert train_command(given, taxonomy="tree.json") is None
