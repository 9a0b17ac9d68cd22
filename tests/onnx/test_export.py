from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from blobs import FEATURES, cloud
from colours import TREE, small_backbone
from docstrings import docstring_data
from hiercos import Taxonomy
from hiercos.data import PixelTransform, Source, Vectors
from hiercos.decisions import Posterior, rule
from hiercos.encoders import ReadConfig, SingleDevice, TfidfEncoder
from hiercos.encoders.backbones import Backbone
from hiercos.encoders.encoder import FineTunedEncoder, FrozenEncoder
from hiercos.encoders.tfidf import TextFeatures
from hiercos.methods import METHODS, LabelledFeatures, Model
from hiercos.metrics import functional as HF
from hiercos.model import Classifier, ClassScores
from hiercos.onnx.format import DIGITS, OPSET, SEAL, OnnxError, read_description, sealed
from hiercos.training import INPUTS, Settings, train
from solving import data, solved
from trees import TOY17

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
from hiercos.cli.app import run  # noqa: E402
from hiercos.onnx.export import Start, compared, export_onnx, to_int8  # noqa: E402
from hiercos.onnx.graph import (  # noqa: E402
    TOLERANCE,
    changed_answers,
    disagreement,
    largest_difference,
    onnx_graph,
    with_simple_activations,
)
from hiercos.onnx.model import InferenceConfig, OnnxModel  # noqa: E402
from onnx_exports import TEXTS, of_evidence, of_images, of_texts, of_vectors, trained_default, untrained  # noqa: E402

SHAPES = (["batch", 3], [3], ["batch", 3])  # of an activation's input, slopes and output
UNEVEN = Taxonomy.from_paths([("f",), ("a", "d"), ("b", "e"), ("a", "c")])


class EveryMethod(nn.Module):
    """Class and node scores of all methods, in one module because torch takes a second for each graph."""

    def __init__(self) -> None:
        super().__init__()
        features = 3 + 2 * torch.randn(64, FEATURES, generator=torch.Generator().manual_seed(1))
        self.models = nn.ModuleDict({name: untrained(UNEVEN, features, name) for name in METHODS})

    def forward(self, features: Tensor) -> tuple[Tensor, ...]:
        outputs = {name: model(features) for name, model in self.models.items()}
        answers = [
            (model.class_scores(outputs[name]), model.node_scores(outputs[name])) for name, model in self.models.items()
        ]
        return tuple(scores for pair in answers for scores in pair)


@pytest.mark.long
def test_every_method_gives_the_same_in_onnxruntime_for_any_batch() -> None:
    methods = EveryMethod().eval()
    sample = 3 + 2 * torch.randn(7, FEATURES, generator=torch.Generator().manual_seed(2))
    names = [f"{method} {part}" for method in METHODS for part in ("classes", "nodes")]
    graph = onnx_graph(methods, sample, takes="features", gives=names)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == names
    assert disagreement(session, methods, sample) <= 1e-5


def test_scores_of_a_linear_svm_are_finite_and_distinct_in_onnxruntime_whatever_its_margins() -> None:
    head = Model(TOY17, 1, "linear-svm").head
    head.set(torch.linspace(-2, 2, 17)[:, None], torch.zeros(17))
    sample = torch.tensor([[1.0], [-30.0], [75.0]])  # margins up to 150
    graph = onnx_graph(head.eval(), sample, takes="features", gives=["scores"])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"features": sample.numpy()})
    assert np.allclose(scores, head(sample).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert all(len(np.unique(row)) == 17 for row in scores)


def test_sparse_weights_of_siblings_give_the_same_in_onnxruntime_with_a_class_that_training_has_not_seen() -> None:
    train = data(TOY17, 200)
    seen = train.rows(train.labels > 3)
    model, _ = solved("siblings", TOY17, LabelledFeatures(csr_matrix(seen.features), seen.labels), None)
    sample = torch.from_numpy(train.features[:7])
    graph = onnx_graph(model.eval(), sample, takes="features", gives=["scores"])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"features": sample.numpy()})
    np.testing.assert_allclose(scores, model.array_scores(csr_matrix(sample.numpy())), rtol=1e-5, atol=1e-5)


