"""Forms of a committee: python benchmarks/committee_forms.py DATA [--epochs 30] [--seeds 2]

Heads of cross-entropy, Barz and Denzler's embeddings and Hier-COS on the same dense features, in three forms: one model
each; one transformation module with three output layers, trained on the sum of their losses; and one head of
cross-entropy that learns from the labels and, as much, from the probabilities of the separate models. Single heads of
cross-entropy, and three of them, stand beside them.
All train for the same number of epochs at a cosine rate. Half of the validation samples fit weights and temperatures,
the other half is measured: means over the seeds of top-1 and log-loss, and CPU seconds of training, for the distilled
head without those of its teachers. Test is not read. Labels must be classes.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn
from torch.nn import functional as F

from hiercos import Taxonomy
from hiercos.data import completed, load_dataset
from hiercos.methods import METHODS, Method, Projection, Standardize, TransformationModule, build_method
from hiercos.methods.linear.logistic import log_probabilities
from hiercos.training import Settings, features_of
from hiercos.training.committee.pooling import pool_weights

MEMBERS = ("cross-entropy-mlp", "barz-denzler", "hier-cos")
WIDTH, RATE, WEIGHT_DECAY, BATCH = 512, 0.003, 0.01, 256
SOFT = 0.5  # weight of the probabilities of the teacher

Loss = Callable[[Tensor, Tensor], Tensor]  # features (B, F) and rows (B,) to a scalar


@dataclass(frozen=True, eq=False)
class Samples:
    """Standardized features (M, F) and classes (M,)."""

    features: Tensor
    labels: Tensor


def train(modules: Sequence[nn.Module], loss: Loss, samples: Samples, epochs: int) -> None:
    """Train modules together by AdamW at a cosine rate."""
    weights = [weight for module in modules for weight in module.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=WEIGHT_DECAY)
    batches = -(-len(samples.labels) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
    for module in modules:
        module.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(samples.labels)).tensor_split(batches):
            optimizer.zero_grad()
            loss(samples.features[rows], rows).backward()
            optimizer.step()
            schedule.step()
    for module in modules:
        module.eval()


def built(name: str, taxonomy: Taxonomy, in_features: int, dropout: float) -> Method:
    """A method with its recommended options at the common width."""
    return build_method(
        name, taxonomy, in_features, {**METHODS.row(name).recommended, "width": WIDTH, "dropout": dropout}
    )


def separate(
    names: Sequence[str], taxonomy: Taxonomy, samples: Samples, epochs: int, dropout: float
) -> list[Callable[[Tensor], Tensor]]:
    """Class scores of models that are trained one after the other."""
    found = []
    for name in names:
        method = built(name, taxonomy, samples.features.shape[1], dropout)
        train(
            [method.head],
            lambda features, rows, method=method: method.loss(method.head(features), samples.labels[rows]),
            samples,
            epochs,
        )
        found.append(lambda features, method=method: method.class_scores(method.head(features)))
    return found


def shared(taxonomy: Taxonomy, samples: Samples, epochs: int, dropout: float) -> list[Callable[[Tensor], Tensor]]:
    """Class scores of three output layers on one transformation module."""
    trunk = TransformationModule(samples.features.shape[1], WIDTH, dropout=dropout)
    methods = [built(name, taxonomy, WIDTH, 0.0) for name in MEMBERS]  # for their losses and scores
    classes, nodes = taxonomy.num_classes, taxonomy.num_nodes
    layers = [nn.Linear(WIDTH, classes), nn.Linear(WIDTH, classes), nn.Linear(WIDTH, nodes)]

    def loss(features: Tensor, rows: Tensor) -> Tensor:
        hidden = trunk(features)
        parts = [
            method.loss(layer(hidden), samples.labels[rows]) for method, layer in zip(methods, layers, strict=True)
        ]
        return torch.stack(parts).sum()

    train([trunk, *layers], loss, samples, epochs)
    return [
        lambda features, method=method, layer=layer: method.class_scores(layer(trunk(features)))
        for method, layer in zip(methods, layers, strict=True)
    ]


def distilled(
    teacher: Tensor, taxonomy: Taxonomy, samples: Samples, epochs: int, dropout: float
) -> list[Callable[[Tensor], Tensor]]:
    """Class scores of one head that learns from labels and from a teacher's probabilities (M, C)."""
    method = built(MEMBERS[0], taxonomy, samples.features.shape[1], dropout)

    def loss(features: Tensor, rows: Tensor) -> Tensor:
        logits = method.head(features)
        hard, soft = F.cross_entropy(logits, samples.labels[rows]), F.cross_entropy(logits, teacher[rows])
        return (1 - SOFT) * hard + SOFT * soft

    train([method.head], loss, samples, epochs)
    return [lambda features: method.class_scores(method.head(features))]


