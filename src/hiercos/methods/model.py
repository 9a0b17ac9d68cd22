"""The parts of a method, and a model: standardized features, a method's head, and the scores of its classes and nodes.

A fine-tuned model contains its backbone and takes preprocessed batches; any other model takes features, dense or
sparse. A method that trains on dense features gets those of sparse vectors from the model's projection.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn

from hiercos.methods.backbone import Backbone
from hiercos.methods.contributions import Comparison, Contributions
from hiercos.methods.heads import SummedProbabilities
from hiercos.methods.layers import Projection, SparseMatrix, Standardize, align_inputs, csr_tensor
from hiercos.methods.solver import LabelledFeatures, Solved, Solver
from hiercos.methods.table import MANY_CLASSES, METHODS, build_method
from hiercos.taxonomy import Floats, Taxonomy

SCORED_ROWS = 4096  # rows of a batch of `array_scores`


class Evidence(nn.Module, ABC):
    """Scores whose softmax is a method's distribution over the classes, with a constant of each class.

    Args:
        constants: constant of each class, shape (C,); the calibration fits their factor, 1 before that.
    """

    constants: Tensor  # (C,)
    factor: Tensor  # scalar

    def __init__(self, constants: Tensor) -> None:
        super().__init__()
        self.register_buffer("constants", constants.float(), persistent=False)
        self.register_buffer("factor", torch.ones(()))

    @abstractmethod
    def varying(self, outputs: Tensor) -> Tensor:
        """The scores without the constants, shape (B, C)."""

    def forward(self, outputs: Tensor) -> Tensor:
        """Outputs to scores, shape (B, C)."""
        return self.varying(outputs) + self.factor * self.constants


@dataclass(frozen=True)
class Method:
    """The untrained parts of a classifier over a taxonomy."""

    head: nn.Module  # module from features (B, F) to outputs, in the form that the other three parts expect
    loss: nn.Module  # module from (outputs, labels (B,), weights (B,) or None) to a scalar
    class_scores: nn.Module  # module from outputs to class scores (B, C), higher is better, which order the classes
    # module from outputs to node scores (B, N), comparable within a level: the best node of a level is the method's
    # own prediction there
    node_scores: nn.Module
    # module from outputs to the share of the energy on the axis of each node (B, N), which explains an answer; None
    # for a method without such axes
    energies: nn.Module | None = None
    # module from outputs to the scores (B, C) whose softmax is the method's distribution over the classes; None (the
    # default) if they are the class scores
    evidence: Evidence | None = None
    # what each entry of the features adds to the difference of two class scores, which explains an answer; None for a
    # method whose scores are no sums over features
    contributions: Contributions | None = None
    # function from features (M, F) to a search for the nodes of these samples, see `hiercos.decisions.NodeSearch`; None
    # for a method that always scores all classes
    search: Callable[[Any], Any] | None = None
    # sets the weights of the head directly from features and labels; None for gradient steps on the loss
    solver: Solver | None = None
    # function of the labels (M,) and weights (M,) or None of all training samples, called once before training; it
    # may set constants of the loss, such as class shares. Nothing by default
    prepare: Callable[[Tensor, Tensor | None], None] | None = None
    # function that tells a solver to stay near the weights that the head has now, those of a model over fewer
    # classes; by default a solver starts anew
    keep_weights: Callable[[], None] | None = None

    @classmethod
    def of_class_logits(cls, head: nn.Module, loss: nn.Module, taxonomy: Taxonomy, **others: Any) -> "Method":
        """A method whose outputs are logits of the classes; the probability of a node is the sum of its classes."""
        return cls(head, loss, nn.Identity(), SummedProbabilities(taxonomy), **others)

    def __repr__(self) -> str:
        modules = ((name, part) for name, part in vars(self).items() if isinstance(part, nn.Module))
        parts = ", ".join(f"{name}={type(part).__name__}" for name, part in modules)
        return f"Method({parts})"


class Model(nn.Module):
    """A method over a taxonomy as one module, which is trained, saved and used for prediction.

    Args:
        taxonomy: taxonomy of the classes.
        in_features: width F of the input features.
        method: name in `METHODS`.
        options: options of the method by name; its defaults by default.
        backbone: backbone trained with the model; None for a model that takes features.
        projection: map from sparse vectors (B, V) to features (B, F); None for a model that takes features.

    Shape:
        inputs: features (B, F), which are sparse only for a method that takes raw inputs; or sparse CSR vectors (B, V)
        for the projection; or a preprocessed batch of the backbone. Output: the method's outputs, which `loss`,
        `class_scores` and `node_scores` take.
    """

    def __init__(
        self,
        taxonomy: Taxonomy,
        in_features: int,
        method: str,
        options: Mapping[str, Any] | None = None,
        *,
        backbone: Backbone | None = None,
        projection: Projection | None = None,
    ) -> None:
        super().__init__()
        self.taxonomy, self.in_features = taxonomy, in_features
        self.method, self.options = METHODS.checked_name(method), dict(options or {})
        self.raw_inputs = METHODS.traits(method).raw_inputs  # takes features as they are: dense or sparse, not scaled
        parts = build_method(method, taxonomy, in_features, self.options)
        self.standardize = Standardize(in_features)
        self.head, self.loss = parts.head, parts.loss
        align_inputs(self.head)
        self.class_scores, self.node_scores, self.energies = parts.class_scores, parts.node_scores, parts.energies
        self.evidence = parts.evidence
        self.backbone, self.projection, self.solver = backbone, projection, parts.solver
        self._prepare, self._keep_weights, self._contributions = parts.prepare, parts.keep_weights, parts.contributions
        self.search = parts.search
        self.course: int | None = None  # epochs at the constant rate of its training with patience
        self.learned: Collection[str] = ()  # parameters that an extension took over whole, which take small steps
        self.place = 0  # among the members of a committee

    @property
    def takes_sparse(self) -> bool:
        """Whether the model takes sparse vectors."""
        return self.raw_inputs or self.projection is not None

    @property
    def searches(self) -> bool:
        """Whether the likeliest classes are searched for, because all of them are too many to score."""
        return self.search is not None and self.taxonomy.num_classes >= MANY_CLASSES

    @property
    def input_width(self) -> int:
        """Number of columns of the vectors that the model takes: V with a projection, else F."""
        return self.in_features if self.projection is None else self.projection.in_features

    def prepare(self, labels: Tensor, weights: Tensor | None = None) -> None:
        """Show the method the labels (M,) and weights (M,) of all training samples, before training."""
        if self._prepare is not None:
            self._prepare(labels, weights)

    def keep_weights(self) -> None:
        """Let the method's solver, if it has one, stay near the weights of now; some start anew, see `Method`."""
        if self._keep_weights is not None:
            self._keep_weights()

    def forward(self, inputs: Any) -> Tensor:
        """Outputs of the method; see the class for the inputs."""
        features = self.features(inputs)
        outputs: Tensor = self.head(features if self.raw_inputs else self.standardize(features))
        return outputs

    def logits(self, outputs: Tensor) -> Tensor:
        """Scores (B, C) whose softmax is the method's distribution over the classes."""
        logits: Tensor = (self.evidence or self.class_scores)(outputs)
        return logits

    def features(self, inputs: Any) -> Tensor:
        """Features (B, F) of model inputs; dense vectors are features already."""
        if self.backbone is not None:
            features: Tensor = self.backbone(inputs)
        elif self.projection is not None and inputs.layout is torch.sparse_csr:
            features = self.projection(inputs)
        else:
            features = inputs
        return features

    @torch.no_grad()
    def contributions(self, given: Comparison) -> Tensor | None:
        """Contribution of each entry of an input to the difference of two class scores, shape (P, E).

        Args:
            given: entries of a sparse vector, or all of a dense one, with pairs of classes.

        Returns:
            The contributions; None if the scores of the method are no sums over features, or for a trained backbone.
        """
        if self._contributions is None or self.backbone is not None:
            return None
        given = Comparison(*(part.to(self.standardize.mean.device) for part in given))
        if self.raw_inputs:
            return self._contributions(given)
        if self.projection is None:
            return self._contributions(given._replace(values=self.standardize(given.values)))
        directions = self.projection.directions
        columns = torch.arange(self.in_features, device=directions.device)
        weights = self._contributions(given._replace(columns=columns, values=1 / self.standardize.scale))
        return None if weights is None else weights @ directions[given.columns].T * given.values

    def solve(self, train: LabelledFeatures, val: LabelledFeatures | None, *, seed: int) -> Solved:
        """Find the weights with the method's solver; see `Solver`.

        Args:
            train: training samples, as the model takes them.
            val: validation samples; None if there are none.
            seed: seed of everything random.
        """
        assert self.solver is not None
        train = self._prepared(train)
        if val is not None and not self.raw_inputs:
            val = replace(val, features=self._standardized(val))
        solved = self.solver(train, val, seed=seed)
        self.options |= solved.options
        return solved

    def solve_again(self, train: LabelledFeatures, chosen: "Model", *, seed: int) -> None:
        """Find the weights with the settings that the solver of another model of the same method has chosen.

        Args:
            train: samples to learn from, as the model takes them.
            chosen: the other model.
            seed: seed of everything random.
        """
        assert self.solver is not None
        assert chosen.solver is not None
        self.solver.again(self._prepared(train), chosen.solver, seed=seed)
        self.options |= chosen.options

    def _prepared(self, train: LabelledFeatures) -> LabelledFeatures:
        """Training samples with weights of mean 1, whatever their unit, and standardized features."""
        train = train.with_usual_weights()
        if self.raw_inputs:
            return train
        self.standardize.fit(torch.as_tensor(np.asarray(train.features)))
        return replace(train, features=self._standardized(train))

    def _standardized(self, data: LabelledFeatures) -> Floats:
        values: Floats = self.standardize(torch.as_tensor(np.asarray(data.features))).numpy()
        return values

    @torch.inference_mode()
    def array_scores(self, features: Floats | SparseMatrix) -> Floats:
        """Scores of the probabilities, shape (M, C), of features in memory, shape (M, F)."""
        self.eval()
        count = features.shape[0]
        parts = [features[start : start + SCORED_ROWS] for start in range(0, count, SCORED_ROWS)]
        batches = [csr_tensor(part) if issparse(part) else torch.as_tensor(part) for part in parts]
        scores: Floats = torch.cat([self.logits(self(batch)) for batch in batches]).numpy()
        return scores
