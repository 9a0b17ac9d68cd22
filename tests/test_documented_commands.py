"""The commands that the README and the pages of the documentation print run, in a folder with the files they name."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.cli.app import run
from pictures import photos, picture, write
from test_documentation import COMMAND, ROOT, run_with_input

BLOCK = re.compile(r"^```sh\n(.*?)^```|^((?:    [^\n]*\n)+)", flags=re.DOTALL | re.MULTILINE)
ELSEWHERE = ("README.md", "docs/start.md", "docs/tutorials")  # run as printed, by `test_documentation`
SHORT = {  # options that the test adds, so that a command takes seconds
    "train": ("--effort", "quick", "--set", "max_epochs=1"),
    "compare": ("--set", "max_epochs=1", "--seeds", "1", "--methods", "cross-entropy,hier-cos"),
    "extend": ("--set", "max_epochs=1"),
}
NOT_RUN = {  # part of a command -> why it is not run
    "compare cifar100": "needs the images of CIFAR-100",
    "train cifar100": "needs the images of CIFAR-100",
    "--download": "needs the network",
    "reproduce cifar100 --methods": "needs the images of CIFAR-100, and hours",
    "reproduce consistency": "needs the images of CIFAR-100, and hours",
    "hf:": "needs the network",
    "hiercos serve": "runs until it is stopped; tested in tests/cli/commands/test_serve.py",
    "transformers:": "needs the network",
    "onnx:network.onnx": "needs a network of the user's",
    "resnet50.safetensors": "needs weights of the user's",
    "/data/photos": "needs photos at an absolute path; tables of paths are tested in tests/data/readers",
    "photos/ --taxonomy": "needs flat folders; tested in tests/data/readers",
    "--unfreeze": "fine-tunes a network of images for minutes",
    "groceries": "needs the photos of the groceries",
    "icd10cm:9,10,11,13": "trains for minutes on 221 classes",
    "ablate": "trains for minutes",
    "go.obo": "needs the Gene Ontology",
    "sections.onnx": "prunes a model of hier-cos; tested in tests/onnx",
    "model.onnx new-photos": "needs an export of a network of images, half a minute; tested in tests/onnx",
}
IMAGE_PAGES = ("docs/other-programs.md", "docs/data.md")
TREE = Taxonomy.from_paths(
    [
        ("Fungi", "Basidiomycota", "Amanita", "fly agaric"),
        ("Fungi", "Basidiomycota", "Boletus", "penny bun"),
        ("Plantae", "Bryophyta", "Sphagnum", "peat moss"),
        ("Plantae", "Bryophyta", "Polytrichum", "haircap moss"),
        ("Plantae", "Pinophyta", "Pinus", "scots pine"),
        ("Plantae", "Pinophyta", "Picea", "norway spruce"),
    ]
).with_ranks(["kingdom", "division", "genus", "species"])


def pages() -> dict[str, list[str]]:
    """The commands of each page, as printed."""
    found = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = "".join(fenced or indented for fenced, indented in BLOCK.findall(path.read_text(encoding="utf-8")))
        name = str(path.relative_to(ROOT))
        if name == "README.md":  # the block on the user's data: the others are run as printed
            text = path.read_text(encoding="utf-8").partition("## On your data")[2]
        elif name.startswith(ELSEWHERE):
            continue
        if lines := [line.strip() for line in COMMAND.findall(text)]:
            found[name] = lines
    return found


def reason(line: str) -> str:
    """Why a command is not run; "" if it is."""
    return next((why for part, why in NOT_RUN.items() if part in line), "")


def table(path: Path, header: str, rows: list[tuple[str, ...]]) -> None:
    path.write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")


def write_data(folder: Path) -> None:
    """The taxonomies and tables that the pages name."""
    names = TREE.class_names
    larger = Taxonomy.from_paths([*map(path_names, TREE.leaves), ("Plantae", "Pinophyta", "Pinus", "stone pine")])
    for name in ("tree", "old-tree", "subjects"):
        TREE.write(folder / f"{name}.csv")
    larger.with_ranks(TREE.ranks).write(folder / "new-tree.csv")
    rows = [(f"{name} number {number}", name) for number in range(70) for name in names]
    splits = ["train"] * 120 + ["val"] * 240 + ["test"] * 60
    table(folder / "titles.csv", "text,label", rows[:60])
    for name in ("items", "old"):
        table(folder / f"{name}.csv", "text,label,split", [(*row, s) for row, s in zip(rows, splits, strict=True)])
    several = [(text, f"{label} | Pinophyta", split) for (text, label), split in zip(rows, splits, strict=True)]
    table(folder / "papers.csv", "text,label,split", several)
    table(folder / "test.csv", "text,label", rows[-60:])
    new = [(f"{name} {number}", name, "Fungi;Plantae") for number in range(20) for name in (*names, "stone pine")]
    table(folder / "new.csv", "text,label,region", new)
    decision = {"text": "penny bun number 3", "decision": "node", "node": "Boletus", "who": "ann"}
    (folder / "corrections.jsonl").write_text(json.dumps(decision) + "\n")
    (folder / "region.txt").write_text("Fungi\nPlantae > Pinophyta\n")
    (folder / "extinct.txt").write_text("Boletus\n")
    split = [("penny bun", "fly agaric"), ("scots pine", "scots pine"), ("scots pine", "stone pine")]
    table(folder / "map.csv", "old,new", split)
    table(folder / "prior.csv", "row,label,weight", [("2", "fly agaric", "1"), ("2", "peat moss", "3")])


def path_names(leaf: int) -> tuple[str, ...]:
    return tuple(TREE.names[node] for node in TREE.path(int(leaf)))


def write_predictions(folder: Path) -> None:
    """Scores and predictions by image of other programs."""
    labels = np.arange(60) % TREE.num_classes
    for name, seed in (("scores", 0), ("ours", 0), ("theirs", 1)):
        scores = np.random.default_rng(seed).normal(size=(60, TREE.num_classes))
        np.savez(folder / f"{name}.npz", scores=scores, labels=labels)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.savez(folder / "probabilities.npz", scores=shares, labels=labels)
    table(folder / "labels.csv", "path,label", [("a.jpg", "peat moss"), ("b.jpg", "penny bun")])
    guesses = [("a.jpg", "peat moss", "0.9"), ("a.jpg", "penny bun", "0.1"), ("b.jpg", "penny bun", "0.8")]
    table(folder / "predictions.csv", "file_name,species,score", guesses)
    classes = [f"x{number};{';' * 4};{name}" for number, name in enumerate(TREE.class_names)]
    answers = [
        {"filepath": name, "classifications": {"classes": classes[:2], "scores": [0.6, 0.4]}, "prediction": classes[0]}
        for name in ("a.jpg", "b.jpg")
    ]
    (folder / "predictions.json").write_text(json.dumps({"predictions": answers}))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a user, a model of texts and a comparison, each trained once."""
    folder = tmp_path_factory.mktemp("world")
    write_data(folder)
    write_predictions(folder)
    photos(folder / "photos", each=12)
    for number in range(3):
        write(folder / "new-photos" / f"{number}.png", picture(900 + number))
    data = [str(folder / "items.csv"), "--taxonomy", str(folder / "tree.csv")]
    compared = ["--methods", "cross-entropy,hier-cos", "--rules", "none,crm", "--seeds", "1", "--epochs", "2"]
    assert run(["train", *data, "--method", "tree-logistic", "--rule", "none", "--out", str(folder / "model")]) == 0
    assert run(["compare", *data, *compared, "--out", str(folder / "comparison")]) == 0
    return folder


