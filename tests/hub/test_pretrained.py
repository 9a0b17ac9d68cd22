"""Models as the Hugging Face Hub keeps them."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from blobs import cloud, written_cloud
from colours import TREE, pixels, small_backbone
from hiercos.cli.app import run
from hiercos.data import Texts
from hiercos.decisions import Posterior, rule
from hiercos.encoders.encoder import FrozenEncoder, TfidfEncoder
from hiercos.encoders.tfidf import TextFeatures
from hiercos.errors import DataError
from hiercos.hub import PretrainedModel, load_pipeline
from hiercos.hub.card import model_card
from hiercos.hub.pretrained import HubError
from hiercos.methods import Model, Projection, csr_tensor
from hiercos.metrics.table import metric_spec
from hiercos.model import Classifier, Memory, ModelError
from hub_server import TOKEN, Repositories, hub
from trees import TOY, TOY17

huggingface_hub = pytest.importorskip("huggingface_hub")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that the command left, with options and a rule of its own."""
    folder = tmp_path_factory.mktemp("trained")
    words = ["train", *written_cloud(folder, TOY17, 340), "--out", str(folder / "model")]
    settings = ["--method", "hier-cos", "--rule", "crm", "--epochs", "3", "--lr", "0.02", "--set", "alpha=0.1"]
    assert run([*words, *settings, "--set", "width=24", "--device", "cpu"]) == 0
    return folder / "model"


def answers(model: PretrainedModel) -> torch.Tensor:
    network = model.classifier.model
    with torch.no_grad():
        return network.class_scores(network(cloud(TOY17, 34, seed=5)[0]))


def test_a_saved_model_is_the_same_model(trained: Path, tmp_path: Path) -> None:
    before = PretrainedModel.from_pretrained(trained)
    before.save_pretrained(tmp_path / "toys")
    after = PretrainedModel.from_pretrained(str(tmp_path / "toys"))
    assert torch.equal(answers(after), answers(before))
    assert (after.classifier.rule, after.classifier.temperature) == (
        before.classifier.rule,
        before.classifier.temperature,
    )
    assert after.taxonomy == TOY17
    assert before.record is not None
    assert after.record == replace(before.record, data={**before.record.data, "source": "data.npz"})
    assert {file.name for file in (tmp_path / "toys").iterdir()} == {
        "README.md",
        "config.json",
        "model.safetensors",
        "record.json",
        "taxonomy.json",
    }


