"""What the geometry costs beside the layers around it: python benchmarks/geometry.py

Prints, each against a baseline measured in turn with it in the same run:
  (a) leaf scores and loss, forward and backward, over the transformation module's forward and backward;
  (b) the same on a tree of 100,000 nodes with a head of width 256, with memory and time for each sample;
  (c) one Hier-COS training step over one step of cross-entropy on the same transformation module.
"""

import platform
from collections.abc import Callable
from statistics import median
from time import perf_counter

import torch
from torch import Tensor, nn

from hiercos import Taxonomy
from hiercos.geometry import leaf_scores
from hiercos.losses import HierCOSLoss
from hiercos.methods import HierCOSHead, TransformationModule
from trees import inaturalist_tree, layered_tree

THREADS, BATCH, ROUNDS = 2, 256, 30


def interleaved_seconds(
    *steps: Callable[[], None], rounds: int = ROUNDS, clock: Callable[[], float] = perf_counter
) -> list[list[float]]:
    """Times of each step, taken in turn so that whatever else the machine does falls on all of them."""
    for step in steps:
        step()
    seconds: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for step, times in zip(steps, seconds, strict=True):
            start = clock()
            step()
            times.append(clock() - start)
    return seconds


def print_ratio(what: str, times: list[float], baseline: list[float], limit: float | None = None) -> None:
    """The fastest round of both and their ratio, with the ratio of the medians beside it."""
    fastest, medians = min(times) / min(baseline), median(times) / median(baseline)
    goal = "" if limit is None else f" (at most {limit})"
    print(f"    {what}: {1e3 * min(times):.2f} ms over {1e3 * min(baseline):.2f} ms")
    print(f"    ratio {fastest:.3f}{goal}; of medians {medians:.3f}")


def embeddings(taxonomy: Taxonomy) -> tuple[Tensor, Tensor]:
    """Random embeddings (BATCH, N) that take gradients, and labels (BATCH,)."""
    z = torch.randn(BATCH, taxonomy.num_nodes, requires_grad=True)
    return z, torch.randint(0, taxonomy.num_classes, (BATCH,))


def geometry_step(taxonomy: Taxonomy) -> Callable[[], None]:
    """Leaf scores and loss, forward and backward."""
    loss, (z, labels) = HierCOSLoss(taxonomy), embeddings(taxonomy)

    def step() -> None:
        z.grad = None
        (loss(z, labels) + leaf_scores(z, taxonomy).mean()).backward()

    return step


def module_step(module: nn.Module, in_features: int, out_features: int) -> Callable[[], None]:
    """Forward and backward of a module."""
    features, gradient = torch.randn(BATCH, in_features), torch.randn(BATCH, out_features)

    def step() -> None:
        module.zero_grad()
        module(features).backward(gradient)

    return step


def training_step(model: nn.Module, loss: nn.Module, in_features: int, num_classes: int) -> Callable[[], None]:
    """Forward, loss, backward and an AdamW step."""
    features, labels = torch.randn(BATCH, in_features), torch.randint(0, num_classes, (BATCH,))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(features), labels).backward()
        optimizer.step()

    return step


def saved_bytes(step: Callable[[], None]) -> int:
    """Bytes of the distinct tensors that the forward pass of a step keeps for its backward pass."""
    storages: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        step()
    return sum(storages.values())


def print_published_width(taxonomy: Taxonomy, name: str) -> None:
    """Part (a)."""
    print(f"(a) {name}: {taxonomy!r}, 2048 features, batch {BATCH}")
    module = TransformationModule(2048, taxonomy.num_nodes, stem="linear")
    times, baseline = interleaved_seconds(geometry_step(taxonomy), module_step(module, 2048, taxonomy.num_nodes))
    print_ratio("leaf scores + loss over the transformation module", times, baseline, 0.15)


def print_large_tree() -> None:
    """Part (b)."""
    taxonomy = layered_tree((10, 90, 900, 9_000, 25_000, 65_000))
    print(f"(b) a random tree: {taxonomy!r}, width 256, 256 features, batch {BATCH}")
    head = HierCOSHead(256, taxonomy, width=256)
    geometry = geometry_step(taxonomy)
    times, baseline = interleaved_seconds(geometry, module_step(head, 256, taxonomy.num_nodes), rounds=7)
    print_ratio("leaf scores + loss over the head", times, baseline)
    embedding, kept = 4 * taxonomy.num_nodes, saved_bytes(geometry) / BATCH
    print(f"    a sample: {1e3 * min(times) / BATCH:.2f} ms, {kept / 1e6:.2f} MB kept for the backward pass")
    print(f"    ratio {kept / embedding:.1f} of the memory of one embedding ({embedding / 1e6:.2f} MB)")


def print_training_steps(taxonomy: Taxonomy, name: str) -> None:
    """Part (c)."""
    print(f"(c) {name}, 2048 features, batch {BATCH}, AdamW")
    classes, nodes = taxonomy.num_classes, taxonomy.num_nodes
    hier_cos = training_step(HierCOSHead(2048, taxonomy), HierCOSLoss(taxonomy), 2048, classes)
    flat = nn.Sequential(TransformationModule(2048, nodes), nn.Linear(nodes, classes))
    cross_entropy = training_step(flat, nn.CrossEntropyLoss(), 2048, classes)
    times, baseline = interleaved_seconds(hier_cos, cross_entropy)
    print_ratio("a Hier-COS step over a cross-entropy-mlp step", times, baseline, 1.15)


def main() -> None:
    """Print all three."""
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {THREADS} threads, {platform.machine()}; rounds of both sides in turn")
    print("other work on the machine only adds time, so the fastest rounds count; medians stand beside them")
    tree = inaturalist_tree()
    print_published_width(*tree)
    print_large_tree()
    print_training_steps(*tree)


if __name__ == "__main__":
    main()
