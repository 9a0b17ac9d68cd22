"""The counter of lines, names and options, and the limits that the commands keep."""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TEXT = '''"""A module of
two lines."""

import os  # a comment beside code
# a comment

LIMIT = """a text
that is no docstring"""


def longer(value: int) -> int:
    """Documented."""
    # why
    return (
        value
    )


class Box:
    """A box."""


def _hidden() -> None: ...
'''


@pytest.fixture(scope="module")
def sizes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("code_sizes", ROOT / "benchmarks" / "code_sizes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_comments_docstrings_and_blank_lines_are_no_code(sizes: ModuleType) -> None:
    assert sizes.code_lines(TEXT, ast.parse(TEXT)) == 1 + 2 + 1 + 3 + 1 + 1
    assert sizes.body_lines(ast.parse(TEXT).body[3]) == 3
    assert sizes.top_level_names(ast.parse(TEXT)) == {"longer", "Box"}


def test_importable_names_are_those_of_the_list_or_of_the_stub(sizes: ModuleType, tmp_path: Path) -> None:
    listed, stubbed = tmp_path / "listed.py", tmp_path / "stubbed.py"
    stubbed.with_suffix(".pyi").write_text("from .a import b as b\nfrom .a import c as d\n")
    text = '__all__ = ["main", "run"]\n'
    assert sizes.importable_names(listed, ast.parse(text)) == {"main", "run"}
    assert sizes.importable_names(stubbed, ast.parse("__all__ = attach()")) == {"b", "d"}


def test_commands_have_few_options_of_their_own_name(sizes: ModuleType) -> None:
    commands = sizes.command_options(ROOT / "src")
    assert {"train", "compare", "predict", "taxonomy show", "ablate"} <= commands.keys()
    assert {"--method", "--set", "--out"} <= set(commands["train"])
    assert len(commands["train"]) <= 32
    assert len({option for options in commands.values() for option in options}) <= 95
