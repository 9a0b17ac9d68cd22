"""The recipes of the repository, the form of their files, and where they are found."""

import tomllib
from pathlib import Path

import pytest

import hiercos
from hiercos.paper.published import published_tables
from hiercos.paper.recipes import Recipe, RecipeError, load_recipes, read_recipe, recipes_folder
from trees import shared

REPOSITORY = Path(__file__).parents[2]
RECIPES = load_recipes(REPOSITORY / "recipes")
BY_NAME = {(recipe.dataset, recipe.name): recipe for recipe in RECIPES}
HIER_COS = REPOSITORY / "recipes" / "cifar100" / "hier-cos.yaml"


def changed_file(folder: Path, old: str, new: str) -> Path:
    """The recipe of Hier-COS on CIFAR-100 with a change in its text."""
    text = HIER_COS.read_text(encoding="utf-8")
    assert old in text
    path = folder / "cifar100" / "hier-cos.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def test_every_row_of_every_table_has_a_recipe() -> None:
    rows = {(table.name, row.dataset, row.name) for table in published_tables().values() for row in table.rows}
    made = {(reference.table, recipe.dataset, reference.row) for recipe in RECIPES for reference in recipe.published}
    assert made == rows


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.dataset}-{recipe.name}")
def test_every_setting_has_a_source(recipe: Recipe) -> None:
    keys = {f"{section}.{key}" for section, settings in recipe.settings.items() for key in settings}
    assert recipe.sources.keys() == keys | {"seeds"}
    assert all(recipe.sources.values())


@pytest.mark.parametrize(
    ("dataset", "alpha", "rate", "batch", "stem"),
    [
        ("cifar100", 0.05, 0.01, 64, 134),
        ("fgvc-aircraft", 0.1, 0.1, 64, 200),
        ("inaturalist19", 0.001, 0.01, 256, 1189),
        ("tiered-imagenet-h", 1e-5, 0.01, 256, 842),
    ],
)
def test_hier_cos_has_the_published_settings(dataset: str, alpha: float, rate: float, batch: int, stem: int) -> None:
    recipe = BY_NAME[dataset, "hier-cos"]
    training = recipe.settings["training"]
    assert recipe.method_options["alpha"] == alpha
    assert recipe.settings["backbone"]["stem"] == stem
    assert (training["learning_rate"], training["batch_size"], training["epochs"]) == (rate, batch, 100)
    assert (training["optimizer"], training["weight_decay"], training["schedule"]) == ("sgd", 5e-4, "cosine")
    assert recipe.seeds == (0, 1, 2, 3, 4)


@pytest.mark.parametrize("dataset", ["cifar100", "fgvc-aircraft", "inaturalist19", "tiered-imagenet-h"])
def test_the_stems_are_as_wide_as_the_tree_has_classes_or_nodes(dataset: str) -> None:
    path = shared("hierarchies", f"{dataset.replace('-', '_')}.csv")
    tree = hiercos.Taxonomy.read(path)
    assert BY_NAME[dataset, "hier-cos"].backbone_options["stem"] == tree.num_nodes
    for name in ("haframe", "flamingo-2", "hafeat-2"):
        assert BY_NAME[dataset, name].backbone_options["stem"] == tree.num_classes


def test_ablations_differ_from_hier_cos_in_one_option() -> None:
    base = BY_NAME["cifar100", "hier-cos"]
    for (dataset, name), recipe in BY_NAME.items():
        if dataset == "cifar100" and name.startswith("hier-cos-"):
            assert recipe.settings["backbone"] == base.settings["backbone"]
            assert recipe.settings["training"] == base.settings["training"]
            different = set(recipe.method_options.items()) - set(base.method_options.items())
            assert len(different) == 1


def test_an_unknown_key_is_an_error_with_the_nearest_known(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"hier-cos\.yaml: unknown key 'metod'; did you mean 'method'\?") as caught:
        read_recipe(changed_file(tmp_path, "method:", "metod:"))
    assert "method: it is missing" in str(caught.value)
    with pytest.raises(RecipeError, match="training: unknown key 'epoch'; did you mean 'epochs'"):
        read_recipe(changed_file(tmp_path, "  epochs:", "  epoch:"))
    with pytest.raises(RecipeError, match="'hier-cos' has no option 'alhpa'; did you mean 'alpha'"):
        read_recipe(changed_file(tmp_path, "  alpha:", "  alhpa:"))
    with pytest.raises(RecipeError, match="'wide-resnet-28' has no option 'widht'; did you mean 'width'"):
        read_recipe(changed_file(tmp_path, "  width:", "  widht:"))
    with pytest.raises(RecipeError, match=r"hier-cos\.yaml: not a recipe \(.*'rows'"):
        read_recipe(changed_file(tmp_path, "row: hier-cos", "rows: hier-cos"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{value: 100, source: published script}",
            "100",
            r"training.epochs: expected \{value: …, source: …\}, got 100",
        ),
        ("{value: 100, source: published script}", "{value: 100}", r"training.epochs: expected \{value"),
        ("{value: 100,", "{value: 0,", "expected epochs of at least 1, got 0"),
        ("value: hier-cos", "value: hier-cosy", "unknown method 'hier-cosy'; did you mean 'hier-cos'"),
        ("table: cifar100", "table: cifar10", "no table 'cifar10'; did you mean 'cifar100'"),
        ("row: hier-cos}", "row: hier-cos, rule: cmr}", "unknown rule 'cmr'"),
        ("dataset: cifar100", "dataset: fgvc-aircraft", "dataset: expected 'cifar100', the name of its folder"),
        ("[0, 1, 2, 3, 4]", "5", r"not a recipe \('int' object is not iterable\)"),
        ("freeze: {value: false", "freeze: {value: 3", "backbone.freeze: expected true or false, got 3"),
        ("method:\n", "method: [\n", "not YAML"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read_recipe(changed_file(tmp_path, old, new))


def test_the_faults_of_all_files_are_said_at_once(tmp_path: Path) -> None:
    changed_file(tmp_path, "  epochs:", "  epoch:")
    (tmp_path / "cifar100" / "other.yaml").write_text("3\n")
    with pytest.raises(RecipeError) as caught:
        load_recipes(tmp_path)
    assert [str(tmp_path / "cifar100" / "other.yaml") in fault for fault in caught.value.faults] == [False, True]


def test_recipes_are_found_in_a_working_copy_and_in_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert recipes_folder() == Path(hiercos.__file__).parents[2] / "recipes"
    package = tmp_path / "lib" / "site-packages" / "hiercos"
    (package / "recipes").mkdir(parents=True)
    monkeypatch.setattr(hiercos, "__file__", str(package / "__init__.py"))
    assert recipes_folder() == package / "recipes"
    (package / "recipes").rmdir()
    with pytest.raises(RecipeError, match="install hiercos again"):
        recipes_folder()


def test_a_wheel_carries_the_recipes_where_they_are_looked_for() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        wheel = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["only-include"]) == {"src/hiercos", "recipes"}
    assert wheel["sources"] == {"src/hiercos": "hiercos", "recipes": "hiercos/recipes"}
