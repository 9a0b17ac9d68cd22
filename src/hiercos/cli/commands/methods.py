"""`hiercos methods`: list the registered methods, or details of some of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hiercos.methods import MethodTraits


def methods(
    names: Annotated[list[str] | None, typer.Argument(help="Methods to describe.", show_default="a list")] = None,
) -> None:
    """List the registered methods, or describe some of them: their options, and the labels and taxonomies they take."""
    from hiercos.methods import DEFAULT, DEFAULT_RULE, METHODS

    if not names:
        typer.echo(f"hiercos train has the method {DEFAULT} and the rule {DEFAULT_RULE} by default.")
        for name in METHODS:
            typer.echo(f"{name}\n    {METHODS.summary(name)}")
        typer.echo("hiercos methods NAME shows the options of a method, and the labels and taxonomies it takes.")
        return
    for name in [METHODS.checked_name(name) for name in names]:
        typer.echo(f"{name}\n    {METHODS.summary(name)}")
        for line in _trait_lines(METHODS.traits(name)):
            typer.echo(f"    {line}")
        _print_options(METHODS.options(name), METHODS.recommended(name))


def _trait_lines(traits: "MethodTraits") -> list[str]:
    """A line for each question about a method, with its answer."""
    answers = {
        "learns from the tree": _yes_or_no(traits.uses_tree),
        "labels at inner nodes": _yes_or_no(traits.inner_labels),
        "nodes with several parents": _yes_or_no(traits.graphs),
        "new classes by hiercos extend": "with a memory" if traits.solved else _yes_or_no(traits.grows),
    }
    return [f"{question + ':':<31}{answer}" for question, answer in answers.items()]


def _yes_or_no(answer: bool) -> str:
    return "yes" if answer else "no"


def _print_options(defaults: dict[str, object], recommended: Mapping[str, object]) -> None:
    if not defaults:
        typer.echo("    no options")
        return
    typer.echo("    options, set with --set NAME=VALUE:")
    for option, default in defaults.items():
        changed = f" (hiercos train: {recommended[option]})" if option in recommended else ""
        typer.echo(f"        {option}={default}{changed}")
