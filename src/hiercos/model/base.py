"""What a trained model can be asked, whether it runs in torch or in onnxruntime; this module does not import torch."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hiercos.checks import check_count
from hiercos.data import ColumnKinds, InputBatch, Inputs, Kind, Source, python_rows
from hiercos.decisions import (
    AnswerRequest,
    HeldOutChains,
    NodeSearch,
    Posterior,
    PosteriorError,
    Rule,
    SearchedPosterior,
)
from hiercos.errors import HiercosWarning
from hiercos.model.answers import answer_rows
from hiercos.model.explain import Answer, Comparisons
from hiercos.taxonomy import Floats, Taxonomy

Config = TypeVar("Config")
Table = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Two readings of the same outputs of a model: scores that order the classes, and those of the probabilities."""

    classes: Table  # class scores, shape (M, C)
    # scores whose softmax is the distribution over the classes, shape (M, C); None for the class scores
    evidence: Table | None = None
    # share of the energy on the axis of each node, shape (M, N); None for other methods, or if not wanted
    energies: Table | None = None
    # probability of each node for itself, shape (M, N), of a model of samples with several labels; None for others
    marginals: Table | None = None

    @property
    def of_probabilities(self) -> Table:
        """Scores of the probabilities, shape (M, C)."""
        return self.classes if self.evidence is None else self.evidence

    def posterior(
        self, taxonomy: Taxonomy, temperature: float, class_weights: Sequence[float] | None = None
    ) -> Posterior:
        """Calibrated probabilities; see `Posterior.from_scores`."""
        return Posterior.from_scores(
            self.of_probabilities,
            taxonomy,
            temperature=temperature,
            class_weights=class_weights,
            energies=self.energies,
            order=None if self.evidence is None else self.classes,
            marginals=self.marginals,
        )

    def rows(self, chosen: Any) -> "ClassScores":
        """The scores of the chosen samples."""
        tables = {name: table for name, table in vars(self).items() if table is not None}
        return ClassScores(**{name: table[chosen] for name, table in tables.items()})

    @classmethod
    def joined(cls, parts: Sequence["ClassScores"]) -> "ClassScores":
        """The scores of several batches, at least one, as one."""
        names = [name for name, table in vars(parts[0]).items() if table is not None]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


@dataclass(frozen=True, eq=False)
class SearchedScores(ClassScores):
    """Scores over many classes, which are found when they are asked for; `classes` has no columns."""

    search: NodeSearch | None = None  # search for the nodes of M samples

    @classmethod
    def of(cls, search: NodeSearch) -> "SearchedScores":
        """The scores of a search."""
        return cls(np.empty((len(search), 0), np.float32), search=search)

    def posterior(
        self,
        taxonomy: Taxonomy,
        temperature: float,  # noqa: ARG002  # the softmax of siblings has its own
        class_weights: Sequence[float] | None = None,
    ) -> Posterior:
        """The probabilities; class weights are refused."""
        assert self.search is not None
        if class_weights is not None:
            raise PosteriorError(f"{taxonomy.num_classes:,} classes: expected no class prior, which weighs all of them")
        return SearchedPosterior(self.search, taxonomy)

    def rows(self, chosen: Any) -> "SearchedScores":
        """The scores of the chosen samples."""
        assert self.search is not None
        return SearchedScores.of(self.search.rows(chosen))


