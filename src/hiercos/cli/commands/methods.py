"""`hiercos methods`: list the registered methods, or some of them."""

from typing import Annotated

import typer


def methods(
    names: Annotated[list[str] | None, typer.Argument(help="Methods to show.", show_default="all")] = None,
) -> None:
    """List the registered methods with their options."""
    from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS

    shown = [METHODS.canonical(name) for name in names] if names else list(METHODS)
    if not names:
        typer.echo(f"hiercos train has the method {DEFAULT} and the rule {DEFAULT_RULE} by default.")
    for name in shown:
        typer.echo(f"{name}\n    {METHODS.summary(name)}")
        options = ", ".join(f"{option}={default}" for option, default in METHODS.options(name).items())
        if options:
            typer.echo(f"    options: {options}")
