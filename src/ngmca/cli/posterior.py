"""`ngmca posterior`: error bars for a result that is there already."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ngmca.cli import add_to_result as later
from ngmca.cli.console import one_line_errors
from ngmca.cli.settings import AsJson
from ngmca.io import ReadError

INSTEAD = "In Python, ngmca.posterior(Y, ngmca.load(FILE)) samples error bars."
EXAMPLES = """
[bold]Examples[/]

  ngmca posterior result

  ngmca posterior result moved/spectra.csv

  ngmca posterior result --samples 1000 --force
"""


@one_line_errors
def posterior(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    data: Annotated[
        list[str] | None, typer.Argument(help="Where its data are now, if they were moved.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of each chain (as many as it takes).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace error bars, and discard a run that was stopped.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Sample error bars for a result, without separating again, and draw its report again."""
    found, begun, known = later.found_in(out, INSTEAD)
    settings = begun.changed(data=tuple(data) if data else None, samples=samples, posterior=True)
    if not force:
        if found.separation.posterior is not None:
            raise ReadError(f"{out} has error bars already: --force samples them again.")
        later.check_not_stopped(out)
    later.check_data(out, settings, known, "posterior")
    bare = replace(found, separation=replace(found.separation, posterior=None))
    later.add(out, settings, bare, quiet=quiet, as_json=as_json)
