"""A committee: several methods on the same features, their scores added with weights fitted on held-out samples."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from torch import Tensor, nn

from hiercos.losses import CrossEntropyLoss
from hiercos.methods.logistic import best_inverse, held_out_loss, log_probabilities
from hiercos.methods.model import Model
from hiercos.methods.registry import METHODS, Method, MethodError, SummedProbabilities
from hiercos.methods.solver import LabelledFeatures, MemberTraining, Solved, folds
from hiercos.nn import Projection
from hiercos.options import check_count
from hiercos.taxonomy import Floats, IntArray, Taxonomy

TOWARDS_EQUAL = 10.0  # pull towards equal weights, in samples
LEAST_WEIGHT = 0.02  # share of all weights below which a member is left out
WIDTH = 512  # of the transformation modules
PROJECTED = 256  # width of the dense features of sparse inputs
HOLD_OUT_FOLDS = 7  # of which one is held out, if there are no validation samples
ENOUGH_TO_COMPARE_HEADS = 500  # validation samples that are enough to stop and to compare heads by
MOST_CROSS_FITTED = 5000  # training samples up to which heads are trained more than once if validation is not enough
CROSS_FITS = 3  # folds of a cross-fitting
FLAT_HEAD = "cross-entropy-mlp"
FIXED_EPOCHS = {FLAT_HEAD: 15}  # methods that do better with this number of epochs at a cosine rate than with patience
MOST_FIXED = 15_000  # training samples up to which they do; committees of more are better with patience

Part = tuple[LabelledFeatures, LabelledFeatures]  # samples to learn from, and samples to stop by
Views = dict[bool, LabelledFeatures]  # samples as raw inputs (True) and as dense features (False)


class Committee(nn.Module):
    """The weighted sum of the class scores of several models.

    Args:
        taxonomy: the tree.
        in_features: width F of the inputs.
        members: name of each model's method.
        options: options for the methods that have them, such as a width.
        dim: width of a projection for the models that need dense inputs; None if the inputs are dense.

    Shape:
        inputs: (B, F), dense or sparse CSR. Output: class logits, shape (B, C).
    """

    weights: Tensor  # (number of members,)

    def __init__(
        self,
        taxonomy: Taxonomy,
        in_features: int,
        members: Sequence[str],
        options: Mapping[str, Any],
        dim: int | None = None,
    ) -> None:
        super().__init__()
        self.taxonomy, self.in_features, self.options = taxonomy, in_features, dict(options)
        self.projection = None if dim is None else Projection(torch.zeros(in_features, dim), persistent=True)
        self.members = nn.ModuleList(self.new_member(name) for name in members)
        self.continues = False  # whether the members are those of an earlier committee, see `continue_from`
        self.register_buffer("weights", torch.full((len(members),), 1 / max(len(members), 1)))

    def new_member(self, method: str, **options: Any) -> Model:
        """An untrained model; its method takes raw inputs, or dense features."""
        known = METHODS.options(method)
        given = {name: value for name, value in {**self.options, **options}.items() if name in known}
        chosen = {**METHODS.recommended(method), **given}
        dense = self.in_features if self.projection is None else self.projection.num_features
        width = self.in_features if METHODS.traits(method).raw_inputs else dense
        return Model(self.taxonomy, width, method, chosen)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shape (B, F) to (B, C)."""
        dense = inputs if self.projection is None else self.projection(inputs)
        scores = [model.class_scores(model(inputs if model.raw_inputs else dense)) for model in self.models()]
        return torch.einsum("kbc,k->bc", torch.stack(scores), self.weights)

    def models(self) -> list[Model]:
        """The members."""
        return [member for member in self.members if isinstance(member, Model)]

    def set_members(self, members: Sequence[Model], weights: Floats) -> None:
        """Replace the members and their weights."""
        self.members = nn.ModuleList(members)
        self.weights = torch.as_tensor(weights, dtype=torch.float32)

    def continue_from(self, members: Sequence[Model], projection: Projection | None) -> None:
        """Start from members of an earlier committee: the solver trains these and weighs them anew.

        Args:
            members: members over the taxonomy of this committee; those with a solver are solved again, see
                `Model.keep_weights`.
            projection: projection of sparse inputs that the members are trained on; None for dense inputs.
        """
        self.members, self.projection, self.continues = nn.ModuleList(members), projection, True

    def views(self, data: LabelledFeatures) -> Views:
        """Samples as raw inputs (True) and as dense features (False)."""
        if self.projection is None:
            return {True: data, False: data}
        dense = np.asarray(data.features @ self.projection.directions.numpy(), dtype=np.float32)
        return {True: data, False: replace(data, features=dense)}


