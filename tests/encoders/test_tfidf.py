import json
from collections import Counter
from math import log, sqrt

import numpy as np
import pytest
import scipy.sparse as sp

from hiercos.data import Dataset, load_dataset
from hiercos.encoders import tfidf as module
from hiercos.encoders.tfidf import CHARACTERS, NAMES, WORDS, NgramKind, TextFeatures

TEXTS = ["acute bronchitis", "chronic bronchitis", "asthma", "acute asthma", "fracture of femur", "open fracture"]


@pytest.fixture(scope="module")
def chapter() -> Dataset:
    return load_dataset("icd10cm:10")


def grams(text: str, kind: NgramKind) -> list[str]:
    """All n-grams of a text without punctuation, by the definition."""
    words, lengths = (text.lower() if kind.lowercase else text).split(), range(kind.shortest, kind.longest + 1)
    if kind.analyzer == "word":
        return [" ".join(words[start : start + n]) for n in lengths for start in range(len(words) - n + 1)]
    found = []
    for word in (f" {word} " for word in words):
        for n in lengths:
            found += [word] if len(word) < n else [word[start : start + n] for start in range(len(word) - n + 1)]
            if len(word) <= n:  # it has no longer n-gram
                break
    return found


def slow_vector(text: str, kind: NgramKind) -> dict[str, float]:
    """Weights of the n-grams of a text, fitted on TEXTS: (1 + log count) (1 + log((1 + M) / (1 + df))), of length 1."""
    documents = Counter(gram for known in TEXTS for gram in set(grams(known, kind)))
    counts = {gram: count for gram, count in Counter(grams(text, kind)).items() if gram in documents}
    weights = {
        gram: (1 + log(count)) * (1 + log((1 + len(TEXTS)) / (1 + documents[gram]))) for gram, count in counts.items()
    }
    length = sqrt(sum(weight**2 for weight in weights.values()))
    return {gram: weight / length for gram, weight in weights.items()}


@pytest.mark.parametrize("kind", [WORDS, CHARACTERS, NAMES])
def test_weights_are_those_of_a_slow_loop(kind: NgramKind) -> None:
    features = TextFeatures.fit(TEXTS, [kind])
    vocabulary = features.parts[0].vocabulary
    for text in ("acute fracture of fracture", "an open bronchitis a", "Open fracture"):
        row = features.transform([text]).tocoo()
        found = {vocabulary[column]: value for column, value in zip(row.col, row.data, strict=True)}
        assert found == pytest.approx(slow_vector(text, kind), rel=1e-5)


@pytest.mark.parametrize(
    ("texts", "kinds"),
    [
        (["Norway", "South Korea"], [NAMES]),
        (["north one", "north two", "north three"], [WORDS, NAMES]),
        (["north one", "north two", "three four"], [NAMES]),
        (["fracture of femur", "open fracture"], [NAMES]),
        (["fracture of the femur", "open fracture"], [WORDS, CHARACTERS]),
    ],
)
def test_names_have_an_own_kind(texts: list[str], kinds: list[NgramKind]) -> None:
    assert [part.kind for part in TextFeatures.fit(texts).parts] == kinds


def test_only_names_tell_capital_letters_apart() -> None:
    for features, same in ((TextFeatures.fit(["SIGTERM", "sigterm"]), False), (TextFeatures.fit(TEXTS, [WORDS]), True)):
        upper, lower = features.transform(["SIGTERM acute", "sigterm ACUTE"]).toarray()
        assert np.array_equal(upper, lower) is same


def test_texts_without_any_word_have_no_columns_of_words() -> None:
    features = TextFeatures.fit(["??!", "!!?"], [WORDS, CHARACTERS])
    assert features.parts[0].vocabulary == ()
    assert features.transform(["!!?", "word"]).shape == (2, features.width)


def test_only_the_most_frequent_ngrams_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NGRAMS", 3)
    features = TextFeatures.fit(TEXTS, [WORDS])
    assert set(features.parts[0].vocabulary) <= {"acute", "bronchitis", "asthma", "fracture"}
    assert features.width == 3


def test_ngrams_of_a_single_text_are_left_out_of_many_texts() -> None:
    texts = ["the same words"] * 5000
    assert TextFeatures.fit([*texts, "rare"], [WORDS]).parts[0].vocabulary == (
        "same",
        "same words",
        "the",
        "the same",
        "words",
    )


def test_the_ngrams_of_very_long_words_are_not_remembered() -> None:
    features = TextFeatures.fit(TEXTS, [CHARACTERS])
    long = "bronchitis" * 5
    assert features.transform([f"asthma {long}"]).nnz
    assert [*features.parts[0]._of_word] == ["asthma"]


def test_the_state_goes_through_json_and_gives_the_same_bits(chapter: Dataset) -> None:
    features = TextFeatures.fit(chapter.inputs.values(chapter.rows("train")))
    values, arrays = features.state()
    again = TextFeatures.from_state(json.loads(json.dumps(values)), arrays)
    before, after = (each.transform(chapter.inputs.values(range(len(chapter)))) for each in (features, again))
    assert isinstance(after, sp.csr_matrix)
    assert (before != after).nnz == 0


def test_a_text_gets_the_same_bits_alone_as_among_many(chapter: Dataset) -> None:
    texts = chapter.inputs.values(range(len(chapter)))
    features = TextFeatures.fit(texts)
    together = features.transform(texts)
    for row in (0, 500, len(chapter) - 1):
        assert (features.transform([texts[row]]) != together[[row]]).nnz == 0


@pytest.mark.parametrize("kind", [WORDS, CHARACTERS])
def test_weights_have_the_bits_of_scikit_learn(kind: NgramKind) -> None:
    texts = [
        *TEXTS,
        "",
        "???",
        "a",
        "İstanbul ẞ ﬁ  x\u00a0y",
        "a\x1cb c\x85d",
        " Aa  aa AA ",
        "naïve _x_ 12.5",
        "x" * 40,
    ]
    part = TextFeatures.fit(texts, [kind]).parts[0]
    vectorizer = kind.vectorizer(vocabulary=part.vocabulary)
    vectorizer.idf_ = part.idf
    found, expected = part.transform(texts), vectorizer.transform(texts)
    assert found.dtype == expected.dtype
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
