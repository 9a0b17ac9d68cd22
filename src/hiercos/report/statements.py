"""Statements of a verdict: sentences that carry what they are about, for every output format; a summary of mistakes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from hiercos.evaluation import Analysis
from hiercos.taxonomy import IntArray, Taxonomy


@dataclass(frozen=True)
class Statement:
    """One line of a verdict.

    Example:
        >>> print(Statement("few-rows", "over 90 of them.", subject="Few test rows"))
        Few test rows: over 90 of them.
    """

    # what it is about: "ship" (the recommended variant), "few-rows", "tree" (what it gains), "command" (that trains the
    # variant), "gain" (over the flat variant), "mistakes", "note"
    kind: str
    text: str  # sentence, or for a command the command itself
    subject: str = ""  # beginning of the sentence, before a colon; "" for none
    reason: str = ""  # sentence that follows; "" for none

    def __str__(self) -> str:
        return f"{self.subject}{': ' if self.subject else ''}{self.text}{' ' if self.reason else ''}{self.reason}"

    def to_dict(self) -> dict[str, str]:
        """The statement as JSON values, without empty ones."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Statement":
        """The statement of JSON values, see `to_dict`; values of other types become text."""
        return cls(**{field.name: str(values.get(field.name, "")) for field in fields(cls)})


@dataclass(frozen=True)
class Verdict:
    """The statements about a comparison, a run or an ablation; as text, one in each line."""

    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.statements))

    def of_kinds(self, *kinds: str) -> list[Statement]:
        """The statements of these kinds, in the order of the kinds."""
        return [statement for kind in kinds for statement in self.statements if statement.kind == kind]


SUBJECT = "Where it errs"


def mistake_summary(analysis: Analysis) -> Statement:
    """Number of wrong answers, how many are near the truth, the branch with the most of them, and the commonest pair.

    Returns:
        Statement for the verdict.
    """
    taxonomy, answers = analysis.taxonomy, analysis.answers
    true = taxonomy.leaves[answers.labels]
    wrong = answers.nodes != true
    count = int(wrong.sum())
    if not count:
        return Statement("mistakes", f"none of {len(wrong)} answers is wrong.", subject=SUBJECT)
    parents = np.append(taxonomy.parents, -1)  # index -1, the answer "cannot say", has no parent
    siblings = int((wrong & (parents[answers.nodes] == parents[true]) & (answers.nodes >= 0)).sum())
    found = [f"{count} of {len(wrong)} answers are wrong; {siblings} of these name a sibling of the truth."]
    branches = _branches(taxonomy)[true]
    if len(set(branches.tolist())) > 1:
        most = int(np.bincount(branches[wrong]).argmax())
        inside = branches == most
        inner, all_inside = int((wrong & inside).sum()), int(inside.sum())
        found.append(f"The branch with the most is {taxonomy.short_text(most)}: {inner} of its {all_inside} samples.")
    if analysis.pairs:
        pair = analysis.pairs[0]
        answer = taxonomy.short_text(pair.answer) if pair.answer >= 0 else "the root"
        found.append(f"Most often {taxonomy.short_text(pair.true)} is answered as {answer} ({pair.count} times).")
    return Statement("mistakes", " ".join(found), subject=SUBJECT)


def _branches(taxonomy: Taxonomy) -> IntArray:
    """For each node its ancestor or itself among the branches, shape (N,).

    The branches are the nodes of the first level, or, below a single one, its children, and so on.
    """
    tops = np.flatnonzero(taxonomy.parents < 0)
    while len(tops) == 1 and (taxonomy.parents == tops[0]).any():
        tops = np.flatnonzero(taxonomy.parents == tops[0])
    is_top = np.isin(np.arange(len(taxonomy.parents)), tops)
    branch = np.arange(len(taxonomy.parents), dtype=np.int64)
    for node, parent in enumerate(taxonomy.parents.tolist()):
        if parent >= 0 and not is_top[node]:
            branch[node] = branch[parent]
    return branch
