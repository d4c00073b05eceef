"""The application with all commands."""

from importlib import import_module, metadata
from typing import Annotated

import typer

from ngmca.cli.commands import paper

COMMANDS = (
    *("separate", "posterior", "ambiguity", "answer", "info", "rank", "report", "rerun", "watch"),
    *("app", "evaluate", "simulate", "demo"),
)

application = typer.Typer(
    name="ngmca",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Separate measurements into sources: sparse, non-negative blind source separation.",
)
for name in COMMANDS:
    module = import_module(f"ngmca.cli.commands.{name}")
    application.command(name, epilog=module.EXAMPLES)(getattr(module, name))
application.add_typer(paper.app, name="paper")


def _version(show: bool) -> None:
    if show:
        print(f"ngmca {metadata.version('ngmca')}")
        raise typer.Exit


@application.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
