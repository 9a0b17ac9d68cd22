import pytest

from hiercos.paper.published import published_table
from hiercos.paper.recipes import Recipe, RecipeError, Reference

RECIPE = Recipe(
    name="hier-cos",
    dataset="cifar100",
    published=(Reference("cifar100", "hier-cos"), Reference("consistency", "hier-cos", "crm")),
    seeds=(0, 1),
    settings={
        "method": {"name": "hier-cos", "alpha": 0.05},
        "backbone": {"name": "wide-resnet-28", "pretrained": False, "freeze": False, "width": 8},
        "training": {"epochs": 100},
    },
    sources={},
)


def test_a_recipe_knows_its_rows_of_a_table_and_their_rules() -> None:
    ((rule, row),) = RECIPE.rows(published_table("consistency"))
    assert (rule, row.dataset, row.label) == ("crm", "cifar100", "Hier-COS")
    assert RECIPE.rows(published_table("fgvc-aircraft")) == []


def test_names_and_switches_are_no_options() -> None:
    assert RECIPE.method_options == {"alpha": 0.05}
    assert RECIPE.backbone_options == {"width": 8}


def test_what_is_changed_is_remembered_and_what_is_not_is_no_change() -> None:
    changed = RECIPE.changed({"training.epochs": 2, "backbone.width": 8, "method.dropout": 0.5})
    assert changed.changes == ("training.epochs 2 instead of 100", "method.dropout 0.5 instead of the default")
    assert changed.settings["training"] == {"epochs": 2}
    assert changed.settings["method"]["dropout"] == 0.5
    assert RECIPE.settings["training"] == {"epochs": 100}


@pytest.mark.parametrize("key", ["epochs", "model.width", "training."])
def test_a_change_without_a_known_section_is_refused(key: str) -> None:
    with pytest.raises(RecipeError, match="the section one of method, backbone, training"):
        RECIPE.changed({key: 2})
