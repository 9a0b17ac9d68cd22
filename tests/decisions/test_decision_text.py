from dataclasses import replace

import numpy as np
import pytest

from hiercos import Taxonomy
from hiercos.decisions import AnswerRequest, Decision

TREE = Taxonomy.from_paths([("pet", "cat"), ("pet", "dog"), ("vehicle", "car")])


def test_a_decision_shows_its_first_answers() -> None:
    nodes = np.array([TREE.leaves[0], -1, 0, 0])
    decision = Decision(nodes, np.array([0.971, 1.0, 0.8, 0.7]), np.ones(4), "probability", TREE)
    assert repr(decision) == "Decision(4 answers: 'pet > cat' 0.97, cannot say, 'pet' 0.80, …)"
    assert decision.why(0) == "pet > cat: probability 0.971"
    assert replace(decision, criterion="score").why(1) == "the root: probability 1, score 1"
    assert repr(Decision(nodes[:0], np.ones(0), np.ones(0), "", TREE)) == "Decision(0 answers)"


def test_a_misspelt_argument_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(TypeError, match=r"^unknown argument 'confidense'; did you mean 'confidence'\?$"):
        AnswerRequest.of({"confidense": 0.9})
    assert AnswerRequest.of({"confidence": 0.9}) == AnswerRequest(confidence=0.9)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"within": ["vehicle"], "allow": ["cat"]}, "no class is left: allow has none that within 'vehicle' leaves"),
        (
            {"within": ["vehicle"], "deny": ["car"]},
            "no class is left: deny has all classes that within leaves",
        ),
        ({"allow": ["car"], "deny": ["vehicle"]}, "no class is left: deny has all classes that allow leaves"),
        (
            {"within": ["pet"], "allow": ["cat", "car"], "deny": ["cat"]},
            "no class is left: deny has all classes that within and allow leave",
        ),
        ({"deny": ["root"]}, "no class is left: deny has all classes"),
        ({"within": ["vehicel"]}, "within: unknown label 'vehicel'; the nearest known label is 'vehicle'"),
    ],
)
def test_names_that_leave_no_class_are_explained(request_: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        AnswerRequest.of(request_).allowed(TREE)
