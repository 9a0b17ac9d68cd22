from dataclasses import replace

import pytest

from hiercos.hub.card import published_source, train_command
from records import record


def written(**changes: object) -> str:
    command = train_command(replace(record(), **changes), taxonomy="taxonomy.json", weights="w.safetensors")
    assert command is not None
    return command


def test_commands_name_backbones_and_options_as_the_user_would() -> None:
    data = {"source": "hf:some/photos", "features": 5}
    backbone = {"name": "resnet-50", "options": {"size": 64}, "weights": "ab"}
    assert "--backbone resnet-50 --backbone-option size=64 --backbone-option weights=w.safetensors" in written(
        data={**data, "backbone": backbone}
    )
    trained = {**backbone, "fine_tuned": True, "weights": None}
    assert "--unfreeze --from-scratch --augment none" in written(data={**data, "backbone": trained})
    assert written(data={**data, "kind": "texts"}).startswith("hiercos train hf:some/photos --taxonomy taxonomy.json")
    assert "--dim 5" in written(data={**data, "kind": "texts"})
    assert "--taxonomy" not in written(data={**data, "source": "icd10cm:9"})
    config = {"options": {"width": None, "penalty": "printed", "ancestors": False}}
    words = "--as-published --set width=null --set penalty=printed --set ancestors=false"
    assert words in written(config=config)
    narrow = {"options": {"width": 64, "dropout": 0.1}}
    assert "--width 64 --dropout 0.1 --set activation=none" in written(method="hier-cos", config=narrow)
    fixed = {"options": {}, "epochs": 7, "schedule": "cosine"}
    assert "--epochs 7 --schedule cosine" in written(config=fixed)
    patient = {"options": {}, "epochs": 70, "patience": 4, "schedule": "plateau"}
    assert "--max-epochs 70 --patience 4 --schedule plateau" in written(config=patient)
    unusual = replace(record(), config={"options": {}, "standardize": False})
    assert train_command(unusual, taxonomy="taxonomy.json") is None


@pytest.mark.parametrize(
    ("source", "shown"), [("/home/me/x.csv", "x.csv"), ("hf:a/b", "hf:a/b"), ("icd10cm:9", "icd10cm:9"), ("a/b", "b")]
)
def test_paths_of_this_machine_are_not_published(source: str, shown: str) -> None:
    assert published_source(source) == shown
