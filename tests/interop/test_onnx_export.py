from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from blobs import cloud
from colours import TREE, small_backbone
from hiercos import Taxonomy
from hiercos.data.features import TextFeatures
from hiercos.decisions import RULES
from hiercos.engine import Model, StoredModel, save_model
from hiercos.engine.readers import FineTunedReader, FrozenReader, TfidfReader
from hiercos.interop.onnx_format import OPSET, OnnxError
from hiercos.methods import METHODS
from hiercos.nn.backbones import Backbone
from hiercos.pixels import PixelTransform

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
from hiercos.cli.app import run  # noqa: E402
from hiercos.interop import onnx_export  # noqa: E402
from hiercos.interop.onnx_export import OnnxExport, export_onnx  # noqa: E402
from hiercos.interop.onnx_int8 import quality, to_int8  # noqa: E402
from hiercos.interop.onnx_model import load_onnx_model  # noqa: E402

UNEVEN = Taxonomy.from_paths([("f",), ("a", "d"), ("b", "e"), ("a", "c")])
FEATURES = 12


def untrained(
    tree: Taxonomy, method: str, *, temperature: float = 1.3, rule: str = "none", **options: int
) -> StoredModel:
    """A model of vectors whose statistics are those of some data, so that none of its layers is the identity."""
    torch.manual_seed(0)
    model = Model(tree, FEATURES, method, options)
    features = 3 + 2 * torch.randn(64, FEATURES)
    model.standardize.fit(features)
    with torch.no_grad():
        model.train()(features)
    return StoredModel(model.eval(), None, rule, temperature)


@cache
def exported(method: str) -> tuple[StoredModel, OnnxExport]:
    stored = untrained(UNEVEN, method)
    return stored, export_onnx(stored)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_in_onnxruntime_for_any_batch(method: str) -> None:
    stored, export = exported(method)
    model, opened = stored.model, export.opened()
    assert export.difference <= 1e-5
    for rows in (1, 7):
        features = 3 + 2 * torch.randn(rows, FEATURES, generator=torch.Generator().manual_seed(rows))
        found = opened.outputs(features.numpy())
        with torch.no_grad():
            outputs = model(features)
            scores, nodes = model.rule(outputs), model.levels(outputs)
        expected = {
            "leaf_scores": scores,
            "level_1_scores": nodes[:, UNEVEN.level(1)],
            "level_2_scores": nodes[:, UNEVEN.level(2)],
            "node_scores": nodes,
            "probabilities": (scores.double() / 1.3).softmax(dim=1),
            "crm_scores": RULES["crm"](scores, 1.3, UNEVEN),
        }
        assert list(found) == list(expected)
        for name, tensor in expected.items():
            np.testing.assert_allclose(found[name], tensor.numpy(), rtol=1e-5, atol=1e-5, err_msg=name)


def test_the_file_says_what_it_is_and_nothing_of_the_machine_it_was_made_on(tmp_path: Path) -> None:
    _, export = exported("hier-cos")
    size = export.write(tmp_path / "model.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    content = (tmp_path / "model.onnx").read_bytes()
    assert len(content) == size
    assert b"site-packages" not in content
    assert b"hiercos/" not in content
    written = onnx.load_model(str(tmp_path / "model.onnx"))
    onnx.checker.check_model(written, full_check=True)
    assert [(entry.domain, entry.version) for entry in written.opset_import if not entry.domain] == [("", OPSET)]
    assert {
        entry.name: [axis.dim_param or axis.dim_value for axis in entry.type.tensor_type.shape.dim]
        for entry in written.graph.input
    } == {"features": ["batch", FEATURES]}
    read = load_onnx_model(tmp_path / "model.onnx")
    assert read.description == export.description
    assert (read.taxonomy, read.kind, read.description.rule, read.description.temperature) == (
        UNEVEN,
        "vectors",
        "none",
        1.3,
    )


def test_a_tree_of_one_level_is_exported_too() -> None:
    flat = Taxonomy.from_paths([("a",), ("b",), ("c",)])
    found = export_onnx(untrained(flat, "cross-entropy")).opened().outputs(np.zeros((2, FEATURES), np.float32))
    np.testing.assert_array_equal(found["level_1_scores"], found["node_scores"])


def test_nothing_is_exported_that_differs_from_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "disagreement", lambda *_: 2e-5)
    monkeypatch.setattr(onnx_export, "onnx_graph", lambda *_: exported("cross-entropy")[1].graph)
    with pytest.raises(
        OnnxError, match=r"^onnxruntime and PyTorch differ by 2e-05, more than 1e-05: nothing was written$"
    ):
        export_onnx(untrained(UNEVEN, "cross-entropy"))


def of_images(reader: type[FrozenReader | FineTunedReader], backbone: Backbone) -> StoredModel:
    model = Model(TREE, backbone.num_features, "cross-entropy")
    if reader is FineTunedReader:
        model.backbone = backbone
    return StoredModel(model.eval(), reader(backbone))


