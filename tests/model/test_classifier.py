import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix

from hiercos.decisions import HeldOutChains, rule
from hiercos.encoders import TextFeatures, TfidfEncoder
from hiercos.errors import DataError
from hiercos.hub import PretrainedModel, load_pipeline
from hiercos.methods import Model
from hiercos.model import Classifier
from trees import TOY17

TEXTS = [f"word{number % 9} word{number % 7} {'red' if number % 2 else 'blue'} thing" for number in range(600)]


def of_texts() -> Classifier:
    features, generator = TextFeatures.fit(TEXTS), torch.Generator().manual_seed(0)
    model = Model(TOY17, features.width, "tree-logistic").eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    chains = HeldOutChains.from_dict(
        {"first": [0.5, 0.25], "wrong": [[0.1], []], "height": TOY17.height, "exchangeable": True}
    )
    weights = np.linspace(0.5, 2, TOY17.num_classes).tolist()
    return Classifier(model, TfidfEncoder(features), rule("crm"), 0.7, weights, calibration=chains)


def of_vectors(width: int = 7) -> Classifier:
    torch.manual_seed(0)
    return Classifier(Model(TOY17, width, "hier-cos").eval(), None, rule("hops"))


def vectors(rows: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.random.default_rng(0).normal(size=(rows, 7))


READ = """
import pickle, sys
classifier, inputs = pickle.load(open(sys.argv[1], "rb"))
answers = classifier.answers(inputs, top=3, explain=True)
pickle.dump((answers, classifier.posterior(inputs).nodes, classifier.calibration), open(sys.argv[2], "wb"))
"""


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_a_pickle_gives_another_process_the_same_answers_to_the_bit(kind: str, tmp_path: Path) -> None:
    classifier, inputs = (of_texts(), TEXTS[:40]) if kind == "texts" else (of_vectors(), vectors(40))
    (tmp_path / "in").write_bytes(pickle.dumps((classifier, inputs)))
    subprocess.run([sys.executable, "-c", READ, str(tmp_path / "in"), str(tmp_path / "out")], check=True)
    answers, nodes, calibration = pickle.loads((tmp_path / "out").read_bytes())
    assert answers == classifier.answers(inputs, top=3, explain=True)
    np.testing.assert_array_equal(nodes, classifier.posterior(inputs).nodes)
    assert calibration == classifier.calibration


def test_the_method_alone_can_be_sent_to_workers() -> None:
    answers = pickle.loads(pickle.dumps(of_texts().answers))
    assert answers(iter(TEXTS[:3])) == of_texts().answers(TEXTS[:3])


@pytest.mark.parametrize("kind", ["texts", "vectors"])
def test_threads_that_share_a_classifier_get_the_same_answers(kind: str) -> None:
    classifier, inputs = (of_texts(), TEXTS) if kind == "texts" else (of_vectors(), vectors(600))
    pipeline = partial(load_pipeline(PretrainedModel(classifier), device="cpu"), explain=True)
    expected = classifier.answers(inputs, explain=True)
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(pipeline, [inputs] * 6))
    assert found == [expected] * 6


def test_an_iterator_is_read_one_batch_at_a_time() -> None:
    read = []
    inputs = (read.append(text) or text for text in TEXTS)
    posteriors = of_texts().posteriors(inputs)
    sizes = [len(next(posteriors))]
    assert len(read) == sizes[0] == 256
    sizes += [len(posterior) for posterior in posteriors]
    assert sizes == [256, 256, 88]
    assert list(of_texts().posteriors(iter([]))) == []
    rows = [answer["row"] for answer in of_texts().answers(iter(TEXTS))]
    assert rows == list(range(1, 601))


def test_sparse_vectors_and_frames_are_inputs_as_arrays_and_lists_are() -> None:
    pandas = pytest.importorskip("pandas")
    by_vectors, features = of_vectors(), vectors(20)
    expected = by_vectors.answers(features)
    assert by_vectors.answers(csr_matrix(features)) == expected
    assert by_vectors.answers(pandas.DataFrame(features)) == expected
    assert by_vectors.answers(iter(features)) == expected
    frame = pandas.DataFrame({"id": range(20), "text": TEXTS[:20]})
    assert of_texts().answers(frame) == of_texts().answers(frame["text"]) == of_texts().answers(TEXTS[:20])
    with pytest.raises(DataError, match="inputs: expected a column 'text', got id"):
        of_texts().answers(frame[["id"]])


def test_a_list_of_classes_stands_beside_an_answer_that_stops_above_them() -> None:
    (answer,) = of_texts().answers("word1 thing", top=3, confidence=1.0, within=["A1"])
    assert (answer["class"], answer["level"]) == ("", 1)
    assert [each["rank"] for each in answer["top"]] == [1, 2, 3]
    assert {each["level_1"] for each in answer["top"]} == {"A1"}
    assert set(answer["top"][0]) <= {*answer, "rank"} - {"row", "text", "top"}
