"""The command `hiercos` with its subcommands and error messages."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import typer

from hiercos.cli.commands import CommandGroup
from hiercos.errors import FaultsError, HiercosWarning, visible
from hiercos.storage import FULL

FAILED, BAD_INPUT, INTERRUPTED, TERMINATED = 1, 2, 130, 143
RESUMED = ("train", "extend")  # commands that continue with --resume
CONTINUED = ("compare", "ablate", "reproduce", "embed")  # commands that continue when they are run again

START = """\
hiercos compare items.csv --out comparison    which method is best on your rows, and what the tree brings
hiercos train items.csv --out model           one model, with its rule
hiercos predict model new.csv                 an answer at every level for each row
hiercos review model new.csv --output q.csv   the rows worth a person's time

items.csv has the columns text (or path, of images) and label, such as "pet > cat". Data to try it on are built in:

    hiercos compare icd10cm:9 --methods linear-svm,tree-logistic --seeds 1 --out first

All commands: hiercos --help. Options of one: hiercos train --help."""

# faults of values that pydantic finds
BOUNDS = {"greater_than_equal": "at least", "less_than_equal": "at most", "greater_than": "above", "less_than": "below"}
NUMBERS = {"int": "an integer", "float": "a number"}


class TerminatedError(BaseException):
    """The signal SIGTERM, raised in the main thread so that temporary files are removed and the user is told."""


app = typer.Typer(
    name="hiercos",
    cls=CommandGroup,
    help="Classification over a taxonomy: train, compare, predict, evaluate.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def common(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,  # noqa: ARG001
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Classification over a taxonomy: train, compare, predict, evaluate."""
    if version:
        from hiercos import __version__

        typer.echo(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(START)
        raise typer.Exit(BAD_INPUT)


def print_warning(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
    """Print a warning of this package as one line; a replacement of `warnings.showwarning`."""
    if issubclass(category, HiercosWarning):
        sys.stderr.write(f"note: {visible(str(message))}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, *place[:2], **options))


def main() -> None:
    """Run the command line: exit 0 when done, 1 when it failed, 2 for wrong usage or bad input."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported: idle threads leave cores to others
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, terminate)
    warnings.showwarning = print_warning
    sys.exit(_flushed(run(sys.argv[1:])))


def terminate(*_: object) -> None:
    """Handler of SIGTERM."""
    raise TerminatedError


def _flushed(code: int) -> int:
    """Exit code after the standard output is written; Python itself would print a traceback if that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer is lost
        return code or _report(f"standard output: {error.strerror}", BAD_INPUT)
    return code


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an error is one message on stderr, with a traceback with --debug."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]  # also allowed after a command
    try:
        code = int(app(arguments, prog_name="hiercos", standalone_mode=False) or 0)
        return _report(_stop_message("Interrupted", arguments), code) if code == INTERRUPTED else code
    except KeyboardInterrupt:
        return _report(_stop_message("Interrupted", arguments), INTERRUPTED)
    except TerminatedError:
        return _report(_stop_message("Terminated", arguments), TERMINATED)
    except Exception as error:  # any error is one sentence
        return _report(*_failure(error), debug=debug)


def _failure(error: Exception) -> tuple[str, int]:
    """Sentence about an error, and the exit code."""
    if isinstance(error, typer.TyperException):
        return _usage(error), BAD_INPUT
    if isinstance(error, FaultsError | OSError | ImportError):
        return _sentence(error), BAD_INPUT
    if isinstance(error, typer.Abort):  # what typer makes of an EOFError
        return "EOFError: a file ends where more was expected", FAILED
    return f"{type(error).__name__}: {error}", FAILED


def _stop_message(word: str, arguments: Sequence[str]) -> str:
    """Sentences about a signal and how to continue.

    Example:
        >>> _stop_message("Interrupted", ["compare", "icd10cm"])
        'Interrupted. Finished work is kept; rerun the command to continue.'
        >>> _stop_message("Terminated", ["train", "icd10cm"])
        'Terminated. Finished work is kept; rerun the command with --resume to continue.'
    """
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    if command in RESUMED:
        return f"{word}. Finished work is kept; rerun the command with --resume to continue."
    return f"{word}. Finished work is kept; rerun the command to continue." if command in CONTINUED else f"{word}."


def _usage(error: typer.TyperException) -> str:
    """The parser's message about the wrong usage with the command that shows the help.

    There is none where only the name of a group of commands is given; after a question the command is a sentence.
    """
    message = error.format_message().rstrip(".") if hasattr(error, "format_message") else str(error)
    parameter, cause = getattr(error, "param", None), cast("Any", error.__cause__)
    if parameter is not None and hasattr(cause, "errors"):  # its value was checked by pydantic
        message = _value_fault(max(parameter.opts, key=len), cause.errors()[0]) or message
    context = getattr(error, "ctx", None)
    command = f"{context.command_path if context else 'hiercos'} --help"
    return f"{message} See {command}." if message.endswith("?") else f"{message or 'expected a command'}; see {command}"


def _value_fault(option: str, found: Mapping[str, Any]) -> str:
    """Sentence about the value of an option that pydantic refuses; "" for a reason that has none here.

    Example:
        >>> _value_fault("--rows", {"type": "greater_than_equal", "input": "0", "ctx": {"ge": 1}, "msg": ""})
        '--rows 0: expected at least 1'
    """
    kind, choices = found["type"], found["msg"].partition(" is not one of ")[2]
    if choices:
        expected = f"one of {choices.rstrip('.').replace(chr(39), '')}"
    elif kind in BOUNDS:
        expected = f"{BOUNDS[kind]} {next(iter(found['ctx'].values()))}"
    else:
        expected = NUMBERS.get(kind.partition("_")[0], "")
    return f"{option} {found['input']}: expected {expected}" if expected else ""


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = error.filename or ("standard output" if error.errno in FULL else "")  # files are named by their writer
        return f"{name}: {error.strerror}" if name else error.strerror
    return str(error)


def _report(message: str, code: int, *, debug: bool = False) -> int:
    if debug:
        traceback.print_exc()
    sys.stderr.write("".join(f"{visible(line)}\n" for line in f"error: {message}".split("\n")))
    sys.stderr.flush()
    return code
