"""Mutated files of users and configurations of models: each must be read, or refused in one sentence, soon.

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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hiercos import Taxonomy
from hiercos.checks import json_object
from hiercos.data import load_dataset, read_inputs
from hiercos.data.images.decoding import decoded
from hiercos.decisions import rule
from hiercos.errors import FaultsError
from hiercos.evaluation import read_scores
from hiercos.model import ModelError
from hiercos.model.persistence import FORMAT, read_config
from hiercos.storage import CONFIG, DIGEST, FILES, Folder, opened
from hiercos.taxonomy import LabelReader, read_taxonomy

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 2  # longest time of the processor for one input
LIGHT = 4  # inputs of the other readers for each of one that is slow, which has the weight 1
TREE = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])
SIGNS = [sign.encode("latin-1") for sign in "\x00\xff\n\r,\"'{}[](:\t\\"] + [b"-1", b"1e999"]
TOKENS = [b"99999999999999999999", b"null", b"true", b"NaN", b"\xef\xbb\xbf", b"e\xcc\x81", b"\xe2\x80\xae", b"[" * 500]
TOKENS += [b"{" * 200, b'"a":', b"&x *x", b"!!python/object/apply:os.system", b"is_a: T:1", b" > ", b"__import__"]
TOKENS += [b"-" * 40, b"0x7fffffff"]
# a text, a number, a short list or object
WORD = re.compile(rb'"[^"\n]{0,80}"|[\w.+-]{1,80}|[\[{][^\[\]{}]{0,80}[\]}]')
VALUES = [b"null", b"true", b"-1", b"0", b"1.5", b"1e308", b"1e999", b"NaN", b'""', b'"x"', b"[]", b"{}", b"[[1]]"]
VALUES += [b'{"a": 1}', b"9" * 30, b"9" * 400, b"[" * 70 + b"]" * 70, b'"../../x"', b'"a\\u0000b"', b"4294967296"]


@dataclass
class Target:
    """A reader under test."""

    name: str  # name in reports, and of its folder in the corpus
    suffix: str  # file extension, by which readers choose a format
    read: Callable[[Path], object]  # function that reads the file
    seeds: list[bytes]  # contents of valid files
    weight: int = 1  # share of the inputs
    pool: list[bytes] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)


def array_file(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def batches_of(kind: str) -> Callable[[Path], object]:
    """A reader of inputs without labels."""
    return lambda path: [len(batch) for batch in read_inputs(path, kind=kind).batches(7)]


def taxonomy_targets(folder: Path) -> Iterator[Target]:
    forms = [("csv", ".csv", 8), ("csv", ".tsv", 8), ("edges", ".csv", 8), ("lines", ".txt", 8), ("json", ".json", 8)]
    for form, suffix, weight in [*forms, ("yaml", ".any", 2), ("newick", ".any", 8)]:
        TREE.write(folder / f"t{suffix}", format=form)
        name = f"taxonomy-{form}{suffix.removesuffix('.any')}"
        seed = (folder / f"t{suffix}").read_bytes()
        yield Target(name, suffix, partial(read_taxonomy, format=form), [seed], weight)
    obo = b"format-version: 1.2\nontology: x\n\n[Term]\nid: T:1\nname: pet\n\n[Term]\nid: T:2\nname: cat\n"
    obo += b'is_a: T:1 ! pet\nsynonym: "c" EXACT []\n'
    yield Target("taxonomy-obo", ".obo", read_taxonomy, [obo], 2)


def data_targets(_folder: Path) -> Iterator[Target]:
    table = b"text,label,split\na red car,car,train\na cat,pet > cat,train\nthe dog,dog,val\na car,car,test\n"
    lines = b'{"text": "a", "label": "cat", "split": "train"}\n{"text": "b", "label": "dog", "split": "val"}\n'
    samples, texts, known = (
        partial(load_dataset, taxonomy=TREE),
        batches_of("texts"),
        partial(read_scores, taxonomy=TREE),
    )
    yield Target("table-csv", ".csv", samples, [table], 8)
    yield Target("table-tsv", ".tsv", texts, [table.replace(b",", b"\t")], 8)
    yield Target("table-jsonl", ".jsonl", texts, [lines], 8)
    made = b'{"from_name": "label", "value": {"taxonomy": [["cat"]]}}'
    made = b'[{"data": {"text": "a"}, "annotations": [{"result": [' + made + b"]}"
    exported = partial(load_dataset, taxonomy=TREE, test=False, purpose="extend")
    yield Target("label-studio", ".json", exported, [made + b']}, {"text": "b", "label": "dog"}]'], 8)
    features = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    split = ["train", "train", "train", "val", "test", "test"]
    stored = array_file(features=features, labels=np.array([0, 1, 2, 0, 1, 2]), split=np.array(split))
    yield Target("npz-dataset", ".npz", samples, [stored], 6)
    by_columns = array_file(features=features.T.copy().T)
    yield Target("npz-vectors", ".npz", batches_of("vectors"), [stored, by_columns], 6)
    scores = array_file(scores=features, labels=np.array(["cat", "dog", "car", "cat", "dog", "car"]))
    yield Target("scores-npz", ".npz", known, [scores], 6)
    yield Target("scores-csv", ".csv", known, [b"label,cat,dog,car\ncat,1,2,3\ndog,0,-1,1e9\n"], 8)

    def labels(path: Path) -> object:
        return LabelReader(TREE).read(path.read_bytes().decode("utf-8", "replace").split("\n"), source="l")

    yield Target("labels", ".txt", labels, [b"cat\npet > dog\ncar"], 8)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table({"text": ["a", "b"], "label": ["cat", "dog"]}), sink)
    yield Target("table-parquet", ".parquet", texts, [sink.getvalue()], 4)


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


def model_targets(_folder: Path) -> Iterator[Target]:

    def read_settings(path: Path) -> object:
        return read_config(Folder(path.parent, json_object(path, path.read_bytes(), ModelError), {}))

    sums = {"format": 1, FILES: {"a": "0" * 64}, DIGEST: "0" * 64}
    yield Target("checksums", ".json", lambda p: opened(placed(p, CONFIG)), [json.dumps(sums).encode()], 8)
    config = {"format": FORMAT, "kind": "vectors", "method": "hier-cos", "options": {"width": 4}, "in_features": 3}
    config |= {"rule": rule("crm").to_dict(), "temperature": 1.5, "backbone": None, "calibration": {"height": 2}}
    yield Target("config", ".json", read_settings, [json.dumps(config).encode()], 8)


def placed(path: Path, name: str) -> Path:
    """Folder with a file under the name by which its reader finds it."""
    folder = path.parent / name.replace(".", "-")
    folder.mkdir(exist_ok=True)
    os.replace(path, folder / name)
    return folder


def targets(folder: Path) -> list[Target]:
    """All readers with their seeds, those of the corpus included."""
    makers = (taxonomy_targets, data_targets, image_targets, model_targets)
    made = [target for make in makers for target in make(folder)]
    for target in made:
        kept = sorted((CORPUS / target.name).glob("*")) if (CORPUS / target.name).is_dir() else []
        target.pool = [*target.seeds, *(file.read_bytes() for file in kept)]
    return made


def mutated(chance: random.Random, pool: list[bytes]) -> bytes:
    """A new input: one of the pool with a few changes."""
    content = bytearray(chance.choice(pool))
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        place, end = sorted(chance.choices(range(len(content) + 1), k=2))
        kind = chance.randrange(9)
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
        elif kind == 7:
            content[place : place + 4] = chance.randrange(2**32).to_bytes(4, "little")
        elif words := list(WORD.finditer(content, place, place + 2_000)):  # a value of a text format by another
            word = chance.choice(words[:20])
            content[word.start() : word.end()] = chance.choice(VALUES)
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
        message = str(error).replace(str(path.parent), "")
        return type(error).__name__ + re.sub(r"\d+|'.*?'|\".*?\"", "#", message)[:100], None
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
    order = [target for target in made for _ in range(target.weight * (LIGHT if target.weight > 1 else 1))]
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