def test_a_folder_with_the_record_of_another_run_is_refused(trained: Path, tmp_path: Path) -> None:
    model = PretrainedModel.from_pretrained(trained)
    model.save_pretrained(tmp_path)
    model.save_pretrained(tmp_path)  # of the same run
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ModelError, match=r"expected a folder without the record of another run, it has record\.json$"):
        replace(model, record=None).save_pretrained(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_card_that_is_there_stays(trained: Path, tmp_path: Path) -> None:
    model = PretrainedModel.from_pretrained(trained)
    (tmp_path / "README.md").write_text("my own words")
    model.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "my own words"
    assert torch.equal(answers(PretrainedModel.from_pretrained(tmp_path)), answers(model))


def test_the_card_says_how_good_each_level_is_and_what_the_tree_looks_like(trained: Path, tmp_path: Path) -> None:
    model = PretrainedModel.from_pretrained(trained)
    model.save_pretrained(tmp_path / "toys")
    card = huggingface_hub.ModelCard.load(tmp_path / "toys" / "README.md")
    assert card.data.library_name == "hiercos"
    assert card.data.pipeline_tag == "tabular-classification"
    assert {"hierarchical-classification", "taxonomy", "hier-cos"} <= set(card.data.tags)
    assert model.record is not None
    figures = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert figures["accuracy"] == pytest.approx(model.record.metrics["top1"], abs=1e-6)
    levels = [(5, 4), (2, 0), (6, 3), (10, 10)]  # nodes of each level, and classes that end there
    for level, (nodes, classes) in enumerate(levels, 1):
        accuracy = model.record.metrics[f"accuracy_level_{level}"]
        assert f"| {level} | {nodes} | {classes} | {100 * accuracy:.2f} |" in card.text
    assert "own best node" not in card.text
    assert "load_pipeline(" in card.text
    assert str(trained.parent) not in card.content


def test_the_card_says_whose_the_accuracy_is_where_each_level_was_chosen_by_itself(trained: Path) -> None:
    model = PretrainedModel.from_pretrained(trained)
    assert model.record is not None
    assert "own best node" in model_card(model.classifier, replace(model.record, rule="none"), "toys")


def test_the_card_says_what_to_install_and_what_the_order_and_the_figures_mean(trained: Path) -> None:
    model = PretrainedModel.from_pretrained(trained)
    card = model_card(model.classifier, model.record, "someone/toys")
    assert "\npip install 'hiercos[hf]'\n" in card
    assert "by the decision rule `crm`" in card
    assert metric_spec("hops").meaning in card
    assert "| top-5 % ↑ |" in card
    plain = model_card(replace(model.classifier, rule=rule("none")), None, "toys")
    assert "\npip install hiercos\n" in plain
    assert "decision rule" not in plain
    assert metric_spec("hops").meaning not in plain


def test_the_card_says_what_of_which_data_the_model_holds(trained: Path) -> None:
    model = PretrainedModel.from_pretrained(trained)
    assert model.record is not None
    card = model_card(model.classifier, model.record, "toys")
    assert model.record.data["fingerprint"] in card
    assert "\nNo text or image as it was." in card
    memory = Memory(torch.ones(3, 2), torch.zeros(3, dtype=torch.int64))
    card = model_card(replace(of_texts(), memory=memory), None, "toys")
    assert "words and parts of words that are most frequent in the training texts" in card
    assert "The features of 3 training samples with their labels" in card


def test_the_card_names_a_backbone_that_is_not_in_the_folder() -> None:
    backbone = small_backbone()
    backbone.name = "timm:tiny"
    frozen = Classifier(Model(TREE, 6, "cross-entropy").eval(), FrozenEncoder(backbone))
    card = model_card(frozen, None, "someone/colours")
    assert "\npip install 'hiercos[hf,images,timm]'\n" in card
    assert "The frozen backbone `timm:tiny` is not among the files: it is loaded by its name." in card
    whole = model_card(replace(frozen, encoder=FrozenEncoder(backbone, found_by_name=False)), None, "colours")
    assert "not among the files" not in whole


def test_the_command_of_the_card_makes_the_same_model_again(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = PretrainedModel.from_pretrained(trained)
    model.save_pretrained(tmp_path)
    (tmp_path / "data.npz").write_bytes((trained.parent / "data.npz").read_bytes())
    lines = (tmp_path / "README.md").read_text().splitlines()
    (command,) = [line for line in lines if line.startswith("hiercos train")]
    monkeypatch.chdir(tmp_path)
    assert run([*shlex.split(command)[1:], "--device", "cpu"]) == 0
    again = PretrainedModel.from_pretrained("model")
    assert torch.equal(answers(again), answers(model))
    assert (again.classifier.rule, again.classifier.temperature) == (
        model.classifier.rule,
        model.classifier.temperature,
    )


def test_a_model_without_a_record_has_a_card_without_figures(trained: Path, tmp_path: Path) -> None:
    PretrainedModel(PretrainedModel.from_pretrained(trained).classifier).save_pretrained(tmp_path / "toys")
    assert "accuracy" not in (tmp_path / "toys" / "README.md").read_text()
    assert PretrainedModel.from_pretrained(tmp_path / "toys").record is None


@pytest.fixture
def repositories(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> object:
    """A hub of this machine, and an empty cache for what comes from it."""
    with hub() as (address, found):
        names = {
            "ENDPOINT": address,
            "HUGGINGFACE_CO_URL_TEMPLATE": f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}",
        }
        for name, value in {**names, "HF_HUB_CACHE": str(tmp_path / "cache")}.items():
            monkeypatch.setattr(huggingface_hub.constants, name, value)
        huggingface_hub.utils.disable_progress_bars()
        yield found
        huggingface_hub.utils.enable_progress_bars()


def test_a_pushed_model_comes_back_from_the_hub(trained: Path, repositories: Repositories) -> None:
    model = PretrainedModel.from_pretrained(trained)
    address = model.push_to_hub("someone/toys", token=TOKEN)
    assert address.endswith("/someone/toys/commit/" + "a" * 40)
    assert set(repositories["someone/toys"]) == {
        "README.md",
        "config.json",
        "model.safetensors",
        "record.json",
        "taxonomy.json",
    }
    assert 'load_pipeline("someone/toys")' in repositories["someone/toys"]["README.md"].decode()
    repositories["someone/toys"]["evil.pkl"] = b"never downloaded"
    again = PretrainedModel.from_pretrained("someone/toys")
    assert torch.equal(answers(again), answers(model))
    assert again.record is not None


def test_a_card_in_the_repository_stays(trained: Path, repositories: Repositories) -> None:
    repositories["someone/toys"] = {"README.md": b"my own words", "config.json": b"an older one"}
    PretrainedModel.from_pretrained(trained).push_to_hub("someone/toys", token=TOKEN)
    assert repositories["someone/toys"]["README.md"] == b"my own words"
    assert b"hier-cos" in repositories["someone/toys"]["config.json"]
    assert "model.safetensors" in repositories["someone/toys"]


NOT_PUSHED = "^someone/toys: the model cannot be pushed to the Hugging Face Hub: "
NOT_LOADED = "there is no such folder, and nothing comes from the Hugging Face Hub: "


def test_what_the_hub_refuses_or_does_not_have_is_one_sentence(trained: Path, repositories: Repositories) -> None:
    with pytest.raises(HubError, match=rf"^someone/none: {NOT_LOADED}Repository not found$"):
        PretrainedModel.from_pretrained("someone/none")
    with pytest.raises(HubError, match=rf"^some one/toys: {NOT_LOADED}.+"):
        PretrainedModel.from_pretrained("some one/toys")
    with pytest.raises(HubError, match=rf"{NOT_PUSHED}Invalid username or password$"):
        PretrainedModel.from_pretrained(trained).push_to_hub("someone/toys", token="hf_wrong")


def test_a_hub_out_of_reach_is_one_sentence(trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(HubError, match=rf"{NOT_PUSHED}.+refused$"):
        PretrainedModel.from_pretrained(trained).push_to_hub("someone/toys", token=TOKEN)
    with pytest.raises(HubError, match=rf"^someone/toys: {NOT_LOADED}.+refused$"):
        PretrainedModel.from_pretrained("someone/toys")


def test_names_that_are_neither_folders_nor_repositories_are_refused(tmp_path: Path) -> None:
    for name in ("nowhere", "./nowhere", "a/b/c"):
        with pytest.raises(ModelError, match="expected a folder with a model, or a repository"):
            PretrainedModel.from_pretrained(name)
    with pytest.raises(ModelError, match=r"not a model folder, it has no config\.json"):
        PretrainedModel.from_pretrained(tmp_path)


def test_without_huggingface_hub_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubError, match=r"pip install 'hiercos\[hf\]'"):
        PretrainedModel.from_pretrained("someone/toys")


TEXTS = ["red car", "blue cat", "green castle", "a cloud in the sky", "a cat on a car"]


def of_texts() -> Classifier:
    torch.manual_seed(0)
    texts = TextFeatures.fit(TEXTS)
    projection = Projection.fit(texts.transform(TEXTS), dim=4, seed=0)
    model = Model(TOY17, projection.num_features, "cross-entropy", projection=projection).eval()
    return Classifier(model, TfidfEncoder(texts), rule("crm"), 0.5)


def of_images() -> Classifier:
    torch.manual_seed(0)
    return Classifier(Model(TREE, 6, "hier-cos", {"width": 8}).eval(), FrozenEncoder(small_backbone()))


def test_a_pipeline_of_a_folder_names_the_class_its_path_and_its_probability(tmp_path: Path) -> None:
    stored = of_texts()
    stored.save(tmp_path)
    answers = load_pipeline(tmp_path, device="cpu")(TEXTS)
    assert isinstance(stored.encoder, TfidfEncoder)
    with torch.no_grad():
        scores = stored.model(csr_tensor(stored.encoder.features.transform(TEXTS)))
    posterior = Posterior.from_scores(scores, TOY17, temperature=0.5)
    risks, nodes = rule("crm").ranking(posterior), posterior.nodes
    for row, answer in enumerate(answers):
        label = int(risks[row].argmax())
        path = TOY17.path(int(TOY17.leaves[label]))
        assert answer["class"] == TOY17.class_names[label]
        names = [TOY17.names[node] for node in path]
        assert [answer[f"level_{level}"] for level in range(1, 5)] == names + [""] * (4 - len(names))
        assert answer["score"] == pytest.approx(float(risks[row, label]), abs=1e-6)
        assert answer["confidence"] == pytest.approx(float(nodes[row, path[-1]]), abs=1e-6)


def shown(answers: list[dict[str, object]]) -> list[dict[str, object]]:
    """Answers without the name of the image."""
    return [{name: value for name, value in answer.items() if name != "image"} for answer in answers]


def test_images_are_paths_or_opened_by_pillow(tmp_path: Path) -> None:
    pipeline = of_images().answers
    images = [Image.fromarray(square) for square in pixels(4)]
    paths = [tmp_path / f"{row}.png" for row in range(4)]
    for image, path in zip(images, paths, strict=True):
        image.save(path)
    answers = pipeline(images)
    assert shown(pipeline(paths)) == shown(answers)
    assert shown(pipeline([images[0], *map(str, paths[1:])])) == shown(answers)
    (alone,) = pipeline(images[0])
    assert alone["class"] == answers[0]["class"]
    assert alone["score"] == pytest.approx(answers[0]["score"], rel=1e-5)  # another batch size, other rounding
    turned = images[0].transpose(Image.Transpose.ROTATE_90)  # as a camera held upright stores it
    turned.getexif()[0x0112] = 6
    assert pipeline([turned]) == [alone]


def test_a_loaded_model_becomes_a_pipeline(tmp_path: Path) -> None:
    stored = of_texts()
    stored.save(tmp_path)
    pipeline = load_pipeline(PretrainedModel(stored), device="cpu", batch_size=2)
    assert pipeline(TEXTS) == load_pipeline(str(tmp_path), device="cpu", batch_size=2)(TEXTS)
    assert repr(stored) == "Classifier(cross-entropy + crm, texts, Taxonomy(23 nodes, 17 classes, height 4))"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["a", " "], "inputs: row 2: the text is empty"),
        (["a", 3], "inputs: row 2: expected a text, got int"),
    ],
)
def test_faulty_texts_are_named(inputs: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        of_texts().answers(inputs)


def test_empty_texts_are_left_out_on_request() -> None:
    texts = ["red car", " ", "blue cat", ""]
    expected = of_texts().answers(["red car", "blue cat"])
    for inputs in (texts, iter(texts), Texts(texts)):
        found = of_texts().answers(inputs, on_error="skip")
        assert [answer["row"] for answer in found] == [1, 3]
        assert [answer["class"] for answer in found] == [answer["class"] for answer in expected]
    with pytest.raises(DataError, match="inputs: row 1: the text is empty"):
        of_texts().answers("", on_error="skip")


def test_no_inputs_have_no_answers_and_no_posterior() -> None:
    model = of_texts()
    assert model.answers([]) == model.answers(iter([])) == list(model.posteriors([])) == []
    with pytest.raises(DataError, match="inputs: expected at least one sample"):
        model.posterior([])


def test_faulty_images_are_named(tmp_path: Path) -> None:
    pipeline = of_images().answers
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"broken\.png: not an image"):
        pipeline([tmp_path / "broken.png"])
    with pytest.raises(DataError, match="inputs: row 1: expected a path or a Pillow image, got int"):
        pipeline([3])
    with pytest.raises(DataError, match="image 1: the image cannot be decoded"):
        pipeline([Image.fromarray(np.full((8, 8), 7, dtype=np.float32))])


def test_wrong_questions_are_refused() -> None:
    vectors = Classifier(Model(TOY, 2, "cross-entropy"), None).answers
    with pytest.raises(DataError, match="inputs: expected vectors, shape"):
        vectors(["a text"])
    with pytest.raises(DataError, match="takes vectors of 2 features, got 3"):
        vectors(np.ones((1, 3)))
    with pytest.raises(ValueError, match="expected device to be one of auto, cpu, cuda, mps, got 'gpu0'"):
        load_pipeline("anywhere", device="gpu0")
    for top in (0, 1.5, "x"):
        with pytest.raises(ValueError, match=f"expected top of at least 1, got {top!r}"):
            vectors(np.ones((1, 2)), top=top)
