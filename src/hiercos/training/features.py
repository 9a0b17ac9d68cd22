"""What a model learns from: features of a data set for any method, or raw inputs to train a backbone on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from hiercos.data import IMAGE, ColumnInputs, Dataset, SparseVectors, TextArray
from hiercos.encoders import (
    BESIDE,
    DEFAULT_ENCODERS,
    TFIDF,
    ColumnEncoder,
    EmbeddingError,
    Encoder,
    FineTunedEncoder,
    FrozenEncoder,
    JoinedEncoder,
    LabelledInputs,
    LabelledVectors,
    RawSamples,
    ReadConfig,
    TextFeatures,
    TfidfEncoder,
    channels_last,
    check_kind,
    embed_dataset,
    encoder_of_identity,
    frozen_encoder,
    includes_tfidf,
    mapped_features,
    seeded_backbone,
)
from hiercos.encoders.backbones import Backbone, BackboneError, ImageTransform, TrainTransform, load_backbone
from hiercos.errors import DataError
from hiercos.methods import METHODS, Model, Projection, SparseMatrix, csr_tensor
from hiercos.taxonomy import IntArray, Taxonomy
from hiercos.training.columns import column_backbone, fitted_columns
from hiercos.training.settings import Settings

PROJECTED_ROWS = 8192  # sparse vectors projected at a time


@dataclass(frozen=True, eq=False)
class _OfDataset:
    """What features and raw inputs of a data set share."""

    dataset: Dataset  # M samples with raw inputs or vectors, whose split is complete
    fine_tunes: ClassVar[bool] = False  # whether a backbone is trained with the head

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the data set."""
        return self.dataset.taxonomy

    def label_tensors(self, rows: IntArray) -> tuple[Tensor, Tensor | None]:
        """Labels of some rows, shape (M,), and nodes of several labels, shape (M, K); None if each has one label."""
        sets = self.dataset.label_sets
        return torch.tensor(self.dataset.labels[rows]), None if sets is None else torch.tensor(sets[rows])

    def weights(self, rows: IntArray) -> Tensor | None:
        """Weights of some rows, shape (M,), float32; None for equal weights."""
        weights = self.dataset.weights
        return None if weights is None else torch.tensor(weights[rows], dtype=torch.float32)


