"""Several labels of a sample: python benchmarks/several_labels.py [--methods NAMES]

Titles of the listings that stand in two to six categories, and three times as many that stand in one. Rows: methods of
the table, and what stands in their place without the tree, a LinearSVC for each class on TF-IDF (words 1-2, characters
2-5), whose nodes score the highest of their classes. Thresholds of the levels, and C of the latter, are chosen on
validation. Average precision, F1 of all pairs and of the nodes, and exact sets on test, and processor seconds.
"""

import argparse
import warnings
from collections import defaultdict
from time import process_time

import numpy as np
import torch
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from hiercos.data import Dataset, Texts, completed, load_dataset
from hiercos.decisions import Posterior, Several
from hiercos.metrics.functional import average_precision, set_agreement
from hiercos.taxonomy import IntArray, Taxonomy, descendant_maxima, node_values
from hiercos.training import Settings, train

SINGLE = 3  # titles of one category to one of several
MOST = 6  # categories of a title; more are titles that say nothing
STRENGTHS = (0.25, 1.0, 4.0)
FLAT = "a LinearSVC for each class"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="one-vs-rest,c-hmcnn")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    data = completed(several_listings())
    print(f"{len(data)} titles, {data.taxonomy.num_nodes} nodes\n")
    print("| | AP | hF1 | macro hF1 | exact % | CPU s |\n|---|---:|---:|---:|---:|---:|")
    for method in asked.methods.split(","):
        start = process_time()
        classifier = train(data, Settings(method)).classifier
        seconds = process_time() - start
        row(method, classifier.rule, classifier.posterior(texts(data, "test")), data, seconds)
    row(FLAT, *flat(data))


def several_listings() -> Dataset:
    """Titles with the categories of all listings that have them."""
    listings, generator = load_dataset("listings"), np.random.default_rng(0)
    nodes: dict[str, set[int]] = defaultdict(set)
    for text, node in zip(listings.inputs.values(range(len(listings))), listings.nodes.tolist(), strict=True):
        nodes[text.strip().lower()].add(node)
    several = [text for text, own in nodes.items() if 1 < len(own) <= MOST]
    single = [text for text, own in nodes.items() if len(own) == 1]
    chosen = [*several, *(single[place] for place in generator.permutation(len(single))[: SINGLE * len(several)])]
    labels = np.full((len(chosen), MOST), -1)
    for place, text in enumerate(chosen):
        labels[place, : len(nodes[text])] = sorted(nodes[text])
    single_nodes = np.where(labels[:, 1] < 0, labels[:, 0], -1)
    split = np.full(len(chosen), "")
    return Dataset("titles", listings.taxonomy, Texts(chosen), single_nodes, split, label_sets=labels)


def texts(data: Dataset, split: str) -> list[str]:
    """Titles of a split."""
    return list(data.inputs.values(data.rows(split)))


def sets(data: Dataset, split: str) -> IntArray:
    """Categories of each title of a split, shape (M, K)."""
    assert data.label_sets is not None
    return data.label_sets[data.rows(split)]


def row(name: str, rule: Several, found: Posterior, data: Dataset, seconds: float) -> None:
    """Print a row."""
    right = torch.from_numpy(sets(data, "test"))
    precision = float(average_precision(torch.from_numpy(found.each_node), right, data.taxonomy))
    agreed = set_agreement(torch.from_numpy(rule.chosen(found)), right, data.taxonomy)
    figures = (precision, agreed["hf1_micro"], agreed["hf1_macro"])
    print(
        f"| {name} | {' | '.join(f'{value:.3f}' for value in figures)} | {agreed['exact_match']:.2%} | {seconds:.0f} |"
    )


def flat(data: Dataset) -> tuple[Several, Posterior, Dataset, float]:
    """Thresholds of machines for the classes, scores of the test rows, and seconds."""
    start, taxonomy = process_time(), data.taxonomy
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    learned = hstack([each.fit_transform(texts(data, "train")) for each in (words, characters)]).tocsr()
    val, test = (
        hstack([each.transform(texts(data, split)) for each in (words, characters)]).tocsr()
        for split in ("val", "test")
    )
    right, tried = sets(data, "val"), {}
    for strength in STRENGTHS:
        machine = OneVsRestClassifier(LinearSVC(C=strength))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes without rows
            machine.fit(learned, indicators(sets(data, "train"), taxonomy))
        scores = node_scores(machine, val, taxonomy)
        precision = average_precision(torch.from_numpy(scores), torch.from_numpy(right), taxonomy)
        tried[float(precision)] = Several().fitted_to(scores, right, taxonomy), machine
    rule, machine = tried[max(tried)]
    marginals, count = node_scores(machine, test, taxonomy), taxonomy.num_classes
    found = Posterior(np.full((len(marginals), count), 1 / count), taxonomy, marginals=marginals)
    return rule, found, data, process_time() - start


def indicators(given: IntArray, taxonomy: Taxonomy) -> IntArray:
    """Which classes each row has, shape (M, C)."""
    marked = np.zeros((len(given), taxonomy.num_nodes + 1), np.int64)
    np.put_along_axis(marked, given, 1, axis=1)
    return marked[:, taxonomy.leaves]


def node_scores(machine: OneVsRestClassifier, features: object, taxonomy: Taxonomy) -> np.ndarray:
    """The highest margin of the classes at or below each node, through a sigmoid, shape (M, N)."""
    margins = 1 / (1 + np.exp(-machine.decision_function(features)))
    return descendant_maxima(node_values(margins, taxonomy), taxonomy)


if __name__ == "__main__":
    main()
