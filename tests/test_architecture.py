"""A package imports only packages on its left, lazy imports within functions included."""

import ast
import re
from importlib import import_module
from pathlib import Path

import hiercos

SOURCE = Path(hiercos.__file__).parent
OPEN_TO_ALL = {"checks", "errors", "records", "registry", "storage"}
NETWORKS = {"taxonomy", "geometry", "losses", "methods"}
TRAINED = NETWORKS | {"decisions", "metrics", "data", "encoders", "model"}
EVALUATED = TRAINED | {"training", "evaluation"}
ALLOWED = {
    "taxonomy": set(),
    "geometry": {"taxonomy"},
    "losses": {"taxonomy", "geometry"},
    "methods": {"taxonomy", "geometry", "losses"},
    "decisions": {"taxonomy"},
    "metrics": {"taxonomy"},
    "data": {"taxonomy"},
    "encoders": NETWORKS | {"data"},
    "model": TRAINED - {"model"},
    "training": TRAINED,
    "evaluation": TRAINED | {"training"},
    "benchmark": EVALUATED,
    "report": {"taxonomy", "metrics", "evaluation"},  # records in, tables and figures out
    "sklearn": EVALUATED,
    "onnx": EVALUATED,
    "hub": EVALUATED | {"report"},
    "serve": EVALUATED | {"onnx"},
    "paper": EVALUATED | {"benchmark", "report", "cli"},  # its commands are rows of a table
    "cli": EVALUATED | {"benchmark", "report", "onnx", "hub", "serve"},
}
PUBLIC_INSIDE = {"encoders.backbones", "metrics.functional", "paper.published", "taxonomy.formats"}
FOR_COMMANDS = ("cli.options.", "cli.display.")  # modules that the commands of any package are built from
PAPER_FOR_EXPORT = Path("cli/commands/export.py")  # prunes a model to one level, as in the paper
WITHOUT_TORCH = ("taxonomy", "decisions", "report")


def imported_names(text: str, package: str) -> set[str]:
    """The absolute names of everything that a file of a package imports, wherever the import stands."""
    parents = package.split(".")
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) + 1 - node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def names_in(file: Path) -> set[str]:
    package = ".".join(["hiercos", *file.relative_to(SOURCE).parent.parts])
    return imported_names(file.read_text(encoding="utf-8"), package)


def imported_packages(file: Path) -> set[str]:
    """The packages and modules just under hiercos that a file imports from."""
    parts = [name.split(".") for name in names_in(file)]
    inside = {part[1] for part in parts if part[0] == "hiercos" and len(part) > 1}
    return {name for name in inside if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").is_file()}


def files_of(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


def test_every_package_has_its_place_in_the_order() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert packages == ALLOWED.keys()
    assert modules <= OPEN_TO_ALL


def test_a_package_imports_only_packages_on_its_left() -> None:
    wrong = [
        f"{file.relative_to(SOURCE)} imports {name}"
        for package, allowed in ALLOWED.items()
        for file in files_of(package)
        for name in sorted(imported_packages(file) - allowed - OPEN_TO_ALL - {package})
        if (name, file.relative_to(SOURCE)) != ("paper", PAPER_FOR_EXPORT)
    ]
    assert wrong == []


def test_nothing_imports_what_only_the_paper_needs() -> None:
    """Data sets, backbones and commands of the paper are rows of tables, which are strings."""
    files = [file for file in SOURCE.rglob("*.py") if file.relative_to(SOURCE).parts[0] != "paper"]
    assert [file.relative_to(SOURCE) for file in files if "paper" in imported_packages(file)] == [PAPER_FOR_EXPORT]


def test_what_is_open_to_all_imports_no_package_in_turn() -> None:
    files = [SOURCE / f"{name}.py" for name in sorted(OPEN_TO_ALL) if (SOURCE / f"{name}.py").is_file()]
    assert {file.name: imported_packages(file) - OPEN_TO_ALL for file in files} == {file.name: set() for file in files}


def bypassed(file: Path) -> list[str]:
    """The names that a file imports from another package by a way other than that package's public names."""
    own = file.relative_to(SOURCE).parts[0]
    inside = [name.split(".")[1:] for name in sorted(names_in(file)) if name.startswith("hiercos.")]
    foreign = [parts for parts in inside if len(parts) > 1 and parts[0] != own and (SOURCE / parts[0]).is_dir()]
    names = [".".join(parts) for parts in foreign if not is_public(".".join(parts[:-1]), parts[-1])]
    return [name for name in names if not name.startswith(FOR_COMMANDS)]


def is_public(package: str, name: str) -> bool:
    if package not in ALLOWED.keys() | PUBLIC_INSIDE:
        return f"{package}.{name}" in PUBLIC_INSIDE
    return f"{package}.{name}" in PUBLIC_INSIDE or name in import_module(f"hiercos.{package}").__all__


def test_packages_use_each_other_through_their_public_names_alone() -> None:
    found = {str(file.relative_to(SOURCE)): bypassed(file) for package in ALLOWED for file in files_of(package)}
    assert {file: names for file, names in found.items() if names} == {}


def test_every_public_name_can_be_imported() -> None:
    for package in sorted(ALLOWED.keys() | PUBLIC_INSIDE):
        module = import_module(f"hiercos.{package}")
        assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_taxonomy_decisions_and_records_need_no_torch() -> None:
    files = [
        *(file for package in WITHOUT_TORCH for file in files_of(package)),
        *(SOURCE / f"{name}.py" for name in OPEN_TO_ALL),
    ]
    heavy = {
        file.name
        for file in files
        if file.is_file() and {name.split(".")[0] for name in names_in(file)} & {"torch", "torchmetrics"}
    }
    assert heavy == set()


def test_imports_are_found_within_functions_and_in_relative_form() -> None:
    lazy = ("from hiercos.data import labels", "from ..taxonomy import tree", "from . import index")
    text = "\n    ".join(["import torch.nn\ndef f():", *lazy])
    assert imported_names(text, "hiercos.geometry") == {
        "torch.nn",
        "hiercos.data.labels",
        "hiercos.taxonomy.tree",
        "hiercos.geometry.index",
    }
    assert imported_packages(SOURCE / "geometry" / "scores.py") == {"geometry", "taxonomy"}


def test_the_files_and_packages_of_the_page_on_where_things_live_exist() -> None:
    root = Path(__file__).parents[1]
    named = re.findall(r"`([a-z_]+/(?:[a-z_/]+(?:\.py)?)?)`", (root / "docs" / "where.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [name for name in named if not any((place / name).exists() for place in (root, SOURCE))] == []
