"""Features of frozen backbones, streamed into a cache that is keyed by content; resumes after an interruption."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from hiercos.data import CACHE_VARIABLE, Dataset, Inputs
from hiercos.engine.device import FULL_PRECISION, DeviceContext, SingleDevice, in_cpu_turns
from hiercos.engine.encoders import EmbeddedSamples, FrozenEncoder, ReadConfig
from hiercos.engine.feature_file import Block, GrowingFeatures, checked_blocks, replace_blocks
from hiercos.errors import FaultsError, HiercosWarning
from hiercos.files import sync_folder
from hiercos.locks import waiting_lock
from hiercos.nn.backbones import Backbone

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FORMAT = "hiercos-features 2"  # version 1 had no checksums


def cache_folder() -> Path:
    """Folder of the feature cache: the environment variable HIERCOS_CACHE, else `~/.cache/hiercos/features`."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "hiercos" / "features"


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
    """Features of M inputs in the cache.

    Attributes:
        path: .npy file of the features, shape (M, F), float32.
        computed: number of rows that this call computed; 0 if all were cached.
    """

    path: Path
    computed: int


def embed(config: ReadConfig, backbone: Backbone, inputs: Inputs) -> Embedded:
    """Compute the features of inputs with a frozen backbone, or find them in the cache.

    Only a few batches are in memory at a time. Every batch is written before the next one is computed, so an
    interrupted call resumes at its unfinished batch. Cached features are compared with their checksums; damaged ones
    are computed again, with a warning. Other processes that need the same features wait for the first.

    Args:
        config: settings for reading inputs, with the device and precision.
        backbone: backbone that computes the features.
        inputs: M images or texts.

    Raises:
        EmbeddingError: if the backbone computes a feature that is not finite.
        ImageError: for an image that cannot be read.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    key = feature_key(inputs, backbone.identity(), precision_of(config.context))
    finished, partial, lock = (folder / f"{key}.{ending}" for ending in ("npy", "partial", "lock"))
    shape = (len(inputs), backbone.num_features)
    if finished.exists() and all(block.is_whole for block in checked_blocks(finished, shape)):
        if lock.exists():  # of a process that ended before it removed it
            with waiting_lock(lock):
                pass
        return Embedded(finished, 0)
    with waiting_lock(lock):
        if finished.exists():  # written while this process waited, or damaged
            return Embedded(finished, _repair(finished, config, backbone, inputs))
        computed = _append_features(partial, config, backbone, inputs)
        os.replace(partial, finished)
        sync_folder(folder)
    return Embedded(finished, computed)


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


def _append_features(path: Path, config: ReadConfig, backbone: Backbone, inputs: Inputs) -> int:
    """Complete a file of features; returns the number of rows that were missing."""
    samples = FrozenEncoder(backbone).samples(inputs, config)
    with GrowingFeatures(path, (len(inputs), backbone.num_features)) as file:
        already = file.done
        if already < len(inputs):  # false if interrupted after the last batch
            parts = torch.split(torch.arange(already, len(inputs)), samples.at_once)
            for features in in_cpu_turns(config.context, config.reported(samples, already).batches(parts)):
                _check_finite(features, inputs, file.done)
                file.append(features.cpu())
    return len(inputs) - already


def _repair(path: Path, config: ReadConfig, backbone: Backbone, inputs: Inputs) -> int:
    """Compute the damaged rows of a finished file of features again; returns their number."""
    shape = (len(inputs), backbone.num_features)
    blocks = checked_blocks(path, shape)
    damaged = sum(block.stop - block.start for block in blocks if not block.is_whole)
    if not damaged:
        return 0
    warnings.warn(
        f"{path}: {damaged:,} of {len(inputs):,} cached features are damaged and are computed again",
        HiercosWarning,
        stacklevel=3,
    )
    samples = FrozenEncoder(backbone).samples(inputs, config)
    blocks = list(_rebatched(blocks, samples.at_once))
    replace_blocks(path, shape, ((block, None if block.is_whole else _features(samples, block)) for block in blocks))
    return damaged


def _rebatched(blocks: Iterable[Block], size: int) -> Iterator[Block]:
    """Whole blocks, and batches of at most `size` rows in place of the damaged ones between them.

    A damaged list of checksums gives wrong ends of blocks, and other batches would give other last bits.
    """
    for is_whole, group in groupby(blocks, key=lambda block: block.is_whole):
        run = list(group)
        if is_whole:
            yield from run
        else:
            for start in range(run[0].start, run[-1].stop, size):
                yield Block(start, min(start + size, run[-1].stop), b"", is_whole=False)


def _features(samples: EmbeddedSamples, block: Block) -> torch.Tensor:
    """Features of the rows of a block, which is one batch, shape (B, F)."""
    (features,) = samples.batches([torch.arange(block.start, block.stop)])
    return features.cpu()


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
