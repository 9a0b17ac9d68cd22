"""Features of frozen backbones, streamed into a cache that is keyed by content; resumes after an interruption."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from filelock import FileLock

from hiercos.data import Dataset, Inputs
from hiercos.encoders.backbones import Backbone
from hiercos.encoders.device import FULL_PRECISION, DeviceContext, SingleDevice
from hiercos.encoders.encoder import FrozenEncoder, ReadConfig
from hiercos.encoders.feature_file import FeatureFile
from hiercos.errors import FaultsError, HiercosWarning
from hiercos.storage import cache_folder

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FORMAT = "hiercos-features 1"


def feature_key(inputs: Inputs, identity: Mapping[str, Any], precision: str) -> str:
    """Cache key of features: SHA-256 of the contents of all inputs in order, the backbone and the precision.

    Args:
        inputs: images or texts; names of images do not matter.
        identity: name, options, preprocessing and hash of the weights of the backbone.
        precision: precision of Lightning Fabric, such as "32-true".
    """
    settings = json.dumps([FORMAT, precision, identity], sort_keys=True)
    digest = hashlib.sha256(settings.encode())
    digest.update(inputs.digests.tobytes())
    return digest.hexdigest()


class EmbeddingError(FaultsError):
    """Features that cannot be computed or used."""


@dataclass(frozen=True)
class Embedded:
    """Features of M inputs in the cache."""

    path: Path  # .npy file of the features, shape (M, F), float32
    computed: int  # number of rows that this call computed; 0 if all were cached


def embed(config: ReadConfig, backbone: Backbone, inputs: Inputs) -> Embedded:
    """Compute the features of inputs with a frozen backbone, or find them in the cache.

    Only a few batches are in memory at a time. Every batch is written before the next one is computed, so an
    interrupted call resumes at its unfinished batch. Cached features are compared with their checksum; a damaged file
    is computed again, with a warning. Other processes that need the same features wait for the first.

    Args:
        config: settings for reading inputs, with the device and precision.
        backbone: backbone that computes the features.
        inputs: M images or texts.

    Raises:
        EmbeddingError: if the backbone computes a feature that is not finite.
        ImageError: for an image that cannot be read.
    """
    folder = cache_folder("features")
    folder.mkdir(parents=True, exist_ok=True)
    key = feature_key(inputs, backbone.identity(), precision_of(config.context))
    with FileLock(folder / f"{key}.lock"):
        file = FeatureFile(folder / f"{key}.npy", (len(inputs), backbone.num_features))
        if file.is_finished:
            return Embedded(file.path, 0)
        if file.digest is not None:
            warnings.warn(
                f"{file.path}: the cached features are damaged and are computed again", HiercosWarning, stacklevel=2
            )
            file.done = 0
        return Embedded(file.path, _fill(file, config, backbone, inputs))


def embed_dataset(config: ReadConfig, backbone: Backbone, dataset: Dataset) -> Embedded:
    """Compute or find the features of a data set; see `embed`.

    Raises:
        EmbeddingError: if the backbone takes another kind of inputs.
    """
    check_kind(dataset, backbone)
    return embed(config, backbone, dataset.inputs)


def check_kind(dataset: Dataset, backbone: Backbone) -> None:
    """Raise an `EmbeddingError` if a backbone takes another kind of inputs than the data set holds."""
    if dataset.kind != backbone.kind:
        raise EmbeddingError(
            f"the backbone {backbone.name!r} takes {backbone.kind}, but {dataset.source} holds {dataset.kind}"
        )


def _fill(file: FeatureFile, config: ReadConfig, backbone: Backbone, inputs: Inputs) -> int:
    """Complete a file of features; returns the number of rows that were missing."""
    samples, already = FrozenEncoder(backbone).samples(inputs, config), file.done
    if not already:
        file.begin()
    if already < len(inputs):  # false if interrupted after the last batch
        parts = torch.split(torch.arange(already, len(inputs)), samples.at_once)
        for features in config.reported(samples, already).batches(parts):
            _check_finite(features, inputs, file.done)
            file.append(features.cpu())
    file.finish()
    return len(inputs) - already


def _check_finite(features: torch.Tensor, inputs: Inputs, first: int) -> None:
    wrong = (~features.isfinite().all(dim=1)).nonzero().flatten()
    if len(wrong):
        row = first + int(wrong[0])
        raise EmbeddingError(
            f"{inputs.name(row)}: the backbone computes a feature that is not finite; try --precision 32-true"
        )


def precision_of(context: DeviceContext) -> str:
    """Name of a context's precision, such as "32-true"."""
    if isinstance(context, SingleDevice):
        return FULL_PRECISION
    return str(cast("Fabric", context).strategy.precision.precision)
