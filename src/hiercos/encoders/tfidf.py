"""Texts to sparse vectors without a download: TF-IDF of n-grams of words and of characters.

scikit-learn chooses the n-grams in training. Texts are transformed here, to the same bits: importing scikit-learn takes
longer than predicting a few texts.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hiercos.data import Float32Array
from hiercos.errors import DataError, reading

RARE, MANY_TEXTS = 2, 5000  # from 5,000 texts on, n-grams that occur in fewer than 2 are left out
MOST_NGRAMS = 50_000  # of each kind, the most frequent ones: weights of a linear model grow with V times C
TEXTS_AT_ONCE = 8192  # texts transformed at a time
LONGEST_NGRAM = 64  # words or characters, in stored features
Analyzer = Literal["word", "char_wb"]
WORD = r"(?u)\b\w+\b"  # a word may have one letter


@dataclass(frozen=True)
class NgramKind:
    """A kind of n-grams."""

    analyzer: Analyzer  # "word", or "char_wb" for characters within words that are padded with spaces
    shortest: int  # length of the shortest n-gram, in words or characters
    longest: int  # length of the longest n-gram
    lowercase: bool = True  # whether capital letters count as small ones

    def vectorizer(self, **options: Any) -> Any:
        """TfidfVectorizer of scikit-learn for these n-grams."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        return TfidfVectorizer(
            analyzer=self.analyzer,
            token_pattern=WORD if self.analyzer == "word" else None,
            ngram_range=(self.shortest, self.longest),
            lowercase=self.lowercase,
            sublinear_tf=True,
            dtype=np.float32,
            **options,
        )

    def of(self, text: str) -> list[str]:
        """N-grams of a text, as often as they occur; a word too short for its n-gram is one itself."""
        lengths, text = range(self.shortest, self.longest + 1), text.lower() if self.lowercase else text
        if self.analyzer == "word":
            words = re.findall(WORD, text)
            return [" ".join(words[start : start + n]) for n in lengths for start in range(len(words) - n + 1)]
        found = []
        for word in text.split():
            padded = f" {word} "
            for n in lengths:
                found += [padded[start : start + n] for start in range(max(1, len(padded) - n + 1))]
                if len(padded) <= n:
                    break
        return found

    def with_words(self, text: str) -> list[tuple[str, str]]:
        """The same n-grams, each with the word that it is from, in small letters; those of words are their own."""
        if self.analyzer == "word":
            return [(gram, gram) for gram in self.of(text)]
        words = {word: " ".join(re.findall(WORD, word.lower())) or word for word in text.split()}
        return [(gram, words[word]) for word in text.split() for gram in self.of(word)]


WORDS, CHARACTERS = NgramKind("word", 1, 2), NgramKind("char_wb", 3, 4)
NAMES = NgramKind("char_wb", 1, 5, lowercase=False)
MOST_WORDS_IN_NAMES = 2.5  # mean words of a text up to which texts count as names
MOST_WORDS, LONGEST_WORD = 1 << 16, 40  # words whose n-grams are remembered, and characters of such a word
LEAST_SHARED_WORDS = 0.5  # share of the words of names that other names must have, too, for words to count


def suitable_kinds(texts: Sequence[str]) -> tuple[NgramKind, ...]:
    """Kinds of n-grams that suit texts.

    In names of one or two words single letters, capitals and long endings tell more, and words that occur in one name
    alone, as those of identifiers do, tell nothing.
    """
    if sum(len(text.split()) for text in texts) > MOST_WORDS_IN_NAMES * len(texts):
        return WORDS, CHARACTERS
    counts = Counter(word for text in texts for word in set(re.findall(WORD, text.lower()))).values()
    shared = sum(count for count in counts if count > 1)
    return (WORDS, NAMES) if shared >= LEAST_SHARED_WORDS * sum(counts) else (NAMES,)


