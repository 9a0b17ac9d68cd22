"""A data set as vectors on which any method can be trained."""

from dataclasses import dataclass

import torch

from hiercos.data import Dataset
from hiercos.data.features import features_of
from hiercos.engine.batches import LabelledVectors
from hiercos.engine.config import TrainConfig
from hiercos.engine.embed import embed_dataset
from hiercos.engine.feature_file import mapped_features
from hiercos.engine.model import Model
from hiercos.engine.readers import FrozenReader, Reader, Reading, TfidfReader
from hiercos.taxonomy import Taxonomy


@dataclass(frozen=True)
class PreparedData:
    """A data set with its features, and what made them, so that it can travel with a model.

    Attributes:
        dataset: the data as read.
        features: shape (M, F), float32.
        made_by: what made the features of raw inputs; None for vectors.
    """

    dataset: Dataset
    features: torch.Tensor
    made_by: Reader | None

    @property
    def taxonomy(self) -> Taxonomy:
        """The tree of the data set."""
        return self.dataset.taxonomy

    def samples(self, split: str) -> LabelledVectors:
        """The vectors of one split: "train", "val" or "test"."""
        rows = torch.from_numpy(self.dataset.rows(split))
        return LabelledVectors(self.features[rows], torch.tensor(self.dataset.labels)[rows])

    def training_samples(self, config: TrainConfig) -> LabelledVectors:  # noqa: ARG002  # vectors are as they are
        """The vectors of the training split."""
        return self.samples("train")

    def model(self, config: TrainConfig) -> Model:
        """A fresh model whose weights depend on the seed alone."""
        torch.manual_seed(config.seed)
        return Model(self.taxonomy, self.features.shape[1], config.method, config.options)

    def reader(self, model: Model) -> Reader | None:  # noqa: ARG002  # the same for every model
        """What made the features."""
        return self.made_by

    def summary(self) -> dict[str, object]:
        """Name, source, fingerprint and sizes, for a record, and the backbone that made the features."""
        summary = {**dataset_summary(self.dataset), "features": int(self.features.shape[1])}
        if isinstance(self.made_by, FrozenReader):
            summary["backbone"] = self.made_by.backbone.identity()
        return summary


def prepare(dataset: Dataset, *, dim: int = 256, seed: int = 0) -> PreparedData:
    """Turn texts into `dim` features fitted on the training split; vectors stay as they are."""
    features, text_features = features_of(dataset, dim=dim, seed=seed)
    reader = None if text_features is None else TfidfReader(text_features)
    return PreparedData(dataset, torch.tensor(features), reader)


def prepare_embedded(how: Reading, dataset: Dataset, reader: FrozenReader) -> PreparedData:
    """Turn images or texts into the features of a frozen backbone, by way of the cache; see `embed_dataset`."""
    path = embed_dataset(how, reader.backbone, dataset).path
    return PreparedData(dataset, torch.from_numpy(mapped_features(path)), reader)


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
    }
