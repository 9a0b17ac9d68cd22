"""The classifier: a trained model with its encoder, temperature and rule, which every door holds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from hiercos.data import ColumnKinds, InputBatch, Inputs, Kind, Source, SparseVectors
from hiercos.decisions import HeldOutChains, Likeliest, Posterior, Rule, Several
from hiercos.encoders import (
    ColumnEncoder,
    DeviceContext,
    Encoder,
    FrozenEncoder,
    JoinedEncoder,
    ReadConfig,
    Samples,
    SingleDevice,
    TfidfEncoder,
)
from hiercos.errors import DataError
from hiercos.methods import METHODS, Comparison, Model, SparseMatrix
from hiercos.model.base import BaseClassifier, ClassScores
from hiercos.model.explain import Comparisons
from hiercos.model.memory import Memory
from hiercos.model.persistence import FilesInMemory, files_in_memory, loaded_parts, model_files, save_model
from hiercos.model.scoring import node_scores, sample_scores, stacked_features
from hiercos.records import variant_name
from hiercos.storage import Folder
from hiercos.taxonomy import AnyArray, Floats, Taxonomy

VECTORS_READ, RAW_READ = 4096, 256  # inputs read at a time by default: vectors, and images or texts


@dataclass(frozen=True)
class Classifier(BaseClassifier[ReadConfig]):
    """Texts, vectors, images or columns in, calibrated posteriors and answers out.

    It can be pickled, as Ray, Spark and Dask do: a pickle holds the files of its folder. Threads may share it, on one
    device; each computes in its own turn or beside the others, with the same answers.
    """

    model: Model  # model on the CPU
    encoder: Encoder | None  # encoder of raw inputs; None for a model of vectors
    rule: Rule = field(default_factory=Likeliest)  # decision rule of the answers; the highest score by default
    temperature: float = 1.0  # temperature of the posterior, fitted on validation data; 1 by default
    # factor of each class's probability, shape (C,), see `prior_weights`; None by default
    class_weights: Sequence[float] | None = None
    memory: Memory | None = None  # features of training samples for `hiercos extend`; None for none
    # chains of the samples that were set aside for the targets of back-off; None if there are none
    calibration: HeldOutChains | None = None

    @classmethod
    def load(cls, folder: str | Path | Folder, *, trust_backbone: bool = False) -> Self:
        """Load a model folder of `hiercos train`, `save` or an estimator.

        Args:
            folder: model folder, which may be open already.
            trust_backbone: whether the model may name a path or a model of the Hub to load its backbone from.
        """
        return cls(**loaded_parts(model_files(folder), trust_backbone=trust_backbone))

    def save(self, folder: str | Path, others: Mapping[str, str | bytes] | None = None) -> None:
        """Write a model folder, with further files that belong to the model, by name; none by default."""
        save_model(Path(folder), self, others)

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_files, (files_in_memory(self),)

    def __repr__(self) -> str:
        return f"Classifier({variant_name(self.model.method, self.rule.name)}, {self.kind}, {self.taxonomy!r})"

    @property
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the classes."""
        return self.model.taxonomy

    @property
    def kind(self) -> Kind:
        """Kind of inputs that the model takes."""
        return "vectors" if self.encoder is None else self.encoder.kind

    @property
    def columns(self) -> ColumnKinds | None:
        """Kind of each column that a model of columns takes; None for other models."""
        return self.encoder.features.columns if isinstance(self.encoder, ColumnEncoder) else None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds that it takes, its own first: a model with a frozen backbone also takes the backbone's features."""
        return (self.kind, "vectors") if isinstance(self.encoder, FrozenEncoder) else (self.kind,)

    @property
    def kept(self) -> dict[str, int]:
        """Amount of training data in the model folder: numbers of n-grams, and of samples as features or scores."""
        encoder = self.encoder.tfidf if isinstance(self.encoder, JoinedEncoder) else self.encoder
        return {
            "n-grams": encoder.features.width if isinstance(encoder, TfidfEncoder | ColumnEncoder) else 0,
            "remembered samples": 0 if self.memory is None else len(self.memory),
            "calibration scores": 0 if self.calibration is None else len(self.calibration.first),
        }

    def read_size(self, config: ReadConfig | None) -> int:
        """Number of inputs to read at a time: whole batches, and at least one."""
        size = VECTORS_READ if self.kind in ("vectors", "columns") else RAW_READ
        batch_size = None if config is None else config.batch_size
        return size if batch_size is None else batch_size * max(1, size // batch_size)

    def scores(self, inputs: Inputs, config: ReadConfig | None = None, *, energies: bool = False) -> ClassScores:
        """Class scores, and on request the energies of the nodes, if the method has any."""
        config = config or _on_cpu()
        return self.sample_scores(config.context, self.samples(inputs, config), energies=energies)

    def sample_scores(self, context: DeviceContext, samples: Samples, *, energies: bool = False) -> ClassScores:
        """Class scores of samples, and with a rule for several labels those of the nodes."""
        marginals = isinstance(self.rule, Several) and METHODS.traits(self.model.method).label_sets
        return sample_scores(context, self.model, samples, energies=energies, marginals=marginals)

    def calibrated(self, scores: ClassScores) -> Posterior:
        """Calibrated probabilities from the scores of `scores`."""
        if scores.evidence is None and self.model.evidence is not None:
            raise ValueError(f"expected the evidence of {self.model.method!r} beside its class scores")
        return scores.posterior(self.taxonomy, self.temperature, self.class_weights)

    @torch.no_grad()
    def contributions(
        self, inputs: Inputs, compared: Comparisons, names: Sequence[str] | None = None
    ) -> list[tuple[Sequence[str], Floats]] | None:
        """Contributions of words and columns to the log-odds of pairs of classes.

        Args:
            inputs: M inputs.
            compared: pairs of classes for some of them, row by row.
            names: names of the columns of vectors; "feature 1" and so on by default.

        Returns:
            Words or columns with the contribution of each, for each pair; None if the scores are no sums over them.
        """
        encoder = self.encoder.tfidf if isinstance(self.encoder, JoinedEncoder) else self.encoder
        encoder = None if inputs.kind == "vectors" else encoder  # which may be features of the backbone
        if encoder is not None and not isinstance(encoder, TfidfEncoder | ColumnEncoder):
            return None
        found: list[tuple[Sequence[str], Floats]] = []
        for row in np.unique(compared.rows).tolist():
            classes, rivals = (each[compared.rows == row] for each in compared[2:])
            if encoder is None:
                (vector,), shares = inputs.values([row]), None
                parts = [
                    f"feature {column + 1}" if names is None else str(names[column]) for column in range(len(vector))
                ]
            else:
                vector, parts, shares = encoder.explained(inputs.take([row]), _on_cpu())
            columns = np.flatnonzero(vector) if self.model.takes_sparse else np.arange(len(vector))
            given = Comparison(*map(torch.from_numpy, (columns, vector[columns], classes, rivals)))
            if (weights := self.model.contributions(given)) is None:
                return None
            table = weights.double().cpu().numpy() / self.temperature  # (P, E)
            if shares is None:
                parts = [parts[column] for column in columns]
            else:
                table = table @ shares[columns]
            found += [(parts, own) for own in table]
        return found

    def node_scores(self, rows: Source, config: ReadConfig | None = None) -> Iterator[tuple[InputBatch, Floats]] | None:
        """Batches of inputs with the scores of every node, shape (B, N); None unless the method is for label sets."""
        return self._node_scores(rows, config or _on_cpu()) if METHODS.traits(self.model.method).label_sets else None

    def _node_scores(self, rows: Source, config: ReadConfig) -> Iterator[tuple[InputBatch, Floats]]:
        for batch in rows.batches(self.read_size(config)):
            found = node_scores(config.context, self.model, self.samples(batch.inputs, config))
            yield batch, found.numpy().astype(np.float64)

    def samples(self, inputs: Inputs, config: ReadConfig | None = None) -> Samples:
        """Samples of the model from inputs; a model with a frozen backbone also takes the backbone's features.

        Args:
            inputs: M inputs.
            config: settings for reading inputs.
        """
        config = config or _on_cpu()
        if inputs.kind not in self.kinds:
            raise DataError(f"this model takes {self.kind}, got {inputs.kind}")
        if self.encoder is not None and inputs.kind == self.kind:
            return config.reported(self.encoder.samples(inputs, config))
        vectors = inputs.matrix if isinstance(inputs, SparseVectors) else np.asarray(inputs)
        if vectors.shape[1] != self.model.input_width:
            raise DataError(f"this model takes vectors of {self.model.input_width} features, got {vectors.shape[1]}")
        return config.vectors(_as_taken(vectors, self.model))

    @torch.no_grad()
    def features(self, inputs: Inputs, config: ReadConfig | None = None) -> Tensor | SparseMatrix:
        """Features that the head takes, shape (M, F): a SciPy CSR matrix if its method takes sparse ones.

        See `samples` for the arguments and errors.
        """
        samples = self.samples(inputs, config)
        parts = torch.split(torch.arange(len(samples)), samples.at_once)
        return stacked_features([self.model.features(batch).cpu() for batch in samples.batches(parts)])


def _of_files(files: FilesInMemory) -> Classifier:
    """A pickled classifier; who reads a pickle trusts it, and so its backbone."""
    return Classifier(**loaded_parts(files, trust_backbone=True))


def _on_cpu() -> ReadConfig:
    return ReadConfig(SingleDevice("cpu"))


def _as_taken(vectors: AnyArray | SparseMatrix, model: Model) -> Tensor | SparseMatrix:
    """Vectors (M, F) as a model takes them: sparse for a projection, or a method of raw inputs that are sparse."""
    if not isinstance(vectors, np.ndarray):
        return vectors if model.takes_sparse else torch.tensor(vectors.toarray())
    return torch.tensor(vectors) if model.projection is None else csr_matrix(vectors)
