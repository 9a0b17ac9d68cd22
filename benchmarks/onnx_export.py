"""Exported models beside PyTorch: python benchmarks/onnx_export.py

For a model of features (the head that hiercos train makes of ICD-10-CM, chapters 9 and 10) and one of images
(EfficientNet-Lite0 and head, on the groceries), each trained here first, prints for the float and the int8 file:
  size, the largest difference of any output to PyTorch's on a batch of test samples, HOPS and top-1 on all of them;
  time per sample in onnxruntime over PyTorch for batches of 1, 4 and 256, same threads, all outputs, measured in turn.

With --texts MODEL DATA (as often as you like) instead, for folders of models of texts or vectors: the largest
difference of any probability of the file from the folder's, answers that differ, size of the files, and rows a second
of processor time (without torch).
"""

import argparse
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
import onnxruntime
import torch
from torch import Tensor

from geometry import THREADS, interleaved_seconds
from hiercos.cli.app import run
from hiercos.data import Dataset, Float32Array, Inputs, Vectors, load_test_samples
from hiercos.encoders import ReadConfig, SingleDevice, TfidfEncoder, channels_last
from hiercos.evaluation import posterior_metrics
from hiercos.model import Classifier
from hiercos.onnx import (
    InferenceConfig,
    OnnxExport,
    OnnxModel,
    Start,
    export_onnx,
    largest_difference,
    open_onnx_model,
    to_int8,
)

BATCHES, ROUNDS = {1: 40, 4: 20, 256: 3}, 3  # batch sizes and rounds of each, repeated; hiercos predicts images by 4


def trained(data: str, folder: Path, *options: str) -> None:
    """A model of built-in data, in a folder."""
    if run(["train", data, "--device", "cpu", "--out", str(folder), *options]):
        raise SystemExit(f"{data}: training failed")


def first_batch(export: OnnxExport, inputs: Inputs) -> Float32Array:
    """What the graph takes, for as many samples as the largest batch has."""
    count, transform = max(BATCHES), export.description.transform
    values = inputs.values(range(count))
    if transform is None:
        return np.array(values)
    return np.ascontiguousarray(transform.scaled(transform.pixels(values)))


def in_torch(export: OnnxExport, batch: Float32Array) -> Callable[[], tuple[Tensor, ...]]:
    """All outputs by PyTorch, laid out as prediction lays it out."""
    inputs = torch.from_numpy(batch)
    if export.module.backbone is not None:
        channels_last(export.module.backbone)
        inputs = inputs.to(memory_format=torch.channels_last)

    def work() -> tuple[Tensor, ...]:
        with torch.inference_mode():
            outputs: tuple[Tensor, ...] = export.module(inputs)
            return outputs

    return work


def ratios(export: OnnxExport, others: list[OnnxModel], batch: Float32Array, rounds: int) -> tuple[float, list[float]]:
    """Milliseconds a sample in PyTorch, and the share of it that each of the others takes."""
    works = [in_torch(export, batch), *(lambda model=model: model.outputs(batch) for model in others)]
    for work in works:
        work()
    reference, *found = (median(seconds) for seconds in interleaved_seconds(*works, rounds=rounds))
    return 1e3 * reference / len(batch), [seconds / reference for seconds in found]


def print_model(title: str, export: OnnxExport, samples: Dataset, inputs: Inputs, threads: int) -> None:
    """Everything about one model."""
    small = to_int8(export)
    files = {"float": export, "int8": small}
    models = {name: open_onnx_model(each.content(), threads=threads) for name, each in files.items()}
    batch = first_batch(export, inputs)
    expected = in_torch(export, batch)()
    print(f"{title}, {len(inputs):,} test samples")
    for name, model in models.items():
        worst = largest_difference(list(model.outputs(batch).values()), expected)
        metrics = posterior_metrics(model.posterior(inputs), samples.labels, model.rule)
        hops, top1 = np.nanmean(metrics.columns(("hops", "top1")), axis=0)
        size = f"{len(files[name].content()):,} bytes"
        print(f"    {name:6}{size:>18}, differs by {worst:.1e}, HOPS {hops:.4f}, top-1 {top1:.4f}")
    for count, rounds in BATCHES.items():
        for _ in range(ROUNDS):
            milliseconds, (exact, rounded) = ratios(export, list(models.values()), batch[:count], rounds)
            print(
                f"    batch {count:3}: PyTorch {milliseconds:.4f} ms a sample; onnxruntime over it {exact:.2f}, "
                f"with int8 {rounded:.2f}",
                flush=True,
            )


def export_of(folder: Path, data: str, start: Start) -> tuple[OnnxExport, Dataset]:
    """The export of a model in a folder, and what to test it with."""
    export = export_onnx(Classifier.load(folder), start=start)
    return export, load_test_samples(data, export.description.taxonomy)


def print_texts(folder: str, data: str, threads: int) -> None:
    """A row of a table: an exported model of texts beside its folder, on all test texts of the data."""
    stored = Classifier.load(folder)
    texts = load_test_samples(data, stored.model.taxonomy, on_error="skip", kinds=stored.kinds).inputs
    start: Start = "features" if texts.kind == "vectors" else "inputs"
    expected = stored.posterior(texts, ReadConfig(SingleDevice("cpu")))
    with TemporaryDirectory() as written:
        file = export_onnx(stored, start=start).write(Path(written, "model.onnx"))
        model = OnnxModel.load(file, threads=threads)
    begin = process_time()
    found = list(model.posteriors(texts, InferenceConfig()))
    rate = len(texts) / (process_time() - begin)
    difference = np.abs(np.concatenate([part.classes for part in found]) - expected.classes).max()
    answers = np.concatenate([model.rule.ranking(part).argmax(axis=1) for part in found])
    changed = (answers != stored.rule.ranking(expected).argmax(axis=1)).sum()
    sizes = f"{stored.model.input_width:,} | {stored.model.taxonomy.num_classes:,} | {len(texts):,}"
    print(f"| {data} | {sizes} | {difference:.1e} | {changed} | {rate:,.0f} |", flush=True)


def main() -> None:
    """Train, export and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=THREADS, help="of torch and of onnxruntime")
    parser.add_argument("--texts", nargs=2, action="append", default=[], metavar=("MODEL", "DATA"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    versions = f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}"
    print(f"{versions}, {options.threads} threads, {platform.machine()}")
    for model, data in options.texts:
        print_texts(model, data, options.threads)
    if options.texts:
        return
    with TemporaryDirectory() as folder:
        texts, images = Path(folder, "texts"), Path(folder, "images")
        trained("icd10cm:9,10", texts, "--epochs", "10")
        export, samples = export_of(texts, "icd10cm:9,10", "features")
        encoder = Classifier.load(texts).encoder
        assert isinstance(encoder, TfidfEncoder)
        features = Vectors(encoder.features.transform(samples.inputs.values(range(len(samples.inputs)))).toarray())
        print_model("features of ICD-10-CM", export, samples, features, options.threads)
        trained("groceries", images, "--epochs", "10")
        export, samples = export_of(images, "groceries", "inputs")
        print_model("images of groceries", export, samples, samples.inputs, options.threads)


if __name__ == "__main__":
    main()
