"""The prefix `onnx:`: image models in ONNX files, run by onnxruntime."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hiercos.encoders.backbones.backbone import pooled
from hiercos.encoders.backbones.preprocessing import IMAGENET_MEAN, IMAGENET_STD, Channels, ImageTransform
from hiercos.encoders.backbones.table import BackboneError, load_backbone
from hiercos.encoders.backbones.weights import first_line, import_extra
from hiercos.methods import Backbone

FREE_SIZE = 224  # default image size in pixels if the graph accepts any


class OnnxBackbone(Backbone):
    """An image model in an ONNX file: it runs on the CPU and cannot be trained.

    Args:
        session: onnxruntime session with one float32 input (B, 3, S, S); its first output is (B, F), or feature maps,
            which are averaged.
        preprocess: image preprocessing.
        file_hash: hash of the file, used as the hash of the weights.

    Shape:
        batch: (B, 3, S, S). Output: (B, F), on the batch's device, without gradients.
    """

    def __init__(self, session: Any, preprocess: ImageTransform, file_hash: str) -> None:
        super().__init__("images", 0, preprocess)
        self.session = session
        self.file_hash = file_hash
        self.one_by_one = session.get_inputs()[0].shape[0] == 1  # exported with batch size 1
        self.num_features = self(torch.zeros(1, 3, preprocess.size, preprocess.size)).shape[1]

    def forward(self, batch: Tensor) -> Tensor:
        """Images, shape (B, 3, S, S), to features, shape (B, F)."""
        parts = torch.split(batch, 1) if self.one_by_one else (batch,)
        return torch.cat([self.features(part) for part in parts]).to(batch.device)

    def features(self, batch: Tensor) -> Tensor:
        """One call of the session: images, shape (B, 3, S, S), to features on the CPU, shape (B, F)."""
        images = batch.detach().to("cpu", torch.float32).contiguous().numpy()
        first, *_ = self.session.run(None, {self.session.get_inputs()[0].name: images})
        return pooled(torch.from_numpy(first), self.name)

    def identity(self) -> dict[str, Any]:
        """The identity of every backbone, with the hash of the file for the weights."""
        return {**super().identity(), "weights": self.file_hash}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle support: another process opens the file again, since a session cannot be pickled."""
        return partial(load_backbone, self.name, **self.options), ()


def onnx_file(
    model: str,
    *,
    pretrained: bool = True,
    size: int | None = None,
    mean: Channels = IMAGENET_MEAN,
    std: Channels = IMAGENET_STD,
) -> Backbone:
    """An image model in an ONNX file; it can only be used frozen.

    Args:
        size: side of the images in pixels, if the graph accepts any; 224 by default.
    """
    name, path = f"onnx:{model}", Path(model).expanduser()
    if not pretrained:
        raise BackboneError(f"backbone {name!r}: the weights are part of the file, so it cannot start from random ones")
    if not path.is_file():
        raise BackboneError(f"backbone {name!r}: there is no file {path}")
    session = open_session(path, backbone=name)
    side = image_size(session, size, backbone=name)
    return OnnxBackbone(session, ImageTransform(side, mean, std), file_hash(path, backbone=name))


def open_session(path: Path, *, backbone: str) -> Any:
    """Open an onnxruntime session on the CPU, with as many threads as torch uses."""
    runtime = import_extra("onnxruntime", extra="onnx", backbone=backbone)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    try:
        return runtime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], enable_fallback=False
        )  # a second attempt would print to standard output
    except Exception as error:  # onnxruntime's errors share no other base
        raise BackboneError(f"backbone {backbone!r}: {path} cannot be loaded: {first_line(error)}") from error


def image_size(session: Any, size: int | None, *, backbone: str) -> int:
    """Side of the images that a graph accepts."""
    inputs = [(entry.name, entry.type, entry.shape) for entry in session.get_inputs()]
    expected = f"backbone {backbone!r}: expected one input of float32 and shape (B, 3, S, S), B free or 1"
    if len(inputs) != 1 or inputs[0][1] != "tensor(float)" or len(inputs[0][2]) != 4:
        raise BackboneError(f"{expected}, got {inputs}")
    rows, channels, height, width = inputs[0][2]
    fixed = {side for side in (height, width) if isinstance(side, int)}
    if (isinstance(rows, int) and rows != 1) or (isinstance(channels, int) and channels != 3) or len(fixed) > 1:
        raise BackboneError(f"{expected}, got {inputs}")
    side = fixed.pop() if fixed else size or FREE_SIZE
    if size not in (None, side):
        raise BackboneError(f"backbone {backbone!r}: expected size to be {side}, as in the graph, got {size}")
    return side


def file_hash(path: Path, *, backbone: str) -> str:
    """SHA-256 of an ONNX file and of its external data files, which hold the larger weights."""
    onnx = import_extra("onnx", extra="onnx", backbone=backbone)
    graph = onnx.load_model(str(path), load_external_data=False).graph
    places = {entry.value for tensor in graph.initializer for entry in tensor.external_data if entry.key == "location"}
    digest = hashlib.sha256()
    for file in [path, *(path.parent / place for place in sorted(places))]:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
