"""Features of frozen backbones, streamed into a cache that is keyed by content; resumes after an interruption."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hiercos.data import CACHE_VARIABLE, Dataset, Inputs
from hiercos.engine.encoders import FrozenEncoder, ReadConfig
from hiercos.engine.feature_file import GrowingFeatures
from hiercos.errors import FaultsError
from hiercos.nn.backbones import Backbone

if TYPE_CHECKING:
    from lightning_fabric import Fabric

FORMAT = "hiercos-features 1"


def cache_folder() -> Path:
    """The folder of cached features: that of the environment variable HIERCOS_CACHE, else one in the user's home."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "hiercos" / "features"


def feature_key(inputs: Inputs, identity: Mapping[str, Any], precision: str) -> str:
    """A SHA-256 of everything that decides features: each input's content in order, the backbone, the precision.

    Args:
        inputs: images or texts; an image counts by its content, not by its name.
        identity: of the backbone: name, options, preprocessing, hash of the weights.
        precision: as Lightning Fabric names it.
    """
    settings = json.dumps([FORMAT, precision, identity], sort_keys=True)
    digest = hashlib.sha256(settings.encode())
    digest.update(inputs.digests.tobytes())
    return digest.hexdigest()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file that one process at a time can hold; the others wait, and a process that dies lets go of it.

    Where the system has no such locks (Windows), nobody waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class EmbeddingError(FaultsError):
    """Features that cannot be made or used."""


@dataclass(frozen=True)
class Embedded:
    """The features of some inputs.

    Attributes:
        path: an .npy file of float32, shape (M, F), in the cache.
        computed: how many rows this call computed; 0 if the cache had them all.
    """

    path: Path
    computed: int


def embed(config: ReadConfig, backbone: Backbone, inputs: Inputs) -> Embedded:
    """Make the features of inputs with a frozen backbone, or find them in the cache.

    Only a few batches are in memory at a time. Every batch is on disk before the next one is asked for, so a process
    that was killed is gone on with at the batch it left unfinished; processes that want the same features wait for
    the first of them.

    Args:
        config: how inputs are read, and where features are made.
        backbone: makes the features.
        inputs: M images or texts.

    Raises:
        EmbeddingError: if the backbone makes a feature that is not finite.
        ImageError: for an image that cannot be read.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    key = feature_key(inputs, backbone.identity(), precision_of(config.fabric))
    finished, partial, lock = (folder / f"{key}.{ending}" for ending in ("npy", "partial", "lock"))
    if finished.exists():
        return Embedded(finished, 0)
    with locked(lock):
        if finished.exists():  # by the process that was waited for
            return Embedded(finished, 0)
        computed = _append_features(partial, config, backbone, inputs)
        os.replace(partial, finished)
        lock.unlink(missing_ok=True)  # whoever takes a new one finds the features finished
    return Embedded(finished, computed)


def embed_dataset(config: ReadConfig, backbone: Backbone, dataset: Dataset) -> Embedded:
    """`embed` the inputs of a data set.

    Raises:
        EmbeddingError: if the backbone does not look at what the data are.
    """
    check_kind(dataset, backbone)
    return embed(config, backbone, dataset.inputs)


def check_kind(dataset: Dataset, backbone: Backbone) -> None:
    """Raise an `EmbeddingError` if a backbone does not look at what the data are."""
    if dataset.kind != backbone.kind:
        raise EmbeddingError(
            f"the backbone {backbone.name!r} looks at {backbone.kind}, and {dataset.source} holds {dataset.kind}"
        )


def _append_features(path: Path, config: ReadConfig, backbone: Backbone, inputs: Inputs) -> int:
    """Complete a file of features; returns how many rows were missing."""
    samples = FrozenEncoder(backbone).samples(inputs, config)
    with GrowingFeatures(path, (len(inputs), backbone.num_features), samples.at_once) as file:
        already = file.done
        if already < len(inputs):  # unless it was killed after its last batch
            parts = torch.split(torch.arange(already, len(inputs)), samples.at_once)
            for features in config.reported(samples, already).batches(parts):
                _check_finite(features, inputs, file.done)
                file.append(features.cpu())
    return len(inputs) - already


def _check_finite(features: torch.Tensor, inputs: Inputs, first: int) -> None:
    wrong = (~features.isfinite().all(dim=1)).nonzero().flatten()
    if len(wrong):
        row = first + int(wrong[0])
        raise EmbeddingError(
            f"{inputs.name(row)}: the backbone makes a feature that is not finite; try --precision 32-true"
        )


def precision_of(fabric: Fabric) -> str:
    """The precision of a fabric by its name, such as "32-true"."""
    return str(fabric.strategy.precision.precision)
