"""The default beside scikit-learn's linear SVM: python benchmarks/texts.py DATA [--taxonomy FILE] [--rows NAMES]

Rows: `committee` at the efforts normal and quick, `siblings`, and LinearSVC on TF-IDF (words 1-2 and characters 2-5 on
texts, standardized features on vectors), C chosen on validation and then trained on all rows but test. Each in its own
process: top-1, log-loss and HOPS (2,000 rows) on test, processor seconds of training with features and choices, peak
memory, size of the model, rows a second of answers from raw inputs, and of the vectoriser and the scores alone.
"""

import argparse
import multiprocessing
import resource
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import torch
from scipy.sparse import hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from hiercos.data import Dataset, completed, load_dataset
from hiercos.decisions import Posterior
from hiercos.encoders import TfidfEncoder, VectorSamples, launched
from hiercos.metrics.functional import hops
from hiercos.model import Classifier, class_scores
from hiercos.training import Settings, train

STRENGTHS = (0.25, 1.0, 4.0)
OURS = {
    "committee, normal": Settings("committee", {"effort": "normal"}, rule="auto"),
    "committee, quick": Settings("committee", {"effort": "quick"}, rule="auto"),
    "siblings": Settings("siblings", rule="auto"),
}
SVM = "LinearSVC"
ROWS, RANKED = 4096, 2000  # rows of the test split that are predicted, and drawn ones that HOPS is measured on


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--taxonomy")
    parser.add_argument("--rows", default=",".join([*OURS, SVM]).replace(", ", " "), help="rows of the table")
    asked = parser.parse_args()
    print("| | top-1 % | log-loss | HOPS | CPU s | peak MB | folder MB | rows/s | features and scores |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for row in asked.rows.split(","):
        name = {each.replace(", ", " "): each for each in [*OURS, SVM]}[row]
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measured, (name, asked.data, asked.taxonomy)), flush=True)


def measured(name: str, source: str, taxonomy: str | None) -> str:
    """A row of the table."""
    dataset = completed(load_dataset(source, taxonomy=taxonomy, on_error="skip"))
    torch.set_num_threads(1)
    start = process_time()
    figures = of_svm(dataset, start) if name == SVM else of_ours(dataset, OURS[name], start)
    return "| " + " | ".join([name, *figures]) + " |"


def of_ours(dataset: Dataset, settings: Settings, start: float) -> list[str]:
    """Figures of a training of ours."""
    classifier = train(dataset, settings).classifier
    seconds, memory = process_time() - start, peak()
    with TemporaryDirectory() as folder:
        classifier.save(folder)
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
        rates = rows_a_second(Classifier.load(folder), dataset)
    rows = dataset.rows("test")
    labels = np.asarray(dataset.labels)[rows]
    posterior = classifier.calibrated(classifier.scores(dataset.inputs.take(rows)))
    top1 = (classifier.rule(posterior).classes == labels).mean()
    log_loss = -posterior.logs[np.arange(len(labels)), labels].mean()
    drawn = np.random.default_rng(0).permutation(len(labels))[:RANKED]
    ranking, _ = classifier.rule.orders(Posterior(posterior.classes[drawn], dataset.taxonomy))
    order = float(hops(torch.from_numpy(ranking), torch.from_numpy(labels[drawn]), dataset.taxonomy).mean())
    figures = [f"{100 * top1:.2f}", f"{log_loss:.3f}", f"{order:.3f}", f"{seconds:.0f}", f"{memory:.0f}", f"{size:.0f}"]
    return [*figures, *(f"{rate:,.0f}" for rate in rates)]


def peak() -> float:
    """Largest memory of this process so far in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rows_a_second(classifier: Classifier, dataset: Dataset) -> tuple[float, float]:
    """Rows a second of calibrated answers from raw inputs, and of features and class scores alone."""
    rows = dataset.inputs.take(dataset.rows("test")[:ROWS])
    start = process_time()
    classifier.answers(rows)
    answers = process_time() - start
    start = process_time()
    encoder, features = classifier.encoder, rows
    if isinstance(encoder, TfidfEncoder):
        features = encoder.features.transform(list(rows))
    class_scores(launched("cpu"), classifier.model, VectorSamples(features))
    return len(rows) / answers, len(rows) / (process_time() - start)


def of_svm(dataset: Dataset, start: float) -> list[str]:
    """Figures of the linear SVM, whose predictions are its decision function."""
    labels = np.asarray(dataset.labels)
    split = {name: dataset.rows(name) for name in ("train", "val", "test")}
    known = {name: rows[labels[rows] < dataset.taxonomy.num_classes] for name, rows in split.items()}
    features = features_of(dataset, known["train"])
    train_rows, val_rows = (features(known[name]) for name in ("train", "val"))
    right = {
        strength: (
            LinearSVC(C=strength).fit(train_rows, labels[known["train"]]).predict(val_rows) == labels[known["val"]]
        ).mean()
        for strength in STRENGTHS
    }
    both = np.concatenate([known["train"], known["val"]])
    features = features_of(dataset, both)
    machine = LinearSVC(C=max(right, key=right.__getitem__)).fit(features(both), labels[both])
    seconds, memory, asked = process_time() - start, peak(), known["test"]
    top1 = (machine.predict(features(asked)) == labels[asked]).mean()
    begin = process_time()
    machine.predict(features(asked[:ROWS]))
    rate = len(asked[:ROWS]) / (process_time() - begin)
    size = machine.coef_.nbytes / 2e6  # as float32
    return [f"{100 * top1:.2f}", "", "", f"{seconds:.0f}", f"{memory:.0f}", f"{size:.0f}", f"{rate:,.0f}", ""]


def features_of(dataset: Dataset, rows: Any) -> Any:
    """Function from rows to features that are learned from some rows."""
    if dataset.kind != "texts":
        table = np.asarray(dataset.inputs)
        scaler = StandardScaler().fit(table[rows])
        return lambda asked: scaler.transform(table[asked])
    kinds = TfidfVectorizer(ngram_range=(1, 2)), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5))
    texts = dataset.inputs.values
    for kind in kinds:
        kind.fit(texts(rows))
    return lambda asked: hstack([kind.transform(texts(asked)) for kind in kinds], format="csr")


if __name__ == "__main__":
    main()
