"""Training of the members of a committee, on the same samples, one after the other."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from hiercos.methods import (
    METHODS,
    Committee,
    LabelledFeatures,
    MethodError,
    Model,
    Projection,
    Solved,
    log_probabilities,
)
from hiercos.taxonomy import Floats, Taxonomy
from hiercos.training.committee.costs import training_cost
from hiercos.training.committee.pooling import FirstShare, Pool, best_inverse, own_logs, pool_weights
from hiercos.training.committee.runs import MemberRuns

PROJECTED = 256  # width of the dense features of sparse inputs
MOST_CROSS_FITTED = 5000  # training samples up to which heads are trained more than once if validation is not enough
FIXED_EPOCHS = {
    "cross-entropy-mlp": 15
}  # methods that do better with this number of epochs at a cosine rate than with patience
MOST_FIXED = 15_000  # training samples up to which they do; committees of more are better with patience

Views = dict[bool, LabelledFeatures]  # samples as raw inputs (True) and as dense features (False)
Part = tuple[LabelledFeatures, LabelledFeatures]  # samples to learn from, and samples to stop by


def learnable(data: LabelledFeatures, method: str, taxonomy: Taxonomy) -> LabelledFeatures:
    """The samples that a method can learn from; a MethodError if there are none."""
    is_class = data.labels < taxonomy.num_classes
    if is_class.all() or METHODS.traits(method).inner_labels:
        return data
    if not is_class.any():
        raise MethodError(
            "every training sample is labelled with an inner node: expected some labelled with a class, or a "
            "method that learns from inner nodes alone, such as 'path-softmax'"
        )
    return data.rows(is_class)


def fixed_epochs(method: str, samples: int) -> int | None:
    """Number of epochs of a method on a number of training samples; None if it is trained with patience."""
    return FIXED_EPOCHS.get(method) if samples <= MOST_FIXED else None


def projected(train: LabelledFeatures, width: int, seed: int) -> Projection:
    """A projection of sparse training features, which is saved with its committee."""
    return Projection(Projection.fit(train.features, width, seed).directions, persistent=True)


def views(head: Committee, data: LabelledFeatures) -> Views:
    """Samples as the raw inputs of a committee (True) and as its dense features (False)."""
    if head.projection is None:
        return {True: data, False: data}
    dense = np.asarray(data.features @ head.projection.directions.numpy(), dtype=np.float32)
    return {True: data, False: replace(data, features=dense)}


@dataclass(frozen=True, eq=False)
class Candidate:
    """Models of one method that share a weight."""

    # trained models: one of a solver, else one for each part, on its samples or, of `FIXED_EPOCHS`, on all
    models: Sequence[Model]
    scores: Floats  # mean of their class scores on the samples to weigh the members on, shape (M, C)
    cost: float  # counted cost of the training, see `training_cost`
    seconds: float  # processor seconds of the training
    choice: str = ""  # settings that a solver chose, in words; "" for none

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.models[0].method

    @property
    def name(self) -> str:
        """Name of the method, with the settings that a solver chose."""
        return f"{self.method} ({self.choice})" if self.choice else self.method

    @property
    def is_wide(self) -> bool:
        """Whether the models are trained by gradient steps, not by a solver."""
        return self.models[0].solver is None


class CommitteeTraining:
    """Trains members on the same samples, and pools them.

    Args:
        head: committee to fill.
        train: training samples.
        parts: samples to learn from and samples to stop by, of each part.
        weighting_samples: M samples to weigh the members on.
        runs: trainings of the members, with the settings of the run.

    Where members are chosen, a linear first one beside wide ones has a share of its own, see `Committee`. It is
    1 / (M + 1), as if the wide ones were sure and wrong on one more sample than the M to weigh by.
    """

    def __init__(
        self,
        head: Committee,
        train: LabelledFeatures,
        parts: Sequence[Part],
        weighting_samples: LabelledFeatures,
        runs: MemberRuns,
    ) -> None:
        self.head, self.runs, self.seed = head, runs, runs.config.seed
        self.has_first_share = not head.plan.members
        self.tried: list[Candidate] = []
        self._pools: dict[tuple[int, ...], Pool] = {}
        self.total = "1"  # number of all candidates in words, for their names
        self.train, self.weighting_samples = views(head, train), views(head, weighting_samples)
        self.labels = weighting_samples.labels
        self.parts = [(views(head, learned), views(head, stopped)) for learned, stopped in parts]

    def trained(self, method: str, place: int, **options: Any) -> Candidate:
        """Trained members, whose initial weights depend on the seed and their place."""
        members = []
        for part in range(len(self.parts)):
            torch.manual_seed(self.seed * 1_000 + place + 100 * part)
            members.append(self.head.new_member(method, **options))
        return self._fitted(members, self.parts, epochs=fixed_epochs(method, len(self.train[True])))

    def continued(self, member: Model, place: int) -> Candidate:
        """A member of an earlier committee, solved again, or trained on from its weights on one of the parts."""
        member.place = place
        return self._fitted([member], [self.parts[place % len(self.parts)]])

    def _fitted(
        self, members: Sequence[Model], parts: Sequence[tuple[Views, Views]], *, epochs: int | None = None
    ) -> Candidate:
        """Members of one method, each trained from the weights that it has.

        A solver takes all samples but those to weigh by, and so do members with a fixed number of epochs; others learn
        from their part.
        """
        method, raw = members[0].method, members[0].raw_inputs
        start, choice, cost = time.process_time(), "", 0.0
        available = self.train if len(self.parts) > 1 else self.parts[0][0]
        if members[0].solver is not None:
            members = members[:1]
            samples = learnable(available[raw], method, self.head.taxonomy)
            held_out = self.weighting_samples[raw]
            choice = members[0].solve(samples, held_out, seed=self.seed).choice
            cost = training_cost(members[0], samples)
        else:
            for number, (member, (train, val)) in enumerate(zip(members, parts, strict=True), start=1):
                of_models = f", model {number} of {len(parts)}" if len(parts) > 1 else ""
                learned, stopping = (train[raw], val[raw]) if epochs is None else (available[raw], None)
                name = f"member {len(self.tried) + 1} of {self.total} ({method}){of_models}"
                samples = learnable(learned, method, self.head.taxonomy)
                self.runs.train(member, samples, stopping, name=name, epochs=epochs)
                cost += training_cost(member, samples)
        seconds = time.process_time() - start
        scores = [member.array_scores(self.weighting_samples[raw].features) for member in members]
        self.tried.append(Candidate(members, np.mean(scores, axis=0), cost, seconds, choice))
        return self.tried[-1]

    def loss_beside(self, candidate: Candidate, first: Candidate) -> float:
        """Log-loss of a candidate beside the first one on the samples to weigh by, at its best temperature."""
        return best_inverse(candidate.scores.astype(np.float64), self.labels, self._first_share([first, candidate]))[1]

    def loss(self, candidates: Sequence[Candidate]) -> float:
        """Log-loss of candidates with fitted weights on the samples to weigh the members on."""
        scores = np.stack([candidate.scores for candidate in candidates]).astype(np.float64)  # (K, M, C)
        logs = log_probabilities(np.tensordot(self._pool(candidates).weights, scores, axes=1))  # (M, C)
        return float(-own_logs(logs, self.labels, self._first_share(candidates)).mean())

    def pooled(self, candidates: Sequence[Candidate]) -> Solved:
        """Put candidates into the committee with fitted weights.

        Those with hardly any weight are left out, except a first one with a share of its own.
        """
        pool = self._pool(candidates)
        weighted = [each for each, weight in zip(candidates, pool.weights, strict=True) if weight > 0]
        first = self._first_share([candidates[0], *weighted])
        if first is None and self._first_share(candidates) is not None:
            return self.pooled(weighted)  # no wide one is left, and the weights were fitted with a share
        first_share = 0.0 if first is None else first.share
        kept = [
            (each, weight)
            for each, weight in zip(candidates, pool.weights, strict=True)
            if weight > 0 or (first is not None and each is candidates[0])
        ]
        members = [model for candidate, _ in kept for model in candidate.models]
        of_models = np.concatenate([np.full(len(each.models), weight / len(each.models)) for each, weight in kept])
        self.head.set_members(members, of_models, first_share=first_share)
        options = {
            "members": [model.method for model in members],
            "dim": None if self.head.projection is None else self.head.projection.num_features,
            **({"first_share": first_share} if self.has_first_share else {}),
        }
        return Solved(self._choice([each for each, _ in kept], pool.loss), options)

    def _pool(self, candidates: Sequence[Candidate]) -> Pool:
        """Weights of candidates, fitted once on the samples to weigh the members on."""
        key = tuple(id(each) for each in candidates)
        if key not in self._pools:
            scores, share = [each.scores for each in candidates], self._first_share(candidates)
            self._pools[key] = pool_weights(scores, self.labels, share)
        return self._pools[key]

    def _first_share(self, candidates: Sequence[Candidate]) -> FirstShare | None:
        """Share of a linear first candidate beside wide ones; None if it has none."""
        if not self.has_first_share or candidates[0].is_wide or not any(each.is_wide for each in candidates):
            return None
        logs = log_probabilities(candidates[0].scores.astype(np.float64))  # (M, C)
        return FirstShare(1 / (len(self.labels) + 1), own_logs(logs, self.labels))

    def _choice(self, kept: Sequence[Candidate], loss: float) -> str:
        """The sentence that names the members and their log-loss, and what each one costs and gains."""
        choice = f"{', '.join(each.name for each in kept)}: log-loss {loss:.4f} on validation"
        found, before, parts, left_out = list[Candidate](), 0.0, [], []
        for each in self.tried:
            after = self._pool([*found, each]).loss
            change = f"{after - before:+.4f}" if found else f"{after:.4f}"
            parts.append(f"{each.method} {change} (cost {each.cost:.1e}, {each.seconds:.1f} s)")
            if any(each is member for member in kept):
                found, before = [*found, each], after
            else:
                left_out.append(each.method)
        choice += f", in turn {', '.join(parts)}" if len(self.tried) > 1 else ""
        return choice + (f"; tried and left out: {', '.join(left_out)}" if left_out else "")
