"""Statements of a verdict: sentences that carry what they are about, for every output format."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Statement:
    """One line of a verdict.

    Attributes:
        kind: what it is about: "ship" (the line to ship), "few-rows", "features", "tree" and "rule" (what each gains),
            "order" (the best one), "command" (that trains the line), "gain" (over the flat line), "mistakes", "note".
        text: sentence, or for a command the command itself.
        subject: beginning of the sentence, before a colon; "" for none.
        reason: sentence that follows; "" for none.

    Example:
        >>> print(Statement("few-rows", "over 90 of them.", subject="Few test rows"))
        Few test rows: over 90 of them.
    """

    kind: str
    text: str
    subject: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.subject}{': ' if self.subject else ''}{self.text}{' ' if self.reason else ''}{self.reason}"

    def to_dict(self) -> dict[str, str]:
        """The statement as JSON values, without empty ones."""
        return {name: value for name, value in asdict(self).items() if value}


@dataclass(frozen=True)
class Verdict:
    """The statements about a comparison, a run or an ablation; as text, one in each line."""

    statements: tuple[Statement, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.statements))

    def of_kinds(self, *kinds: str) -> list[Statement]:
        """The statements of these kinds, in the order of the kinds."""
        return [statement for kind in kinds for statement in self.statements if statement.kind == kind]


def read_statements(stored: Sequence[Mapping[str, Any]], text: str) -> tuple[Statement, ...]:
    """Statements of a file of results; an older file has only their text, whose lines become notes.

    Args:
        stored: JSON values of `Statement.to_dict`; values of other types become text.
        text: text of the verdict, for a file without statements.
    """
    fields = ("kind", "text", "subject", "reason")
    if not stored:
        return tuple(Statement("note", line) for line in text.splitlines())
    return tuple(Statement(**{field: str(values.get(field, "")) for field in fields}) for values in stored)
