"""A trained model as one call."""

from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from PIL import Image

from blobs import cloud
from colours import TREE, pixels, small_backbone
from hiercos.data.text_features import TextFeatures
from hiercos.decisions import Posterior, rule
from hiercos.engine import ReadConfig, StoredModel, save_model
from hiercos.engine.encoders import FrozenEncoder, TfidfEncoder
from hiercos.errors import DataError
from hiercos.hub import Pipeline, PretrainedModel, load_pipeline
from hiercos.methods import Model
from hiercos.nn import Projection, csr_tensor
from trees import TOY, TOY17

TEXTS = ["red car", "blue cat", "green castle", "a cloud in the sky", "a cat on a car"]


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric


def of_texts() -> StoredModel:
    torch.manual_seed(0)
    texts = TextFeatures.fit(TEXTS)
    projection = Projection.fit(texts.transform(TEXTS), dim=4, seed=0)
    model = Model(TOY17, projection.num_features, "cross-entropy", projection=projection).eval()
    return StoredModel(model, TfidfEncoder(texts), rule("crm"), 0.5)


def of_images() -> StoredModel:
    torch.manual_seed(0)
    return StoredModel(Model(TREE, 6, "hier-cos", {"width": 8}).eval(), FrozenEncoder(small_backbone()))


def test_a_pipeline_of_a_folder_names_the_class_its_path_and_its_probability(tmp_path: Path) -> None:
    stored = of_texts()
    save_model(tmp_path, stored)
    answers = load_pipeline(tmp_path, device="cpu")(TEXTS)
    assert isinstance(stored.encoder, TfidfEncoder)
    with torch.no_grad():
        scores = stored.model(csr_tensor(stored.encoder.features.transform(TEXTS)))
    posterior = Posterior.from_scores(scores, TOY17, temperature=0.5)
    risks, nodes = rule("crm").ranking(posterior), posterior.nodes
    for row, answer in enumerate(answers):
        label = int(risks[row].argmax())
        path = TOY17.path(int(TOY17.leaves[label]))
        assert answer["label"] == TOY17.class_names[label]
        assert answer["path"] == [TOY17.names[node] for node in path]
        assert answer["score"] == pytest.approx(float(risks[row, label]))
        assert answer["path_probabilities"] == pytest.approx([float(nodes[row, node]) for node in path])
        assert answer["probability"] == answer["path_probabilities"][-1]


def test_the_best_classes_come_best_first_and_ties_in_the_order_of_the_classes(fabric: Fabric) -> None:
    pipeline = Pipeline(PretrainedModel(of_texts()), ReadConfig(fabric))
    (answer,) = pipeline("red car", top_k=3)
    assert len(answer["top_k"]) == 3
    assert answer["top_k"][0] == {key: value for key, value in answer.items() if key != "top_k"}
    likely = [other["probability"] for other in answer["top_k"][1:]]
    assert likely == sorted(likely, reverse=True)
    assert len(pipeline("red car", top_k=99)[0]["top_k"]) == TOY17.num_classes
    flat = Model(TOY, 2, "cross-entropy").eval()
    for weight in flat.parameters():
        torch.nn.init.zeros_(weight)
    (tied,) = Pipeline(PretrainedModel(StoredModel(flat, None)), ReadConfig(fabric))(np.ones((1, 2)), top_k=3)
    assert [other["label"] for other in tied["top_k"]] == ["cat", "dog", "car"]
    assert tied["path_probabilities"] == pytest.approx([2 / 3, 1 / 3])


def test_images_are_paths_or_opened_by_pillow(fabric: Fabric, tmp_path: Path) -> None:
    pipeline = Pipeline(PretrainedModel(of_images()), ReadConfig(fabric))
    images = [Image.fromarray(square) for square in pixels(4)]
    paths = [tmp_path / f"{row}.png" for row in range(4)]
    for image, path in zip(images, paths, strict=True):
        image.save(path)
    answers = pipeline(images)
    assert pipeline(paths) == answers
    assert pipeline([images[0], *map(str, paths[1:])]) == answers
    (alone,) = pipeline(images[0])
    assert alone["label"] == answers[0]["label"]
    assert alone["score"] == pytest.approx(answers[0]["score"], rel=1e-5)  # another batch size, other rounding
    turned = images[0].transpose(Image.Transpose.ROTATE_90)  # as a camera held upright stores it
    turned.getexif()[0x0112] = 6
    assert pipeline([turned]) == [alone]


