"""Samples for methods with a solver, and short trainings of committees."""

from typing import Any

import numpy as np
import torch

from blobs import cloud
from hiercos import Taxonomy
from hiercos.encoders import launched
from hiercos.methods import Committee, LabelledFeatures, Model, Solved
from hiercos.training import Settings
from hiercos.training.committee.fit import fit_committee
from hiercos.training.committee.runs import MemberRuns


def data(taxonomy: Taxonomy, count: int, seed: int = 0) -> LabelledFeatures:
    """Noisy samples around the centres of the classes."""
    torch.manual_seed(seed)
    features, labels = cloud(taxonomy, count)
    noise = np.random.default_rng(seed).normal(size=features.shape)
    return LabelledFeatures((features.numpy() + noise).astype(np.float32), labels.numpy())


def runs(**settings: Any) -> MemberRuns:
    """Trainings of members with the settings of a run."""
    config = Settings(**{"learning_rate": 1e-2, "max_epochs": 10, **settings})
    return MemberRuns(launched("cpu"), None, config.resolved(100), None, {}, resume=False)


def solved(
    name: str, taxonomy: Taxonomy, train: LabelledFeatures, val: LabelledFeatures | None, **options: Any
) -> tuple[Model, Solved]:
    """A model that its solver has fitted, or a committee whose members are trained briefly, and what was chosen."""
    model = Model(taxonomy, train.features.shape[1], name, options)
    if not isinstance(model.head, Committee):
        return model, model.solve(train, val, seed=0)
    found = fit_committee(model.head, train, val, runs())
    model.options |= found.options
    return model, found
