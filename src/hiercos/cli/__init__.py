"""The command `hiercos`. Parsing and printing only; what is heavy is imported where it is used."""

from hiercos.cli.app import main

__all__ = ["main"]
