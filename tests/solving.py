"""Samples for methods with a solver, and a short training of members in place of the engine's."""

from typing import Any

import numpy as np
import torch

from blobs import cloud
from hiercos import Taxonomy
from hiercos.methods import LabelledFeatures, Model, Solved


def data(taxonomy: Taxonomy, count: int, seed: int = 0) -> LabelledFeatures:
    """Noisy samples around the centres of the classes."""
    torch.manual_seed(seed)
    features, labels = cloud(taxonomy, count)
    noise = np.random.default_rng(seed).normal(size=features.shape)
    return LabelledFeatures((features.numpy() + noise).astype(np.float32), labels.numpy())


def no_member(
    member: Model, train: LabelledFeatures, val: LabelledFeatures | None, *, name: str, epochs: int | None = None
) -> None:
    """Training of a member where none should be trained."""
    raise AssertionError(f"{name}: {len(train)}, {val}, {epochs}")


def brief_steps(
    member: Model, train: LabelledFeatures, val: LabelledFeatures | None, *, name: str = "", epochs: int | None = None
) -> None:
    """A few gradient steps, in place of the engine's training."""
    assert (val is None) == (epochs is not None)
    features, labels = torch.as_tensor(train.features), torch.as_tensor(train.labels)
    member.standardize.fit(features)
    optimizer = torch.optim.AdamW(member.parameters(), lr=1e-2)
    member.train()
    for _ in range(30):
        optimizer.zero_grad()
        member.loss(member(features), labels).backward()
        optimizer.step()
    member.eval()


def solved(
    name: str, taxonomy: Taxonomy, train: LabelledFeatures, val: LabelledFeatures | None, **options: Any
) -> tuple[Model, Solved]:
    """A model that its solver has fitted, and what the solver says of it."""
    model = Model(taxonomy, train.features.shape[1], name, options)
    found = model.solve(train, val, seed=0, train_member=brief_steps)
    return model, found
