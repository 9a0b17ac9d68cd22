"""The rows of a source that are worth a person's time: by how unsure the model is, over all branches, no two alike."""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from hiercos.data import InputBatch, Inputs
from hiercos.decisions import BackOff, Posterior
from hiercos.taxonomy import Floats, IntArray, Taxonomy, best_children, is_at_or_above, pair_distances

SURE = 0.9  # probability from which the model is sure of a node
CANDIDATES = 9  # of a row, one for each key
POOL = 20  # rows that are remembered for each row asked for
SAME_WORDS, SAME_BITS, SAME_DIRECTION = 0.8, 4, 0.995  # from which two inputs are nearly the same


@dataclass(frozen=True)
class ReviewRow:
    """A row with what a person should know to decide on its node."""

    number: int  # number of the row in its source
    shown: dict[str, str]  # its "text" or "image"
    node: int  # deepest node that the model is sure of; -1 for none
    confidence: float  # probability of that node
    candidates: tuple[tuple[int, float], ...]  # likeliest classes below it, with their probabilities
    branch: int  # node of level 1 above the likeliest class
    likeness: Any  # what near-duplicates are found by

    def settles(self, taxonomy: Taxonomy) -> str:
        """What a decision would settle."""
        if self.node >= 0 and not taxonomy.child_counts[self.node]:
            return f"whether it is {taxonomy.short_text(self.node)}"
        below = is_at_or_above(np.full((taxonomy.num_classes, 1), self.node), taxonomy.leaves, taxonomy).sum()
        return f"which of {int(below):,} classes"


def margin(posterior: Posterior) -> Floats:
    """How near the second likeliest class comes to the likeliest one, shape (M,)."""
    best = -np.partition(-posterior.classes, 1, axis=1)[:, :2]
    found: Floats = 1 - best[:, 0] + best[:, 1]
    return found


def entropy(posterior: Posterior) -> Floats:
    """Entropy of the classes, shape (M,)."""
    found: Floats = _entropies(posterior.classes).sum(axis=1)
    return found


def level_gain(posterior: Posterior) -> Floats:
    """What a decision tells about every level: the entropies of the levels, summed, shape (M,)."""
    taxonomy = posterior.taxonomy
    levels = np.ones(taxonomy.num_nodes)  # and a class is on all levels below it
    levels[taxonomy.leaves] += taxonomy.height - taxonomy.depths[taxonomy.leaves]
    return _entropies(posterior.nodes) @ levels


def disagreement(posterior: Posterior) -> Floats:
    """How far the likeliest class is from the end of the likeliest path from the root; of equal ones by margin."""
    taxonomy, rows = posterior.taxonomy, np.arange(len(posterior))
    following, ends = best_children(posterior.nodes, taxonomy), np.full(len(posterior), -1)
    for _ in range(taxonomy.height):
        below = following[rows, ends]
        ends = np.where(below >= 0, below, ends)
    likeliest = posterior.classes.argmax(axis=1)
    return pair_distances(taxonomy, taxonomy.classes_of(ends), likeliest) + 0.5 * margin(posterior)


def _entropies(probabilities: Floats) -> Floats:
    return -probabilities * np.log(np.maximum(probabilities, 1e-300))


STRATEGIES: dict[str, Callable[[Posterior], Floats] | None] = {
    "margin": margin,
    "entropy": entropy,
    "level-gain": level_gain,
    "disagreement": disagreement,
    "random": None,
}


