"""Tiny copies of the paper's data sets in the formats of the official files, byte by byte."""

import io
import json
import tarfile
from pathlib import Path

import numpy as np

COARSE = {0: 4, 1: 1, 2: 14, 5: 6, 99: 13}  # apple, aquarium_fish, baby, bed and worm, with their superclasses
FINE = np.array(sorted(COARSE))


def cifar_images(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` images of each of five classes, in random order: labels (M,) and pixels (M, 32, 32, 3)."""
    generator = np.random.default_rng(seed)
    labels = generator.permutation(np.repeat(FINE, count))
    return labels, generator.integers(0, 256, (len(labels), 32, 32, 3), dtype=np.uint8)


def planes(pixels: np.ndarray) -> bytes:
    return b"".join(pixels[:, :, channel].tobytes() for channel in range(3))


def binary_file(labels: np.ndarray, pixels: np.ndarray) -> bytes:
    records = [bytes([COARSE[label], label]) + planes(image) for label, image in zip(labels, pixels, strict=True)]
    return b"".join(records)


def write_cifar(root: Path, train: int, test: int) -> Path:
    """The binary files with some images of each of five classes below a root, which is returned."""
    for name, count, seed in (("train", train, 0), ("test", test, 1)):
        write_files(root, {f"cifar-100-binary/{name}.bin": binary_file(*cifar_images(count, seed))})
    return root


def tar_gz(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def photograph(color: tuple[int, int, int], size: tuple[int, int] = (40, 30), banner: int = 0) -> bytes:
    """A JPEG of one colour, with a white banner of some rows at the bottom."""
    from PIL import Image

    image = Image.new("RGB", size, color)
    image.paste((255, 255, 255), (0, size[1] - banner, size[0], size[1]))
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=95)
    return stream.getvalue()


AIRCRAFT = [  # manufacturer, family, variant
    ("Boeing", "Boeing 707", "707-320"),
    ("Boeing", "Boeing 737", "737-200"),
    ("Boeing", "Boeing 737", "737-300"),
    ("Lockheed Corporation", "C-130", "C-130"),
    ("McDonnell Douglas", "F/A-18", "F/A-18"),
]


def write_aircraft(root: Path, banner: int = 20) -> Path:
    """Two photographs of every variant in each split; the official folder's `data` is returned."""
    data = root / "fgvc-aircraft-2013b" / "data"
    names = zip(*AIRCRAFT, strict=True)
    files = {
        f"{file}.txt": "".join(f"{name}\n" for name in sorted(set(level))).encode()
        for file, level in zip(("manufacturers", "families", "variants"), names, strict=True)
    }
    for place, split in enumerate(("train", "val", "test")):
        images = [(f"{1000 * place + number:07d}", labels) for number, labels in enumerate([*AIRCRAFT, *AIRCRAFT])]
        for column, level in enumerate(("manufacturer", "family", "variant")):
            lines = "".join(f"{image} {labels[column]}\n" for image, labels in images)
            files[f"images_{level}_{split}.txt"] = lines.encode()
        files |= {f"images/{image}.jpg": photograph((200, 30, 30), (60, 50), banner) for image, _ in images}
    write_files(data, files)
    return data


RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "name")
SPECIES = {  # by category id
    3: ("Plantae", "Tracheophyta", "Magnoliopsida", "Asterales", "Asteraceae", "Cirsium", "Cirsium arvense"),
    0: ("Animalia", "Chordata", "Amphibia", "Anura", "Hylidae", "Hyla", "Hyla arborea"),
    1: ("Animalia", "Chordata", "Amphibia", "Anura", "Hylidae", "Hyla", "Hyla meridionalis"),
}


def write_inaturalist(root: Path, count: int = 20) -> Path:
    """`count` photographs of every species, a quarter of them in the validation file; the folder is returned."""
    folder = root / "inaturalist19"
    categories = [{"id": number, **dict(zip(RANKS, path, strict=True))} for number, path in SPECIES.items()]
    images = [
        (f"train_val2019/Group/{number}/{number:02d}{row:04d}.jpg", number)
        for number in SPECIES
        for row in range(count)
    ]
    parts = {"train2019.json": images[: -len(images) // 4], "val2019.json": images[-len(images) // 4 :]}
    files = {"categories.json": json.dumps(categories).encode()}
    for name, part in parts.items():
        value = {
            "images": [{"id": row, "file_name": path, "width": 40, "height": 30} for row, (path, _) in enumerate(part)],
            "annotations": [
                {"id": row, "image_id": row, "category_id": number} for row, (_, number) in enumerate(part)
            ],
            "categories": [{"id": number, **dict.fromkeys(RANKS, f"hidden {number}")} for number in SPECIES],
        }
        files[name] = json.dumps(value).encode()
    write_files(folder, files | dict.fromkeys((path for path, _ in images), photograph((30, 120, 30))))
    return folder


ISA = """n00001930 n00002684
n00002684 n00015388
n00015388 n01440764
n00015388 n01443537
n00001930 n00020827
n00020827 n07831146
n00020827 n07836838
"""
SYNSETS = ("n01440764", "n01443537", "n07831146")  # one leaf of the edges is no class of the split


def write_tiered(root: Path, *, lists: str = "") -> Path:
    """Three images of every synset in each split: in folders, or as `txt` lists beside images/SYNSET."""
    folder = root / "tiered-imagenet-h"
    named = {
        split: {synset: [f"{synset}_{split}{row}.JPEG" for row in range(3)] for synset in SYNSETS}
        for split in ("train", "val", "test")
    }
    files = {"tiered_imagenet_isa.txt": ISA.encode()}
    for split, synsets in named.items():
        for synset, names in synsets.items():
            if lists == "txt":
                files[f"splits_tieredImageNet-H/{split}/{synset}.txt"] = "".join(f"{name}\n" for name in names).encode()
            place = f"images/{synset}" if lists else f"{split}/{synset}"
            files |= {f"{place}/{name}": photograph((10, 20, 200)) for name in names}
    write_files(folder, files)
    return folder