def committee_method(head: Committee, solver: "CommitteeSolver") -> Method:
    """The method of a committee."""
    return Method(
        head=head,
        loss=CrossEntropyLoss(head.taxonomy),
        class_scores=nn.Identity(),
        node_scores=SummedProbabilities(head.taxonomy),
        solver=solver,
    )


def checked_width(width: int | None) -> int:
    """The width of wide heads, 512 for None; a ValueError if it is below 1."""
    if width is None:
        return WIDTH
    check_count("width", width)
    return width


@METHODS.register("flat-committee", uses_tree=False, inner_labels=True, graphs=True, solved=True, raw_inputs=True)
def flat_committee(
    taxonomy: Taxonomy,
    in_features: int,
    *,
    size: int = 5,
    width: int | None = None,
    dropout: float = 0.1,
    members: Sequence[str] | None = None,
    dim: int | None = None,
) -> Method:
    """Several heads of flat cross-entropy, averaged: what a committee buys without the tree.

    Args:
        taxonomy: the tree; only its number of classes is read.
        in_features: width F of the input features.
        size: number of heads.
        width: width of their transformation modules; None for 512.
        dropout: dropout rate, see `TransformationModule`.
        members: methods of a trained committee, whose solver sets this option.
        dim: width of the projection of a trained committee on sparse inputs; None without one.
    """
    flat = (FLAT_HEAD,) * size
    head = Committee(taxonomy, in_features, members or flat, {"width": checked_width(width), "dropout": dropout}, dim)
    return committee_method(head, CommitteeSolver(head, flat))


@dataclass(frozen=True, eq=False)
class CommitteeSolver:
    """Trains members one after the other and fits their weights.

    Attributes:
        head: committee to fill.
        members: methods of the members.
    """

    head: Committee
    members: Sequence[str]

    def __call__(
        self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int, train_member: MemberTraining
    ) -> Solved:
        """See `Solver`; without validation samples of a class, a seventh of the training samples is held out.

        With few validation samples, these only fit the weights, and a head is the mean of three models. Models of
        `FIXED_EPOCHS` learn from all training samples; any other learns from two thirds of them and is stopped by the
        last third. Members that cannot learn from inner nodes are trained on the samples labelled with a class.
        Held-out samples of a class without training samples are left out: no member can know it.
        """
        val = None if val is None else val.rows(self._is_class(val) & np.isin(val.labels, train.labels))
        if val is not None and not len(val):
            val = None
        parts = self._parts(train, val, seed)
        learned, held_out = parts[0] if val is None else (train, val)
        is_seen = np.isin(held_out.labels, learned.labels)
        weighting_samples = held_out.rows(is_seen) if is_seen.any() else held_out
        training = CommitteeTraining(self.head, train, parts, weighting_samples, seed=seed, train_member=train_member)
        earlier = list(enumerate(self.head.models())) if self.head.continues else []
        training.total = str(len(earlier))
        continued = [training.continued(member, place) for place, member in earlier]
        solved = training.pooled(continued or self.candidates(training))
        if val is None:
            training.refit()
        return solved

    def _parts(self, train: LabelledFeatures, val: LabelledFeatures | None, seed: int) -> list[Part]:
        """Samples to learn from and samples to stop by, of each part."""
        if val is not None and (len(val) >= ENOUGH_TO_COMPARE_HEADS or len(train) > MOST_CROSS_FITTED):
            return [(train, val)]
        masks = folds(train.labels, HOLD_OUT_FOLDS, seed)[:1] if val is None else folds(train.labels, CROSS_FITS, seed)
        return [(train.rows(~mask), train.rows(mask & self._is_class(train))) for mask in masks]

    def _is_class(self, data: LabelledFeatures) -> NDArray[np.bool_]:
        """Mask of the samples labelled with a class, shape (M,)."""
        return data.labels < self.head.taxonomy.num_classes

    def candidates(self, training: "CommitteeTraining") -> list["Candidate"]:
        """The trained members to choose from."""
        training.total = str(len(self.members))
        return [training.trained(name, place) for place, name in enumerate(self.members)]


