"""Data of a run: features for any method, or raw inputs to fine-tune a backbone on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from hiercos.data import Dataset, Inputs, TextFeatures
from hiercos.engine.batches import LabelledInputs, LabelledVectors, RawSamples
from hiercos.engine.config import TrainConfig
from hiercos.engine.embedding import EmbeddingError, check_kind, embed_dataset
from hiercos.engine.encoders import (
    TFIDF,
    Encoder,
    FineTunedEncoder,
    FrozenEncoder,
    JoinedEncoder,
    ReadConfig,
    TfidfEncoder,
    channels_last,
    encoder_of_identity,
    seeded_backbone,
)
from hiercos.engine.feature_file import mapped_features
from hiercos.errors import DataError
from hiercos.methods import METHODS, Model
from hiercos.nn import Projection, SparseMatrix, csr_tensor
from hiercos.nn.backbones import Backbone, BackboneError, ImageTransform, TrainTransform, load_backbone
from hiercos.taxonomy import IntArray, Taxonomy

ROWS_AT_ONCE = 8192  # sparse vectors projected at a time


@dataclass(frozen=True)
class PreparedData:
    """A data set with its features and the encoder that computed them.

    Attributes:
        dataset: data set with raw inputs or vectors.
        features: feature vectors, shape (M, F), float32: a dense tensor, or a SciPy CSR matrix.
        made_by: encoder that computed the features; None for vectors of unknown origin.
        notes: sentences for the user about decisions made here.
        dim: largest number of dense features of sparse vectors.
        seed: seed of the projection of sparse vectors.
        projection: projection that computed the dense features of sparse vectors; None for other features.
    """

    dataset: Dataset
    features: torch.Tensor | SparseMatrix
    made_by: Encoder | None
    notes: tuple[str, ...] = ()
    dim: int = 256
    seed: int = 0
    projection: Projection | None = None

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the data set."""
        return self.dataset.taxonomy

    def for_method(self, method: str) -> "PreparedData":
        """The data in the form that a method takes: sparse vectors are projected unless it takes raw inputs."""
        if isinstance(self.features, torch.Tensor) or METHODS.traits(method).raw_inputs:
            return self
        return self._projected

    @cached_property
    def _projected(self) -> "PreparedData":
        """Dense features of sparse vectors; the projection is fitted on the training split."""
        assert not isinstance(self.features, torch.Tensor)
        projection = Projection.fit(self.features[self.dataset.rows("train")], self.dim, self.seed)
        starts = range(0, len(self.dataset), ROWS_AT_ONCE)
        blocks = [projection(csr_tensor(self.features[start : start + ROWS_AT_ONCE])) for start in starts]
        return replace(self, features=torch.cat(blocks), projection=projection)

    def samples(self, split: str) -> LabelledVectors:
        """Vectors of one part of the run: "train", "val", "calibration" or "test"; see `Dataset.run_rows`."""
        return self._vectors(self.dataset.run_rows(split))

    def _vectors(self, rows: IntArray) -> LabelledVectors:
        features = self.features[torch.from_numpy(rows) if isinstance(self.features, torch.Tensor) else rows]
        return LabelledVectors(
            features, torch.tensor(self.dataset.labels[rows]), label_sets=_label_sets(self.dataset, rows)
        )

    def training_samples(self, config: TrainConfig) -> LabelledVectors:  # noqa: ARG002  # vectors are not augmented
        """Vectors of the training split, without samples labelled with the root."""
        return self._vectors(self.dataset.training_rows)

    def model(self, config: TrainConfig) -> Model:
        """A new model whose weights depend on the seed alone."""
        torch.manual_seed(config.seed)
        width = int(self.features.shape[1])
        return Model(self.taxonomy, width, config.method, config.options, projection=self.projection)

    def inputs(self, split: str) -> Inputs:
        """Raw inputs of one split."""
        return self.dataset.inputs.take(self.dataset.run_rows(split))

    def encoder(self, model: Model) -> Encoder | None:  # noqa: ARG002  # the same for every model
        """Encoder that computed the features."""
        return self.made_by

    def summary(self) -> dict[str, object]:
        """Name, source, fingerprint and sizes, for a record, and the backbone of the features."""
        is_sparse = isinstance(self.made_by, TfidfEncoder | JoinedEncoder)  # the same summary for all methods
        summary = {**dataset_summary(self.dataset), "features": self.dim if is_sparse else int(self.features.shape[1])}
        if self.dataset.origin is not None:
            summary["embedded_from"] = asdict(self.dataset.origin)
        elif isinstance(self.made_by, FrozenEncoder):
            summary["backbone"] = self.made_by.backbone.identity()
        elif isinstance(self.made_by, JoinedEncoder):
            summary["backbone"] = {**self.made_by.frozen.backbone.identity(), "beside": TFIDF}
        return summary


