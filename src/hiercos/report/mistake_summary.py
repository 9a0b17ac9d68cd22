"""Summary of the mistakes of one line in words: how many answers are wrong, how near they are, and in which branch."""

import numpy as np

from hiercos.analysis import Analysis, Tree
from hiercos.report.statements import Statement

SUBJECT = "Where it errs"


def mistake_summary(analysis: Analysis) -> Statement:
    """Number of wrong answers, how many are near the truth, the branch with the most of them, and the commonest pair.

    Args:
        analysis: analysis of the answers of one line.

    Returns:
        Statement for the verdict.
    """
    tree, answers = analysis.tree, analysis.answers
    true = tree.leaves[answers.labels]
    wrong = answers.nodes != true
    count = int(wrong.sum())
    if not count:
        return Statement("mistakes", f"none of {len(wrong)} answers is wrong.", subject=SUBJECT)
    parents = np.append(tree.parents, -1)  # index -1, the answer "cannot say", has no parent
    siblings = int((wrong & (parents[answers.nodes] == parents[true]) & (answers.nodes >= 0)).sum())
    found = [f"{count} of {len(wrong)} answers are wrong; {siblings} of these name a sibling of the truth."]
    branches = _branches(tree)[true]
    if len(set(branches.tolist())) > 1:
        most = int(np.bincount(branches[wrong]).argmax())
        inside = branches == most
        inner, all_inside = int((wrong & inside).sum()), int(inside.sum())
        found.append(f"The branch with the most is {tree.names[most]}: {inner} of its {all_inside} samples.")
    if analysis.pairs:
        pair = analysis.pairs[0]
        answer = tree.names[pair.answer] if pair.answer >= 0 else "the root"
        found.append(f"Most often {tree.names[pair.true]} is answered as {answer} ({pair.count} times).")
    return Statement("mistakes", " ".join(found), subject=SUBJECT)


def _branches(tree: Tree) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """For each node its ancestor or itself among the branches, shape (N,).

    The branches are the nodes of the first level, or, below a single one, its children, and so on.
    """
    tops = np.flatnonzero(tree.parents < 0)
    while len(tops) == 1 and (tree.parents == tops[0]).any():
        tops = np.flatnonzero(tree.parents == tops[0])
    is_top = np.isin(np.arange(len(tree.parents)), tops)
    branch = np.arange(len(tree.parents), dtype=np.int64)
    for node, parent in enumerate(tree.parents.tolist()):
        if parent >= 0 and not is_top[node]:
            branch[node] = branch[parent]
    return branch
