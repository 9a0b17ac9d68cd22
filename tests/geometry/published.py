"""Numbers that the published code gave on fixed inputs, with the tree they belong to."""

import csv

import numpy as np
import torch
from torch import Tensor

from hiercos import Taxonomy
from trees import shared

NAMES = ("cifar100", "fgvc_aircraft", "tiered_imagenet_h")


def published_tree(name: str) -> Taxonomy:
    """The tree of a data set, from the level columns of its table."""
    with shared("hierarchies", f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return Taxonomy.from_paths([[row[f"level_{n}"] for n in range(1, int(row["depth"]) + 1)] for row in rows])


class PublishedRun:
    """One file of golden numbers, with its columns brought into our node order."""

    def __init__(self, name: str) -> None:
        self.taxonomy = published_tree(name)
        self.file = np.load(shared("golden", f"{name}_loss.npz"), allow_pickle=False)
        column = {label: place for place, label in enumerate(self.file["node_labels"].tolist())}
        self.order = [column[node] for node in self.taxonomy.names]
        self.labels = torch.tensor(self.file["class_index"])

    def by_node(self, key: str) -> Tensor:
        """An array with one column per node, shape (B, N)."""
        return torch.tensor(self.file[key])[:, self.order]

    def value(self, key: str) -> Tensor:
        """An array as it is."""
        return torch.tensor(self.file[key])

    def level_nodes(self) -> list[list[str]]:
        """The name of the node chosen at each level for each sample, shape (H, B)."""
        nodes: list[list[str]] = self.file["level_predictions"].tolist()
        return nodes
