"""Recipes are run where their data are, on a tiny copy of CIFAR-100 and a tiny network."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lightning_fabric import Fabric
from safetensors.torch import save_file

from hiercos.data import load_dataset
from hiercos.encoders.backbones import BackboneError, load_backbone
from hiercos.paper.published import published_table
from hiercos.paper.recipes import Recipe, RecipeError, load_recipes
from hiercos.paper.reproduction import (
    Attempt,
    ReproductionConfig,
    backbone_obstacle,
    limited,
    missing_data_hint,
    reproduce,
    table_recipes,
)
from hiercos.records import Record
from paper_sets import FINE, write_cifar

RECIPES = load_recipes()
SMALL = {"training.epochs": 1, "backbone.width": 1, "backbone.size": 8}
CIFAR = published_table("cifar100")


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cifar(tmp_path_factory.mktemp("data"), 10, 2)


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric


def recipe(name: str, dataset: str = "cifar100") -> Recipe:
    return next(recipe for recipe in RECIPES if (recipe.dataset, recipe.name) == (dataset, name))


def conditions(fabric: Fabric, folder: Path, root: Path, **others: Any) -> ReproductionConfig:
    return ReproductionConfig(fabric, folder, lambda _: None, root, **{"changes": SMALL, "seeds": 1, **others})


@pytest.fixture(scope="session")
def attempts(fabric: Fabric, root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Attempt]]:
    folder = tmp_path_factory.mktemp("reproduced")
    how = conditions(fabric, folder, root, limit=4, seeds=2)
    return folder, reproduce(CIFAR, [recipe("cross-entropy"), recipe("hier-cos")], how)


def test_a_recipe_is_run_with_its_settings_and_what_was_changed_is_said(attempts: tuple[Path, list[Attempt]]) -> None:
    _, (flat, hier_cos) = attempts
    assert hier_cos.recipe.changes == (
        "training.epochs 1 instead of 100",
        "backbone.width 1 instead of 8",
        "backbone.size 8 instead of 32",
        "at most 4 images of each class in each split instead of all",
    )
    (record, second) = hier_cos.records["none"]
    assert (record.seed, second.seed) == (0, 1)
    assert record.config["options"] == recipe("hier-cos").method_options
    assert (record.config["optimizer"], record.config["batch_size"], record.config["epochs"]) == ("sgd", 64, 1)
    assert (record.config["augment"], record.config["backbone_learning_rate"]) == ("pad-crop", 0.01)
    assert record.data["backbone"]["options"]["stem"] == 134
    assert record.data["sizes"] == {"train": 4 * 5, "val": 5, "test": 2 * 5}
    assert flat.records["none"][0].config["learning_rate"] == 0.1
    assert "not the official CIFAR-100" in flat.remarks[0]


def test_a_row_under_a_rule_comes_from_the_same_run_at_the_published_temperature(
    attempts: tuple[Path, list[Attempt]],
) -> None:
    flat: dict[str, list[Record]] = dict(attempts[1][0].records)
    assert list(flat) == ["none", "crm"]
    assert [record.temperature for record in flat["crm"]] == [1.0, 1.0]
    assert [record.identity for record in flat["crm"]] == [record.identity for record in flat["none"]]
    assert [(rule, row.name) for rule, row in attempts[1][0].recipe.rows(CIFAR)] == [
        ("none", "cross-entropy"),
        ("crm", "hxe-crm"),
    ]


def test_what_is_finished_is_not_run_again_and_the_text_has_the_cosine(
    attempts: tuple[Path, list[Attempt]], fabric: Fabric, root: Path
) -> None:
    folder, (_, before) = attempts
    how = conditions(fabric, folder, root, limit=4)
    (again,) = reproduce(published_table("text"), [recipe("hier-cos")], how)
    (record,) = again.records["none"]
    assert record.train_seconds == before.records["none"][0].train_seconds
    assert 0 < record.metrics["subspace_cosine"] <= 1


def test_a_recipe_with_a_frozen_backbone_is_run_on_its_features(
    fabric: Fabric, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIERCOS_CACHE", str(tmp_path / "cache"))
    backbone = load_backbone("wide-resnet-28", pretrained=False, width=1, momentum=0.001, size=8)
    save_file(backbone.state_dict(), tmp_path / "weights.safetensors")
    frozen = {
        "backbone.pretrained": True,
        "backbone.freeze": True,
        "backbone.weights": f"{tmp_path}/weights.safetensors",
    }
    how = conditions(fabric, tmp_path / "out", root, changes={**SMALL, **frozen})
    (attempt,) = reproduce(CIFAR, [recipe("cross-entropy")], how)
    (record,) = attempt.records["none"]
    assert "fine_tuned" not in record.data["backbone"]
    assert record.data["features"] == 64
    assert len(list((tmp_path / "cache").rglob("*.npy"))) == 1


def test_absent_data_and_absent_weights_are_obstacles_that_say_what_to_do(
    fabric: Fabric, root: Path, tmp_path: Path
) -> None:
    (missing,) = reproduce(CIFAR, [recipe("haframe")], conditions(fabric, tmp_path, tmp_path))
    assert missing.records == {}
    assert str(missing.obstacle).startswith(f"cifar100 is not in {tmp_path}; expected there cifar-100-binary/train.bin")
    how = conditions(fabric, tmp_path, root, changes={"backbone.pretrained": True})
    (untrained,) = reproduce(CIFAR, [recipe("haframe")], how)
    assert "comes without trained weights; give weights=FILE.safetensors" in str(untrained.obstacle)
    assert missing_data_hint("cifar100", root) is None


def test_a_backbone_without_its_file_of_weights_says_which_to_get() -> None:
    obstacle = backbone_obstacle(recipe("hier-cos", "tiered-imagenet-h"), BackboneError("no weights"))
    assert obstacle.startswith("no weights; published script: ResNet-50 trained by MoCo-v2 for 800 epochs on PASS")
    assert obstacle.endswith("name the file with --set backbone.weights=FILE.safetensors")


def test_a_change_that_a_recipe_cannot_take_is_refused_before_anything_is_run(
    fabric: Fabric, root: Path, tmp_path: Path
) -> None:
    how = conditions(
        fabric, tmp_path, root, changes={"backbone.widht": 1, "training.epoch": 1, "training.epochs": "no"}
    )
    with pytest.raises(RecipeError) as caught:
        reproduce(CIFAR, [recipe("hier-cos")], how)
    assert caught.value.faults == (
        "cifar100/hier-cos: backbone 'wide-resnet-28' has no option 'widht'; did you mean 'width'?",
        "cifar100/hier-cos: training.epochs: expected an integer or none, got 'no'",
        "cifar100/hier-cos: training: unknown key 'epoch'; did you mean 'epochs'?",
    )


def test_the_recipes_of_a_table_come_in_the_order_of_its_rows() -> None:
    names = [recipe.name for recipe in table_recipes(CIFAR, RECIPES)]
    assert names[0] == "cross-entropy"
    assert names[-1] == "hier-cos"
    assert names.index("yolo-v2") < names.index("hxe") < names.index("soft-labels-30")
    consistency = published_table("consistency")
    assert {recipe.dataset for recipe in table_recipes(consistency, RECIPES, dataset="cifar100")} == {"cifar100"}
    assert [recipe.name for recipe in table_recipes(CIFAR, RECIPES, names=["hxe", "haframe"])] == ["hxe", "haframe"]


def test_names_that_a_table_does_not_have_are_refused() -> None:
    with pytest.raises(RecipeError, match="no recipe 'hier-cosy'; did you mean 'hier-cos'"):
        table_recipes(CIFAR, RECIPES, names=["hier-cosy"])
    with pytest.raises(RecipeError, match="no data set 'tiered-imagenet-h'"):
        table_recipes(published_table(4), RECIPES, dataset="tiered-imagenet-h")


def test_a_limit_keeps_the_first_images_of_every_class_in_every_split(root: Path) -> None:
    whole = load_dataset("cifar100", root=root)
    part = limited(whole, 3)
    for split, count in (("train", 3), ("val", 1), ("test", 2)):
        assert np.array_equal(np.sort(part.labels[part.rows(split)]), np.repeat(FINE, count))
    first = np.flatnonzero((whole.labels == 99) & (whole.split == "train"))[0]
    kept = np.flatnonzero((part.labels == 99) & (part.split == "train"))[0]
    assert part.inputs.content(kept) == whole.inputs.content(first)
