"""Raw data for models that train their backbone, too."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from hiercos.data import Dataset
from hiercos.data.dataset import taken
from hiercos.engine.config import TrainConfig
from hiercos.engine.embed import EmbeddingError, check_kind
from hiercos.engine.model import Model
from hiercos.engine.prepare import dataset_summary
from hiercos.engine.raw import RawSamples
from hiercos.engine.readers import FineTunedReader, Reading, channels_last, seeded_backbone
from hiercos.nn.backbones import Backbone, ImageTransform, TrainTransform, load_backbone
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class FineTuningData:
    """A data set of images or texts, and the backbone to train on it.

    Attributes:
        dataset: the data as read.
        backbone: as it is before training; every model starts from one of its own.
        options: of the backbone, as given.
        pretrained: whether models start from trained weights.
        how: to read the inputs.
    """

    dataset: Dataset
    backbone: Backbone
    options: Mapping[str, Any]
    pretrained: bool
    how: Reading

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree of the data set."""
        return self.dataset.taxonomy

    def samples(self, split: str) -> RawSamples:
        """The inputs of one split: "train", "val" or "test"."""
        rows = self.dataset.rows(split)
        inputs: Any = taken(self.dataset.inputs, rows)
        return self.how.raw_samples(self.backbone, inputs, torch.tensor(self.dataset.labels[rows]))

    def training_samples(self, config: TrainConfig) -> RawSamples:
        """The inputs of the training split, changed at random as the settings say.

        Raises:
            EmbeddingError: if random changes are asked for where the preprocessing knows none.
        """
        samples = self.samples("train")
        if config.augment == "none":
            return samples
        transform = self.backbone.preprocess
        if not isinstance(transform, ImageTransform):
            raise EmbeddingError(f"augment {config.augment!r}: expected none, {self.backbone.name!r} knows no changes")
        return replace(samples, augment=TrainTransform(transform, config.augment, config.border))

    def model(self, config: TrainConfig) -> Model:
        """A fresh model with its backbone inside; what is drawn at random depends on the seed alone."""
        torch.manual_seed(config.seed)
        backbone = load_backbone(self.backbone.name, pretrained=self.pretrained, **self.options)
        channels_last(backbone)
        return Model(self.taxonomy, backbone.num_features, config.method, config.options, backbone=backbone)

    def reader(self, model: Model) -> FineTunedReader:
        """What prepares inputs for a trained model."""
        assert model.backbone is not None
        return FineTunedReader(model.backbone)

    def summary(self) -> dict[str, Any]:
        """Name, source, fingerprint and sizes, for a record, and the backbone before training."""
        identity = {**self.backbone.identity(), "fine_tuned": True}
        if not self.pretrained:
            identity["weights"] = None  # drawn by each run from its seed
        return {**dataset_summary(self.dataset), "features": self.backbone.num_features, "backbone": identity}


def prepare_fine_tuning(
    how: Reading, dataset: Dataset, name: str, options: Mapping[str, Any], *, pretrained: bool = True
) -> FineTuningData:
    """A data set with a backbone to train on it.

    Args:
        how: to read the inputs.
        dataset: of images or texts.
        name: of the backbone, as `load_backbone` takes it.
        options: of the backbone.
        pretrained: start from trained weights; otherwise from random ones.

    Raises:
        BackboneError: as `load_backbone`.
        EmbeddingError: if the backbone does not look at what the data are, or cannot be trained.
    """
    backbone = seeded_backbone(name, options, pretrained=pretrained)
    check_kind(dataset, backbone)
    if not any(weight.requires_grad for weight in backbone.parameters()):
        raise EmbeddingError(f"the backbone {name!r} has no weights that could be trained; it can only be used frozen")
    return FineTuningData(dataset, backbone, options, pretrained, how)
