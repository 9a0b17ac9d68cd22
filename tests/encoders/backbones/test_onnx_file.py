import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from encoders.backbones.photos import noise
from hiercos.encoders.backbones import BackboneError, ImageTransform, load_backbone

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
helper, FLOAT, DOUBLE = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
WEIGHTS = np.random.default_rng(0).normal(size=(5, 3, 3, 3)).astype(np.float32)
PHOTOS = [noise(40, 30), noise(16, 16, seed=1), noise(20, 50, seed=2)]


def written(path: Path, shape: list[Any], *, pooled: bool = False, dtype: int = FLOAT, beside: bool = False) -> str:
    """A convolution in an ONNX file, with its maps averaged or not, and the backbone's name of it."""
    nodes = [
        helper.make_node("Cast", ["images"], ["pixels"], to=FLOAT),
        helper.make_node("Conv", ["pixels", "weights"], ["maps"], pads=[1, 1, 1, 1]),
    ]
    if pooled:
        nodes += [
            helper.make_node("GlobalAveragePool", ["maps"], ["means"]),
            helper.make_node("Flatten", ["means"], ["features"]),
        ]
    last = ["features", [None, 5]] if pooled else ["maps", [None, 5, None, None]]
    graph = helper.make_graph(
        nodes,
        "convolution",
        [helper.make_tensor_value_info("images", dtype, shape)],
        [helper.make_tensor_value_info(last[0], FLOAT, last[1])],
        [onnx.numpy_helper.from_array(WEIGHTS, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    outside = {"save_as_external_data": True, "location": "weights.bin", "size_threshold": 0} if beside else {}
    onnx.save_model(model, str(path), **outside)
    return f"onnx:{path}"


def expected(batch: Tensor) -> Tensor:
    return F.conv2d(batch, torch.from_numpy(WEIGHTS), padding=1).mean(dim=(2, 3))


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("shape", [["batch", 3, 16, 16], [1, 3, 16, 16], [None, None, None, None]])
def test_features_equal_those_of_the_network(shape: list[Any], pooled: bool, tmp_path: Path) -> None:
    name = written(tmp_path / "net.onnx", shape, pooled=pooled)
    backbone = load_backbone(name, size=16)
    batch = backbone.preprocess(PHOTOS)
    assert (backbone.kind, backbone.num_features, backbone.preprocess) == ("images", 5, ImageTransform(16))
    torch.testing.assert_close(backbone(batch), expected(batch), atol=1e-5, rtol=1e-4)


def test_the_size_comes_from_the_graph_or_the_option_or_is_224(tmp_path: Path) -> None:
    fixed = written(tmp_path / "fixed.onnx", ["batch", 3, 48, 48])
    free = written(tmp_path / "free.onnx", ["batch", 3, "height", "width"])
    sizes = [load_backbone(fixed), load_backbone(free), load_backbone(free, size=20, mean=[0, 0, 0], std=[1, 1, 1])]
    assert [backbone.preprocess.to_dict()["size"] for backbone in sizes] == [48, 224, 20]
    assert sizes[2].options == {"size": 20, "mean": [0, 0, 0], "std": [1, 1, 1]}
    with pytest.raises(BackboneError, match=r"expected size to be 48, as in the graph, got 32$"):
        load_backbone(fixed, size=32)


def test_it_is_frozen(tmp_path: Path) -> None:
    backbone = load_backbone(written(tmp_path / "net.onnx", ["batch", 3, 16, 16]))
    assert list(backbone.parameters()) == []
    assert not backbone(torch.zeros(1, 3, 16, 16, requires_grad=True)).requires_grad


def test_the_identity_follows_the_weights_also_where_they_stand_beside_the_file(tmp_path: Path) -> None:
    name = written(tmp_path / "net.onnx", ["batch", 3, 16, 16], beside=True)
    before = load_backbone(name).identity()
    assert load_backbone(name).identity() == before
    content = bytearray((tmp_path / "weights.bin").read_bytes())
    content[3] ^= 1
    (tmp_path / "weights.bin").write_bytes(content)
    after = load_backbone(name).identity()
    assert (after["weights"] != before["weights"], after["name"]) == (True, before["name"])


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [([2, 3, 16, 16], FLOAT), (["b", 1, 16, 16], FLOAT), (["b", 3, 16, 8], FLOAT), (["b", 3, 16, 16], DOUBLE)],
)
def test_another_input_is_refused_with_what_it_is(shape: list[Any], dtype: int, tmp_path: Path) -> None:
    name = written(tmp_path / "net.onnx", shape, dtype=dtype)
    with pytest.raises(
        BackboneError, match=r"expected one input of float32 and shape \(B, 3, S, S\), B free or 1, got"
    ):
        load_backbone(name)


def test_a_file_that_is_missing_or_something_else_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match=r"^backbone 'onnx:no.onnx': there is no file no.onnx$"):
        load_backbone("onnx:no.onnx")
    (tmp_path / "net.onnx").write_text("not a network")
    with pytest.raises(BackboneError, match=r"net.onnx cannot be loaded: ") as caught:
        load_backbone(f"onnx:{tmp_path / 'net.onnx'}")
    assert len(str(caught.value).splitlines()) == 1


def test_random_weights_are_refused(tmp_path: Path) -> None:
    name = written(tmp_path / "net.onnx", ["batch", 3, 16, 16])
    with pytest.raises(BackboneError, match=r"cannot start from random ones$"):
        load_backbone(name, pretrained=False)


def test_a_backbone_can_be_sent_to_another_process(tmp_path: Path) -> None:
    backbone = load_backbone(written(tmp_path / "net.onnx", ["batch", 3, None, None]), size=24)
    sent = pickle.loads(pickle.dumps(backbone))
    batch = backbone.preprocess(PHOTOS)
    assert sent.identity() == backbone.identity()
    assert torch.equal(sent(batch), backbone(batch))
