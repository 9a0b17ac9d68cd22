"""Mutated files for every reader: each must be read, or refused with an error of this package, soon.

The mutator starts from small valid files of each format and from the kept corpus in `tests/corpus`. An input whose
outcome is new (another message, numbers aside) joins the pool that later inputs are made from.
"""

import io
import json
import math
import os
import random
import re
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hiercos import Taxonomy
from hiercos.data import load_dataset, read_inputs
from hiercos.data.images.decoding import decoded
from hiercos.decisions import rule
from hiercos.engine.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from hiercos.engine.model_folder import CONFIG, read_config
from hiercos.errors import FaultsError
from hiercos.manifest import MANIFEST, Manifest
from hiercos.onnx.format import OnnxDescription, check_seal, read_description, sealed
from hiercos.predictions import read_scores
from hiercos.records import Record
from hiercos.taxonomy import LabelReader, read_taxonomy
from records import record

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 2  # longest time of the processor for one input
TREE = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
SIGNS = [
    b"\x00",
    b"\xff",
    b"\n",
    b"\r",
    b",",
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b":",
    b"\t",
    b"\\",
    b"-1",
    b"1e999",
]
TOKENS = [
    b"99999999999999999999",
    b"null",
    b"true",
    b"NaN",
    b"\xef\xbb\xbf",
    b"e\xcc\x81",
    b"\xe2\x80\xae",
    b"[" * 500,
    b"{" * 200,
]
TOKENS += [
    b'"a":',
    b"&x *x",
    b"!!python/object/apply:os.system",
    b"is_a: T:1",
    b" > ",
    b"__import__",
    b"-" * 40,
    b"0x7fffffff",
]


@dataclass
class Target:
    """A reader under test.

    Attributes:
        name: name in reports, and of its folder in the corpus.
        suffix: file extension, by which readers choose a format.
        read: function that reads the file.
        seeds: contents of valid files.
        weight: share of the inputs.
    """

    name: str
    suffix: str
    read: Callable[[Path], object]
    seeds: list[bytes]
    weight: int = 1
    pool: list[bytes] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)


