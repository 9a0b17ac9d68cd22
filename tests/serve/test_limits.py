import pytest

from hiercos.errors import FaultsError
from hiercos.serve import Limits


def test_limits_come_from_texts_in_their_types() -> None:
    found = Limits.of_texts({"rows": "5", "seconds": "2.5", "log": "true", "hosts": "a, b"})
    assert (found.rows, found.seconds, found.log, found.hosts) == (5, 2.5, True, "a, b")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("row", "5", "--set row: there is no such name; did you mean 'rows'"),
        ("rows", "many", "rows: Input should be a valid integer"),
        ("rows", "0", "rows: Input should be greater than or equal to 1"),
        ("seconds", "nan", "seconds: Input should be a finite number"),
        ("log", "maybe", "log: Input should be a valid boolean"),
    ],
)
def test_an_impossible_limit_is_refused(name: str, text: str, sentence: str) -> None:
    with pytest.raises(FaultsError, match=sentence):
        Limits.of_texts({name: text})