@dataclass(frozen=True, eq=False)
class Features(_OfDataset):
    """Feature vectors of a data set, with the encoder that computed them.

    What an encoder learns (n-grams and their weights, a projection) it learns from the training split.
    """

    dataset: Dataset  # M samples with raw inputs or vectors, whose split is complete
    values: Tensor | SparseMatrix  # feature vectors, shape (M, F), float32: a dense tensor, or a SciPy CSR matrix
    encoder: Encoder | None = None  # encoder that computed the features; None for vectors of unknown origin
    notes: tuple[str, ...] = ()  # sentences for the user about decisions made here
    # projection that computed the dense features of sparse vectors; None for other features
    projection: Projection | None = None

    def __getstate__(self) -> dict[str, Any]:
        """State for another process, with an array instead of a tensor: joblib maps arrays into memory."""
        return {**vars(self), "values": self._array}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        values = state["values"]
        vars(self).update(state, values=torch.from_numpy(values) if isinstance(values, np.ndarray) else values)

    @cached_property
    def _array(self) -> np.ndarray | SparseMatrix:
        return self.values.numpy() if isinstance(self.values, Tensor) else self.values

    def take(self, rows: IntArray) -> Features:
        """The features of some rows."""
        return replace(self, dataset=self.dataset.take(rows), values=self.values[_indices(self.values, rows)])

    def for_method(self, settings: Settings) -> Features:
        """The features in the form that a method takes: sparse vectors are projected unless it takes raw inputs."""
        if isinstance(self.values, Tensor) or METHODS.traits(settings.method).raw_inputs:
            return self
        if settings.dim not in self._projected:
            self._projected[settings.dim] = self._dense(settings.dim)
        return self._projected[settings.dim]

    @cached_property
    def _projected(self) -> dict[int, Features]:
        return {}

    def _dense(self, dim: int) -> Features:
        """Dense features of sparse vectors; vectors of few columns stay as they are, but for their form."""
        assert not isinstance(self.values, Tensor)
        matrix: SparseMatrix = self.values
        if self.encoder is None and matrix.shape[1] <= dim:
            return replace(self, values=torch.tensor(csr_matrix(matrix).toarray()))
        projection = Projection.fit(matrix[self.dataset.rows("train")], dim, PROJECTION_SEED)
        starts = range(0, len(self.dataset), PROJECTED_ROWS)
        blocks = [projection(csr_tensor(matrix[start : start + PROJECTED_ROWS])) for start in starts]
        return replace(self, values=torch.cat(blocks), projection=projection)

    def with_split(self, split: TextArray) -> Features:
        """The features of the same samples with another split, from whose training samples the encoder learns.

        Args:
            split: split of each sample, shape (M,).
        """
        dataset, encoder = replace(self.dataset, split=split), self.encoder
        if isinstance(encoder, TfidfEncoder):
            return self._learned(split, lambda: text_features(dataset))
        if isinstance(encoder, ColumnEncoder):
            fitted, frozen = encoder.features, encoder.frozen
            vectors = fitted.embedded(self.values)
            return self._learned(split, lambda: column_features(dataset, frozen, vectors, fitted.scales))
        if isinstance(encoder, JoinedEncoder):
            embedded = csr_matrix(self.values)[:, encoder.tfidf.features.width :].toarray()
            return self._learned(split, lambda: joined_features(dataset, encoder.frozen, embedded))
        return self._learned(split, lambda: replace(self, dataset=dataset))

    def _learned(self, split: TextArray, compute: Callable[[], Features]) -> Features:
        """Features with another split, computed once: all methods of a comparison share them."""
        key = split.tobytes()
        if key not in self._by_split:
            self._by_split.clear()  # features are large
            self._by_split[key] = compute()
        return self._by_split[key]

    @cached_property
    def _by_split(self) -> dict[bytes, Features]:
        return {}

    def samples(self, split: str) -> LabelledVectors:
        """Vectors of one split; those of "train" without samples labelled with the root."""
        return self.rows(self.dataset.training_rows if split == "train" else self.dataset.rows(split))

    def rows(self, rows: IntArray) -> LabelledVectors:
        """Vectors of some rows."""
        labels, sets = self.label_tensors(rows)
        groups = None if self.dataset.groups is None else self.dataset.groups[rows]
        return LabelledVectors(self.values[_indices(self.values, rows)], labels, label_sets=sets, groups=groups)

    def training_samples(self, settings: Settings) -> LabelledVectors:  # noqa: ARG002  # vectors are not augmented
        """Vectors to learn from."""
        return self.samples("train")

    def model(self, settings: Settings) -> Model:
        """A new model whose weights depend on the seed alone."""
        torch.manual_seed(settings.seed)
        width = int(self.values.shape[1])
        return Model(self.taxonomy, width, settings.method, settings.options, projection=self.projection)

    def model_encoder(self, model: Model) -> Encoder | None:  # noqa: ARG002  # the same for every model
        """Encoder of raw inputs for a trained model; None for vectors."""
        return self.encoder

    def summary(self) -> dict[str, object]:
        """Name, source, fingerprint and sizes, for a record, and the backbone of the features."""
        summary = {**dataset_summary(self.dataset), "features": int(self.values.shape[1])}
        if self.dataset.origin is not None:
            summary["embedded_from"] = asdict(self.dataset.origin)
        elif isinstance(self.encoder, FrozenEncoder):
            summary["backbone"] = self.encoder.backbone.identity()
        elif isinstance(self.encoder, JoinedEncoder):
            summary["backbone"] = {**self.encoder.frozen.backbone.identity(), "beside": TFIDF}
        elif isinstance(self.encoder, ColumnEncoder):
            summary["columns"] = dict(self.encoder.features.columns)
            if self.encoder.frozen is not None:
                summary["backbone"] = self.encoder.frozen.backbone.identity()
        return summary


PROJECTION_SEED = 0  # the projection is part of the features, which all methods and seeds share


def _indices(values: Tensor | SparseMatrix, rows: IntArray) -> Tensor | IntArray:
    """Rows as an index of features."""
    return torch.from_numpy(rows) if isinstance(values, Tensor) else rows


def encoded(
    dataset: Dataset,
    reading: ReadConfig,
    *,
    encoder: str | None = None,
    options: Mapping[str, Any] | None = None,
    trust_backbone: bool = False,
) -> Features:
    """Features of a data set by an encoder of a name.

    Args:
        dataset: data set whose split is complete, see `completed`.
        reading: settings for reading inputs.
        encoder: "tfidf", the name of a backbone, or "tfidf+NAME" for both; None for the usual one of the kind of data.
        options: options of the backbone by name.
        trust_backbone: whether the backbone that vectors name may be loaded from a path or the Hub.
    """
    name = encoder_name(dataset, encoder)
    if dataset.kind == "columns":
        return column_features(dataset, *column_backbone(dataset, reading, name, options or {}))
    if name is None or name == TFIDF:
        if options:
            raise DataError(f"backbone.{next(iter(options))}: expected the name of a backbone with its options")
        return features_of(dataset, trust_backbone=trust_backbone)
    frozen = frozen_encoder(name.removeprefix(BESIDE), options or {})
    return embedded_features(reading, dataset, frozen, beside_tfidf=name.startswith(BESIDE))