def test_a_share_of_the_first_head_is_the_same_in_onnxruntime_where_the_others_are_sure() -> None:
    features = 3 + 2 * torch.randn(64, FEATURES, generator=torch.Generator().manual_seed(1))
    members = ["tree-logistic", "cross-entropy-mlp"]
    model = untrained(TOY17, features, "committee", members=members, first_share=0.01).eval()
    model.head.weights = torch.tensor([0.0, 1e4])
    graph = onnx_graph(model, features[:5], takes="features", gives=["scores"])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (scores,) = session.run(None, {"features": features.numpy()})
    np.testing.assert_allclose(scores, model(features).detach().numpy(), rtol=1e-5, atol=1e-5)
    assert scores.min() > np.log(0.01) - 10  # without the share it would be about -10,000


def test_a_parametric_rectifier_is_made_of_simple_operators_with_the_same_bits() -> None:
    x, slope, y = (
        onnx.helper.make_tensor_value_info(name, 1, shape) for name, shape in zip("xsy", SHAPES, strict=True)
    )
    graph = onnx.helper.make_graph([onnx.helper.make_node("PRelu", ["x", "s"], ["y"])], "prelu", [x, slope], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=10)
    values = {"x": np.float32([[-2, 0, 3], [0.5, -1e-3, -7]]), "s": np.float32([0.25, -1, 0.1])}
    before = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, values
    )
    simple = with_simple_activations(model)
    onnx.checker.check_model(simple, full_check=True)
    assert {node.op_type for node in simple.graph.node} == {"Relu", "Min", "Mul", "Add"}
    after = onnxruntime.InferenceSession(simple.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, values
    )
    np.testing.assert_array_equal(after, before)


def test_a_difference_is_a_share_of_the_largest_score_above_one_and_no_nan_is_missed() -> None:
    expected = [torch.tensor([[0.5, 100.0]]), torch.tensor([[0.25]])]
    assert largest_difference([np.array([[1.5, 98.0]]), np.array([[0.25]])], expected) == 0.02
    assert largest_difference([np.array([[1.5, 98.0]]), np.array([[0.75]])], expected) == 0.5
    assert np.isnan(largest_difference([np.array([[np.nan, 100.0]]), np.array([[1.5]])], expected))
    assert largest_difference([np.array([[0.5]]), np.array([[1.0]])], expected) == np.inf


@pytest.mark.parametrize("rows", [1, 5])
def test_the_outputs_are_those_of_the_model_by_name(rows: int) -> None:
    stored, export = of_vectors()
    model, features = stored.model, cloud(TOY17, rows, seed=3)[0]
    with torch.no_grad():
        outputs = model(features)
        scores, nodes = model.class_scores(outputs), model.node_scores(outputs)
    expected = {
        "leaf_scores": scores,
        **{f"level_{level}_scores": nodes[:, TOY17.level(level)] for level in (1, 2, 3, 4)},
        "node_scores": nodes,
        "probabilities": (scores.double() / 0.8).softmax(dim=1),
        "crm_scores": torch.from_numpy(rule("crm").ranking(Posterior.from_scores(scores, TOY17, temperature=0.8))),
    }
    found = export.opened().outputs(features.numpy())
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        np.testing.assert_allclose(found[name], tensor.numpy(), rtol=1e-5, atol=1e-5, err_msg=name)


def test_the_file_says_what_it_is_and_nothing_of_the_machine_it_was_made_on(tmp_path: Path) -> None:
    export = of_vectors().export
    assert [export.write(tmp_path / "model.onnx")] == list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]
    content = (tmp_path / "model.onnx").read_bytes()
    assert content == export.content()
    assert b"site-packages" not in content
    assert b"hiercos/" not in content
    written = onnx.load_model(str(tmp_path / "model.onnx"))
    onnx.checker.check_model(written, full_check=True)
    assert [(entry.domain, entry.version) for entry in written.opset_import if not entry.domain] == [("", OPSET)]
    assert {
        entry.name: [axis.dim_param or axis.dim_value for axis in entry.type.tensor_type.shape.dim]
        for entry in written.graph.input
    } == {"features": ["batch", FEATURES]}
    read = OnnxModel.load(tmp_path / "model.onnx").description
    assert read == export.description
    assert (read.taxonomy, read.kind, read.method, read.rule, read.temperature) == (
        TOY17,
        "vectors",
        "path-softmax",
        rule("auto"),
        0.8,
    )


