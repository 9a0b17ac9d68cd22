"""The command `hiercos` with its subcommands and error messages."""

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from hiercos.cli.commands.ablate import ablate
from hiercos.cli.commands.compare import compare
from hiercos.cli.commands.embed import embed
from hiercos.cli.commands.evaluate import evaluate
from hiercos.cli.commands.export import export
from hiercos.cli.commands.extend import extend
from hiercos.cli.commands.listings import data, methods
from hiercos.cli.commands.predict import predict
from hiercos.cli.commands.report import report
from hiercos.cli.commands.reproduce import reproduce
from hiercos.cli.commands.taxonomy import app as taxonomy_app
from hiercos.cli.commands.train import train
from hiercos.cpu_sharing import share_cores
from hiercos.errors import FaultsError, HiercosWarning, visible
from hiercos.files import FULL
from hiercos.records import can_resume

FAILED, BAD_INPUT, HUNG_UP, INTERRUPTED, TERMINATED = 1, 2, 129, 130, 143
RESUMED = ("train", "extend")  # commands that continue with --resume
CONTINUED = ("compare", "ablate", "reproduce", "embed")  # commands that continue when they are run again

# GNU OpenMP, part of torch's wheels for Linux, waits for the other threads of a loop by spinning, 300,000 times by
# default. If another job uses the core that the last thread needs, this time is lost in every loop.
SPIN_VARIABLE, SPINS = "GOMP_SPINCOUNT", "10000"
WAIT_VARIABLES = (SPIN_VARIABLE, "OMP_WAIT_POLICY")  # if the user sets one of them, it is left unchanged


class TerminatedError(BaseException):
    """The signal SIGTERM, raised in the main thread so that temporary files are removed and the user is told."""


class StoppedByUserError(BaseException):
    """The signal SIGINT; unlike a KeyboardInterrupt, it reaches `run` with its notes about what was saved."""


STOPS: dict[int, tuple[str, int, type[BaseException]]] = {
    signal.SIGINT: ("Interrupted", INTERRUPTED, StoppedByUserError),
    signal.SIGTERM: ("Terminated", TERMINATED, TerminatedError),
}
if hasattr(signal, "SIGHUP"):  # the terminal was closed
    STOPS[signal.SIGHUP] = ("Terminated", HUNG_UP, TerminatedError)
LATER = (signal.SIGALRM,) if hasattr(signal, "setitimer") else ()  # the alarm after which `stop` tries again
IMPORT_SECONDS = 0.5  # longest wait for an import that a signal interrupts
_import_ends: dict[int, float] = {}  # latest end of such a wait by signal, on the clock of `time.monotonic`
IMPORT_SYSTEM = "<frozen importlib._bootstrap>"  # the file name of its functions in tracebacks

app = typer.Typer(
    name="hiercos",
    help="Classification over a taxonomy: train, compare, predict, evaluate.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (compare, report, ablate, train, extend, predict, evaluate, embed, export, reproduce, methods, data)
for command in COMMANDS:
    app.command()(command)
app.add_typer(taxonomy_app, name="taxonomy")


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
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_INPUT)


def limit_spinning(environment: MutableMapping[str, str]) -> None:
    """Let threads of GNU OpenMP sleep after a short spin, unless the user's environment sets a wait policy.

    It takes effect only before torch is imported, and in processes started from then on.

    Args:
        environment: environment variables of this process; changed in place.

    Example:
        >>> variables = {}
        >>> limit_spinning(variables)
        >>> variables
        {'GOMP_SPINCOUNT': '10000'}
    """
    if not any(name in environment for name in WAIT_VARIABLES):
        environment[SPIN_VARIABLE] = SPINS


def print_warning(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
    """Print a warning of this package as one line; a replacement of `warnings.showwarning`."""
    if issubclass(category, HiercosWarning):
        sys.stderr.write(f"note: {visible(str(message))}\n")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, *place[:2], **options))


def main() -> None:
    """Run the command line: exit 0 when done, 1 when it failed, 2 for wrong usage or bad input."""
    limit_spinning(os.environ)
    share_cores(os.environ)
    for number in STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    warnings.showwarning = print_warning
    code = run(sys.argv[1:])
    for number in (*STOPS, *LATER):  # all is done: the exit code is known
        signal.signal(number, signal.SIG_IGN)
    sys.exit(_flushed(code))


