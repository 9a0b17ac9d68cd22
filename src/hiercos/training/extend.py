"""Models whose taxonomy grows: weights for the new axes, data with a memory of old samples, accuracy on both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hiercos.data import Dataset, TextArray
from hiercos.encoders import FineTunedEncoder, LabelledVectors, ReadConfig
from hiercos.errors import DataError
from hiercos.methods import METHODS, Committee, MethodError, Model
from hiercos.model import Classifier, Memory, ModelError, sample_scores, stacked_features, stored_rule
from hiercos.storage import opened
from hiercos.taxonomy import IntArray, NodeLists, Taxonomy, TaxonomyChange
from hiercos.training.features import Features, dataset_summary
from hiercos.training.run_folder import HELD_OUT, tested_run
from hiercos.training.settings import Settings

if TYPE_CHECKING:
    from lightning_fabric import Fabric


KEPT_SETTINGS: dict[str, Any] = {"width": None, "dropout": None, "effort": None, "published": True, "folds": None}
KEPT_SETTINGS |= {"standardize": False}  # of an extended model, which keeps its options and its features
VALIDATION_STEP = 5  # every fifth remembered sample is used for validation


@dataclass(frozen=True)
class GrowingAxis:
    """Origin of the entries of a dimension that grows, nodes or classes."""

    old: IntArray  # old entry of each new one, -1 for an added one, shape (K_new,)
    starts: dict[int, IntArray]  # old entries whose mean each added entry starts from; empty for a new start

    def expanded(self, value: Tensor, dim: int, fresh: Tensor) -> Tensor:
        """Old weights with the new entries along a dimension.

        The weights into an added axis, the first dimension, are those it starts from; the weights out of it are 0, so
        that it does not change the old outputs.

        Args:
            value: old weights.
            dim: dimension that grows.
            fresh: new weights of the final shape, for added entries without a start.
        """
        rows = value.movedim(dim, 0)
        kept = rows[np.maximum(self.old, 0)].clone()  # (K_new, ...)
        for place in np.flatnonzero(self.old < 0).tolist():
            if dim > 0:
                kept[place] = 0
            else:
                kept[place] = rows[self.starts[place]].mean(dim=0) if place in self.starts else fresh[place]
        return kept.movedim(0, dim)


def extended_model(model: Model, change: TaxonomyChange, seed: int = 0, *, anew: bool = False) -> Model:
    """A model over the new taxonomy that is to be trained on new data and a memory of old ones.

    See `grown_model`. Logistic regression is solved again, under a prior centred at the grown weights; where a solver
    finds weights that do not grow, they are found anew. A committee keeps its members: those that grow start from their
    weights, the others are solved or trained anew on the same scale of features.

    Args:
        model: trained model over the old taxonomy, on the CPU.
        change: correspondence of the nodes.
        seed: seed of the new weights.
        anew: whether to start from new weights, which have learned from no sample, in place of the grown ones.
    """
    METHODS.check_extendable(model.method)
    return _extended(model, change, seed, anew=anew)


def _extended(model: Model, change: TaxonomyChange, seed: int, *, anew: bool) -> Model:
    """See `extended_model`; members of a committee may be of any method."""
    if METHODS.traits(model.method).grows and not anew:
        grown = grown_model(model, change, seed)
        grown.keep_weights()
        return grown
    torch.manual_seed(seed)
    extended = Model(change.new, model.in_features, model.method, model.options, projection=model.projection)
    extended.standardize.load_state_dict(model.standardize.state_dict())
    if isinstance(model.head, Committee) and isinstance(extended.head, Committee):
        members = [_extended(each, change, seed + place, anew=anew) for place, each in enumerate(model.head.models())]
        extended.head.continue_from(members, model.head.projection)
    return extended


def grown_model(model: Model, change: TaxonomyChange, seed: int = 0) -> Model:
    """A model over the new taxonomy that starts from a trained one.

    Axes of matched nodes keep their weights, a new axis starts from that of its nearest old ancestor, and a class
    without an axis of its own nodes from the mean of the old classes below that ancestor. At the top, weights are new.

    Args:
        model: trained model over the old taxonomy, on the CPU.
        change: correspondence of the nodes.
        seed: seed of the new weights.
    """
    if not METHODS.traits(model.method).grows:
        growing = ", ".join(name for name in METHODS if METHODS.traits(name).grows)
        again = "; hiercos extend solves it again, with a memory" if METHODS.traits(model.method).solved else ""
        named = f"method {model.method!r} cannot take new classes from its weights alone"
        raise MethodError(f"{named}; methods that can: {growing}{again}")
    torch.manual_seed(seed)
    grown = Model(change.new, model.in_features, model.method, model.options, projection=model.projection)
    axes = {change.old.num_nodes: _node_axis(change), change.old.num_classes: _class_axis(change)}
    weights, larger, constants = dict(model.state_dict()), _larger_shapes(model), dict(model.named_buffers())
    for name, fresh in grown.state_dict().items():
        growing_dims = [dim for dim, size in enumerate(weights[name].shape) if larger[name][dim] != size]
        if name in constants and len(growing_dims) > 1:
            raise MethodError(f"method {model.method!r} with {model.options} cannot be extended: {name} is fixed")
        for dim in reversed(growing_dims):  # the first dimension last, where the new weights have the final shape
            weights[name] = axes[weights[name].shape[dim]].expanded(weights[name], dim, fresh)
    grown.load_state_dict(weights)
    grown.learned = {name for name, value in model.named_parameters() if value.shape == weights[name].shape}
    return grown


def _larger_shapes(model: Model) -> dict[str, torch.Size]:
    """Shapes of all weights if the taxonomy had one more class at the top, which shows the dimensions that grow."""
    old = model.taxonomy
    lists = [*(old.parent_lists.list(node).tolist() for node in range(old.num_nodes)), []]
    names, ids = [*old.names, "one more class"], [*old.ids, ""] if old.ids else ()
    larger = Taxonomy.from_arrays(names, NodeLists.of(lists), [*old.leaves, old.num_nodes], ids=ids)
    probe = Model(larger, model.in_features, model.method, model.options)
    return {name: value.shape for name, value in probe.state_dict().items()}


def _node_axis(change: TaxonomyChange) -> GrowingAxis:
    nearest = {int(node): change.nearest_old(int(node)) for node in change.added}
    return GrowingAxis(change.old_nodes, {node: np.array([old]) for node, old in nearest.items() if old >= 0})


def _class_axis(change: TaxonomyChange) -> GrowingAxis:
    """Origin of the classes; one that was an inner node, or is new, starts from the old classes below or beside it."""
    old, above = change.old.classes_of(change.old_nodes[change.new.leaves]), change.old.ancestors
    starts = {}
    for label in np.flatnonzero(old < 0).tolist():
        leaf = int(change.new.leaves[label])
        node = int(change.old_nodes[leaf]) if change.old_nodes[leaf] >= 0 else change.nearest_old(leaf)
        if node >= 0:
            starts[label] = np.flatnonzero(np.isin(change.old.leaves, above.owners[above.nodes == node]))
    return GrowingAxis(old, starts)


@dataclass(frozen=True, eq=False)
class GrownFeatures(Features):
    """Features of new data for a model whose taxonomy grows, with its memory; a training learns from both."""

    stored: Classifier = field(kw_only=True)  # model to extend
    change: TaxonomyChange = field(kw_only=True)  # correspondence of the nodes
    # old samples, labelled with the new taxonomy; None for none
    memory: Memory | None = field(default=None, kw_only=True)
    validates: bool = field(default=True, kw_only=True)  # whether a part of the memory is used for validation

    def for_method(self, settings: Settings) -> GrownFeatures:  # noqa: ARG002  # the method is that of the model
        """The same features."""
        return self

    def with_split(self, split: TextArray) -> GrownFeatures:
        """The features of the same samples with another split, shape (M,); the whole memory belongs to train."""
        return replace(self, dataset=replace(self.dataset, split=split), validates=False)

    def samples(self, split: str) -> LabelledVectors:
        """New samples of a split; a part of the memory is added to "train" and to "val"."""
        new, old = super().samples(split), self.remembered(split)
        if old is None:
            return new
        return LabelledVectors(stacked_features([new.features, old.features]), torch.cat([new.labels, old.labels]))

    def remembered(self, split: str) -> Memory | None:
        """Remembered samples of "train" or "val"; None for other splits."""
        if self.memory is None or split not in ("train", "val"):
            return None
        validation = (torch.arange(len(self.memory)) % VALIDATION_STEP == 0) & self.validates
        return self.memory.rows(validation if split == "val" else ~validation)

    def weights(self, rows: IntArray) -> None:  # remembered samples have none
        """Equal weights."""

    def model(self, settings: Settings) -> Model:
        """The model over the new taxonomy, see `extended_model`.

        One that is validated on remembered samples, by which settings, the weights of members and the temperature are
        chosen, starts anew: the old model has learned from these samples.
        """
        old = self.remembered("val")
        anew = old is not None and len(old) > 0 and settings.refit is not False
        return extended_model(self.stored.model, self.change, settings.seed, anew=anew)

    def summary(self) -> dict[str, object]:
        """Name, source, fingerprint and sizes of the new data, and the number of remembered samples."""
        remembered = 0 if self.memory is None else len(self.memory)
        return {**dataset_summary(self.dataset), "features": int(self.values.shape[1]), "remembered": remembered}


def extension_settings(stored: Classifier, settings: Settings) -> Settings:
    """Settings to extend a model, which keeps its method with its options, its rule and its scale of features.

    Args:
        stored: model to extend.
        settings: settings of the training; those of the method are ignored.
    """
    model, rule = stored.model, stored.rule.text
    return replace(settings, method=model.method, options=model.options, rule=rule, **KEPT_SETTINGS)


def relabelled(memory: Memory | None, change: TaxonomyChange, method: str) -> Memory | None:
    """Remembered samples with their labels in the new taxonomy, without those that a method cannot learn from."""
    if memory is None:
        return None
    labels = torch.tensor(change.new_labels(memory.labels.numpy()))
    inner = change.new.num_nodes if METHODS.traits(method).inner_labels else 0  # the root tells no method anything
    return Memory(memory.features, labels).rows(labels < change.new.num_classes + inner)


def grown_features(
    stored: Classifier, dataset: Dataset, change: TaxonomyChange, memory: Memory | None, config: ReadConfig
) -> GrownFeatures:
    """New data as features of a model that is extended.

    Args:
        stored: model to extend.
        dataset: new data, labelled with the new taxonomy.
        change: correspondence of the nodes.
        memory: old samples to train on again; None for none.
        config: settings for reading inputs.
    """
    if isinstance(stored.encoder, FineTunedEncoder):
        raise ModelError("a model with a fine-tuned backbone cannot be extended; expected one with frozen features")
    if dataset.label_sets is not None:
        raise DataError(f"{dataset.source}: some samples have several labels; an extension expects one of each")
    method = stored.model.method
    kept = relabelled(memory, change, method)
    if not len(dataset.rows("val")) and (kept is None or not len(kept)):  # before the features are computed
        raise DataError(
            f"{dataset.source}: no row belongs to the split 'val', and there is no remembered sample to validate on; "
            "expected rows of train and val"
        )
    METHODS.check_extendable(method)
    if METHODS.traits(method).solved and memory is None and not _has_all_old_classes(dataset, change):
        raise ModelError(
            f"method {method!r} finds its weights from all samples at once: expected training rows of every old class, "
            "or a memory of them, which hiercos train keeps up to 10 MB, or with --memory N"
        )
    values = stored.features(dataset.inputs, config)
    return GrownFeatures(dataset, values, stored.encoder, stored=stored, change=change, memory=kept)


def _has_all_old_classes(dataset: Dataset, change: TaxonomyChange) -> bool:
    """Whether new data have training samples of every class that the old taxonomy has."""
    old = change.new.leaves[change.old_nodes[change.new.leaves] >= 0]
    return bool(np.isin(old, dataset.nodes[dataset.training_rows]).all())


@dataclass(frozen=True)
class GrowthAccuracy:
    """Whether the first answer is right, for each sample that is labelled with a class."""

    new: NDArray[np.bool_]  # test rows of classes that the old taxonomy has not, shape (M_new,)
    # test rows of classes that the old taxonomy has, answered by the extended and by the old model, shape (2, M_old)
    old: NDArray[np.bool_]
    # held-out samples of old classes, answered by models that have not learned from them but settings were chosen by,
    # shape (M_held,)
    held_out: NDArray[np.bool_]
    before: NDArray[np.bool_]  # the same of the training of the old model, shape (M_before,)

    def lines(self) -> list[str]:
        """Sentences on the new and on the old classes, and on what cannot be measured."""
        lines = ["New classes: not measured, the data have no test rows of them."]
        if self.new.size:
            lines = [f"New classes: {_share(self.new, 'test row')}."]
        if self.old.size:
            lines.append(f"Old classes: {_share(self.old[0], 'test row')}; the old model: {_percent(self.old[1])}.")
        elif self.held_out.size:
            lines.append(f"Old classes: {_share(self.held_out, 'row')} held out in the training of the extension.")
            if self.before.size:
                lines.append(
                    f"The training of the old model held out other rows: {_share(self.before, 'row')}. hiercos "
                    "evaluate NEW DATA --against OLD compares both models on the same rows."
                )
        else:
            lines.append(
                "Old classes: not measured, there are no test rows or remembered samples of them; hiercos evaluate "
                "measures the model on other data."
            )
        return lines


def _share(right: NDArray[np.bool_], noun: str) -> str:
    return f"top-1 {_percent(right)} of {len(right)} {noun}{'s' * (len(right) != 1)}"


def _percent(right: NDArray[np.bool_]) -> str:
    return f"{100 * right.mean():.2f}%"


def growth_accuracy(fabric: Fabric, data: GrownFeatures, folder: Path, old: Path) -> GrowthAccuracy:
    """Measure the extended model of a folder, and on old classes the old model, each under its own rule.

    Args:
        fabric: launched Fabric with the device and precision.
        data: new data and the memory that the model was trained on.
        folder: folder of the extended model.
        old: folder of the old model.
    """
    extended, is_old = Classifier.load(folder), data.change.old_nodes[data.taxonomy.leaves] >= 0  # (C,)
    right, labels = _right_answers(fabric, extended, data, data.samples("test"))
    (held_out, of), (before, _) = (_held_out_answers(each) for each in (folder, old))
    return GrowthAccuracy(right[0, ~is_old[labels]], right[:, is_old[labels]], held_out[is_old[of]], before)


def _held_out_answers(folder: Path) -> tuple[NDArray[np.bool_], IntArray]:
    """Whether the answers to the stored held-out samples of a model's training are right, and their classes, (M,)."""
    files = opened(folder)
    if HELD_OUT not in files:
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=np.int64)
    run = tested_run(folder, held_out=True)
    return stored_rule(files)(run.posterior).classes == run.labels, run.labels