@pytest.mark.parametrize(("change", "shown"), [(1e-3, r"\d\S*"), (float("nan"), "nan")])
def test_nothing_is_exported_that_differs_from_torch(change: float, shown: str) -> None:
    export = of_vectors().export
    module = deepcopy(export.module)
    with torch.no_grad():
        next(module.head.parameters()).add_(change)
    with pytest.raises(OnnxError, match=rf"^onnxruntime and PyTorch differ by {shown}, more than 0.0001: nothing was"):
        compared(replace(export, module=module))
    assert compared(export).difference <= 1e-5


def test_answers_count_as_changed_where_the_likeliest_class_leads_by_more_than_rounding() -> None:
    expected = np.array([[0.5, 0.3, 0.2], [0.4, 0.39991, 0.20009], [0.3, 0.1, 0.6], [0.4, 0.3998, 0.2002]])
    assert changed_answers(expected, expected) == 0
    assert changed_answers(expected[:, [1, 0, 2]], expected) == 2  # the first and the last
    assert changed_answers(np.ones((2, 1)), np.ones((2, 1))) == 0


@pytest.mark.parametrize("start", ["inputs", "features"])
def test_a_model_of_texts_is_compared_on_texts_given_or_made_of_its_ngrams(start: Start) -> None:
    texts = TextFeatures.fit(list(docstring_data().inputs))
    model = Model(TREE, texts.width, "tree-logistic").eval()
    stored = Classifier(model, TfidfEncoder(texts))
    given = export_onnx(stored, start=start, examples=TEXTS).sample
    np.testing.assert_array_equal(given, texts.transform(TEXTS).toarray())
    made = export_onnx(stored, start=start).sample
    np.testing.assert_allclose(made.norm(dim=1), 1, rtol=1e-5)
    assert all(8 <= count < 400 for count in (made > 0).sum(dim=1))  # of 20,000 n-grams


@pytest.mark.long
@pytest.mark.parametrize("name", ["icd10cm", "docstrings", "vectors", "images"])
def test_the_default_method_answers_as_its_folder_does_on_real_rows(name: str) -> None:
    stored, inputs = trained_default(name)
    export = export_onnx(stored)
    expected = stored.posterior(inputs, ReadConfig(SingleDevice("cpu"))).classes
    found = np.concatenate([part.classes for part in export.opened().posteriors(inputs, InferenceConfig())])
    assert len(found) > 100
    assert max(export.difference, np.abs(found - expected).max()) <= TOLERANCE
    assert changed_answers(found, expected) == 0


def test_an_export_reads_the_texts_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train(docstring_data(), Settings("cross-entropy", epochs=1, dim=8), folder=tmp_path / "model")
    command = ["export", str(tmp_path / "model"), "--onnx", str(tmp_path / "model.onnx")]
    assert run(command) == 0
    (tmp_path / "model" / INPUTS).write_text("{}")
    assert run(command) == 2
    assert INPUTS in capsys.readouterr().err.splitlines()[-1]
    (tmp_path / "model" / INPUTS).unlink()  # to keep them private
    assert run(command) == 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rule", '{"name": "x"}', "unknown rule 'x'; there are: "),
        ("kind", "x", "expected kind to be one of vectors, texts, images, columns, got 'x'"),
    ],
)
def test_a_file_with_an_unknown_rule_or_kind_is_refused(name: str, value: str, message: str) -> None:
    values = {**of_vectors().export.description.properties(), f"hiercos.{name}": value}
    with pytest.raises(OnnxError, match=message):
        read_description(values, "model.onnx", checked=True)


def test_a_backbone_is_part_of_the_graph_or_left_out_as_asked() -> None:
    stored, whole = of_images()
    assert isinstance(stored.encoder, FrozenEncoder)
    images = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        features = stored.encoder.backbone(images)
        expected = stored.model.class_scores(stored.model(features))
    np.testing.assert_allclose(whole.opened().outputs(images.numpy())["leaf_scores"], expected, rtol=1e-5, atol=1e-5)
    assert (whole.description.kind, whole.description.transform) == ("images", PixelTransform(8))
    part = export_onnx(stored, start="features")
    assert (part.description.kind, part.description.transform) == ("vectors", None)
    np.testing.assert_allclose(part.opened().outputs(features.numpy())["leaf_scores"], expected, rtol=1e-5, atol=1e-5)


