"""`ngmca posterior`: error bars for an existing result."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ngmca.cli import add_to_result as later
from ngmca.cli.errors import one_line_errors
from ngmca.cli.options import AsJson, MovedData, Quiet
from ngmca.io import ReadError

EXAMPLES = """
[bold]Examples[/]

  ngmca posterior result

  ngmca posterior result moved/spectra.csv

  ngmca posterior result --samples 1000 --force
"""


@one_line_errors
def posterior(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    data: MovedData = None,
    samples: Annotated[int | None, typer.Option(help="Samples of each chain (automatic).")] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace error bars, and discard a stopped run for this folder."),
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compute error bars for a result, without separating again; draw its report again."""
    instead = "In Python use ngmca.posterior(Y, ngmca.load(FILE))."
    found, stored, record = later.found_in(out, instead)
    settings = stored.changed(data=tuple(data) if data else None, samples=samples, posterior=True)
    if not force:
        if found.separation.posterior is not None:
            raise ReadError(f"{out} has error bars already: use --force to compute them again.")
        later.check_not_stopped(out)
    later.check_data(out, settings, record, "posterior")
    bare = replace(found, separation=replace(found.separation, posterior=None))
    later.add(out, settings, bare, quiet=quiet, as_json=as_json)
