"""Table of the subcommands of `hiercos`, and the group that imports one of them when it is run."""

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from hiercos.cli.options.groups import OptionError
from hiercos.registry import Registry

COMMANDS: Registry[Callable[..., None] | typer.Typer] = Registry(
    "command",
    OptionError,
    entry_points="hiercos.commands",
    rows={
        "compare": "hiercos.cli.commands.compare:compare",
        "report": "hiercos.cli.commands.report:report",
        "ablate": "hiercos.paper.commands.ablate:ablate",
        "train": "hiercos.cli.commands.train:train",
        "extend": "hiercos.cli.commands.extend:extend",
        "predict": "hiercos.cli.commands.predict:predict",
        "review": "hiercos.cli.commands.review:review",
        "serve": "hiercos.cli.commands.serve:serve",
        "recode": "hiercos.cli.commands.recode:recode",
        "evaluate": "hiercos.cli.commands.evaluate:evaluate",
        "embed": "hiercos.cli.commands.embed:embed",
        "export": "hiercos.cli.commands.export:export",
        "reproduce": "hiercos.paper.commands.reproduce:reproduce",
        "methods": "hiercos.cli.commands.listings:methods",
        "data": "hiercos.cli.commands.listings:data",
        "taxonomy": "hiercos.cli.commands.taxonomy:app",
    },
)
"""Functions whose parameters are the options of a command, or groups of them, in the order of the help."""


class CommandGroup(TyperGroup):
    """The commands of the table; each is imported when it is run, and all of them for the help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings | {"commands": dict.fromkeys(COMMANDS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # the interface of typer
        """The command of a name; None for an unknown one."""
        if cmd_name not in COMMANDS:
            return None
        command, app = COMMANDS[cmd_name], typer.Typer()
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=cmd_name)
        else:
            app.command(cmd_name)(command)
        return typer.main.get_group(app).commands[cmd_name]
