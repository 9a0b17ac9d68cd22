"""The command `hiercos`: parsing and printing only; heavy libraries are imported where they are used."""

from hiercos.cli.app import main

__all__ = ["main"]
