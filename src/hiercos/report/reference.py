"""The line that the others are set against."""

from collections.abc import Collection, Sequence

from hiercos.errors import FaultsError, suggestion
from hiercos.report.results import Line


class ReferenceLineError(FaultsError):
    """A reference that is not among the lines compared."""


def checked_reference(name: str, names: Collection[str]) -> str:
    """The reference a user named, as tables call it: a method, or a method and a rule with a plus between them.

    Raises:
        ReferenceLineError: if it is none of the lines there will be.

    Example:
        >>> checked_reference("cross-entropy+crm", ["cross-entropy", "cross-entropy + crm"])
        'cross-entropy + crm'
    """
    spaced = " + ".join(part.strip() for part in name.split("+"))
    if spaced not in names:
        raise ReferenceLineError(f"--reference {name}: not among the lines compared{suggestion(spaced, names)}")
    return spaced


def best_flat_line(lines: Sequence[Line]) -> Line | None:
    """The line with the best mean top-1 of those that use the tree neither in training nor in a rule, if any."""
    flat = [line for line in lines if not line.uses_tree and not line.has_rule]
    return max(flat, key=lambda line: line.estimate("top1").mean, default=None)
