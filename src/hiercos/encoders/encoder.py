"""Encoders of raw inputs for a model: TF-IDF, columns, a frozen or the model's own backbone; their samples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from torch import Tensor

from hiercos.data import ColumnInputs, Inputs, Kind, ProgressCallback
from hiercos.encoders.backbones import Backbone, BackboneError, blank_sample, load_backbone
from hiercos.encoders.batches import RAW_AT_ONCE, RawSamples, Samples, SamplesOf
from hiercos.encoders.columns import ColumnFeatures, Embedded, embedded_columns
from hiercos.encoders.device import DeviceContext
from hiercos.encoders.tfidf import TextFeatures
from hiercos.methods import SparseMatrix, csr_tensor
from hiercos.taxonomy import AnyArray

VECTORS_AT_ONCE = 1024  # vectors in a batch without training
CPU_NUMBERS = 4 * 3 * 224 * 224  # numbers in all images of a batch on a CPU


@dataclass(frozen=True)
class VectorSamples:
    """Features without labels, in memory."""

    features: Tensor | SparseMatrix  # shape (M, F), float32; a SciPy CSR matrix stays on the CPU
    at_once: int = field(default=VECTORS_AT_ONCE, kw_only=True)  # batch size for evaluation and prediction

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Tensor]:  # noqa: ARG002  # nothing is random
        """Features of each part, shape (B, F): a dense tensor, or a sparse CSR tensor on the CPU."""
        for rows in parts:
            if not isinstance(self.features, Tensor):
                yield csr_tensor(self.features[rows.numpy()])
            elif len(rows) and bool((rows.diff() == 1).all()):  # consecutive rows need no copy
                yield self.features[int(rows[0]) : int(rows[-1]) + 1]
            else:
                yield self.features[rows.to(self.features.device)]


@dataclass(frozen=True)
class LabelledVectors(VectorSamples):
    """Features with their classes, in memory."""

    labels: Tensor  # label of each sample, a class index or C + node, shape (M,), int64
    label_sets: Tensor | None = None  # see `LabelledSamples`
    groups: AnyArray | None = None  # group of each sample, shape (M,), which no fold divides; None without groups

    def to(self, device: torch.device) -> LabelledVectors:
        """The same features and classes on a device."""
        features = self.features.to(device) if isinstance(self.features, Tensor) else self.features
        sets = None if self.label_sets is None else self.label_sets.to(device)
        return replace(self, features=features, labels=self.labels.to(device), label_sets=sets)


@dataclass(frozen=True)
class ReportedSamples(SamplesOf):
    """Samples that report their progress to a callback."""

    callback: ProgressCallback
    already: int = 0  # number of samples that were finished earlier

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Any]:
        """Batches of the samples; a batch counts as finished when the next is requested."""
        done = self.already
        self.callback.start(done, done + sum(map(len, parts)))
        try:
            for part, batch in zip(parts, self.samples.batches(parts, seed=seed), strict=True):
                yield batch
                done += len(part)
                self.callback.rows(done)
        finally:
            self.callback.close()


@dataclass(frozen=True)
class ReadConfig:
    """Settings for reading and encoding inputs."""

    context: DeviceContext  # device and precision: a launched Fabric, or a `SingleDevice`
    batch_size: int | None = None  # number of inputs in a batch; None for a size that suits their kind
    workers: int = 0  # number of processes that read and prepare inputs; 0 for a thread of this process
    callback: ProgressCallback | None = None  # progress callback; None for no reports

    def raw_samples(self, backbone: Backbone, inputs: Inputs) -> RawSamples:
        """Samples prepared for a backbone."""
        at_once = self.batch_size or suitable_batch(backbone, self.context.device)
        return RawSamples(inputs, backbone.preprocess, workers=self.workers, at_once=at_once)

    def vectors(self, features: Tensor | SparseMatrix) -> VectorSamples:
        """Samples of features, shape (M, F)."""
        return VectorSamples(features, at_once=self.batch_size or VECTORS_AT_ONCE)

    def reported(self, samples: Samples, already: int = 0) -> Samples:
        """Samples that report their progress to the callback, if there is one."""
        return samples if self.callback is None else ReportedSamples(samples, self.callback, already)


def suitable_batch(backbone: Backbone, device: torch.device) -> int:
    """Batch size at which a backbone is fastest.

    On a CPU, few images at a time: the output of a layer should stay below 32 MB. Above, the C library requests memory
    from the system for every layer, which makes EfficientNet-Lite0 twice as slow.
    """
    if device.type != "cpu" or backbone.kind == "texts":
        return RAW_AT_ONCE
    numbers: int = backbone.preprocess([blank_sample("images")]).numel()
    return max(1, min(RAW_AT_ONCE, CPU_NUMBERS // numbers))


Explained: TypeAlias = tuple[NDArray[np.float32], list[str], SparseMatrix]


class Encoder(Protocol):
    """Map from raw inputs to the samples of a model, stored with the model."""

    @property
    def kind(self) -> Kind:
        """Kind of inputs that the encoder takes."""

    def samples(self, inputs: Inputs, config: ReadConfig) -> Samples:
        """Samples for the model."""


@dataclass(frozen=True)
class TfidfEncoder:
    """Encoder of texts by fitted TF-IDF vectors."""

    features: TextFeatures
    kind: Kind = "texts"

    def samples(self, inputs: Inputs, config: ReadConfig) -> VectorSamples:
        """Sparse vectors of the texts."""
        vectors = self.features.transform(inputs.values(range(len(inputs))))
        return config.vectors(vectors)

    def explained(self, row: Inputs, config: ReadConfig) -> Explained:  # noqa: ARG002  # texts need none
        """One text as a vector, shape (V,), its words, and their shares of each n-gram, shape (V, K)."""
        (text,) = row.values([0])
        return self.features.transform([text]).toarray()[0], *self.features.words(text)


@dataclass(frozen=True)
class FrozenEncoder:
    """Encoder of images or texts by a frozen backbone."""

    backbone: Backbone  # backbone that computes the features
    found_by_name: bool = True  # whether `load_backbone` finds its weights by name and options

    @property
    def kind(self) -> Kind:
        """Kind of inputs that the backbone takes."""
        return self.backbone.kind

    def samples(self, inputs: Inputs, config: ReadConfig) -> EmbeddedSamples:
        """Features of the inputs, computed batch by batch."""
        return EmbeddedSamples(config.raw_samples(self.backbone, inputs), self.backbone, config.context)


@dataclass(frozen=True)
class JoinedEncoder:
    """Encoder of texts by TF-IDF vectors with the features of a frozen backbone beside them.

    N-grams know rare words, a sentence model knows paraphrases; linear heads use both.
    """

    tfidf: TfidfEncoder  # encoder of the first columns
    frozen: FrozenEncoder  # encoder of the last columns
    kind: Kind = "texts"

    def samples(self, inputs: Inputs, config: ReadConfig) -> VectorSamples:
        """Sparse vectors of the texts."""
        embedded = self.frozen.samples(inputs, config)
        blocks = [batch.cpu().numpy() for batch in embedded.batches(_parts(embedded))]
        features = np.concatenate([np.empty((0, self.frozen.backbone.num_features), np.float32), *blocks])
        return config.vectors(self.joined(inputs, features))

    def joined(self, inputs: Inputs, features: NDArray[np.float32]) -> SparseMatrix:
        """TF-IDF vectors beside backbone features, shape (M, F); each part of a row has the length 1, or is empty."""
        vectors = self.tfidf.features.transform(inputs.values(range(len(inputs))))
        lengths = np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
        return csr_matrix(hstack([vectors, csr_matrix(features / lengths)]), dtype=np.float32)


@dataclass(frozen=True)
class ColumnEncoder:
    """Encoder of rows of columns, with a frozen backbone for columns of images or texts."""

    features: ColumnFeatures
    frozen: FrozenEncoder | None = None
    kind: Kind = "columns"

    def samples(self, inputs: Inputs, config: ReadConfig) -> VectorSamples:
        """Vectors of the rows."""
        assert isinstance(inputs, ColumnInputs)
        return config.vectors(self.vectors(inputs, self.embedded(inputs, config)))

    def explained(self, row: Inputs, config: ReadConfig) -> Explained:
        """One row as a vector, shape (V,), its words and cells, and their shares of each feature, shape (V, K)."""
        assert isinstance(row, ColumnInputs)
        vector = self.features.transform(row, self.embedded(row, config)).toarray()[0]
        return vector, *self.features.words(row)

    def vectors(self, inputs: ColumnInputs, embedded: Embedded) -> Tensor | SparseMatrix:
        """Vectors of the rows, shape (M, V): a dense tensor, or a SciPy CSR matrix."""
        matrix = self.features.transform(inputs, embedded)
        return torch.from_numpy(matrix.toarray()) if self.features.is_dense else matrix

    def embedded(self, inputs: ColumnInputs, config: ReadConfig) -> dict[str, NDArray[np.float32]]:
        """Features of the backbone by column, shape (M, F), rows of nan for missing inputs."""
        if self.frozen is None:
            return {}
        return embedded_features_of(inputs, self.frozen, lambda given: self._features(given, config))

    def _features(self, inputs: Inputs, config: ReadConfig) -> NDArray[np.float32]:
        assert self.frozen is not None
        samples = self.frozen.samples(inputs, config)
        return np.concatenate([batch.cpu().numpy() for batch in samples.batches(_parts(samples))])


def embedded_features_of(
    inputs: ColumnInputs, frozen: FrozenEncoder, compute: Callable[[Inputs], NDArray[np.float32]]
) -> dict[str, NDArray[np.float32]]:
    """Features of a backbone by column, shape (M, F), rows of nan for missing inputs.

    Args:
        inputs: M rows.
        frozen: encoder of the backbone.
        compute: function from inputs of the backbone to their features.
    """
    found = {}
    for name, (rows, own) in embedded_columns(inputs, frozen.kind).items():
        found[name] = np.full((len(inputs), frozen.backbone.num_features), np.nan, np.float32)
        if len(rows):
            found[name][rows] = compute(own)
    return found


def _parts(samples: Samples) -> Sequence[Tensor]:
    """Rows of each batch of samples."""
    return torch.split(torch.arange(len(samples)), samples.at_once) if len(samples) else ()


def frozen_encoder(name: str, options: Mapping[str, Any]) -> FrozenEncoder:
    """Encoder of a pretrained backbone by its name.

    Weights that are random all the same, such as a stem, are equal on every call.

    Args:
        name: name for `load_backbone`.
        options: options of the backbone by name.
    """
    return FrozenEncoder(seeded_backbone(name, options), found_by_name="weights" not in options)


def check_backbone_source(name: object, options: Mapping[str, Any], *, from_file: bool) -> None:
    """Refuse a backbone that a file names, if it would be loaded from a local path or from the Hub.

    A built-in backbone has its weights in this package or in the file. Anything else is loaded only if the user trusts
    the file.

    Args:
        name: name of the backbone in the file.
        options: options of the backbone in the file.
        from_file: whether the weights come with the file, so that the name is only that of an architecture.
    """
    prefix, _, model = str(name).rpartition(":")
    is_architecture = from_file and prefix == "timm" and not {":", "/"} & set(model)
    paths = [f"{key}={value}" for key, value in options.items() if key == "weights" and not from_file]
    if (prefix and not is_architecture) or paths:
        raise BackboneError(
            f"its backbone {' '.join([str(name), *paths])!r} would be loaded from a path or the Hub; "
            "expected --trust-backbone (in Python, trust_backbone=True) if you trust the source of this file"
        )


def encoder_of_identity(identity: Mapping[str, Any], width: int, *, trust_backbone: bool = False) -> FrozenEncoder:
    """Encoder that computed features, from the backbone identity stored with them.

    Args:
        identity: value of `Backbone.identity`.
        width: number of features F.
        trust_backbone: whether the backbone may be loaded from a path or the Hub.
    """
    if not trust_backbone:
        check_backbone_source(identity["name"], identity["options"], from_file=False)
    backbone = seeded_backbone(identity["name"], identity["options"])
    changed = [*identity_changes(backbone, identity), *["num_features"] * (backbone.num_features != width)]
    if changed:
        raise BackboneError(f"the backbone {backbone.name!r} found here has other {' and '.join(changed)}")
    return FrozenEncoder(backbone)


def identity_changes(backbone: Backbone, expected: Mapping[str, Any]) -> list[str]:
    """Keys in which the identity of a backbone differs from one that was stored as JSON."""
    found = json.loads(json.dumps(backbone.identity()))
    return sorted(key for key in found if found[key] != expected.get(key))


def seeded_backbone(name: str, options: Mapping[str, Any], *, pretrained: bool = True) -> Backbone:
    """`load_backbone` with a fixed seed, without changing torch's random state."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return load_backbone(name, pretrained=pretrained, **options)