def test_a_loaded_model_becomes_a_pipeline(tmp_path: Path) -> None:
    stored = of_texts()
    save_model(tmp_path, stored)
    pipeline = load_pipeline(PretrainedModel(stored), device="cpu", batch_size=2)
    assert pipeline(TEXTS) == load_pipeline(str(tmp_path), device="cpu", batch_size=2)(TEXTS)
    assert repr(pipeline) == "Pipeline(cross-entropy + crm, texts, Taxonomy(23 nodes, 17 classes, height 4), cpu)"
    assert repr(stored) == "StoredModel(cross-entropy + crm, texts, Taxonomy(23 nodes, 17 classes, height 4))"


def test_what_no_pipeline_can_be_made_of_is_refused() -> None:
    model = PretrainedModel(of_texts())
    with pytest.raises(TypeError, match="expected a folder, the name of a repository or a PretrainedModel, got int"):
        load_pipeline(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected batch_size of at least 1, got 0"):
        load_pipeline(model, batch_size=0)
    with pytest.raises(ValueError, match="expected workers of at least 0, got -1"):
        load_pipeline(model, workers=-1)
    with pytest.raises(ValueError, match="expected no revision with a loaded model, got 'main'"):
        load_pipeline(model, revision="main")


def test_vectors_are_rows_of_numbers(fabric: Fabric) -> None:
    model = Model(TOY17, 12, "path-softmax", {"width": None}).eval()
    features, _ = cloud(TOY17, 17)
    answers = Pipeline(PretrainedModel(StoredModel(model, None)), ReadConfig(fabric))(features.numpy())
    with torch.no_grad():
        expected = model(features).argmax(dim=1).tolist()
    assert [answer["label"] for answer in answers] == [TOY17.class_names[label] for label in expected]
    assert "id" not in answers[0]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "inputs: expected at least one sample, got none"),
        (["a", " "], "inputs: row 2: the text is empty"),
        (["a", 3], "inputs: row 2: expected a text, got int"),
    ],
)
def test_faulty_texts_are_named(fabric: Fabric, inputs: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Pipeline(PretrainedModel(of_texts()), ReadConfig(fabric))(inputs)


def test_faulty_images_are_named(fabric: Fabric, tmp_path: Path) -> None:
    pipeline = Pipeline(PretrainedModel(of_images()), ReadConfig(fabric))
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"broken\.png: not an image"):
        pipeline([tmp_path / "broken.png"])
    with pytest.raises(DataError, match="inputs: row 1: expected a path or a Pillow image, got int"):
        pipeline([3])
    with pytest.raises(DataError, match="image 1: the image cannot be decoded"):
        pipeline([Image.fromarray(np.full((8, 8), 7, dtype=np.float32))])


def test_wrong_questions_are_refused(fabric: Fabric) -> None:
    vectors = Pipeline(PretrainedModel(StoredModel(Model(TOY, 2, "cross-entropy"), None)), ReadConfig(fabric))
    with pytest.raises(DataError, match="inputs: expected vectors, shape"):
        vectors(["a text"])
    with pytest.raises(DataError, match="takes vectors of 2 features, got 3"):
        vectors(np.ones((1, 3)))
    with pytest.raises(ValueError, match="expected device to be one of auto, cpu, cuda, mps, got 'gpu0'"):
        load_pipeline("anywhere", device="gpu0")
    for top_k in (0, 1.5, "x"):
        with pytest.raises(ValueError, match=f"expected top_k of at least 1, got {top_k!r}"):
            vectors(np.ones((1, 2)), top_k=top_k)
