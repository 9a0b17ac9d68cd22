from dataclasses import replace

import numpy as np

from analyses import MARKUP, analysis
from hiercos import Taxonomy
from hiercos.report import Statement, Verdict
from hiercos.report.statements import mistake_summary

SHIP = Statement("ship", "top-1 50%.", subject="Ship a", reason="It ties with none.")
NOTE = Statement("note", "Ship nothing else.")  # what it begins with does not matter


def test_statements_are_lines_of_text_and_are_found_by_kind() -> None:
    verdict = Verdict((NOTE, SHIP))
    assert str(verdict) == "Ship nothing else.\nShip a: top-1 50%. It ties with none."
    assert verdict.of_kinds("ship", "rule") == [SHIP]


def test_statements_survive_a_file_and_values_of_other_types_become_text() -> None:
    assert [Statement.from_dict(each.to_dict()) for each in (SHIP, NOTE)] == [SHIP, NOTE]
    assert Statement.from_dict({"kind": "note", "text": 3}) == Statement("note", "3")


def test_wrong_answers_are_counted_by_nearness_branch_and_pair() -> None:
    found = analysis()  # leaves 2 and 3 below pet, 4 and 5 below the vehicle
    true, answered = MARKUP.leaves[found.answers.labels].tolist(), found.answers.nodes.tolist()
    wrong = [(label, answer) for label, answer in zip(true, answered, strict=True) if label != answer]
    siblings = sum({label, answer} in ({2, 3}, {4, 5}) for label, answer in wrong)
    pets = sum(label in (2, 3) for label, _ in wrong)
    name, most, among = ("pet", pets, sum(label in (2, 3) for label in true))
    if len(wrong) - pets > pets:
        name, most, among = MARKUP.names[1], len(wrong) - pets, len(true) - among
    pair = max(set(wrong), key=wrong.count)
    text = str(mistake_summary(found))
    assert text.startswith(
        f"Where it errs: {len(wrong)} of 80 answers are wrong; {siblings} of these name a sibling of the truth. "
        f"The branch with the most is {name}: {most} of its {among} samples. Most often "
    )
    assert text.endswith(f"({wrong.count(pair)} times).")


def test_a_single_top_node_is_no_branch() -> None:
    tree = Taxonomy.from_paths([("all", "pet", "cat"), ("all", "pet", "dog"), ("all", "car"), ("all", "bus")])
    assert "the most is all" not in str(mistake_summary(analysis(tree)))


def test_no_mistake_is_said_in_one_sentence() -> None:
    found = analysis()
    right = replace(found, answers=replace(found.answers, nodes=MARKUP.leaves[found.answers.labels]))
    assert str(mistake_summary(right)) == "Where it errs: none of 80 answers is wrong."


def test_the_answer_cannot_say_is_wrong_and_no_sibling() -> None:
    found = analysis()
    silent = replace(found, answers=replace(found.answers, nodes=np.full(80, -1)), pairs=())
    assert str(mistake_summary(silent)).startswith(
        "Where it errs: 80 of 80 answers are wrong; 0 of these name a sibling"
    )
