"""Baselines of scikit-learn on texts: python benchmarks/texts.py DATA [--taxonomy FILE]

Word n-grams (TfidfVectorizer with ngram_range=(1, 2)) and a linear SVM or logistic regression, each with the C that has
the best top-1 on validation, on the splits that `hiercos compare DATA` uses. Prints top-1 on test, HOPS of the classes
ordered by the rule `hops` from the probabilities of the logistic regression, and seconds of the fit with the chosen C.
"""

import argparse
from time import perf_counter
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from hiercos.data import load_dataset
from hiercos.decisions import Posterior, rule
from hiercos.metrics.functional import hops

STRENGTHS = (1.0, 10.0, 100.0)


def fitted(kind: str, train: Any, labels: Any, strength: float) -> Any:
    """A classifier with one C."""
    model = LinearSVC(C=strength) if kind == "LinearSVC" else LogisticRegression(C=strength, max_iter=300)
    return model.fit(train, labels)


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--taxonomy")
    asked = parser.parse_args()
    dataset = load_dataset(asked.data, taxonomy=asked.taxonomy, on_error="skip")
    rows = {split: dataset.rows(split) for split in ("train", "val", "test")}
    labels = {split: np.asarray(dataset.labels)[rows[split]] for split in rows}
    start = perf_counter()
    vectorizer = TfidfVectorizer(ngram_range=(1, 2))
    train = vectorizer.fit_transform(dataset.inputs.values(rows["train"]))
    val, test = (vectorizer.transform(dataset.inputs.values(rows[split])) for split in ("val", "test"))
    reading = perf_counter() - start
    print("| | C | top-1 % | HOPS, `hops` | seconds |\n|---|---:|---:|---:|---:|", flush=True)
    for kind in ("LinearSVC", "LogisticRegression"):
        found = []
        for strength in STRENGTHS:
            start = perf_counter()
            model = fitted(kind, train, labels["train"], strength)
            found.append(((model.predict(val) == labels["val"]).mean(), strength, model, perf_counter() - start))
        _, strength, model, seconds = max(found, key=lambda entry: entry[0])
        top1 = float((model.predict(test) == labels["test"]).mean())
        ranked = "" if kind == "LinearSVC" else f"{ranked_hops(model, test, labels['test'], dataset.taxonomy):.3f}"
        print(f"| {kind} | {strength:g} | {100 * top1:.2f} | {ranked} | {reading + seconds:.0f} |", flush=True)


def ranked_hops(model: Any, test: Any, labels: Any, taxonomy: Any) -> float:
    """Mean HOPS of the orders of the rule `hops`."""
    probabilities = np.zeros((test.shape[0], taxonomy.num_classes))
    probabilities[:, model.classes_] = model.predict_proba(test)
    ranking, _ = rule("hops").orders(Posterior(probabilities, taxonomy))
    return float(hops(torch.from_numpy(np.asarray(ranking)), torch.from_numpy(labels), taxonomy).mean())


if __name__ == "__main__":
    main()