@dataclass(frozen=True)
class FineTunedEncoder:
    """Encoder of images or texts for a model that contains its backbone."""

    backbone: Backbone

    @property
    def kind(self) -> Kind:
        """Kind of inputs that the backbone takes."""
        return self.backbone.kind

    def samples(self, inputs: Inputs, config: ReadConfig) -> RawSamples:
        """Inputs prepared for the backbone."""
        return config.raw_samples(self.backbone, inputs)


@dataclass(frozen=True)
class EmbeddedSamples(SamplesOf):
    """Samples as features of a frozen backbone, computed batch by batch."""

    backbone: Backbone
    context: DeviceContext

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Tensor]:
        """Features of each part, shape (B, F), float32."""
        self.backbone.to(self.context.device).eval()
        channels_last(self.backbone)
        for batch in self.samples.batches(parts, seed=seed):
            yield backbone_features(self.context, self.backbone, batch)


def channels_last(backbone: Backbone) -> None:
    """Convert an image backbone to the memory format channels-last, which is faster."""
    if backbone.kind == "images":
        backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a documented form of `to`


@torch.inference_mode()
def backbone_features(context: DeviceContext, backbone: Backbone, batch: Any) -> Tensor:
    """Features of a prepared batch, shape (B, F), float32, computed in the precision of the context."""
    with context.autocast():
        features: Tensor = backbone(context.to_device(batch))
    return features.float()
