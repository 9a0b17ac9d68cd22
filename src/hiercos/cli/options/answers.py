"""Options for the answers of a model: the decision rule, how sure it must be, and the classes that are allowed."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from hiercos.cli.options.common import file_lines
from hiercos.cli.options.groups import OptionError, say
from hiercos.errors import FaultsError

if TYPE_CHECKING:
    from hiercos.decisions import AnswerRequest, HeldOutChains, Posterior, Rule
    from hiercos.evaluation import RowWeights
    from hiercos.taxonomy import Taxonomy

    Change = Callable[[Posterior, Sequence[int]], Posterior]  # of a posterior and the row numbers of its batch


OPTION_OF_PARAMETER = {"level_confidences": "--confidence"}  # where it is not called like the parameter of a rule
TARGETS = ("target_containment", "target_precision", "max_overshoot")
RULE_OF_OPTIONS = "rule 'back-off': "  # start of errors about options that imply the rule
HINT = "; hiercos taxonomy convert MODEL names.json writes all names"


@contextmanager
def command_spelling() -> Iterator[None]:
    """Errors of a request in the words of the command: `--target-precision` for `target_precision`."""
    from hiercos.decisions import RuleParameterError

    try:
        yield
    except OptionError:
        raise
    except RuleParameterError as error:
        raise OptionError(error.with_names(option_name).removeprefix(RULE_OF_OPTIONS)) from error
    except FaultsError as error:
        raise OptionError(map(_hinted, error.faults)) from error


def option_name(parameter: str) -> str:
    """The option for a parameter of a rule.

    Example:
        >>> option_name("target_precision"), option_name("level_confidences")
        ('--target-precision', '--confidence')
    """
    return OPTION_OF_PARAMETER.get(parameter, f"--{parameter.replace('_', '-')}")


def _hinted(fault: str) -> str:
    """A fault of an option with the names of classes, with a hint for a name that resembles no other."""
    is_unknown = fault.startswith("--") and ": unknown label " in fault and "; the nearest " not in fault
    return fault.replace("unknown label", "unknown name") + (HINT if is_unknown else "")


@dataclass(frozen=True)
class AnswerOptions:
    """Options for the decision rule, its confidence or target, and the classes that are allowed."""

    panel: ClassVar = "Answers"

    rule: Annotated[
        str | None,
        typer.Option(
            help="Decision rule (see docs/decisions.md), such as hops, or back-off for answers at any level; with "
            "parameters as hf-beta:beta=0.5.",
            show_default="the model's rule; none for --scores",
        ),
    ] = None
    costs: Annotated[
        Path | None, typer.Option(help="Table of costs: answer with the least expected cost.", show_default=False)
    ] = None
    confidence: Annotated[
        str | None,
        typer.Option(help="Answer only as deep as this probability; or one for each level: 0.5,0.8,0.9."),
    ] = None
    min_level: Annotated[
        str, typer.Option(help="Answer at least at this level, sure or not: its number, or its name, such as genus.")
    ] = "0"
    target_containment: Annotated[
        float | None, typer.Option(help="Answer only so deep that this share of the answers contains the truth.")
    ] = None
    target_precision: Annotated[
        float | None, typer.Option(help="The same share among the answers other than 'cannot say'.")
    ] = None
    max_overshoot: Annotated[
        float | None, typer.Option(help="Most levels, on average, that an answer may be too deep.")
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            help="Probability that a guarantee of --target-precision or --max-overshoot fails.", show_default="0.05"
        ),
    ] = None
    within: Annotated[
        list[str] | None, typer.Option(help="Node that the true class is below, by name, id or path; repeatable.")
    ] = None
    allow: Annotated[
        Path | None, typer.Option(help="File of allowed classes or nodes, one per line.", show_default=False)
    ] = None
    deny: Annotated[
        Path | None, typer.Option(help="File of classes or nodes that are not allowed.", show_default=False)
    ] = None

    @property
    def stop_options(self) -> list[str]:
        """The given options that say where answers stop: a confidence, a level or a target."""
        targets = {name: getattr(self, name) for name in TARGETS}
        given = {"confidence": self.confidence, "min_level": None if self.min_level == "0" else self.min_level}
        return [option_name(name) for name, value in {**given, **targets}.items() if value is not None]

    @property
    def has_target(self) -> bool:
        """Whether a target is given, for which a confidence is fitted on held-out samples."""
        return any(getattr(self, name) is not None or f"{name}=" in (self.rule or "") for name in TARGETS)

    def check(self, model: Path | None) -> None:
        """Raise for impossible values, and for unknown names if the taxonomy of a model folder can be read.

        Nothing of this imports torch. A folder without a readable taxonomy is left to the loading of the model.
        """
        from hiercos.taxonomy import TaxonomyError, open_taxonomy

        self.request()
        if model is None or not model.is_dir() or not (self.within or self.allow or self.deny):
            return
        try:
            taxonomy = open_taxonomy(model)
        except TaxonomyError:
            return
        self.request(taxonomy)

    def request(self, taxonomy: "Taxonomy | None" = None) -> "AnswerRequest":
        """The request of these options; without a taxonomy, only their values are checked and no table is read.

        Raises:
            RuleError: for an unknown rule or impossible values.
            OptionError: for options that exclude each other, or a file that cannot be read.
            DataError: for a name of a class or node that the taxonomy does not have.
        """
        from hiercos.decisions import AnswerRequest

        if self.costs is not None and self.rule is not None:
            raise OptionError("--costs: expected no --rule with it")
        if self.delta is not None and self.target_precision is None and self.max_overshoot is None:
            raise OptionError("--delta: expected --target-precision or --max-overshoot with it")
        confidence = _numbers("--confidence", self.confidence)
        with command_spelling():
            request = AnswerRequest(
                rule=self._rule(taxonomy),
                confidence=confidence[0] if confidence is not None and len(confidence) == 1 else confidence,
                target_containment=self.target_containment,
                target_precision=self.target_precision,
                max_overshoot=self.max_overshoot,
                **({} if self.delta is None else {"delta": self.delta}),
                min_level=self._least_level(taxonomy),
                within=tuple(self.within or ()),
                allow=_names("--allow", self.allow),
                deny=_names("--deny", self.deny),
            )
            if taxonomy is not None:
                request.allowed(taxonomy, prefix="--")  # raises for unknown names, before any input is read
        return request

    def _least_level(self, taxonomy: "Taxonomy | None") -> int | str:
        """The level of `--min-level`: its number if that is given, or known from the taxonomy."""
        from hiercos.taxonomy import TaxonomyError

        if self.min_level.isdecimal():
            return int(self.min_level)
        try:
            return self.min_level if taxonomy is None else taxonomy.level_number(self.min_level)
        except TaxonomyError as error:
            raise OptionError(f"--min-level: {error}") from error

    def _rule(self, taxonomy: "Taxonomy | None") -> "str | Rule | None":
        from hiercos.evaluation import read_costs

        return self.rule if self.costs is None or taxonomy is None else read_costs(self.costs, taxonomy)


@dataclass(frozen=True)
class RowOptions:
    """Options for classes and priors that differ from row to row."""

    panel: ClassVar = "Answers"

    within_column: Annotated[
        str | None,
        typer.Option(help="Column of the input table with the nodes that each row is within, separated by ';'."),
    ] = None
    row_prior: Annotated[
        Path | None,
        typer.Option(help="Table of prior weights: columns row, label, weight.", show_default=False),
    ] = None

    def weights(self, inputs: str, taxonomy: "Taxonomy") -> "list[RowWeights]":
        """The weights of the rows, from the input table and the file of priors."""
        from hiercos.data import SAMPLE_TABLES
        from hiercos.evaluation import read_row_nodes, read_row_priors

        found = []
        if self.within_column is not None:
            if not Path(inputs).is_file() or Path(inputs).suffix.lower() not in SAMPLE_TABLES:
                raise OptionError(f"--within-column {self.within_column}: expected a table as input, got {inputs}")
            found.append(read_row_nodes(Path(inputs), self.within_column, taxonomy))
        if self.row_prior is not None:
            found.append(read_row_priors(self.row_prior, taxonomy))
        return found


@dataclass(frozen=True)
class BoundRequest:
    """The rule under a request, and what it changes in the probabilities of a batch."""

    request: "AnswerRequest"  # request of the options
    rule: "Rule"  # rule to answer by
    changes: "Sequence[Change]" = ()  # changes of a posterior in turn: to the allowed classes, and by the row weights

    def changed(self, posterior: "Posterior", numbers: "Sequence[int]") -> "Posterior":
        """The posterior of a batch after all changes; `numbers` are the rows of its inputs."""
        for change in self.changes:
            posterior = change(posterior, numbers)
        return posterior

    @classmethod
    def of(
        cls,
        request: "AnswerRequest",
        stored: "Rule",
        calibration: "HeldOutChains | None",
        weights: "Sequence[RowWeights]" = (),
    ) -> "BoundRequest":
        """The rule of a request for a model; the guarantee of a target, or why it has none, goes to stderr."""
        with command_spelling():
            rule = request.chosen_rule(stored, calibration)
        if guarantee := request.guarantee(rule, reweighted=bool(weights)):
            say(guarantee)
        allowed: list[Change] = [
            lambda posterior, numbers: request.restricted(posterior, row_name=lambda row: f"row {numbers[row]}")
        ]
        return cls(request, rule, [*(allowed if request.restricts else []), *(each.applied for each in weights)])


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise OptionError(f"{option} {text}: expected a number, or several separated by commas") from error


def _names(option: str, path: Path | None) -> tuple[str, ...]:
    return () if path is None else tuple(name for _, name in file_lines(option, path, "one class or node per line"))
