"""A small learnable problem over any taxonomy: a cloud of vectors around a point for each class."""

from pathlib import Path

import numpy as np
import torch

from hiercos import Taxonomy
from hiercos.data import Dataset, Vectors
from hiercos.training import Features, features_of
from trees import TOY

FEATURES = 12


def cloud(taxonomy: Taxonomy, count: int, *, seed: int = 0, noise: float = 0.4) -> tuple[torch.Tensor, torch.Tensor]:
    """Features (count, 12) and labels (count,); siblings are near each other, as in a real taxonomy."""
    generator = np.random.default_rng(seed)
    directions = np.random.default_rng(1234).normal(size=(taxonomy.num_nodes, FEATURES))
    centres = np.stack([directions[list(taxonomy.path(leaf))].sum(axis=0) for leaf in taxonomy.leaves])
    labels = np.arange(count) % taxonomy.num_classes
    features = centres[labels] + noise * generator.normal(size=(count, FEATURES))
    return torch.tensor(features, dtype=torch.float32), torch.tensor(labels)


def blob_data(taxonomy: Taxonomy = TOY, count: int = 120) -> Features:
    """The same as features of a data set with three splits."""
    features, labels = cloud(taxonomy, count)
    split = np.array(["train", "train", "train", "val", "test"])[np.arange(count) // taxonomy.num_classes % 5]
    return features_of(Dataset("blobs", taxonomy, Vectors(features.numpy()), taxonomy.leaves[labels.numpy()], split))


def written_cloud(folder: Path, taxonomy: Taxonomy, count: int) -> list[str]:
    """Arguments of a command for a cloud without splits, written as data.npz with its tree.json."""
    taxonomy.write(folder / "tree.json")
    features, labels = cloud(taxonomy, count)
    np.savez(folder / "data.npz", features=features.numpy(), labels=labels.numpy())
    return [str(folder / "data.npz"), "--taxonomy", str(folder / "tree.json")]