def encoder_name(dataset: Dataset, encoder: str | None) -> str | None:
    """Name of the encoder of a data set: the given one, else the usual one of the kind of data; None for vectors."""
    if dataset.kind == "vectors" and encoder is not None:
        raise DataError(f"{encoder}: {dataset.source} holds vectors, which need no backbone")
    if dataset.kind == "images" and includes_tfidf(encoder or ""):
        raise DataError(f"{encoder}: expected a backbone of images for {dataset.source}")
    return encoder or DEFAULT_ENCODERS.get(dataset.kind)


def features_of(dataset: Dataset, *, trust_backbone: bool = False) -> Features:
    """Features without a backbone: texts as sparse TF-IDF vectors, vectors as they are.

    Vectors of `hiercos embed` name their backbone, so that the model takes the raw inputs. If the backbone cannot be
    loaded, the model takes vectors, with a note.

    Args:
        dataset: data set of texts or vectors, whose split is complete.
        trust_backbone: whether the backbone that vectors name may be loaded from a path or the Hub.
    """
    if dataset.kind == "images":
        raise DataError(f"{dataset.source} holds images: expected a backbone to compute their features (--backbone)")
    if isinstance(dataset.inputs, ColumnInputs):
        if dataset.inputs.of_kind(IMAGE):
            raise DataError(f"{dataset.source} has a column of images: expected `encoded` features of a backbone")
        return column_features(dataset)
    if dataset.origin is not None:
        return _embedded_before(dataset, dataset.origin.backbone, trust_backbone=trust_backbone)
    if isinstance(dataset.inputs, SparseVectors):
        return Features(dataset, dataset.inputs.matrix)
    if dataset.kind == "vectors":
        return Features(dataset, torch.tensor(np.asarray(dataset.inputs)))
    return text_features(dataset)


def text_features(dataset: Dataset) -> Features:
    """Sparse TF-IDF vectors of texts, whose n-grams are those of the training split."""
    encoder = TfidfEncoder(TextFeatures.fit(dataset.inputs.values(dataset.rows("train"))))
    return Features(dataset, encoder.features.transform(dataset.inputs.values(range(len(dataset)))), encoder)


def column_features(
    dataset: Dataset,
    frozen: FrozenEncoder | None = None,
    embedded: Mapping[str, np.ndarray] | None = None,
    scales: Mapping[str, float] | None = None,
) -> Features:
    """Features of rows of columns: sparse beside n-grams of texts, or where they are many.

    Args:
        dataset: data set of columns, whose split is complete.
        frozen: encoder of the backbone of columns of images or texts; None for none.
        embedded: its features by column, shape (M, F).
        scales: factors of the columns; None to weigh them by held-out loss.
    """
    assert isinstance(dataset.inputs, ColumnInputs)
    embedded = embedded or {}
    encoder = ColumnEncoder(fitted_columns(dataset, embedded, scales), frozen)
    shown = ", ".join(f"{unit} {scale:g}" for unit, scale in encoder.features.scales.items())
    notes = (f"{dataset.source}: factors of the columns by held-out loss: {shown}.",) if shown else ()
    return Features(dataset, encoder.vectors(dataset.inputs, embedded), encoder, notes)


def _embedded_before(dataset: Dataset, identity: Mapping[str, Any], *, trust_backbone: bool) -> Features:
    """Features with the backbone that computed them, if it can be loaded."""
    values = torch.tensor(np.asarray(dataset.inputs))
    try:
        return Features(dataset, values, encoder_of_identity(identity, values.shape[1], trust_backbone=trust_backbone))
    except BackboneError as error:
        reason = error.faults[0].rstrip(".")
        note = f"{dataset.source}: the model takes vectors, because their backbone cannot be loaded: {reason}."
        return Features(dataset, values, None, (note,))


def embedded_features(
    config: ReadConfig, dataset: Dataset, encoder: FrozenEncoder, *, beside_tfidf: bool = False
) -> Features:
    """Features of a frozen backbone, computed or found in the cache; see `embed_dataset`.

    Args:
        config: settings for reading inputs.
        dataset: data set of images or texts, whose split is complete.
        encoder: encoder of the backbone.
        beside_tfidf: whether they stand beside TF-IDF vectors of the texts.
    """
    embedded = mapped_features(embed_dataset(config, encoder.backbone, dataset).path)
    if beside_tfidf:
        return joined_features(dataset, encoder, np.asarray(embedded))
    return Features(dataset, torch.from_numpy(embedded), encoder)


def joined_features(dataset: Dataset, frozen: FrozenEncoder, embedded: np.ndarray) -> Features:
    """Sparse TF-IDF vectors of texts, whose n-grams are those of the training split, beside features (M, F)."""
    texts = TextFeatures.fit(dataset.inputs.values(dataset.rows("train")))
    joined = JoinedEncoder(TfidfEncoder(texts), frozen)
    return Features(dataset, joined.joined(dataset.inputs, embedded), joined)