class BaseClassifier(ABC, Generic[Config]):
    """Inputs in, calibrated posteriors and answers out.

    `Config` is the type of the settings of a pass over inputs, such as the batch size.
    """

    rule: Rule  # decision rule of the answers
    # chains of the samples that were set aside for the targets of back-off; None if there are none
    calibration: HeldOutChains | None
    no_reasons: ClassVar[str] = (
        "the scores of this method are no sums over what it reads"  # why `explanations` has none
    )

    @property
    @abstractmethod
    def taxonomy(self) -> Taxonomy:
        """Taxonomy of the classes."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Kind of inputs that the model takes."""

    @property
    def columns(self) -> ColumnKinds | None:
        """Kind of each column that a model of columns takes; None for other models."""
        return None

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """All kinds of inputs that it takes, its own first."""
        return (self.kind,)

    @abstractmethod
    def read_size(self, config: Config | None) -> int:
        """Number of inputs to read at a time."""

    @abstractmethod
    def scores(self, inputs: Inputs, config: Config | None = None, *, energies: bool = False) -> ClassScores:
        """Class scores, and on request the energies of the nodes, if the method has any."""

    @abstractmethod
    def calibrated(self, scores: ClassScores) -> Posterior:
        """Calibrated probabilities from the scores of `scores`."""

    def batches(
        self, rows: Source, config: Config | None = None, *, energies: bool = False
    ) -> Iterator[tuple[InputBatch, Posterior]]:
        """Batches of inputs with their calibrated posteriors; only one batch is in memory at a time.

        Args:
            rows: inputs to classify.
            config: settings of the pass; on the CPU, with the usual batch size, by default.
            energies: whether to compute the energies of the nodes, which explain answers, if the method has any.
        """
        for batch in rows.batches(self.read_size(config)):
            yield batch, self.calibrated(self.scores(batch.inputs, config, energies=energies))

    def posteriors(self, inputs: Any, config: Config | None = None, *, energies: bool = False) -> Iterator[Posterior]:
        """Calibrated posteriors of any number of inputs, batch by batch in their order.

        Args:
            inputs: texts; images, as paths or opened by Pillow; vectors, an array or a sparse matrix of shape (M, F);
                a DataFrame with a column `text` or `path`, or of numbers alone; or columns, as a DataFrame, a dict of
                sequences, or dicts of cells. A single text, image or dict counts as a list of one. Of an iterator, only
                one batch is in memory at a time.
            config: see `batches`.
            energies: see `batches`.
        """
        for _, posterior in self.batches(
            python_rows(inputs, self.kind, columns=self.columns), config, energies=energies
        ):
            yield posterior

    def posterior(self, inputs: Any, config: Config | None = None, *, energies: bool = False) -> Posterior:
        """One calibrated posterior of all inputs, in memory; see `posteriors`."""
        found = python_rows(inputs, self.kind, columns=self.columns).whole().inputs
        return self.calibrated(self.scores(found, config, energies=energies))

    def answers(
        self,
        inputs: Any,
        config: Config | None = None,
        *,
        top: int | None = None,
        explain: bool = False,
        level_confidences: bool = False,
        on_error: str = "fail",
        **request: Any,
    ) -> list[Answer]:
        """The answer to every input under the model's rule or another one.

        Args:
            inputs: see `posteriors`.
            config: see `batches`.
            top: number of classes to list as `top`; None (the default) for no list.
            explain: whether to add the reasons for each answer, see `explanations`.
            level_confidences: whether to add the probability at each level, as `LEVEL_confidence`.
            on_error: "fail" (the default) to raise an error that names the empty texts; "skip" to leave them out, so
                that `row` tells which inputs the answers are for.
            **request: arguments of `AnswerRequest`, such as `confidence=0.9` or `within=["fungi"]`.

        Returns:
            One dict per input, as the JSON of `hiercos predict` has it: `row`; `text` or `image`; one name for each
            level; `class`; `id`, if the taxonomy has ids; `score`, the value of the answer under the rule; and
            `confidence`, its probability (None for the root). A rule that answers with nodes of any depth adds `level`,
            `next` and `next_confidence`. With `top`, a list `top` of such dicts, with their `rank`.
        """
        if top is not None:
            check_count("top", top)
        wanted = AnswerRequest.of(request)
        rule = wanted.chosen_rule(self.rule, self.calibration)
        if reason := wanted.lost_guarantee(rule):
            warnings.warn(reason, HiercosWarning, stacklevel=2)
        rows = python_rows(inputs, self.kind, on_error=on_error, columns=self.columns)
        explainer = self.contributions if explain else None
        shown: dict[str, Any] = {"top": top, "explainer": explainer, "level_confidences": level_confidences}
        return [
            answer
            for batch, posterior in self.batches(rows, config, energies=explain)
            for answer in answer_rows(batch, wanted.restricted(posterior), rule, **shown)
        ]

    def contributions(
        self,
        inputs: Inputs,  # noqa: ARG002  # none are read
        compared: Comparisons,  # noqa: ARG002
    ) -> list[tuple[Sequence[str], Floats]] | None:
        """Contributions of words or columns to the log-odds of pairs of classes; None if scores are no sums of them."""
        return None

    def node_scores(
        self,
        rows: Source,  # noqa: ARG002  # none are read
        config: Config | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[InputBatch, Floats]] | None:
        """Batches of inputs with the scores of every node, shape (B, N); None unless the method is for label sets."""
        return None
