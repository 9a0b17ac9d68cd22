"""Encoders, from raw inputs to what a model takes: TF-IDF, a frozen backbone, or the model's own backbone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from hiercos.callbacks import ProgressCallback
from hiercos.data import Inputs, Kind, TextFeatures
from hiercos.engine.batches import VECTORS_AT_ONCE, ReportedSamples, Samples, VectorSamples
from hiercos.engine.streaming import RAW_AT_ONCE, RawSamples
from hiercos.nn.backbones import Backbone, BackboneError, blank_sample, load_backbone

if TYPE_CHECKING:
    from lightning_fabric import Fabric

CPU_NUMBERS = 4 * 3 * 224 * 224  # of all images in a batch


@dataclass(frozen=True)
class ReadConfig:
    """Settings for reading and encoding inputs.

    Attributes:
        fabric: device and precision that features are computed with, launched.
        batch_size: number of inputs in a batch; None for what suits their kind.
        workers: number of processes that read and prepare inputs; 0 for a thread of this one.
        callback: receives the progress; None for no reports.
    """

    fabric: Fabric
    batch_size: int | None = None
    workers: int = 0
    callback: ProgressCallback | None = None

    def raw_samples(self, backbone: Backbone, inputs: Inputs) -> RawSamples:
        """Samples that are prepared for a backbone."""
        at_once = self.batch_size or suitable_batch(backbone, self.fabric.device)
        return RawSamples(inputs, backbone.preprocess, workers=self.workers, at_once=at_once)

    def reported(self, samples: Samples, already: int = 0) -> Samples:
        """Samples that report their progress to the callback, if there is one."""
        return samples if self.callback is None else ReportedSamples(samples, self.callback, already)


def suitable_batch(backbone: Backbone, device: torch.device) -> int:
    """How many inputs a backbone is quickest with.

    On a CPU, few images at a time: what a layer makes of them should stay below the 32 MB beyond which the C library
    takes memory from the system anew, page by page, for every layer, which makes EfficientNet-Lite0 twice as slow.
    """
    if device.type != "cpu" or backbone.kind == "texts":
        return RAW_AT_ONCE
    numbers: int = backbone.preprocess([blank_sample("images")]).numel()
    return max(1, min(RAW_AT_ONCE, CPU_NUMBERS // numbers))


class Encoder(Protocol):
    """Map from raw inputs to what a model takes; it is stored with the model."""

    @property
    def kind(self) -> Kind:
        """Kind of inputs that it encodes."""

    def samples(self, inputs: Inputs, config: ReadConfig) -> Samples:
        """Samples for the model.

        Args:
            inputs: M inputs of its kind.
            config: how inputs are read.
        """


@dataclass(frozen=True)
class TfidfEncoder:
    """Texts to vectors by a fitted map."""

    features: TextFeatures
    kind: Kind = "texts"

    def samples(self, inputs: Inputs, config: ReadConfig) -> VectorSamples:
        """Vectors of the texts."""
        vectors = torch.tensor(self.features.transform(inputs.values(range(len(inputs)))))
        return VectorSamples(vectors, config.batch_size or VECTORS_AT_ONCE)


@dataclass(frozen=True)
class FrozenEncoder:
    """Images or texts to features by a backbone that is not trained.

    Attributes:
        backbone: the backbone.
        found_by_name: whether `load_backbone` finds its weights again by name and options.
    """

    backbone: Backbone
    found_by_name: bool = True

    @property
    def kind(self) -> Kind:
        """What the backbone looks at."""
        return self.backbone.kind

    def samples(self, inputs: Inputs, config: ReadConfig) -> EmbeddedSamples:
        """Features of the inputs, computed batch by batch."""
        return EmbeddedSamples(config.raw_samples(self.backbone, inputs), self.backbone, config.fabric)


def frozen_encoder(name: str, options: Mapping[str, Any]) -> FrozenEncoder:
    """A backbone by its name, with trained weights.

    Whatever is drawn at random all the same, such as a stem, is the same on every call.

    Args:
        name: as `load_backbone` takes it.
        options: of the backbone.
    """
    return FrozenEncoder(seeded_backbone(name, options), found_by_name="weights" not in options)


def encoder_of_identity(identity: Mapping[str, Any], width: int) -> FrozenEncoder:
    """The backbone that made features, by the identity that is stored with them.

    Args:
        identity: as `Backbone.identity` gives it.
        width: F, the number of features.

    Raises:
        BackboneError: in one sentence, if it cannot be loaded here, or is another one to any weight.
    """
    backbone = seeded_backbone(identity["name"], identity["options"])
    changed = [*identity_changes(backbone, identity), *["num_features"] * (backbone.num_features != width)]
    if changed:
        raise BackboneError(f"the backbone {backbone.name!r} found here has other {' and '.join(changed)}")
    return FrozenEncoder(backbone)


def identity_changes(backbone: Backbone, expected: Mapping[str, Any]) -> list[str]:
    """Names of what differs between the identity of a backbone and another one that was stored as JSON."""
    found = json.loads(json.dumps(backbone.identity()))
    return sorted(key for key in found if found[key] != expected.get(key))


def seeded_backbone(name: str, options: Mapping[str, Any], *, pretrained: bool = True) -> Backbone:
    """`load_backbone` from a seed of its own, which leaves torch's random state as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        return load_backbone(name, pretrained=pretrained, **options)


@dataclass(frozen=True)
class FineTunedEncoder:
    """Images or texts for a model with its backbone inside."""

    backbone: Backbone

    @property
    def kind(self) -> Kind:
        """What the backbone looks at."""
        return self.backbone.kind

    def samples(self, inputs: Inputs, config: ReadConfig) -> RawSamples:
        """Inputs prepared for the backbone."""
        return config.raw_samples(self.backbone, inputs)


@dataclass(frozen=True)
class EmbeddedSamples:
    """Raw samples as the features that a frozen backbone makes of them, batch by batch and never all at once."""

    raw: RawSamples
    backbone: Backbone
    fabric: Fabric

    @property
    def at_once(self) -> int:
        """See `Samples`."""
        return self.raw.at_once

    def __len__(self) -> int:
        return len(self.raw)

    def to(self, device: torch.device) -> EmbeddedSamples:  # noqa: ARG002  # features are on the fabric's device
        """The same samples."""
        return self

    def batches(self, parts: Sequence[Tensor], *, seed: int = 0) -> Iterator[Tensor]:
        """The features of each part, shape (B, F), float32."""
        self.backbone.to(self.fabric.device).eval()
        channels_last(self.backbone)
        for batch in self.raw.batches(parts, seed=seed):
            yield backbone_features(self.fabric, self.backbone, batch)


def channels_last(backbone: Backbone) -> None:
    """Lay out the weights of convolutions as batches of images are laid out, which is quicker."""
    if backbone.kind == "images":
        backbone.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a documented form of `to`


@torch.inference_mode()
def backbone_features(fabric: Fabric, backbone: Backbone, batch: Any) -> Tensor:
    """The features of a prepared batch, shape (B, F), float32, in the precision of the fabric."""
    with fabric.autocast():
        features: Tensor = backbone(fabric.to_device(batch))
    return features.float()
