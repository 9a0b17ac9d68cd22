"""Streamed posteriors of a stored model for inputs without labels."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from scipy.sparse import csr_matrix, vstack
from torch import Tensor

from hiercos.data import InputBatch, Inputs, Kind, SparseVectors, UnlabelledInputs
from hiercos.decisions import Posterior
from hiercos.encoders import VECTORS_AT_ONCE, FrozenEncoder, ReadConfig, Samples, VectorSamples
from hiercos.errors import DataError
from hiercos.methods import Model, SparseMatrix
from hiercos.model.persistence import StoredModel
from hiercos.model.scoring import ExplainedScores, batch_scores, class_score_batches, explained_batches
from hiercos.taxonomy import AnyArray, Floats

VECTORS_READ, RAW_READ = 4096, 256  # inputs read at a time by default: vectors, and images or texts


def model_samples(stored: StoredModel, inputs: Inputs, config: ReadConfig) -> Samples:
    """Samples of a model from inputs; a model with a frozen backbone also takes the backbone's features.

    Args:
        stored: model with its encoder.
        inputs: M inputs.
        config: settings for reading inputs.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    is_features = inputs.kind == "vectors" and isinstance(stored.encoder, FrozenEncoder)
    if inputs.kind != stored.kind and not is_features:
        raise DataError(f"this model takes {stored.kind}, got {inputs.kind}")
    if stored.encoder is not None and not is_features:
        return config.reported(stored.encoder.samples(inputs, config))
    vectors = inputs.matrix if isinstance(inputs, SparseVectors) else np.asarray(inputs)
    if vectors.shape[1] != stored.model.input_width:
        raise DataError(f"this model takes vectors of {stored.model.input_width} features, got {vectors.shape[1]}")
    return VectorSamples(_as_taken(vectors, stored.model), config.batch_size or VECTORS_AT_ONCE)


def _as_taken(vectors: AnyArray | SparseMatrix, model: Model) -> Tensor | SparseMatrix:
    """Vectors (M, F) as a model takes them: sparse for a projection, or a method of raw inputs that are sparse."""
    if not isinstance(vectors, np.ndarray):
        return vectors if model.takes_sparse else torch.tensor(vectors.toarray())
    return torch.tensor(vectors) if model.projection is None else csr_matrix(vectors)


@torch.no_grad()
def model_features(stored: StoredModel, inputs: Inputs, config: ReadConfig) -> Tensor | SparseMatrix:
    """Features that a model's head takes, shape (M, F): a SciPy CSR matrix if its method takes sparse ones.

    See `model_samples` for the arguments and errors.
    """
    samples = model_samples(stored, inputs, config)
    parts = torch.split(torch.arange(len(samples)), samples.at_once)
    return stacked_features([stored.model.features(batch).cpu() for batch in samples.batches(parts)])


def stacked_features(parts: Sequence[Tensor | SparseMatrix]) -> Tensor | SparseMatrix:
    """Features of several parts one after the other; sparse CSR tensors and matrices become one SciPy matrix."""
    dense = [part for part in parts if isinstance(part, Tensor) and part.layout is torch.strided]
    if len(dense) == len(parts):
        return torch.cat(dense)
    return csr_matrix(vstack([scipy_matrix(part) if isinstance(part, Tensor) else part for part in parts]))


def scipy_matrix(tensor: Tensor) -> SparseMatrix:
    """A sparse CSR tensor as a SciPy matrix of the same shape."""
    values, columns, starts = (part.numpy() for part in (tensor.values(), tensor.col_indices(), tensor.crow_indices()))
    return csr_matrix((values, columns, starts), shape=tuple(tensor.shape))


def posteriors(
    stored: StoredModel, samples: Samples, config: ReadConfig, *, energies: bool = False
) -> Iterator[Posterior]:
    """Calibrated posteriors of samples, batch by batch in order; with the energies of the nodes, if the method has any.

    Args:
        stored: model.
        samples: samples of the model.
        config: settings for reading inputs.
        energies: whether to compute the energies, which explanations show.
    """
    for found in _scored(stored, samples, config, energies):
        yield stored.posterior(found.classes.numpy(), found.energies)


def posterior_of(stored: StoredModel, inputs: Inputs, config: ReadConfig, *, energies: bool = False) -> Posterior:
    """Calibrated posterior of all inputs at once; see `posteriors`."""
    found = list(_scored(stored, model_samples(stored, inputs, config), config, energies))
    shares = [each.energies for each in found if each.energies is not None]
    scores = torch.cat([torch.empty(0, stored.model.taxonomy.num_classes), *(each.classes for each in found)]).numpy()
    return stored.posterior(scores, torch.cat(shares) if shares else None)


def _scored(stored: StoredModel, samples: Samples, config: ReadConfig, energies: bool) -> Iterator[ExplainedScores]:
    if energies:
        return explained_batches(config.context, stored.model, samples)
    return map(ExplainedScores, class_score_batches(config.context, stored.model, samples))


def posterior_batches(
    stored: StoredModel, unlabelled: UnlabelledInputs, config: ReadConfig, *, energies: bool = False
) -> Iterator[tuple[InputBatch, Posterior]]:
    """Batches of inputs with their calibrated posteriors; only one batch is in memory at a time.

    Args:
        stored: model.
        unlabelled: inputs to classify.
        config: settings for reading inputs.
        energies: see `posteriors`.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    for batch in unlabelled.batches(_read_size(stored.kind, config.batch_size)):
        yield batch, posterior_of(stored, batch.inputs, config, energies=energies)


def node_score_batches(
    stored: StoredModel, unlabelled: UnlabelledInputs, config: ReadConfig
) -> Iterator[tuple[InputBatch, Floats]]:
    """Batches of inputs with the scores of every node, shape (B, N), of a method for several labels.

    Args:
        stored: model.
        unlabelled: inputs to score.
        config: settings for reading inputs.

    Raises:
        DataError: if the inputs are of another kind or width than the model takes.
    """
    for batch in unlabelled.batches(_read_size(stored.kind, config.batch_size)):
        samples = model_samples(stored, batch.inputs, config)
        parts = torch.split(torch.arange(len(samples)), samples.at_once)
        found = [batch_scores(config.context, stored.model, inputs).nodes.cpu() for inputs in samples.batches(parts)]
        yield batch, torch.cat(found).numpy().astype(np.float64)


def _read_size(kind: Kind, batch_size: int | None) -> int:
    """Number of inputs to read at a time: whole batches, and at least one."""
    size = VECTORS_READ if kind == "vectors" else RAW_READ
    return size if batch_size is None else batch_size * max(1, size // batch_size)
