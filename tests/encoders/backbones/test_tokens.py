import pickle
from types import SimpleNamespace

import pytest

from encoders.backbones.tiny_models import tokenizer
from hiercos.encoders.backbones.transformers_models import Tokens, longest_input, tokenizer_hash


def test_texts_become_padded_and_masked_numbers() -> None:
    batch = Tokens(tokenizer(), max_length=10)(["a cat sleeps", "dog"])
    assert batch["input_ids"].tolist() == [[2, 4, 5, 7, 3], [2, 6, 3, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]


def test_what_is_too_long_is_cut_and_the_prompt_stands_first() -> None:
    batch = Tokens(tokenizer(), max_length=4, prompt="about ")(["a red car"])
    assert batch["input_ids"].tolist() == [[2, 11, 4, 3]]


def test_it_travels_to_workers() -> None:
    tokens = Tokens(tokenizer(), max_length=10)
    again = pickle.loads(pickle.dumps(tokens))
    assert again.to_dict() == tokens.to_dict()
    assert again(["a cat"])["input_ids"].tolist() == [[2, 4, 5, 3]]


def test_the_description_stays_when_the_tokenizer_is_used() -> None:
    words = tokenizer()
    tokens = Tokens(words, max_length=4, prompt="about ")
    tokens(["a cat", "a red dog"])
    assert tokenizer_hash(words) == tokens.to_dict()["tokenizer"]
    assert {"max_length": 4, "prompt": "about "}.items() <= tokens.to_dict().items()


def test_another_vocabulary_is_another_description() -> None:
    words = tokenizer()
    words.add_tokens(["elephant"])
    assert tokenizer_hash(words) != tokenizer_hash(tokenizer())


def test_a_tokenizer_that_cannot_pad_pads_with_its_last_token() -> None:
    words = tokenizer()
    words.pad_token, words.eos_token = None, "[SEP]"
    assert Tokens(words, max_length=10)(["a cat", "dog"])["input_ids"].tolist() == [[2, 4, 5, 3], [2, 6, 3, 3]]


@pytest.mark.parametrize(
    ("of_tokenizer", "of_model", "longest"),
    [(256, 512, 256), (10**30, 128, 128), (1024, None, 1024), (10**30, None, 512)],
)
def test_the_longest_text_is_what_tokenizer_and_model_both_take(
    of_tokenizer: int, of_model: int | None, longest: int
) -> None:
    words = SimpleNamespace(model_max_length=of_tokenizer)
    assert longest_input(words, SimpleNamespace(max_position_embeddings=of_model)) == longest
