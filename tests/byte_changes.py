"""One byte changed in a file of a model folder, an export, a checkpoint or the feature cache: refused or harmless."""

import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from lightning_fabric import Fabric

from blobs import blob_data
from colours import colour_images, small_backbone
from hiercos.encoders import ReadConfig, embed
from hiercos.encoders.encoder import TfidfEncoder
from hiercos.encoders.tfidf import TextFeatures
from hiercos.errors import FaultsError
from hiercos.methods import Model, Projection, csr_tensor
from hiercos.model import Classifier
from hiercos.records import CHECKPOINT, Record
from hiercos.training import Settings, train
from hiercos.training.checkpoint import Checkpoint, find_checkpoint, write_checkpoint
from trees import TOY17

TEXTS = [f"{colour} {thing}" for colour in ("red", "blue", "green") for thing in ("car", "cat", "castle", "cloud")]
Answer = tuple[object, ...]


@dataclass(frozen=True)
class Stored:
    """Files under test, and a function that reads them; equal answers mean that nothing changed."""

    name: str
    files: list[Path]
    read: Callable[[], Answer]


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().numpy().tobytes()


def text_model(folder: Path) -> Stored:
    torch.manual_seed(0)
    features = TextFeatures.fit(TEXTS)
    projection = Projection.fit(features.transform(TEXTS), dim=6, seed=0)
    model = Model(TOY17, 6, "hier-cos", {"width": 9}, projection=projection).eval()
    Classifier(model, TfidfEncoder(features), temperature=1.5).save(folder)

    def read() -> Answer:
        stored = Classifier.load(folder)
        assert isinstance(stored.encoder, TfidfEncoder)
        scores = stored.model(csr_tensor(stored.encoder.features.transform(TEXTS)))
        return (bits(scores), stored.rule, stored.temperature, stored.model.taxonomy)

    return Stored("model folder", files_of(folder), read)


def run_folder(folder: Path) -> Stored:
    fabric = Fabric(accelerator="cpu", devices=1)
    settings = Settings(method="hier-cos", epochs=2, options={"width": 8})
    train(blob_data(), settings, fabric=fabric, folder=folder)

    def read() -> Answer:
        stored, record = Classifier.load(folder), Record.read(folder)
        state = {name: bits(tensor) for name, tensor in stored.model.state_dict().items()}
        return (state, stored.rule, stored.temperature, stored.model.taxonomy, record)

    return Stored("run folder", [file for file in files_of(folder) if file.name != "log.csv"], read)


def checkpoints(folder: Path) -> Stored:
    tensors = {"weight": torch.arange(60.0).reshape(6, 10)}
    state = Checkpoint(tensors, tensors, {"0/step": torch.tensor(4.0)}, {"epoch": 1}, {"seed": 0})
    write_checkpoint(folder / CHECKPOINT, state)

    def read() -> Answer:
        found = find_checkpoint(folder, {"seed": 0})
        assert found is not None
        return ({name: bits(tensor) for name, tensor in found.model.items()}, found.progress, found.config)

    return Stored("checkpoint", [folder / CHECKPOINT], read)


def features(folder: Path, environment: Callable[[str, str], None]) -> Stored:
    environment("HIERCOS_CACHE", str(folder))
    config = ReadConfig(Fabric(accelerator="cpu", devices=1), batch_size=8)
    path = embed(config, small_backbone(), colour_images(40)).path

    def read() -> Answer:
        return (embed(config, small_backbone(), colour_images(40)).path.read_bytes(),)

    return Stored("feature cache", [path, path.with_suffix(".json")], read)


def export(folder: Path) -> Stored:
    from hiercos.onnx import OnnxModel
    from onnx_exports import of_texts

    of_texts().export.write(folder / "model.onnx")

    def read() -> Answer:
        model = OnnxModel.load(folder / "model.onnx", threads=1)
        text_map = model.description.text_map
        assert text_map is not None
        return (np.asarray(text_map(["a red dog"])).tobytes(), model.rule, model.taxonomy)

    return Stored("export", files_of(folder), read)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file())


def stored_things(folder: Path, environment: Callable[[str, str], None]) -> Iterator[Stored]:
    """All kinds of stored files, each in its own folder."""
    for number, make in enumerate((text_model, run_folder, checkpoints, export)):
        (folder / str(number)).mkdir()
        yield make(folder / str(number))
    yield features(folder / "cache", environment)


def outcomes(stored: Stored, count: int, seed: int) -> Counter[str]:
    """Change one byte `count` times: how often it was refused, harmless, silent, or a foreign exception."""
    chance, expected, found = random.Random(seed), stored.read(), Counter[str]()
    for _ in range(count):
        file = chance.choice(stored.files)
        content = file.read_bytes()
        place = chance.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= chance.randrange(1, 256)
        file.write_bytes(changed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = stored.read()
            found["harmless" if answer == expected else f"silent: {file.name} at {place}"] += 1
        except FaultsError:
            found["refused"] += 1
        except Exception as error:
            found[f"foreign: {file.name} at {place}: {type(error).__name__}"] += 1
        file.write_bytes(content)
    return found
