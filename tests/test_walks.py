"""The walks of a row in docs/architecture.md are those that the commands take."""

import re
from pathlib import Path

import numpy as np

from hiercos import HierarchicalClassifier
from trees import TOY
from walks import row_walk

PAGE = Path(__file__).parents[1] / "docs/architecture.md"
MOST = {"predict": 20, "train": 20}


def documented_walk(command: str) -> list[str]:
    """Files of the walk of a command, from the line that begins with its name."""
    (line,) = re.findall(rf"^- `hiercos {command}`.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", line)


def test_a_text_in_predict_walks_the_documented_files(tmp_path: Path) -> None:
    texts = [f"a {word} thing {number % 7}" for number in range(90) for word in ("furry", "loud", "metal")]
    labels = np.array(TOY.class_names)[np.arange(len(texts)) % 3]
    HierarchicalClassifier(TOY, method="tree-logistic").fit(texts, labels).save(tmp_path / "model")
    for name, count in (("few", 10), ("many", 1100)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["text", *(texts * 5)[:count]]), encoding="utf-8")
    few, many = (
        [
            "predict",
            str(tmp_path / "model"),
            str(tmp_path / f"{name}.csv"),
            "--output",
            str(tmp_path / f"{name}-answers.csv"),
        ]
        for name in ("few", "many")
    )
    assert_documented("predict", row_walk(tmp_path, few, many))


def test_a_text_in_train_walks_the_documented_files(tmp_path: Path) -> None:
    TOY.write(tmp_path / "tree.csv")
    words, splits = ("furry", "loud", "metal"), ("train", "train", "val", "test")
    options = ["--taxonomy", str(tmp_path / "tree.csv"), "--method", "path-softmax", "--epochs", "2"]
    commands = []
    for name, count in (("few", 240), ("many", 1200)):
        rows = [f"a {words[n % 3]} thing {n % 50},{TOY.class_names[n % 3]},{splits[n // 3 % 4]}" for n in range(count)]
        table = tmp_path / f"{name}.csv"
        table.write_text("\n".join(["text,label,split", *rows]), encoding="utf-8")
        commands.append(["train", str(table), *options, "--batch-size", "32", "--out", str(tmp_path / name)])
    walk = row_walk(tmp_path, *commands)
    assert_documented("train", [*walk, "decisions/posterior"])  # the steps of a temperature's fit vary


def assert_documented(command: str, walk: list[str]) -> None:
    """Compare a walk with the documented one."""
    assert set(walk) == set(documented_walk(command))
    assert len(set(walk)) == len(documented_walk(command)) <= MOST[command]