@pytest.fixture(scope="module")
def photo_model(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of images."""
    folder = tmp_path_factory.mktemp("photos") / "model"
    images = ["train", str(world / "photos"), "--method", "gaussian", "--set", "backbone.size=64"]
    assert run([*images, "--out", str(folder)]) == 0
    return folder


def shortened(line: str) -> str:
    """The command without what the shell does after >, and with the options that make it short."""
    source, pipe, command = line.rpartition("| ")
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    words = words[: words.index(">")] if ">" in words else words
    added = [*SHORT.get(words[1], ())]
    if "--method" in words and "--effort" in added:  # which the default method alone has
        del added[added.index("--effort") : added.index("--effort") + 2]
    return source + pipe + shlex.join([*words, *added])


@pytest.mark.long
@pytest.mark.parametrize("page", pages())
def test_the_commands_of_a_page_run(
    page: str, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    lines = [line for line in pages()[page] if not reason(line)]
    if not lines:
        pytest.skip("; ".join(sorted({reason(line) for line in pages()[page]})))
    folder = tmp_path / "user"
    shutil.copytree(world, folder)
    if page in IMAGE_PAGES:
        shutil.rmtree(folder / "model")
        shutil.copytree(request.getfixturevalue("photo_model"), folder / "model")
    monkeypatch.chdir(folder)
    for line in lines:
        command = shortened(line)
        words = shlex.split(command)
        if "--out" in words and words[1] in ("train", "compare"):
            shutil.rmtree(folder / words[words.index("--out") + 1], ignore_errors=True)
        run_with_input(command, monkeypatch)


def test_every_reason_not_to_run_a_command_is_needed() -> None:
    every = [line for lines in pages().values() for line in lines]
    assert [part for part in NOT_RUN if not any(part in line for line in every)] == []
    assert sum(not reason(line) for line in every) > 40