def _right_answers(
    fabric: Fabric, extended: Classifier, data: GrownFeatures, samples: LabelledVectors
) -> tuple[NDArray[np.bool_], IntArray]:
    """Whether the extended and the old model are right, (2, M), on the M samples of a class, and their labels, (M,).

    A class of the old model stands for what became of it; an answer at an inner node is never right.
    """
    labels = samples.labels.numpy()
    rows = np.flatnonzero(labels < data.taxonomy.num_classes)
    known = LabelledVectors(samples.features[rows], samples.labels[rows])
    now, before = (_answered_classes(fabric, stored, known) for stored in (extended, data.stored))
    before = np.where(before < 0, -1, data.change.new_labels(np.maximum(before, 0)))
    return np.stack([now, before]) == labels[rows], labels[rows]


def _answered_classes(fabric: Fabric, stored: Classifier, samples: LabelledVectors) -> IntArray:
    """Class that the rule of a model answers with, shape (M,); -1 for an inner node."""
    if not len(samples):
        return np.zeros(0, dtype=np.int64)
    return stored.rule(stored.calibrated(sample_scores(fabric, stored.model, samples))).classes


def forgetting_notes(data: GrownFeatures) -> list[str]:
    """A sentence about data without training samples of old classes, remembered or new; none otherwise."""
    nodes, leaves = data.dataset.nodes[data.dataset.training_rows], data.taxonomy.leaves
    is_old = data.change.old_nodes[leaves] >= 0
    kept = data.remembered("train")
    if np.isin(leaves[is_old], nodes).any() or (kept is not None and len(kept)):
        return []
    return [
        f"{data.dataset.source}: no sample of an old class is trained on, so the model will forget the old classes; "
        "a memory of old samples prevents this."
    ]
