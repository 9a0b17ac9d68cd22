"""`hiercos methods` and `hiercos data`: list methods and data sets, describe methods, and download data."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hiercos.cli.options.groups import OptionError, say

if TYPE_CHECKING:
    from hiercos.data import BuiltIn, Download
    from hiercos.methods import MethodTraits

FAILED = 1


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
        _print_options(METHODS.options(name), METHODS.row(name).recommended)


def _trait_lines(traits: "MethodTraits") -> list[str]:
    """A line for each question about a method, with its answer."""
    answers = {
        "learns from the tree": _yes_or_no(traits.uses_tree),
        "labels at inner nodes": _yes_or_no(traits.inner_labels),
        "several labels of a sample": _yes_or_no(traits.label_sets),
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
        typer.echo(f"        {option}={default}{_recommended(recommended, option)}")


def _recommended(recommended: Mapping[str, object], option: str) -> str:
    """The value that the commands set instead of the published one, in words; "" if they set none."""
    return f" (hiercos train: {recommended[option]})" if option in recommended else ""


def data(
    name: Annotated[
        str | None, typer.Argument(help="Name of a data set to describe; without it, all are listed.")
    ] = None,
    root: Annotated[
        Path | None, typer.Option(help="Folder of the data sets; HIERCOS_DATA or ~/.cache/hiercos/data by default.")
    ] = None,
    download: Annotated[bool, typer.Option("--download", help="Download the data set to that folder.")] = False,
) -> None:
    """List the built-in data sets, whether they are present, and where their files belong."""
    from hiercos.data import BUILT_IN, data_root

    names = list(BUILT_IN) if name is None else [BUILT_IN.checked_name(name)]
    if download:
        if name is None:
            raise OptionError("--download: expected the name of a data set before it")
        _download(name, BUILT_IN[name], data_root(root))
        return
    typer.echo(
        f"Files are looked for in {data_root(root)} (--root or the variable HIERCOS_DATA names another folder).\n"
    )
    for shown in names:
        _show(shown, BUILT_IN[shown], root, alone=name is not None)


def _show(name: str, entry: "BuiltIn", root: Path | None, *, alone: bool) -> None:
    """Print a data set: its size, its origin, the expected files and the downloads."""
    from hiercos.cli.display.tables import terminal_width
    from hiercos.data import shown_size

    typer.echo(f"{name} ({'present' if entry.is_present(root) else 'absent'})")
    lines = [entry.description]
    if entry.classes is not None:
        lines += [f"{entry.classes:,} classes, {entry.levels} levels"]
    lines += [f"from {entry.origin}", f"looks for {entry.where}"]
    if entry.downloads:
        size = shown_size(sum(archive.size for archive in entry.downloads))
        lines += [f"hiercos data {name} --download fetches {size}"]
    for line in lines:
        text = textwrap.fill(line, terminal_width() - 4, break_long_words=False, break_on_hyphens=False)
        typer.echo(textwrap.indent(text, "    "))
    for archive in entry.downloads if alone else ():
        typer.echo(f"      {archive.url} ({_size_and_checksum(archive)})")


def _size_and_checksum(archive: "Download") -> str:
    """The size and the checksum of an archive."""
    from hiercos.data import shown_size

    return f"{shown_size(archive.size)}, {archive.checksum or 'no checksum is published'}"


def _download(name: str, entry: "BuiltIn", root: Path) -> None:
    """Download the missing files of a data set; if that fails, print where to put them and exit with 1."""
    from hiercos.cli.display.progress import TransferDisplay
    from hiercos.data import DownloadError

    by_hand = f"into {root} by hand: {entry.where}"
    if entry.is_present(root):
        say(f"{name} is in {root} already.")
        return
    if entry.fetch is None:
        raise OptionError(f"--download: {name} cannot be downloaded; put it {by_hand}")
    missing = [archive for archive in entry.downloads if not archive.is_done(root)]
    for archive in missing:
        say(f"{archive.url} ({_size_and_checksum(archive)}) into {root / archive.folder}")
    for archive in missing:
        try:
            with TransferDisplay(archive.name) as display:
                entry.fetch(archive, root, display)
        except DownloadError as error:
            say(f"error: {error}; or put it {by_hand}")
            raise typer.Exit(FAILED) from error
    say(f"{name} is in {root}.")