@torch.inference_mode()
def tables(scores: Sequence[Callable[[Tensor], Tensor]], features: Tensor) -> list[np.ndarray]:
    """Class scores of each member, shape (M, C)."""
    return [score(features).numpy() for score in scores]


def outcome(scores: Sequence[Callable[[Tensor], Tensor]], val: Samples) -> tuple[np.ndarray, float, float]:
    """Weights fitted on one half of the samples; top-1 in percent and log-loss on the other half."""
    labels, found = val.labels.numpy(), np.stack(tables(scores, val.features))
    fitted = np.arange(len(labels)) % 2 == 0
    weights = pool_weights(list(found[:, fitted]), labels[fitted]).weights
    logs = log_probabilities(np.tensordot(weights, found[:, ~fitted].astype(np.float64), axes=1))
    own = np.take_along_axis(logs, labels[~fitted][:, None], axis=1)
    return weights, 100 * float((logs.argmax(axis=1) == labels[~fitted]).mean()), -float(own.mean())


def dense_samples(data: str) -> tuple[Taxonomy, Samples, Samples]:
    """The taxonomy, the training samples and the validation samples."""
    given = features_of(completed(load_dataset(data)))
    dataset, features = given.dataset, given.values
    rows = {split: dataset.rows(split) for split in ("train", "val")}
    if issparse(features):
        directions = Projection.fit(features[rows["train"]], Settings().dim, 0).directions.numpy()
        features = np.asarray(features @ directions, dtype=np.float32)
    vectors = torch.tensor(np.asarray(features))
    scale = Standardize(vectors.shape[1])
    scale.fit(vectors[rows["train"]])
    labels = torch.tensor(np.asarray(dataset.labels))
    found = [Samples(scale(vectors[rows[split]]), labels[rows[split]]) for split in rows]
    return given.taxonomy, *found


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    taxonomy, samples, val = dense_samples(arguments.data)
    found: dict[str, list[tuple[float, float, float]]] = {}

    def measure(form: str, make: Callable[[], list[Callable[[Tensor], Tensor]]]) -> tuple[np.ndarray, list]:
        start = process_time()
        scores = make()
        seconds = process_time() - start
        weights, top1, loss = outcome(scores, val)
        found.setdefault(form, []).append((top1, loss, seconds))
        return weights, scores

    settings = (taxonomy, samples, arguments.epochs, arguments.dropout)
    for seed in range(arguments.seeds):
        torch.manual_seed(seed)
        measure("one head of cross-entropy", lambda: separate(MEMBERS[:1], *settings))
        measure("three heads of cross-entropy", lambda: separate(MEMBERS[:1] * 3, *settings))
        weights, scores = measure("three kinds, separate", lambda: separate(MEMBERS, *settings))
        measure("three kinds, one trunk", lambda: shared(*settings))
        logits = np.tensordot(weights, np.stack(tables(scores, samples.features)), axes=1)
        teacher = torch.as_tensor(np.exp(log_probabilities(logits)), dtype=torch.float32)
        measure("separate, distilled into one head", lambda teacher=teacher: distilled(teacher, *settings))
    print("| form | top-1 % | log-loss | CPU s |\n|---|---:|---:|---:|")
    for form, values in found.items():
        top1, loss, seconds = np.mean(values, axis=0)
        print(f"| {form} | {top1:.2f} | {loss:.3f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