def test_a_backbone_is_part_of_the_graph_or_left_out_as_asked() -> None:
    backbone = small_backbone().eval()
    stored = of_images(FineTunedReader, backbone)
    whole = export_onnx(stored)
    images = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        features = backbone(images)
        expected = stored.model.rule(stored.model(images))
    np.testing.assert_allclose(whole.opened().outputs(images.numpy())["leaf_scores"], expected, rtol=1e-5, atol=1e-5)
    assert (whole.description.kind, whole.description.transform) == ("images", PixelTransform(8))
    part = export_onnx(stored, start="features")
    assert (part.description.kind, part.description.transform) == ("vectors", None)
    np.testing.assert_allclose(part.opened().outputs(features.numpy())["leaf_scores"], expected, rtol=1e-5, atol=1e-5)


class WordCount(Backbone):
    def __init__(self) -> None:
        super().__init__("texts", 1, small_backbone().preprocess)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        return batch


def test_a_backbone_of_texts_is_refused_with_what_to_do() -> None:
    with pytest.raises(OnnxError, match=r"^backbone 'WordCount' takes texts, .*\(--from features\)$"):
        export_onnx(of_images(FrozenReader, WordCount()))


def test_int8_is_smaller_and_its_loss_in_hops_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = untrained(UNEVEN, "cross-entropy-mlp", rule="hops", width=64)
    save_model(tmp_path / "model", stored)
    features, labels = cloud(UNEVEN, 60)
    np.savez(tmp_path / "data.npz", features=features.numpy(), labels=labels.numpy())
    command = ["export", str(tmp_path / "model"), "--onnx", str(tmp_path / "small.onnx"), "--int8"]
    assert run([*command, "--data", str(tmp_path / "data.npz")]) == 0
    told = capsys.readouterr().err
    exact = export_onnx(stored)
    small = load_onnx_model(tmp_path / "small.onnx")
    before, after = (quality(model, features.numpy(), labels.numpy()) for model in (exact.opened(), small))
    assert f"int8 has HOPS {after.hops:.4f} ({after.hops - before.hops:+.4f}) and top-1" in told
    assert "on 60 test rows" in told
    assert f"ONNX opset {OPSET}, rule hops" in told
    assert (tmp_path / "small.onnx").stat().st_size < 0.6 * len(exact.content())
    assert 0 < to_int8(exact).difference < 0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--onnx", "model.pt"], "--onnx model.pt: expected a name that ends in .onnx"),
        (["--onnx", "model.onnx", "--from", "texts"], "--from texts: expected one of inputs, features"),
        (["--onnx", "model.onnx", "--data", "d.npz"], "--data: expected --int8 with it, whose cost it measures"),
    ],
)
def test_options_that_make_no_sense_are_one_sentence(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "model", *options]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_texts_take_their_map_along(tmp_path: Path) -> None:
    texts = ["red car", "red cat", "blue car", "blue dog"]
    features = TextFeatures.fit(texts, dim=3, seed=0)
    model = Model(UNEVEN, len(features.components), "cross-entropy").eval()
    written = export_onnx(StoredModel(model, TfidfReader(features)))
    written.write(tmp_path / "model.onnx")
    read = load_onnx_model(tmp_path / "model.onnx")
    assert read.text_features is not None
    np.testing.assert_array_equal(read.text_features.transform(["a red dog"]), features.transform(["a red dog"]))
    beside = tmp_path / "model.text.safetensors"
    replace(written, text_features=TextFeatures.fit(texts[:3], dim=2, seed=0)).write(tmp_path / "other.onnx")
    beside.write_bytes((tmp_path / "other.text.safetensors").read_bytes())
    with pytest.raises(OnnxError, match=r"model.text.safetensors: not the file that was written with model.onnx$"):
        load_onnx_model(tmp_path / "model.onnx")
    beside.unlink()
    with pytest.raises(OnnxError, match=r"there is no such file; model.onnx needs it beside it to read texts$"):
        load_onnx_model(tmp_path / "model.onnx")


def test_other_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match=r"no.onnx: there is no such file$"):
        load_onnx_model(tmp_path / "no.onnx")
    (tmp_path / "bad.onnx").write_text("no network")
    with pytest.raises(OnnxError, match=r"bad.onnx: onnxruntime cannot load it: ") as caught:
        load_onnx_model(tmp_path / "bad.onnx")
    assert len(str(caught.value).splitlines()) == 1
    (tmp_path / "other.onnx").write_bytes(exported("cross-entropy")[1].graph.SerializeToString())
    with pytest.raises(OnnxError, match=r"other.onnx: expected an ONNX file that hiercos export wrote"):
        load_onnx_model(tmp_path / "other.onnx")