@dataclass(frozen=True, eq=False)
class Ngrams:
    """Weighted n-grams of one kind."""

    kind: NgramKind  # kind of the n-grams
    vocabulary: tuple[str, ...]  # n-grams in column order
    idf: Float32Array  # inverse document frequency of each, shape (V,)

    @classmethod
    def fit(cls, kind: NgramKind, texts: Sequence[str]) -> "Ngrams":
        """Learn vocabulary and weights from texts; no n-grams if the texts have none of this kind."""
        analyze = kind.vectorizer().build_analyzer()
        if not any(analyze(text) for text in texts):
            return cls(kind, (), np.empty(0, np.float32))
        fewest = RARE if len(texts) >= MANY_TEXTS else 1
        vectorizer = kind.vectorizer(min_df=fewest, max_features=MOST_NGRAMS).fit(texts)
        return cls(kind, tuple(vectorizer.get_feature_names_out()), vectorizer.idf_.astype(np.float32))

    def transform(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Weights of the n-grams of each text, shape (M, V); rows of length 1, or of zeros."""
        counts = self._counts(texts)
        counts.data = (np.log(counts.data) + np.float32(1)) * self.idf[counts.indices]
        rows = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
        lengths = np.sqrt(np.bincount(rows, np.square(counts.data), len(texts)))  # (M,), float64
        counts.data = (counts.data / lengths[rows]).astype(np.float32)
        return counts

    @cached_property
    def _of_word(self) -> dict[str, tuple[int | None, ...]]:
        """Columns of the n-grams of words that occurred lately."""
        return {}

    def _columns_in(self, text: str) -> Iterable[int | None]:
        """Column of each n-gram of a text; None for those that are not in the vocabulary."""
        if self.kind.analyzer == "word":
            return map(self.columns.get, self.kind.of(text))
        if len(self._of_word) > MOST_WORDS:
            self._of_word.clear()
        found: list[int | None] = []
        for word in (text.lower() if self.kind.lowercase else text).split():
            columns = self._of_word.get(word)
            if columns is None:
                columns = tuple(map(self.columns.get, self.kind.of(word)))
                if len(word) <= LONGEST_WORD:
                    self._of_word[word] = columns
            found += columns
        return found

    def _counts(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Number of times that each n-gram occurs in each text, shape (M, V), columns in order, float32."""
        columns: list[int] = []
        counts: list[int] = []
        starts = [0]
        for text in texts:
            found = Counter(self._columns_in(text))
            found.pop(None, None)  # n-grams that are not in the vocabulary
            columns += found.keys()  # type: ignore[arg-type]  # None is gone
            counts += found.values()
            starts.append(len(columns))
        shape = (len(texts), len(self.vocabulary))
        matrix = sp.csr_matrix((np.array(counts, np.float32), np.array(columns, np.int32), starts), shape=shape)
        matrix.sort_indices()
        return matrix

    @cached_property
    def columns(self) -> dict[str, int]:
        """Column of each n-gram."""
        return {gram: column for column, gram in enumerate(self.vocabulary)}


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """A fitted map from texts to sparse vectors: counts of n-grams, weighted by their rarity.

    Words are what practitioners use for documents; characters within words capture stems and misspellings, which
    matter in short phrases. Joined, they serve both (docs/notes/texts.md has the figures).

    Args:
        parts: n-grams of each kind; their columns follow each other.

    Example:
        >>> features = TextFeatures.fit(["the red car", "the red cat", "the blue car"])
        >>> vectors = features.transform(["a red car", "???"])
        >>> vectors.shape == (2, features.width), vectors[[1]].nnz
        (True, 0)
    """

    parts: tuple[Ngrams, ...]

    @classmethod
    def fit(cls, texts: Sequence[str], kinds: Sequence[NgramKind] | None = None) -> "TextFeatures":
        """Learn vocabulary and weights from training texts, of `suitable_kinds` of n-grams unless kinds are given."""
        return cls(tuple(Ngrams.fit(kind, texts) for kind in kinds or suitable_kinds(texts)))

    @property
    def width(self) -> int:
        """Number of n-grams V."""
        return sum(len(part.vocabulary) for part in self.parts)

    def transform(self, texts: Sequence[str]) -> sp.csr_matrix:
        """Sparse vectors of texts, shape (M, V), float32; every kind has an equal share of a row's squared length."""
        share = np.float32(1 / np.sqrt(len(self.parts)))
        blocks = [
            sp.hstack([part.transform(texts[start : start + TEXTS_AT_ONCE]) for part in self.parts], format="csr")
            for start in range(0, len(texts), TEXTS_AT_ONCE)
        ]
        empty = sp.csr_matrix((0, self.width), dtype=np.float32)
        return share * sp.vstack([empty, *blocks], format="csr", dtype=np.float32)

    def words(self, text: str) -> tuple[list[str], sp.csr_matrix]:
        """The words and phrases of a text, and the share of each n-gram that belongs to each of them, shape (V, K).

        An n-gram of words is a phrase of its own. One of characters belongs to the words that it stands in.

        Example:
            >>> features = TextFeatures.fit(["Red car", "red"], [NgramKind("word", 1, 2), NgramKind("char_wb", 3, 3)])
            >>> words, shares = features.words("red RED care")
            >>> words, shares.sum(axis=0).round().astype(int).tolist()
            (['red', 'care'], [[4, 2]])
        """
        found: Counter[tuple[int, str]] = Counter()
        start = 0
        for part in self.parts:
            pairs = ((part.columns.get(gram), word) for gram, word in part.kind.with_words(text))
            found.update((start + column, word) for column, word in pairs if column is not None)
            start += len(part.vocabulary)
        words = list(dict.fromkeys(word for _, word in found))
        place_of = {word: place for place, word in enumerate(words)}
        places = [column for column, _ in found], [place_of[word] for _, word in found]
        counts = sp.csr_matrix((np.array([*found.values()], np.float64), places), shape=(self.width, len(words)))
        counts.data /= np.repeat(counts.sum(axis=1).A1, np.diff(counts.indptr))
        return words, counts

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON values and arrays that `from_state` takes."""
        values = [{**vars(part.kind), "vocabulary": list(part.vocabulary)} for part in self.parts]
        return {"parts": values}, {"idf": np.concatenate([part.idf for part in self.parts])}

    @classmethod
    def from_state(cls, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> "TextFeatures":
        """The map from its `state`; it transforms every text into the same bits.

        Raises:
            DataError: for values that are not a state.
        """
        with reading("expected n-grams with their weights", DataError):
            described = values["parts"]
            kinds = [
                NgramKind(part["analyzer"], part["shortest"], part["longest"], part.get("lowercase", True))
                for part in described
            ]
            vocabularies = [part["vocabulary"] for part in described]
            ends = np.cumsum([len(vocabulary) for vocabulary in vocabularies])
            idf = arrays["idf"]
        faults = [
            fault for kind, vocabulary in zip(kinds, vocabularies, strict=True) for fault in _faults(kind, vocabulary)
        ]
        if not faults and (idf.dtype != np.float32 or idf.shape != (sum(map(len, vocabularies)),)):
            faults = [f"expected a weight for each n-gram, got {idf.dtype} of shape {idf.shape}"]
        if not faults and not np.isfinite(idf).all():
            faults = ["expected finite weights of the n-grams"]
        if faults:
            raise DataError(faults)
        weights = np.split(idf, ends[:-1])
        return cls(tuple(map(Ngrams, kinds, map(tuple, vocabularies), weights)))


def _faults(kind: NgramKind, vocabulary: Any) -> Iterator[str]:
    """Faults of the n-grams of one kind that a stranger may have written."""
    if kind.analyzer not in get_args(Analyzer):
        yield f"analyzer: expected one of {', '.join(get_args(Analyzer))}, got {kind.analyzer!r}"
    if not isinstance(kind.lowercase, bool):
        yield f"lowercase: expected true or false, got {kind.lowercase!r}"
    lengths = (kind.shortest, kind.longest)
    if not all(type(length) is int for length in lengths) or not 1 <= kind.shortest <= kind.longest <= LONGEST_NGRAM:
        yield f"expected n-grams of 1 to {LONGEST_NGRAM} words or characters, got {kind.shortest!r} to {kind.longest!r}"
    if not isinstance(vocabulary, list) or not all(isinstance(ngram, str) for ngram in vocabulary):
        yield "vocabulary: expected a list of texts"
    elif len(set(vocabulary)) != len(vocabulary):
        yield "vocabulary: expected every n-gram once"
