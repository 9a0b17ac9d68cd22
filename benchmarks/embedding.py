"""What `hiercos embed` costs beside the backbone itself: python benchmarks/embedding.py

Prints, for EfficientNet-Lite0 on images of CIFAR-100 (found through HIERCOS_SHARED, else noise of that size):
  (a) images a second of embedding (opening, resizing, scaling, the backbone, writing to disk) over those of a bare loop
      of the same backbone over the same images as tensors in memory, in batches of the same size, measured in turn;
      beside it the bare loop in batches of 64;
  (b) peak memory of embedding so many PNG files and four times as many, each in a process of its own.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor

from geometry import THREADS
from hiercos.data import ImageFiles, Images, PixelImages, load_dataset
from hiercos.encoders import ReadConfig, channels_last, embed, frozen_encoder, suitable_batch
from hiercos.encoders.backbones import Backbone

BACKBONE = "efficientnet-lite0"
FILES, SMALL = 1000, 64  # of part (b): files, and pixels a side, since memory is the question there and not time


def cifar_images(count: int) -> Images:
    """Test images of CIFAR-100, or noise where the data are not here."""
    shared = os.environ.get("HIERCOS_SHARED")
    if shared is None:
        print("HIERCOS_SHARED is not set: noise instead of CIFAR-100")
        noise = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        return PixelImages(noise, [f"noise {row}" for row in range(count)])
    dataset = load_dataset("cifar100", root=Path(shared) / "data")
    assert isinstance(dataset.inputs, Images)
    return dataset.inputs.take(dataset.rows("test")[:count])


def one_process() -> Fabric:
    """Fabric on the CPU."""
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric


def bare_seconds(backbone: Backbone, batches: list[Tensor]) -> float:
    """Seconds of the backbone alone."""
    start = perf_counter()
    with torch.inference_mode():
        for batch in batches:
            backbone(batch)
    return perf_counter() - start


def embedding_seconds(config: ReadConfig, backbone: Backbone, images: Images) -> float:
    """Seconds of embedding, with an empty cache."""
    with TemporaryDirectory() as folder:
        os.environ["HIERCOS_CACHE"] = folder
        start = perf_counter()
        computed = embed(config, backbone, images).computed
        seconds = perf_counter() - start
    assert computed == len(images)
    return seconds


def print_speed(count: int, rounds: int, workers: int) -> None:
    """Part (a)."""
    images, fabric = cifar_images(count), one_process()
    backbone = frozen_encoder(BACKBONE, {}).backbone.eval()
    channels_last(backbone)
    size = suitable_batch(backbone, fabric.device)
    prepared = backbone.preprocess([images.open(row) for row in range(count)])  # (count, 3, 224, 224)
    config = ReadConfig(fabric, workers=workers)
    bare_seconds(backbone, list(prepared[: 4 * size].split(size)))  # warm
    print(f"(a) {BACKBONE} at 224 pixels, {count} images, batches of {size}, {workers} workers")
    ratios = []
    for _ in range(rounds):
        alone = bare_seconds(backbone, list(prepared.split(size)))
        large = bare_seconds(backbone, list(prepared.split(64)))
        whole = embedding_seconds(config, backbone, images)
        ratios.append(alone / whole)
        print(
            f"    bare loop {count / alone:.1f} images/s (batches of 64: {count / large:.1f}), "
            f"embedding {count / whole:.1f} images/s: {alone / whole:.3f} of the bare loop",
            flush=True,
        )
    print(f"    median {np.median(ratios):.3f}, lowest {min(ratios):.3f}")


def peak_mebibytes() -> float:
    """The most memory this process ever had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kibibytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kibibytes) / 2**10


def print_memory(folder: Path, count: int) -> None:
    """Part (b) for so many files, in this process."""
    paths = [folder / f"{row}.png" for row in range(count)]
    backbone, config = frozen_encoder(BACKBONE, {"size": SMALL}).backbone, ReadConfig(one_process())
    embedding_seconds(config, backbone, ImageFiles(paths))
    features = count * backbone.num_features * 4 / 2**20
    print(f"    {count} files, whose features take {features:.1f} MiB: peak {peak_mebibytes():.1f} MiB")


def main() -> None:
    """Print (a), then (b) in fresh processes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=600, help="images of part (a)")
    parser.add_argument("--rounds", type=int, default=3, help="of part (a)")
    parser.add_argument("--threads", type=int, default=THREADS, help="of torch")
    parser.add_argument("--workers", type=int, default=0, help="of part (a)")
    parser.add_argument("--files", type=Path, help="only (b), for files in this folder")
    parser.add_argument("--count", type=int, default=FILES, help="how many of them")
    options = parser.parse_args()
    if not sys.platform.startswith("linux"):
        raise SystemExit("peak memory is read from /proc: Linux only")
    torch.set_num_threads(options.threads)
    if options.files:
        print_memory(options.files, options.count)
        return
    print(f"torch {torch.__version__}, {options.threads} threads, {platform.machine()}")
    print_speed(options.images, options.rounds, options.workers)
    with TemporaryDirectory() as folder:
        images = cifar_images(4 * FILES)
        for row in range(len(images)):
            images.open(row).save(Path(folder) / f"{row}.png")
        print(f"(b) {BACKBONE} at {SMALL} pixels")
        for count in (FILES, 4 * FILES):
            command = [sys.executable, __file__, "--files", folder, "--count", str(count)]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