def _label_sets(dataset: Dataset, rows: IntArray) -> torch.Tensor | None:
    """Nodes of several labels of the samples at these rows, shape (M, K); None if every sample has one label."""
    return None if dataset.label_sets is None else torch.tensor(dataset.label_sets[rows])


def prepare(dataset: Dataset, *, dim: int = 256, seed: int = 0, trust_backbone: bool = False) -> PreparedData:
    """Convert texts to sparse TF-IDF vectors fitted on the training split; vectors are unchanged.

    Vectors of `hiercos embed` name their backbone, so that the model takes the raw inputs. If the backbone cannot be
    loaded, the model takes vectors, with a note.

    Args:
        dataset: data set of texts or vectors.
        dim: largest number of dense features of texts, for methods that do not take raw inputs.
        seed: seed of the projection to these features.
        trust_backbone: whether the backbone that vectors name may be loaded from a path or the Hub.

    Raises:
        DataError: for images, whose features only a backbone can compute.
    """
    if dataset.kind == "images":
        raise DataError(f"{dataset.source} holds images: expected a backbone to compute their features (--backbone)")
    if dataset.origin is not None:
        return _prepare_features(dataset, dataset.origin.backbone, trust_backbone=trust_backbone)
    if dataset.kind == "vectors":
        return PreparedData(dataset, torch.tensor(np.asarray(dataset.inputs)), None)
    encoder = TfidfEncoder(TextFeatures.fit(dataset.inputs.values(dataset.rows("train"))))
    features = encoder.features.transform(dataset.inputs.values(range(len(dataset))))
    return PreparedData(dataset, features, encoder, dim=dim, seed=seed)


def _prepare_features(dataset: Dataset, identity: Mapping[str, Any], *, trust_backbone: bool) -> PreparedData:
    """Features with the backbone that computed them, if it can be loaded."""
    features = torch.tensor(np.asarray(dataset.inputs))
    width = features.shape[1]
    try:
        return PreparedData(dataset, features, encoder_of_identity(identity, width, trust_backbone=trust_backbone))
    except BackboneError as error:
        reason = error.faults[0].rstrip(".")
        note = f"{dataset.source}: the model takes vectors, because their backbone cannot be loaded: {reason}."
        return PreparedData(dataset, features, None, (note,))


def prepare_embedded(config: ReadConfig, dataset: Dataset, encoder: FrozenEncoder) -> PreparedData:
    """Compute the features of a frozen backbone, or find them in the cache; see `embed_dataset`."""
    path = embed_dataset(config, encoder.backbone, dataset).path
    return PreparedData(dataset, torch.from_numpy(mapped_features(path)), encoder)


def prepare_joined(config: ReadConfig, dataset: Dataset, encoder: FrozenEncoder, *, dim: int = 256) -> PreparedData:
    """Sparse TF-IDF vectors of texts, fitted on the training split, beside the features of a frozen backbone.

    Args:
        config: settings for reading inputs.
        dataset: data set of texts.
        encoder: encoder of the backbone, whose features are cached; see `embed_dataset`.
        dim: largest number of dense features, for methods that do not take raw inputs.
    """
    features = np.asarray(mapped_features(embed_dataset(config, encoder.backbone, dataset).path))
    tfidf = TfidfEncoder(TextFeatures.fit(dataset.inputs.values(dataset.rows("train"))))
    joined = JoinedEncoder(tfidf, encoder)
    return PreparedData(dataset, joined.joined(dataset.inputs, features), joined, dim=dim)


