"""The command and its subcommands, and what a user sees when something is wrong."""

import os
import sys
import traceback
from typing import Annotated

import typer

from hiercos.cli.commands.ablate import ablate
from hiercos.cli.commands.compare import compare
from hiercos.cli.commands.data import data
from hiercos.cli.commands.embed import embed
from hiercos.cli.commands.evaluate import evaluate
from hiercos.cli.commands.export import export
from hiercos.cli.commands.methods import methods
from hiercos.cli.commands.predict import predict
from hiercos.cli.commands.reproduce import reproduce
from hiercos.cli.commands.taxonomy import app as taxonomy_app
from hiercos.cli.commands.train import train
from hiercos.cli.threads import limit_spinning
from hiercos.errors import FaultsError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
STOPPED = "stopped; what is finished is kept: train goes on with --resume, other commands when they are given again"

app = typer.Typer(
    name="hiercos",
    help="Classification over a taxonomy: train, compare, predict, evaluate.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (compare, ablate, train, predict, evaluate, embed, export, reproduce, methods, data):
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


def main() -> None:
    """Run the command line: exit 0 when done, 1 when it failed, 2 for wrong usage or bad input."""
    limit_spinning(os.environ)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; an error is one message on stderr, with a traceback on --debug."""
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]  # it may stand behind a command, too
    try:
        code = int(app(arguments, prog_name="hiercos", standalone_mode=False) or 0)
        return _report(STOPPED, code) if code == INTERRUPTED else code
    except typer.TyperException as error:
        return _report(f"{_message(error)}; {_help(error)} says what is expected", BAD_INPUT)
    except (FaultsError, OSError, ImportError) as error:
        return _report(_sentence(error), BAD_INPUT, debug=debug)
    except (KeyboardInterrupt, typer.Abort):
        return _report(STOPPED, INTERRUPTED)
    except Exception as error:  # the last resort: whatever went wrong, the user gets one sentence
        return _report(f"{type(error).__name__}: {error}", FAILED, debug=debug)


def _message(error: typer.TyperException) -> str:
    """What was wrong with the usage, as the parser words it."""
    return error.format_message().rstrip(".") if hasattr(error, "format_message") else str(error)


def _help(error: typer.TyperException) -> str:
    """The command that explains the one which was used wrongly."""
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'hiercos'} --help"


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _report(message: str, code: int, *, debug: bool = False) -> int:
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"error: {message}\n")
    return code