def array_file(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def whole(inputs: Any) -> object:
    return [len(batch) for batch in inputs.batches(7)]


def taxonomy_targets(folder: Path) -> Iterator[Target]:
    for form, suffix in [("csv", ".csv"), ("tsv", ".tsv"), ("edges", ".csv"), ("lines", ".txt"), ("json", ".json")]:
        TREE.write(folder / f"t{suffix}", format=form)
        yield Target(
            f"taxonomy-{form}",
            suffix,
            lambda p, form=form: read_taxonomy(p, format=form),
            [(folder / f"t{suffix}").read_bytes()],
            8,
        )
    for form, weight in [("json-flat", 8), ("yaml", 2), ("newick", 8)]:
        TREE.write(folder / "t.any", format=form)
        yield Target(
            f"taxonomy-{form}",
            ".any",
            lambda p, form=form: read_taxonomy(p, format=form),
            [(folder / "t.any").read_bytes()],
            weight,
        )
    obo = b"format-version: 1.2\nontology: x\n\n[Term]\nid: T:1\nname: pet\n\n[Term]\nid: T:2\nname: cat\n"
    obo += b'is_a: T:1 ! pet\nsynonym: "c" EXACT []\n'
    yield Target("taxonomy-obo", ".obo", read_taxonomy, [obo], 2)
    nouns = b"  1 licence\n00000001 03 n 01 pet 0 000 | a\n00000002 03 n 02 cat 0 puss 0 001 @ 00000001 n 0000 | b\n"
    yield Target("taxonomy-wordnet", ".noun", read_taxonomy, [nouns], 8)


def data_targets(folder: Path) -> Iterator[Target]:
    table = b"text,label,split\na red car,car,train\na cat,pet > cat,train\nthe dog,dog,val\na car,car,test\n"
    lines = b'{"text": "a", "label": "cat", "split": "train"}\n{"text": "b", "label": "dog", "split": "val"}\n'

    def samples(path: Path) -> object:
        return load_dataset(path, taxonomy=TREE)

    yield Target("table-csv", ".csv", samples, [table], 8)
    yield Target("table-tsv", ".tsv", lambda p: whole(read_inputs(p, kind="texts")), [table.replace(b",", b"\t")], 8)
    yield Target("table-jsonl", ".jsonl", lambda p: whole(read_inputs(p, kind="texts")), [lines], 8)
    features = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    split = ["train", "train", "train", "val", "test", "test"]
    stored = array_file(features=features, labels=np.array([0, 1, 2, 0, 1, 2]), split=np.array(split))
    yield Target("npz-dataset", ".npz", samples, [stored], 6)
    yield Target(
        "npz-vectors",
        ".npz",
        lambda p: whole(read_inputs(p, kind="vectors")),
        [stored, array_file(features=features.T.copy().T)],
        6,
    )
    scores = array_file(scores=features, labels=np.array(["cat", "dog", "car", "cat", "dog", "car"]))
    yield Target("scores-npz", ".npz", lambda p: read_scores(p, TREE), [scores], 6)
    yield Target(
        "scores-csv", ".csv", lambda p: read_scores(p, TREE), [b"label,cat,dog,car\ncat,1,2,3\ndog,0,-1,1e9\n"], 8
    )
    yield Target(
        "labels",
        ".txt",
        lambda p: LabelReader(TREE).read(p.read_bytes().decode("utf-8", "replace").split("\n"), source="l"),
        [b"cat\npet > dog\ncar"],
        8,
    )
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": ["a", "b"], "label": ["cat", "dog"]}), sink)
    yield Target("table-parquet", ".parquet", lambda p: whole(read_inputs(p, kind="texts")), [sink.getvalue()], 4)


def image_targets(_folder: Path) -> Iterator[Target]:
    try:
        from PIL import Image
    except ImportError:
        return
    seeds = []
    for form in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"):
        stream = io.BytesIO()
        Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(stream, form)
        seeds.append(stream.getvalue())
    yield Target("image", ".img", lambda p: decoded(p.read_bytes(), p.name), seeds, 8)


def model_targets(folder: Path) -> Iterator[Target]:
    yield Target("record", ".json", lambda p: Record.read(placed(p, "record.json")), [record().to_json().encode()], 6)
    sums = {"format": "hiercos-manifest", "version": 1, "files": {"a": ["0" * 64]}}
    yield Target("manifest", ".json", lambda p: Manifest.of(placed(p, MANIFEST)), [json.dumps(sums).encode()], 8)
    config = {"format": "hiercos-model", "version": 4, "kind": "vectors", "method": "hier-cos", "options": {"width": 4}}
    config |= {"in_features": 3, "rule": rule("crm").to_dict(), "temperature": 1.5, "backbone": None}
    yield Target(
        "config", ".json", lambda p: read_config(Manifest(placed(p, CONFIG), None)), [json.dumps(config).encode()], 8
    )
    tensors = {"weight": torch.ones(2, 2)}
    write_checkpoint(folder / "c.st", Checkpoint(tensors, tensors, {}, {"history": []}, {"seed": 0}))
    yield Target("checkpoint", ".st", lambda p: read_checkpoint(p, {"seed": 0}), [(folder / "c.st").read_bytes()], 6)
    described = OnnxDescription(TREE, "vectors", "hier-cos", rule("crm"), 1.5).properties()

    def metadata(path: Path) -> object:
        values = path.read_bytes().decode("utf-8", "replace").split("\x1f")
        return read_description(dict(zip(values[::2], values[1::2], strict=False)), path.name, checked=True)

    flat = "\x1f".join(part for pair in described.items() for part in pair).encode()
    yield Target("onnx-metadata", ".txt", metadata, [flat], 8)
    yield Target("onnx-seal", ".onnx", lambda p: check_seal(p.read_bytes(), p.name), [sealed(b"graph")], 8)


def placed(path: Path, name: str) -> Path:
    """Folder with a file under the name by which its reader finds it."""
    folder = path.parent / name.replace(".", "-")
    folder.mkdir(exist_ok=True)
    os.replace(path, folder / name)
    return folder


def targets(folder: Path) -> list[Target]:
    """All readers with their seeds, those of the corpus included."""
    made = [t for make in (taxonomy_targets, data_targets, image_targets, model_targets) for t in make(folder)]
    for target in made:
        kept = sorted((CORPUS / target.name).glob("*")) if (CORPUS / target.name).is_dir() else []
        target.pool = [*target.seeds, *(file.read_bytes() for file in kept)]
    return made


def mutated(chance: random.Random, pool: list[bytes]) -> bytes:
    """A new input: one of the pool with a few changes."""
    content = bytearray(chance.choice(pool))
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        place, end = sorted(chance.choices(range(len(content) + 1), k=2))
        kind = chance.randrange(8)
        if kind == 0 and content:
            content[min(place, len(content) - 1)] ^= 1 << chance.randrange(8)
        elif kind == 1 and content:
            content[min(place, len(content) - 1)] = chance.randrange(256)
        elif kind == 2:
            content[place:place] = chance.choice(SIGNS + TOKENS)
        elif kind == 3:
            del content[place : min(end, place + 1 + chance.randrange(16))]
        elif kind == 4:
            del content[place:]
        elif kind == 5:
            content[place:place] = content[place : min(end, place + 200)] * chance.choice((1, 2, 9))
        elif kind == 6:
            other = chance.choice(pool)
            content[place:] = other[chance.randrange(len(other) + 1) :]
        else:
            content[place : place + 4] = chance.randrange(2**32).to_bytes(4, "little")
    return bytes(content[:20_000])


class TooSlowError(Exception):
    """An input that takes longer than `SECONDS`."""


@contextmanager
def hurried() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(target: Target, path: Path, content: bytes) -> tuple[str, str | None]:
    """Outcome of an input in words, and the finding if it is one: a foreign exception, or too slow."""
    path.write_bytes(content)
    try:
        with hurried():
            target.read(path)
    except FaultsError as error:
        return type(error).__name__ + re.sub(r"\d+|'.*?'|\".*?\"", "#", str(error))[:80], None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return type(error).__name__, f"{type(error).__name__}: {error}"[:200]
    return "read", None


@dataclass
class Report:
    """Counts of a fuzzing run: inputs and seconds of each reader, findings, and the largest memory in bytes."""

    inputs: Counter[str]
    slowest: dict[str, float]
    findings: dict[tuple[str, str], bytes]
    memory: int


def fuzz(folder: Path, count: int, seed: int, *, only: str = "", seconds: float = math.inf) -> Report:
    """Read `count` mutated inputs of all readers in this process, or as many as it reads in some seconds."""
    end = time.monotonic() + seconds
    chance = random.Random(seed)
    made = [target for target in targets(folder) if target.name.startswith(only)]
    report = Report(Counter(), {}, {}, 0)
    order = [target for target in made for _ in range(target.weight)]
    for number in range(count):
        if time.monotonic() > end:
            break
        target = order[number % len(order)]
        content = mutated(chance, target.pool)
        began = time.process_time()
        words, finding = outcome(target, folder / f"input{target.suffix}", content)
        report.slowest[target.name] = max(report.slowest.get(target.name, 0.0), time.process_time() - began)
        report.inputs[target.name] += 1
        if finding:
            report.findings.setdefault((target.name, re.sub(r"\d+", "#", finding)), content)
        if not target.outcomes[words] and len(target.pool) < 300:
            target.pool.append(content)
        target.outcomes[words] += 1
    report.memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return report
