"""Tables of names, and another package that extends them as docs/extending.md shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hiercos.decisions import RULES, AnswerRequest, rule
from hiercos.errors import FaultsError, HiercosWarning
from hiercos.methods import METHODS
from hiercos.registry import Registry
from hiercos.training import Settings

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = re.compile(r"^```python\n# my_package/(\w+\.py)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
GROUP = re.compile(r'^\[project\.entry-points\."(hiercos\.(?:methods|rules))"\]\n((?:\w+ = .*\n)+)', flags=re.MULTILINE)


def places() -> Registry[type]:
    return Registry("shape", FaultsError, entry_points="none", rows={"ring": "fractions:Fraction"})


def test_a_row_is_imported_when_it_is_asked_for_and_an_added_one_replaces_it() -> None:
    shapes = places()
    assert shapes["ring"].__name__ == "Fraction"
    shapes.add("ring", int)
    assert shapes["ring"] is int
    assert (list(shapes), len(shapes), "ring" in shapes, "rung" in shapes) == (["ring"], 1, True, False)


def test_a_registered_class_knows_its_name() -> None:
    shapes = places()

    @shapes.register("round")
    class Round:
        name: str

    assert shapes["round"].name == "round"


def test_every_row_leads_to_what_its_name_says() -> None:
    assert {name: RULES[name].name for name in RULES} == {name: name for name in RULES}
    assert {name: METHODS[name].__name__ for name in METHODS} == {name: name.replace("-", "_") for name in METHODS}


def test_the_alias_default_is_replaced_by_the_name_that_it_stands_for_at_once() -> None:
    assert (METHODS.checked_name("default"), Settings("default").method) == ("committee", "committee")
    assert (rule("default").to_dict()["name"], AnswerRequest(rule="default").rule) == ("auto", "auto")
    assert "default" not in [*METHODS, *RULES]


def test_an_entry_point_that_is_not_used_or_cannot_be_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "shapes-1.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[none]\nring = shapes:Ring\nround = shapes:Round\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    shapes = places()
    with pytest.warns(HiercosWarning, match="entry point 'ring' = 'shapes:Ring' of none is not used: there is already"):
        assert list(shapes) == ["ring", "round"]
    with pytest.raises(FaultsError, match="entry point 'round' = 'shapes:Round' of none: No module named 'shapes'"):
        shapes["round"]


NAMES_AND_TRAITS = """
import sys
from hiercos.decisions import rule
from hiercos.methods import METHODS

traits, search = METHODS.traits("bounded"), METHODS.row("bounded").search
assert (traits.uses_tree, traits.solved, list(search), "bounded" in METHODS) == (False, False, ["scale"], True)
assert rule("careful", share=0.25).to_dict() == {"name": "careful", "share": 0.25}
assert "torch" not in sys.modules and "my_package.bounded" not in sys.modules
assert METHODS.options("bounded") == {"scale": 2.0}
"""


def test_a_package_extends_the_tables_with_one_file_and_one_row_as_documented(tmp_path: Path) -> None:
    package, metadata = tmp_path / "my_package", tmp_path / "my_package-1.dist-info"
    package.mkdir()
    metadata.mkdir()
    for name, text in FILES.findall(PAGE):
        (package / name).write_text(text, encoding="utf-8")
    groups = [f"[{group}]\n{re.sub('#.*', '', rows).replace(chr(34), '')}" for group, rows in GROUP.findall(PAGE)]
    (metadata / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    (metadata / "METADATA").write_text("Name: my_package\nVersion: 1\n", encoding="utf-8")
    environment = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    commands = f"{environment}from hiercos.cli.app import run; assert run(['methods', 'bounded']) == 0"
    subprocess.run([sys.executable, "-c", environment + NAMES_AND_TRAITS], check=True)
    shown = subprocess.run([sys.executable, "-c", commands], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("bounded\n    Cross-entropy whose scores are kept within bounds.\n")
    assert "scale=2.0" in shown


@pytest.mark.parametrize("names", ["METHODS.traits('hier-cos'), METHODS.row('hier-cos').recommended", "[*METHODS]"])
def test_names_and_traits_of_methods_need_no_torch(names: str) -> None:
    code = f"import sys; from hiercos.methods import METHODS; {names}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
