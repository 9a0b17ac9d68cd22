"""`hiercos methods`: list the registered methods."""

import typer


def methods() -> None:
    """List the registered methods with their options."""
    from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS

    typer.echo(f"hiercos train has the method {DEFAULT} and the rule {DEFAULT_RULE} by default.")
    for name in METHODS:
        typer.echo(f"{name}\n    {METHODS.summary(name)}")
        options = ", ".join(f"{option}={default}" for option, default in METHODS.options(name).items())
        if options:
            typer.echo(f"    options: {options}")