def test_a_fine_tuned_backbone_is_exported_with_its_model() -> None:
    backbone = small_backbone().eval()
    model = Model(TREE, 6, "cross-entropy", backbone=backbone).eval()
    images = torch.randn(3, 3, 8, 8, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        expected = model.class_scores(model(images))
    found = export_onnx(Classifier(model, FineTunedEncoder(backbone))).opened().outputs(images.numpy())
    np.testing.assert_allclose(found["leaf_scores"], expected, rtol=1e-5, atol=1e-5)


class WordCount(Backbone):
    def __init__(self) -> None:
        super().__init__("texts", 6, small_backbone().preprocess)

    def forward(self, batch: Tensor) -> Tensor:
        return batch


def test_a_backbone_of_texts_is_refused_with_what_to_do() -> None:
    stored = replace(of_images().stored, encoder=FrozenEncoder(WordCount()))
    with pytest.raises(OnnxError, match=r"^backbone 'WordCount' takes texts, .*\(--from features\)$"):
        export_onnx(stored)


def test_int8_is_smaller_and_its_loss_in_hops_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, exact = of_vectors()
    stored.save(tmp_path / "model")
    features, labels = cloud(TOY17, 60)
    np.savez(tmp_path / "data.npz", features=features.numpy(), labels=labels.numpy())
    command = ["export", str(tmp_path / "model"), "--onnx", str(tmp_path / "small.onnx"), "--int8"]
    assert run([*command, "--data", str(tmp_path / "data.npz")]) == 0
    told = capsys.readouterr().err
    small = OnnxModel.load(tmp_path / "small.onnx")
    before, after = (
        HF.hops(torch.from_numpy(model.rule.ranking(model.posterior(features.numpy()))), labels, TOY17).mean()
        for model in (exact.opened(), small)
    )
    assert f"int8 has HOPS {after:.4f} ({after - before:+.4f}) and top-1" in told
    assert "on 60 test rows" in told
    assert f"ONNX opset {OPSET}, rule auto" in told
    assert (tmp_path / "small.onnx").stat().st_size < 0.7 * len(exact.content())
    assert 0 < to_int8(exact).difference < 0.5


def test_int8_weights_of_a_convolution_are_rounded_by_channel() -> None:
    exact = of_images().export
    small = to_int8(exact)
    onnx.checker.check_model(small.graph, full_check=True)
    kinds = {tensor.name: tensor.data_type for tensor in small.graph.graph.initializer}
    (name,) = [node.input[1] for node in exact.graph.graph.node if node.op_type == "Conv"]
    assert kinds[f"{name}.int8"] == onnx.TensorProto.INT8
    assert name not in kinds
    assert 0 < small.difference < 0.2
    images = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(6)).numpy()
    plain = onnxruntime.InferenceSession(small.content(), providers=["CPUExecutionProvider"])  # keeps them int8
    found = plain.run(["leaf_scores"], {"images": images})[0]
    np.testing.assert_allclose(found, small.opened().outputs(images)["leaf_scores"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--onnx", "model.pt"], "--onnx model.pt: expected a name that ends in .onnx"),
        (["--onnx", "nowhere/model.onnx"], "--onnx nowhere/model.onnx: there is no folder nowhere"),
        (["--onnx", "folder.onnx"], "--onnx folder.onnx: expected the name of a file, this is a folder"),
        (
            ["--onnx", "model.onnx", "--data", "d.npz"],
            "--data: expected --int8 or --level with it, whose cost it measures",
        ),
    ],
)
def test_options_that_make_no_sense_are_one_sentence(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.onnx").mkdir()
    assert run(["export", "model", *options]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["folder.onnx"]


def test_texts_take_their_map_along(tmp_path: Path) -> None:
    export = of_texts().export
    read = OnnxModel.load(export.write(tmp_path / "model.onnx")).description.text_map
    assert read is not None
    np.testing.assert_array_equal(read(["a red dog"]), export.description.text_map(["a red dog"]))


def test_other_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OnnxError, match=r"no.onnx: there is no such file$"):
        OnnxModel.load(tmp_path / "no.onnx")
    (tmp_path / "bad.onnx").write_text("no network")
    with pytest.raises(OnnxError, match=r"bad.onnx: onnxruntime cannot load it: ") as caught:
        OnnxModel.load(tmp_path / "bad.onnx")
    assert len(str(caught.value).splitlines()) == 1
    export = of_vectors().export
    (tmp_path / "other.onnx").write_bytes(export.graph.SerializeToString())
    with pytest.raises(OnnxError, match=r"other.onnx: expected an ONNX file that hiercos export wrote"):
        OnnxModel.load(tmp_path / "other.onnx")
    content = export.content()
    (tmp_path / "changed.onnx").write_bytes(content.replace(b'"parents"', b'"parentz"'))
    with pytest.raises(OnnxError, match=r"changed.onnx: the file was changed after it was written \(its SHA-256 dif"):
        OnnxModel.load(tmp_path / "changed.onnx")
    (tmp_path / "cut.onnx").write_bytes(content[:-1] + b"!")
    with pytest.raises(OnnxError, match=r"cut.onnx: the file was changed after it was written"):
        OnnxModel.load(tmp_path / "cut.onnx")
    (tmp_path / "unsealed.onnx").write_bytes(content[: -len(SEAL) - DIGITS])
    with pytest.raises(OnnxError, match=r"unsealed.onnx: .* \(it does not end with its SHA-256\)"):
        OnnxModel.load(tmp_path / "unsealed.onnx")
    changed = sealed(content[: -len(SEAL) - DIGITS].replace(b'"parents"', b'"parentz"'))
    (tmp_path / "changed.onnx").write_bytes(changed)
    with pytest.raises(OnnxError, match=r"changed.onnx: its metadata were changed after hiercos export \("):
        OnnxModel.load(tmp_path / "changed.onnx")
    (tmp_path / "short.onnx").write_bytes(content[: len(content) // 2])
    with pytest.raises(OnnxError, match=r"short.onnx: onnxruntime cannot load it: "):
        OnnxModel.load(tmp_path / "short.onnx")


def test_an_exported_model_has_the_class_prior_of_its_folder() -> None:
    stored = replace(of_vectors().stored, temperature=0.7, class_weights=[*np.linspace(0.2, 5, 17)])
    session = export_onnx(stored).opened().session
    features, _ = cloud(TOY17, 6)
    with torch.inference_mode():
        scores = stored.model.class_scores(stored.model(features))
    (found,) = session.run(["probabilities"], {"features": features.numpy()})
    np.testing.assert_allclose(found, stored.calibrated(ClassScores(scores.numpy())).classes, atol=1e-6)


@pytest.mark.parametrize("name", ["none", "auto", "crm", "back-off"])
def test_an_exported_model_orders_by_the_norm_and_has_the_probabilities_of_its_evidence(name: str) -> None:
    stored, export = of_evidence()
    features = cloud(TOY17, 40, seed=3, noise=2.0)[0].numpy()
    expected = stored.posterior(features, energies=True)
    model = export.opened()
    found = model.posterior(features, energies=True)
    np.testing.assert_allclose(found.classes, expected.classes, atol=1e-5)
    np.testing.assert_allclose(found.order, expected.order, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.energies, expected.energies, atol=1e-5)
    np.testing.assert_allclose(model.outputs(features)["probabilities"], expected.classes, atol=1e-5)
    whole = Source.of(Vectors(features))
    streamed = [part for _, part in model.batches(whole, InferenceConfig(batch_size=7))]
    assert streamed[0].energies is None
    answers = [rule(name)(part).nodes for part in streamed]
    assert np.concatenate(answers).tolist() == rule(name)(found).nodes.tolist() == rule(name)(expected).nodes.tolist()
    assert (rule("none")(expected).nodes != rule("auto")(expected).nodes).any()


def test_an_exported_order_that_does_not_know_a_class_prior_gives_way_to_the_evidence() -> None:
    stored = replace(of_evidence().stored, class_weights=[*np.linspace(0.2, 5, 17)])
    features = cloud(TOY17, 6)[0].numpy()
    expected, found = stored.posterior(features), export_onnx(stored).opened().posterior(features)
    assert found.order is expected.order is None
    np.testing.assert_allclose(found.classes, expected.classes, atol=1e-5)
    assert rule("none")(found).classes.tolist() == rule("none")(expected).classes.tolist()
