"""Heads, losses and scores under what PyTorch offers: compilers, export, mixed precision, wrappers, transforms."""

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from blobs import FEATURES, cloud
from hiercos import HierCOSHead, HierCOSLoss, Taxonomy
from hiercos.geometry import leaf_scores, level_scores, node_scores
from hiercos.methods import METHODS
from trees import TOY17, random_tree

SOLVED_ONLY = ("centroids", "one-vs-rest", "siblings")  # no parameters for gradient steps
every_method = pytest.mark.parametrize("name", [name for name in METHODS if name not in SOLVED_ONLY])


class Whole(nn.Module):
    """A method in one module: features and labels to the loss, the scores of the classes and those of the nodes."""

    def __init__(self, name: str, taxonomy: Taxonomy) -> None:
        super().__init__()
        torch.manual_seed(0)
        still = {"dropout": 0.0} if "dropout" in METHODS.options(name) else {}
        method = METHODS[name](taxonomy, in_features=FEATURES, **still)
        self.head, self.loss = method.head, method.loss
        self.class_scores, self.node_scores = method.class_scores, method.node_scores

    def forward(self, features: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = self.head(features)
        return self.loss(outputs, labels), self.class_scores(outputs), self.node_scores(outputs)


class Scores(nn.Module):
    """The answers of a method alone, as they are served."""

    def __init__(self, whole: Whole) -> None:
        super().__init__()
        self.head, self.class_scores, self.node_scores = whole.head, whole.class_scores, whole.node_scores

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        outputs = self.head(features)
        return self.class_scores(outputs), self.node_scores(outputs)


def gradients(module: nn.Module, loss: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(loss, list(module.parameters())))


def check_compiled(name: str, backend: str) -> None:
    """The compiled method gives the same values and gradients, from one graph, also for another batch size."""
    torch.compiler.reset()
    plain = Whole(name, TOY17)
    compiled = torch.compile(copy.deepcopy(plain), fullgraph=True, backend=backend)
    for count in (20, 34):
        features, labels = cloud(TOY17, count)
        expected, found = plain(features, labels), compiled(features, labels)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(gradients(compiled, found[0]), gradients(plain, expected[0]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["hier-cos", "path-softmax"])
def test_a_compiled_method_is_one_graph_with_the_same_values_and_gradients(name: str) -> None:
    check_compiled(name, "eager")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # inductor's own
@every_method
def test_every_method_compiles_to_machine_code(name: str) -> None:
    check_compiled(name, "inductor")


def test_scores_of_a_level_compile_without_a_module() -> None:
    torch.compiler.reset()
    taxonomy = random_tree(801)  # never asked before: the compiler is the first
    z = torch.randn(5, taxonomy.num_nodes)
    compiled = torch.compile(lambda z: level_scores(z, taxonomy, 2), fullgraph=True, backend="eager")
    assert torch.equal(compiled(z), level_scores(z, taxonomy, 2))


@every_method
def test_every_method_exports_with_any_batch_size(name: str) -> None:
    taxonomy = random_tree(802)
    scores = Scores(Whole(name, taxonomy)).eval()
    batch = torch.export.Dim("batch")
    program = torch.export.export(scores, (torch.randn(4, FEATURES),), dynamic_shapes=({0: batch},)).module()
    for count in (1, 4, 9):
        features = torch.randn(count, FEATURES)
        torch.testing.assert_close(program(features), scores(features))


@every_method
def test_mixed_precision_trains_in_every_method(name: str) -> None:
    whole = Whole(name, TOY17)
    features, labels = cloud(TOY17, 34)
    with torch.autocast("cpu", torch.bfloat16):
        loss, scores, _ = whole(features, labels)
    expected, exact, _ = whole(features, labels)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, expected, rtol=0.03, atol=0.03)
    torch.testing.assert_close(scores.float(), exact, rtol=0.1, atol=0.1)
    assert all(torch.isfinite(gradient).all() for gradient in gradients(whole, loss))


@every_method
def test_gradients_of_each_sample_come_from_vmap(name: str) -> None:
    whole = Whole(name, TOY17).eval()
    features, labels = cloud(TOY17, 6)

    def loss(weights: dict[str, Tensor], own: Tensor, label: Tensor) -> Tensor:
        return torch.func.functional_call(whole, weights, (own[None], label[None]))[0]

    weights = dict(whole.named_parameters())
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(weights, features, labels)
    for row in range(6):
        alone = gradients(whole, whole(features[row : row + 1], labels[row : row + 1])[0])
        torch.testing.assert_close([each[key][row] for key in weights], alone, rtol=1e-4, atol=1e-6)


def test_second_derivatives_of_the_loss_exist() -> None:
    loss = HierCOSLoss(TOY17)
    z, labels = torch.randn(1, TOY17.num_nodes, dtype=torch.float64), torch.tensor([2])
    gradient = torch.func.grad(lambda z: loss(z[None], labels))
    hessian = torch.func.jacrev(gradient)(z[0])
    step = torch.zeros_like(z[0]).index_fill(0, torch.tensor([3]), 1e-6)
    torch.testing.assert_close(hessian[3], (gradient(z[0] + step) - gradient(z[0] - step)) / 2e-6, rtol=1e-4, atol=1e-6)


def test_wrappers_for_several_devices_change_nothing_on_one(tmp_path: Path) -> None:
    features, labels = cloud(TOY17, 34)
    plain = Whole("hier-cos", TOY17)
    expected = plain(features, labels)
    torch.testing.assert_close(nn.DataParallel(copy.deepcopy(plain))(features, labels), expected)
    store = torch.distributed.FileStore(str(tmp_path / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        wrapped = nn.parallel.DistributedDataParallel(copy.deepcopy(plain))
        loss = wrapped(features, labels)[0]
        loss.backward()
        torch.testing.assert_close(loss, expected[0])
        found = [weight.grad for weight in wrapped.parameters()]
    finally:
        torch.distributed.destroy_process_group()
    torch.testing.assert_close(found, gradients(plain, expected[0]))


def test_two_processes_find_the_gradients_of_one(tmp_path: Path) -> None:
    features, labels = cloud(TOY17, 34)
    torch.manual_seed(0)
    head = HierCOSHead(FEATURES, TOY17)
    head.train()(features)  # statistics that are not the initial ones
    TOY17.write(tmp_path / "tree.json")
    save_file(head.state_dict(), tmp_path / "head.safetensors")
    for rank, rows in enumerate([slice(0, 17), slice(17, 34)]):
        shard = {"features": features[rows].clone(), "labels": labels[rows].clone()}
        save_file(shard, tmp_path / f"samples-{rank}.safetensors")
    script = Path(__file__).with_name("gradient_shard.py")
    processes = [subprocess.Popen([sys.executable, str(script), str(tmp_path), str(rank), "2"]) for rank in range(2)]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    HierCOSLoss(TOY17, grouping="sample")(head.eval()(features), labels).backward()
    expected = {name: weight.grad for name, weight in head.named_parameters()}
    assert any(gradient.abs().max() > 1e-3 for gradient in expected.values())
    for rank in range(2):
        torch.testing.assert_close(load_file(tmp_path / f"gradients-{rank}.safetensors"), expected)


def test_a_head_behind_a_channels_last_backbone_learns_the_same() -> None:
    torch.manual_seed(0)
    images, labels = torch.randn(8, 3, 9, 9), torch.arange(8) % TOY17.num_classes
    body = nn.Sequential(nn.Conv2d(3, 7, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    plain = nn.Sequential(body, HierCOSHead(7, TOY17))
    other = copy.deepcopy(plain).to(memory_format=torch.channels_last)
    loss = HierCOSLoss(TOY17)
    expected = loss(plain(images), labels)
    found = loss(other(images.to(memory_format=torch.channels_last)), labels)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(other, found), gradients(plain, expected), rtol=1e-4, atol=1e-5)


class Operations(TorchDispatchMode):
    """How many tensor operations a block runs."""

    count = 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.count += 1
        return operation(*args, **(kwargs or {}))


def operations(work: Callable[[], object]) -> int:
    with Operations() as counted:
        work()
    return counted.count


def test_work_in_python_grows_neither_with_the_batch_nor_with_the_nodes() -> None:
    small, large = (Taxonomy.from_paths([(str(a), str(b)) for a in range(k) for b in range(k)]) for k in (2, 30))
    counts = set()
    for taxonomy in (small, large):
        head, loss = HierCOSHead(5, taxonomy).eval(), HierCOSLoss(taxonomy)
        leaf_scores(torch.zeros(1, taxonomy.num_nodes), taxonomy)  # makes the index, once
        for count in (2, 50):
            features, labels = torch.randn(count, 5), torch.zeros(count, dtype=torch.int64)

            def work(head=head, loss=loss, features=features, labels=labels, taxonomy=taxonomy) -> None:
                z = head(features)
                loss(z, labels), leaf_scores(z, taxonomy), node_scores(z, taxonomy)

            counts.add(operations(work))
    assert len(counts) == 1