def review_rows(
    batches: Iterable[tuple[InputBatch, Posterior]], rows: int, strategy: str = "margin", *, seed: int = 0
) -> list[ReviewRow]:
    """The rows to review, the most worth a decision first.

    They are spread over the branches: none has more than twice its share of the source, as long as others have rows.

    Args:
        batches: inputs with their posteriors.
        rows: number of rows; fewer if there are no more different ones.
        strategy: name in `STRATEGIES`.
        seed: seed of the strategy "random".
    """
    random, priority, branches = np.random.default_rng(seed), STRATEGIES[strategy], Counter[int]()

    def valued() -> Iterator[tuple[float, ReviewRow]]:
        for batch, posterior in batches:
            values = random.random(len(posterior)) if priority is None else priority(posterior)
            for value, row in zip(values.tolist(), _described(batch, posterior), strict=True):
                branches[row.branch] += 1
                yield value, row

    ordered = [row for _, row in heapq.nlargest(POOL * rows, valued(), key=itemgetter(0))]
    return chosen_rows(ordered, rows, {name: 2 * rows * count / branches.total() for name, count in branches.items()})


def chosen_rows(ordered: list[ReviewRow], rows: int, most: dict[int, float]) -> list[ReviewRow]:
    """The first rows of an order, without near-duplicates; those beyond the share of their branch come last."""
    chosen: list[ReviewRow] = []
    later: list[ReviewRow] = []
    taken = Counter[int]()
    for place, row in enumerate(itertools.chain(ordered, later)):
        if len(chosen) == rows:
            break
        if any(nearly_same(row.likeness, other.likeness) for other in chosen):
            continue
        if place < len(ordered) and taken[row.branch] >= most[row.branch]:
            later.append(row)
        else:
            taken[row.branch] += 1
            chosen.append(row)
    return chosen


def _described(batch: InputBatch, posterior: Posterior) -> Iterator[ReviewRow]:
    """The rows of a batch."""
    taxonomy, sure = posterior.taxonomy, BackOff(confidence=SURE)(posterior)
    candidates = classes_below(posterior, sure.nodes)
    likeliest = taxonomy.leaves[posterior.classes.argmax(axis=1)]
    branches = taxonomy.path_table(likeliest)[:, 0] if taxonomy.is_tree else likeliest
    for row in range(len(batch)):
        found = [(int(taxonomy.leaves[label]), float(posterior.classes[row, label])) for label in candidates[row]]
        yield ReviewRow(
            int(batch.numbers[row]),
            batch.inputs.shown(row),
            int(sure.nodes[row]),
            float(sure.probabilities[row]),
            tuple(found),
            int(branches[row]),
            likeness(batch.inputs, row),
        )


def classes_below(posterior: Posterior, nodes: IntArray) -> list[list[int]]:
    """The likeliest classes at or below each node (M,), best first; at most `CANDIDATES`."""
    taxonomy, inside = posterior.taxonomy, posterior.classes.copy()
    for node in np.unique(nodes):
        outside = ~is_at_or_above(np.full((taxonomy.num_classes, 1), node), taxonomy.leaves, taxonomy)[:, 0]
        inside[np.ix_(nodes == node, outside)] = 0.0
    best = np.argsort(-inside, axis=1, kind="stable")[:, :CANDIDATES]
    return [[label for label in row.tolist() if inside[place, label] > 0] for place, row in enumerate(best)]


def likeness(inputs: Inputs, row: int) -> Any:
    """What an input is compared by: the words of a text, the light and dark of an image, or a vector's direction."""
    [value] = inputs.values([row])
    if inputs.kind == "texts":
        return frozenset(value.lower().split())
    if inputs.kind == "vectors":
        return value / max(float(np.linalg.norm(value)), 1e-12)
    small = np.asarray(value.convert("L").resize((9, 8)), dtype=np.int16)
    return int.from_bytes(np.packbits(small[:, 1:] > small[:, :-1]).tobytes(), "big")


def nearly_same(one: Any, other: Any) -> bool:
    """Whether two inputs of a kind are nearly the same, by their likeness."""
    if isinstance(one, frozenset):
        return bool(len(one & other) >= SAME_WORDS * len(one | other))
    if isinstance(one, int):
        return bool((one ^ other).bit_count() <= SAME_BITS)
    return float(one @ other) >= SAME_DIRECTION
