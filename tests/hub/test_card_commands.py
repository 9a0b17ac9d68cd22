from dataclasses import replace

import pytest

from hiercos.hub.card import train_command
from records import record


@pytest.mark.parametrize(("prior", "words"), [(None, ""), ("balanced", "--set class_prior=balanced")])
def test_the_command_of_a_card_has_the_class_prior(prior: str | None, words: str) -> None:
    made = record("hier-cos")
    given = made if prior is None else replace(made, config={**made.config, "class_prior": prior})
    command = train_command(given, taxonomy="tree.json")
    assert command is not None
    assert words in command
    assert ("class_prior" in command) == (prior is not None)


def test_a_prior_of_many_numbers_has_no_command() -> None:
    made = record("hier-cos")
    given = replace(made, config={**made.config, "class_prior": [0.5, 0.5]})
    assert train_command(given, taxonomy="tree.json") is None