def dataset_summary(dataset: Dataset) -> dict[str, object]:
    """Name, source, fingerprint and sizes of a data set, for a record."""
    splits = ("train", "val", "test", *(["calibration"] if "calibration" in dataset.split else []))
    return {
        "name": dataset.name,
        "source": dataset.source,
        "kind": dataset.kind,
        "fingerprint": dataset.fingerprint,
        "sizes": {split: len(dataset.rows(split)) for split in splits},
    }


def taxonomy_summary(taxonomy: Taxonomy) -> dict[str, object]:
    """Fingerprint and shape of a taxonomy, for a record."""
    return {
        "fingerprint": taxonomy.fingerprint,
        "nodes": taxonomy.num_nodes,
        "classes": taxonomy.num_classes,
        "height": taxonomy.height,
        "largest_distance": taxonomy.most_ancestors,
    }


@dataclass(frozen=True, eq=False)
class RawFeatures(_OfDataset):
    """A data set of images or texts, and the backbone that is trained on it with the head."""

    backbone: Backbone  # backbone before training; every model has its own copy
    options: Mapping[str, Any]  # options of the backbone by name
    pretrained: bool  # whether models start from pretrained weights
    read_config: ReadConfig  # settings for reading inputs
    fine_tunes: ClassVar[bool] = True

    def take(self, rows: IntArray) -> RawFeatures:
        """The inputs of some rows."""
        return replace(self, dataset=self.dataset.take(rows))

    def for_method(self, settings: Settings) -> RawFeatures:  # noqa: ARG002  # the same for every method
        """The same inputs."""
        return self

    def with_split(self, split: TextArray) -> RawFeatures:
        """The same inputs with another split, shape (M,)."""
        return replace(self, dataset=replace(self.dataset, split=split))

    def samples(self, split: str) -> LabelledInputs:
        """Inputs of one split, without augmentation; those of "train" without samples labelled with the root."""
        return self.rows(self.dataset.training_rows if split == "train" else self.dataset.rows(split))

    def rows(self, rows: IntArray) -> LabelledInputs:
        """Inputs of some rows."""
        return LabelledInputs(self._raw_samples(rows), *self.label_tensors(rows))

    def _raw_samples(self, rows: IntArray) -> RawSamples:
        return self.read_config.raw_samples(self.backbone, self.dataset.inputs.take(rows))

    def training_samples(self, settings: Settings) -> LabelledInputs:
        """Inputs to learn from, with the augmentation of the settings."""
        rows = self.dataset.training_rows
        samples = self._raw_samples(rows)
        if settings.augment not in (None, "none"):
            transform = self.backbone.preprocess
            if not isinstance(transform, ImageTransform):
                raise EmbeddingError(
                    f"augment {settings.augment!r}: expected none, {self.backbone.name!r} has no augmentation"
                )
            samples = replace(samples, augment=TrainTransform(transform, settings.augment, settings.border))
        return LabelledInputs(samples, *self.label_tensors(rows))

    def model(self, settings: Settings) -> Model:
        """A new model that contains its backbone; random weights depend on the seed alone."""
        torch.manual_seed(settings.seed)
        backbone = load_backbone(self.backbone.name, pretrained=self.pretrained, **self.options)
        channels_last(backbone)
        return Model(self.taxonomy, backbone.num_features, settings.method, settings.options, backbone=backbone)

    def model_encoder(self, model: Model) -> FineTunedEncoder:
        """Encoder of inputs for a trained model."""
        assert model.backbone is not None
        return FineTunedEncoder(model.backbone)

    def summary(self) -> dict[str, Any]:
        """Name, source, fingerprint and sizes, for a record, and the backbone before training."""
        identity = {**self.backbone.identity(), "fine_tuned": True}
        if not self.pretrained:
            identity["weights"] = None  # random, from the seed of each run
        return {**dataset_summary(self.dataset), "features": self.backbone.num_features, "backbone": identity}


AnyFeatures = Features | RawFeatures


def raw_features(
    config: ReadConfig, dataset: Dataset, name: str, options: Mapping[str, Any], *, pretrained: bool = True
) -> RawFeatures:
    """A data set with a backbone to train on it.

    Args:
        config: settings for reading inputs.
        dataset: data set of images or texts, whose split is complete.
        name: name of the backbone for `load_backbone`.
        options: options of the backbone by name.
        pretrained: whether to start from pretrained weights; otherwise from random ones.
    """
    backbone = seeded_backbone(name, options, pretrained=pretrained)
    check_kind(dataset, backbone)
    if not any(weight.requires_grad for weight in backbone.parameters()):
        raise EmbeddingError(f"the backbone {name!r} has no weights that could be trained; it can only be used frozen")
    return RawFeatures(dataset, backbone, options, pretrained, config)