def dataset_summary(dataset: Dataset) -> dict[str, object]:
    """Name, source, fingerprint and sizes of a data set, for a record."""
    return {
        "name": dataset.name,
        "source": dataset.source,
        "kind": dataset.kind,
        "fingerprint": dataset.fingerprint,
        "sizes": {split: len(dataset.rows(split)) for split in ("train", "val", "test")},
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


@dataclass(frozen=True)
class FineTuningData:
    """A data set of images or texts, and the backbone to fine-tune on it.

    Attributes:
        dataset: data set of images or texts.
        backbone: backbone before training; every model has its own copy.
        options: options of the backbone by name.
        pretrained: whether models start from pretrained weights.
        read_config: settings for reading inputs.
    """

    dataset: Dataset
    backbone: Backbone
    options: Mapping[str, Any]
    pretrained: bool
    read_config: ReadConfig

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the data set."""
        return self.dataset.taxonomy

    def for_method(self, method: str) -> "FineTuningData":  # noqa: ARG002  # the same for every method
        """The same data."""
        return self

    def samples(self, split: str) -> LabelledInputs:
        """Inputs of one part of the run: "train", "val", "calibration" or "test"; see `Dataset.run_rows`."""
        rows = self.dataset.run_rows(split)
        return self._labelled(rows, self._raw_samples(rows))

    def _raw_samples(self, rows: IntArray) -> RawSamples:
        return self.read_config.raw_samples(self.backbone, self.dataset.inputs.take(rows))

    def _labelled(self, rows: IntArray, samples: RawSamples) -> LabelledInputs:
        return LabelledInputs(samples, torch.tensor(self.dataset.labels[rows]), _label_sets(self.dataset, rows))

    def training_samples(self, config: TrainConfig) -> LabelledInputs:
        """Inputs of the training split with the augmentation of the config, without samples labelled with the root.

        Raises:
            EmbeddingError: if the backbone's preprocessing has no augmentation.
        """
        rows = self.dataset.training_rows
        samples = self._raw_samples(rows)
        if config.augment == "none":
            return self._labelled(rows, samples)
        transform = self.backbone.preprocess
        if not isinstance(transform, ImageTransform):
            raise EmbeddingError(
                f"augment {config.augment!r}: expected none, {self.backbone.name!r} has no augmentation"
            )
        augmented = replace(samples, augment=TrainTransform(transform, config.augment, config.border))
        return self._labelled(rows, augmented)

    def model(self, config: TrainConfig) -> Model:
        """A new model that contains its backbone; random weights depend on the seed alone."""
        torch.manual_seed(config.seed)
        backbone = load_backbone(self.backbone.name, pretrained=self.pretrained, **self.options)
        channels_last(backbone)
        return Model(self.taxonomy, backbone.num_features, config.method, config.options, backbone=backbone)

    def inputs(self, split: str) -> Inputs:
        """Raw inputs of one split."""
        return self.dataset.inputs.take(self.dataset.run_rows(split))

    def encoder(self, model: Model) -> FineTunedEncoder:
        """Encoder of inputs for a trained model."""
        assert model.backbone is not None
        return FineTunedEncoder(model.backbone)

    def summary(self) -> dict[str, Any]:
        """Name, source, fingerprint and sizes, for a record, and the backbone before training."""
        identity = {**self.backbone.identity(), "fine_tuned": True}
        if not self.pretrained:
            identity["weights"] = None  # random, from the seed of each run
        return {**dataset_summary(self.dataset), "features": self.backbone.num_features, "backbone": identity}


def prepare_fine_tuning(
    config: ReadConfig, dataset: Dataset, name: str, options: Mapping[str, Any], *, pretrained: bool = True
) -> FineTuningData:
    """A data set with a backbone to fine-tune on it.

    Args:
        config: settings for reading inputs.
        dataset: data set of images or texts.
        name: name of the backbone for `load_backbone`.
        options: options of the backbone by name.
        pretrained: whether to start from pretrained weights; otherwise from random ones.

    Raises:
        BackboneError: see `load_backbone`.
        EmbeddingError: if the backbone takes another kind of inputs, or cannot be trained.
    """
    backbone = seeded_backbone(name, options, pretrained=pretrained)
    check_kind(dataset, backbone)
    if not any(weight.requires_grad for weight in backbone.parameters()):
        raise EmbeddingError(f"the backbone {name!r} has no weights that could be trained; it can only be used frozen")
    return FineTuningData(dataset, backbone, options, pretrained, config)