def _flushed(code: int) -> int:
    """Exit code after the standard output is written; Python itself would print a traceback if that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer is lost
        return code or _report(f"standard output: {error.strerror}", BAD_INPUT)
    return code


def stop(number: int, frame: FrameType | None) -> None:
    """Handler of SIGINT, SIGTERM and SIGHUP: raise an error, after an import that takes up to `IMPORT_SECONDS` more.

    C++ code that imports Python modules cannot pass an exception on and would abort the process. A longer import is one
    at the beginning, where nothing is finished yet: the process ends at once.
    """
    word, code, error = STOPS[number]
    if _is_importing(frame):
        now = time.monotonic()
        if now < _import_ends.setdefault(number, now + IMPORT_SECONDS) and LATER:
            signal.signal(signal.SIGALRM, lambda _, later: stop(number, later))
            signal.setitimer(signal.ITIMER_REAL, IMPORT_SECONDS / 50)
            return
        with suppress(OSError):  # the terminal is gone
            os.write(sys.stderr.fileno(), f"error: {word} before anything was done.\n".encode())
        os._exit(code)
    _import_ends.pop(number, None)
    if number != signal.SIGINT:  # once is enough: do not interrupt the clean-up
        for each in STOPS.keys() - {signal.SIGINT}:
            signal.signal(each, signal.SIG_IGN)
    raise error(code)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == IMPORT_SYSTEM:
            return True
        frame = frame.f_back
    return False


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an error is one message on stderr, with a traceback with --debug."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]  # also allowed after a command
    try:
        code = int(app(arguments, prog_name="hiercos", standalone_mode=False) or 0)
        return _report(_stop_message("Interrupted", arguments, []), code) if code == INTERRUPTED else code
    except typer.TyperException as error:
        return _report(_with_help(_message(error), _help(error)), BAD_INPUT)
    except (FaultsError, OSError, ImportError) as error:
        return _report(_sentence(error), BAD_INPUT, debug=debug, notes=_notes(error))
    except (TerminatedError, StoppedByUserError, KeyboardInterrupt, typer.Abort) as error:
        return _report_stop(error, arguments, debug=debug)
    except Exception as error:  # any other error is one sentence, too
        return _report(f"{type(error).__name__}: {error}", FAILED, debug=debug, notes=_notes(error))


def _report_stop(error: BaseException, arguments: Sequence[str], *, debug: bool) -> int:
    """Report a signal, or the end of a file, which typer turns into the same `Abort` as Ctrl-C."""
    notes = _notes(error)
    if isinstance(error, TerminatedError):
        code = error.args[0] if error.args else TERMINATED
        return _report(_stop_message("Terminated", arguments, notes), code, notes=notes)
    if isinstance(error.__cause__ or error.__context__, EOFError):
        return _report("EOFError: a file ends where more was expected", FAILED, debug=debug)
    return _report(_stop_message("Interrupted", arguments, notes), INTERRUPTED, notes=notes)


def _stop_message(word: str, arguments: Sequence[str], notes: Sequence[str]) -> str:
    """Sentences about a signal and how to continue, which depends on the command and on what was saved.

    Args:
        word: "Interrupted" or "Terminated".
        arguments: words of the command.
        notes: notes of the error; those on a checkpoint have the word "saved" after the folder.

    Example:
        >>> _stop_message("Interrupted", ["train", "icd10cm"], [])
        'Interrupted. No model was saved.'
    """
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    if command in RESUMED:
        saved = any(": saved " in note for note in notes) or _out_can_resume(arguments)
        return f"{word}. {'Rerun the command with --resume to continue.' if saved else 'No model was saved.'}"
    if command in CONTINUED:
        return f"{word}. Finished work is kept; rerun the command to continue."
    return f"{word} before the end."


def _out_can_resume(arguments: Sequence[str]) -> bool:
    """Whether the folder of --out holds a run that --resume continues, such as one whose last epoch is done."""
    values = [after for option, after in pairwise(arguments) if option == "--out"]
    values += [each.removeprefix("--out=") for each in arguments if each.startswith("--out=")]
    return any(can_resume(Path(value)) for value in values)


def _notes(error: BaseException | None) -> list[str]:
    """Notes of an error and of those that led to it, such as what was saved."""
    found: list[str] = []
    while error is not None:
        found += [note for note in getattr(error, "__notes__", ()) if note not in found]
        error = error.__cause__ or error.__context__
    return found


def _message(error: typer.TyperException) -> str:
    """The parser's message about the wrong usage; it has none where only the name of a group of commands is given."""
    message = error.format_message().rstrip(".") if hasattr(error, "format_message") else str(error)
    return message or "expected a command"


def _with_help(message: str, command: str) -> str:
    """The parser's message with the command that shows the help; after a question this is a sentence of its own.

    Example:
        >>> _with_help("Missing argument 'model'", "hiercos predict --help")
        "Missing argument 'model'; see hiercos predict --help"
        >>> _with_help("No such command 'trian'. Did you mean 'train'?", "hiercos --help")
        "No such command 'trian'. Did you mean 'train'? See hiercos --help."
    """
    return f"{message} See {command}." if message.endswith("?") else f"{message}; see {command}"


def _help(error: typer.TyperException) -> str:
    """The command that shows the help of the wrongly used command."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'hiercos'} --help"


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = error.filename or ("standard output" if error.errno in FULL else "")  # files are named by their writer
        return f"{name}: {error.strerror}" if name else error.strerror
    return str(error)


def _report(message: str, code: int, *, debug: bool = False, notes: Sequence[str] = ()) -> int:
    if debug:
        traceback.print_exc()
    lines = [*(f"note: {note}" for note in notes), *f"error: {message}".split("\n")]
    with suppress(OSError):  # the terminal is gone, the exit code remains
        sys.stderr.write("".join(f"{visible(line)}\n" for line in lines))
        sys.stderr.flush()
    return code
