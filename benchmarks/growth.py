"""Growth of training and top-10 search with the number of nodes: python benchmarks/growth.py [--plot FILE]

Synthetic trees of fan-out 10, as most taxonomies are, and texts of words: each node on the path of a row's class names
some of its words from a vocabulary of its own, the rest are noise of a fixed vocabulary. Ten rows for each node up to
`--rows`, which are then the same for all sizes. Processor seconds of one thread for each row (they grow with the load
of the machine), memory beyond that of the features, and exponents fitted to the sizes from 10,000 on. A size runs in a
process of its own.
"""

import argparse
import multiprocessing
import resource
from time import process_time

import numpy as np
from scipy.sparse import csr_matrix

from hiercos import Taxonomy
from hiercos.methods import LabelledFeatures, Model

FAN_OUT, WORDS_OF_NODE, NOISE, NOISE_WORDS = 10, 2, 4, 5000
LISTED, ASKED = 10, 2000
SIZES = tuple(10**power for power in range(3, 7))
HEADINGS = ("train ms a row", "train MB", "search ms a row", "weights MB", "top-1 %")


def main() -> None:
    """Print a Markdown table and the exponents, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--plot", help="file (.svg, .png) for a figure; needs matplotlib")
    asked = parser.parse_args()
    print(f"| nodes | depth | {' | '.join(HEADINGS)} |")
    print("|---:" * (2 + len(HEADINGS)) + "|", flush=True)
    found = []
    for size in (size for size in SIZES if size <= asked.most):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            figures = pool.apply(measured, (size, min(10 * size, asked.rows)))
        found.append((size, *figures[1:]))
        print(f"| {size:,} | {figures[0]} | {' | '.join(f'{each:.3g}' for each in figures[1:])} |", flush=True)
    if len(found) > 2:
        table = np.log(np.array(found)[1:])
        for column, name in enumerate(HEADINGS[:-1], start=1):
            print(f"{name}: grows as N^{np.polyfit(table[:, 0], table[:, column], 1)[0]:.2f}")
    if asked.plot:
        draw(np.array(found), asked.plot)


def measured(size: int, count: int) -> tuple[float, ...]:
    """Depth of a tree, and the figures of the headings."""
    parents = (np.arange(size) // FAN_OUT) - 1
    taxonomy = Taxonomy.from_arrays([str(node) for node in range(size)], parents)
    generator = np.random.default_rng(0)
    labels = generator.integers(taxonomy.num_classes, size=count + ASKED)
    features = texts(taxonomy, labels, generator)
    model = Model(taxonomy, features.shape[1], "siblings", {"strength": 1.0})
    before, start = peak(), process_time()
    model.solve(LabelledFeatures(features[:count], labels[:count]), None, seed=0)
    trained, memory = process_time() - start, peak() - before
    search = model.search(features[count:])
    search.best_classes(1)  # the weights by family are ordered once
    start = process_time()
    classes, _ = search.best_classes(LISTED)
    seconds, right = process_time() - start, (classes[:, 0] == labels[count:]).mean()
    weights = sum(each.numel() * each.element_size() for each in model.head.buffers()) / 1e6
    return taxonomy.height, 1e3 * trained / count, memory, 1e3 * seconds / ASKED, weights, 100 * right


def texts(taxonomy: Taxonomy, labels: np.ndarray, generator: np.random.Generator) -> csr_matrix:
    """Rows of length 1: words of the nodes on the path, two of ten each, and noise."""
    paths = taxonomy.path_table(taxonomy.leaves[labels])  # (M, H)
    own = 10 * paths[:, :, None] + generator.integers(10, size=(*paths.shape, WORDS_OF_NODE))
    own = np.where(paths[:, :, None] >= 0, own, -1).reshape(len(labels), -1)
    noise = 10 * taxonomy.num_nodes + generator.integers(NOISE_WORDS, size=(len(labels), NOISE))
    words = np.concatenate([own, noise], axis=1)
    rows, places = np.nonzero(words >= 0)
    values = np.full(len(rows), words.shape[1] ** -0.5, np.float32)
    shape = (len(labels), 10 * taxonomy.num_nodes + NOISE_WORDS)
    return csr_matrix((values, (rows, words[rows, places])), shape=shape)


def peak() -> float:
    """Largest memory of this process so far in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def draw(found: np.ndarray, file: str) -> None:
    """Time a row against the number of nodes, both logarithmic."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(5, 3.5))
    for column, name in ((1, HEADINGS[0]), (3, HEADINGS[2])):
        axes.loglog(found[:, 0], found[:, column], marker="o", label=name)
    axes.set_xlabel("nodes")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file)


if __name__ == "__main__":
    main()
