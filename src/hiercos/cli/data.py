"""`hiercos data`: the built-in data sets."""

import typer


def data() -> None:
    """List the built-in data sets, whether they are here, and where they come from."""
    from hiercos.data import BUILT_IN

    for name, entry in BUILT_IN.items():
        typer.echo(f"{name} ({'present' if entry.is_present(None) else 'absent'})\n    {entry.description}")
        typer.echo(f"    from {entry.origin}")