@dataclass(frozen=True, eq=False)
class Candidate:
    """Models of one method that share a weight.

    Attributes:
        models: trained models: one of a solver, else one for each part, on its samples or, of `FIXED_EPOCHS`, on all.
        scores: mean of their class scores on the samples to weigh the members on, shape (M, C).
    """

    models: Sequence[Model]
    scores: Floats

    @property
    def method(self) -> str:
        """Name of the method."""
        return self.models[0].method


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of several candidates together on M held-out samples.

    Attributes:
        losses: log-loss of each sample, shape (M,).
        top1: share of right classes.
    """

    losses: Floats
    top1: float


class CommitteeTraining:
    """Trains members on the same samples, and pools them.

    Args:
        head: committee to fill.
        train: training samples.
        parts: samples to learn from and samples to stop by, of each part.
        weighting_samples: M samples to weigh the members on.
        seed: seed of everything random.
        train_member: training of a model by gradient steps.
    """

    def __init__(
        self,
        head: Committee,
        train: LabelledFeatures,
        parts: Sequence[Part],
        weighting_samples: LabelledFeatures,
        *,
        seed: int,
        train_member: MemberTraining,
    ) -> None:
        if issparse(train.features) and not head.continues:
            fitted = Projection.fit(train.features, PROJECTED, seed)
            head.projection = Projection(fitted.directions, persistent=True)
        self.head, self.seed, self.train_member = head, seed, train_member
        self.candidates, self.total = 0, "1"  # number of candidates so far, and of all in words, for their names
        self.train, self.weighting_samples = head.views(train), head.views(weighting_samples)
        self.labels = weighting_samples.labels
        self.parts = [(head.views(learned), head.views(stopped)) for learned, stopped in parts]

    def trained(self, method: str, place: int, **options: Any) -> Candidate:
        """Trained members, whose initial weights depend on the seed and their place."""
        members = []
        for part in range(len(self.parts)):
            torch.manual_seed(self.seed * 1_000 + place + 100 * part)
            members.append(self.head.new_member(method, **options))
        is_small = len(self.train[True]) <= MOST_FIXED
        return self._fitted(members, self.parts, epochs=FIXED_EPOCHS.get(method) if is_small else None)

    def continued(self, member: Model, place: int) -> Candidate:
        """A member of an earlier committee, solved again, or trained on from its weights on one of the parts."""
        return self._fitted([member], [self.parts[place % len(self.parts)]])

    def _fitted(
        self, members: Sequence[Model], parts: Sequence[tuple[Views, Views]], *, epochs: int | None = None
    ) -> Candidate:
        """Members of one method, each trained from the weights that it has.

        A solver takes all samples but those to weigh by, and so do members with a fixed number of epochs; others learn
        from their part.
        """
        method, raw = members[0].method, members[0].raw_inputs
        self.candidates += 1
        available = self.train if len(self.parts) > 1 else self.parts[0][0]
        if members[0].solver is not None:
            members = members[:1]
            samples = self._for_method(available[raw], method)
            members[0].solve(samples, self.weighting_samples[raw], seed=self.seed, train_member=self.train_member)
        else:
            for number, (member, (train, val)) in enumerate(zip(members, parts, strict=True), start=1):
                of_models = f", model {number} of {len(parts)}" if len(parts) > 1 else ""
                learned, stopping = (train[raw], val[raw]) if epochs is None else (available[raw], None)
                name = f"member {self.candidates} of {self.total} ({method}){of_models}"
                self.train_member(member, self._for_method(learned, method), stopping, name=name, epochs=epochs)
        scores = [member.array_scores(self.weighting_samples[raw].features) for member in members]
        return Candidate(members, np.mean(scores, axis=0))

    @property
    def has_inner_labels(self) -> bool:
        """Whether some training samples are labelled with an inner node."""
        return bool((self.train[True].labels >= self.head.taxonomy.num_classes).any())

    def _for_method(self, data: LabelledFeatures, method: str) -> LabelledFeatures:
        """The samples that a method can learn from; a MethodError if there are none."""
        if not self.has_inner_labels or METHODS.takes_inner_labels(method):
            return data
        found = data.rows(data.labels < self.head.taxonomy.num_classes)
        if not len(found):
            raise MethodError(
                "every training sample is labelled with an inner node: expected some labelled with a class, or a "
                "method that learns from inner nodes alone, such as 'path-softmax'"
            )
        return found

    def refit(self) -> None:
        """Train members again on all samples, those to weigh by included, with the weights and settings chosen before.

        These are the members that have a solver and, on few samples, new ones with a fixed number of epochs.
        """
        members = self.head.models()
        retrains_heads = len(self.train[True]) <= MOST_CROSS_FITTED and not self.head.continues
        for place, member in enumerate(members):
            epochs = FIXED_EPOCHS.get(member.method) if retrains_heads else None
            if member.solver is None and epochs is None:
                continue
            samples = self._for_method(self.train[member.raw_inputs], member.method)
            if member.solver is not None:
                member.solve(samples, None, seed=self.seed, train_member=self.train_member)
                continue
            torch.manual_seed(self.seed * 1_000 + 900 + place)  # no seed of `trained`
            members[place] = self.head.new_member(member.method, **member.options)
            name = f"member {place + 1} of {len(members)} ({member.method}), all samples"
            self.train_member(members[place], samples, None, name=name, epochs=epochs)
        self.head.set_members(members, self.head.weights.numpy())

    def loss(self, candidate: Candidate) -> float:
        """Log-loss of a candidate on the samples to weigh the members on, at its best temperature."""
        return best_inverse(candidate.scores.astype(np.float64), self.labels)[1]

    def outcome(self, candidates: Sequence[Candidate]) -> "Outcome":
        """Outcome of candidates with fitted weights on the samples to weigh the members on."""
        weights, _, _ = pool_weights([candidate.scores for candidate in candidates], self.labels)
        scores = np.stack([candidate.scores for candidate in candidates]).astype(np.float64)  # (K, M, C)
        logs = log_probabilities(np.tensordot(weights, scores, axes=1))  # (M, C)
        own = np.take_along_axis(logs, self.labels[:, None], axis=1)[:, 0]
        return Outcome(-own, float((logs.argmax(axis=1) == self.labels).mean()))

    def pooled(self, candidates: Sequence[Candidate]) -> Solved:
        """Put candidates into the committee with fitted weights; those with hardly any weight are left out."""
        weights, loss, alone = pool_weights([candidate.scores for candidate in candidates], self.labels)
        kept = [
            (model, weight / len(candidate.models))
            for candidate, weight in zip(candidates, weights, strict=True)
            if weight > 0
            for model in candidate.models
        ]
        self.head.set_members([model for model, _ in kept], np.array([weight for _, weight in kept]))
        dim = None if self.head.projection is None else self.head.projection.num_features
        best = int(np.argmin(alone))
        names = ", ".join(candidate.method for candidate, weight in zip(candidates, weights, strict=True) if weight > 0)
        choice = f"{names}: log-loss {loss:.4f} on validation"
        if names != candidates[best].method:
            choice += f", {candidates[best].method} alone {alone[best]:.4f}"
            if loss > alone[best]:
                choice += " (validation samples are few, so the weights stay near equal ones)"
        return Solved(choice, {"members": [model.method for model, _ in kept], "dim": dim})


def pool_weights(scores: Sequence[Floats], labels: IntArray) -> tuple[Floats, float, list[float]]:
    """Weights >= 0 of score tables whose weighted sum has the smallest log-loss as logits.

    The weight of each table is its own best inverse temperature times a factor; the factors are pulled towards equal
    ones, the more the fewer samples there are. Tables with hardly any weight get 0.

    Args:
        scores: K tables of class scores, shape (M, C) each.
        labels: class of each sample, shape (M,).

    Returns:
        Weights, shape (K,), the log-loss of the sum, and that of each table alone.
    """
    tables = np.stack([table - table.max(axis=1, keepdims=True) for table in scores]).astype(np.float64)  # (K, M, C)
    inverse, alone = zip(*(best_inverse(table, labels) for table in tables), strict=True)
    tables *= np.array(inverse)[:, None, None]
    kept = np.ones(len(tables), dtype=bool)
    while True:
        factors = _pool_factors(tables[kept], labels)
        dropped = factors < LEAST_WEIGHT * factors.sum()
        if not dropped.any():
            break
        kept[np.flatnonzero(kept)[dropped]] = False
    weights = np.zeros(len(tables))
    weights[kept] = factors * np.array(inverse)[kept]
    loss = held_out_loss(np.tensordot(factors, tables[kept], axes=1), labels) / len(labels)
    return weights, loss, list(alone)


def _pool_factors(tables: Floats, labels: IntArray) -> Floats:
    """Factors >= 0 of tables at their own temperature, shape (K,)."""
    from scipy.optimize import minimize  # late: predictions without it start sooner

    count, rows = len(tables), len(labels)
    own = np.take_along_axis(tables, labels[None, :, None], axis=2)[..., 0].sum(axis=1)  # (K,)
    own += tables.mean(axis=(1, 2))  # the sample that may have any class

    def value(factors: Floats) -> tuple[float, Floats]:
        logits = np.tensordot(factors, tables, axes=1)  # (M, C)
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        expected = np.einsum("mc,kmc->k", probabilities, tables) * (1 + 1 / rows)
        unequal = count * factors - 1
        loss = held_out_loss(logits, labels) + 0.5 * TOWARDS_EQUAL * float(np.square(unequal).mean())
        return loss, expected - own + TOWARDS_EQUAL * unequal

    found = minimize(value, np.full(count, 1 / count), jac=True, method="L-BFGS-B", bounds=[(0, None)] * count)
    factors: Floats = found.x
    return factors
