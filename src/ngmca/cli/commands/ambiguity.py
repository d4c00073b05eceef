"""`ngmca ambiguity`: other mixtures of the sources of an existing result that fit as well."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ngmca.cli import add_to_result as later
from ngmca.cli.errors import one_line_errors
from ngmca.cli.options import AsJson, MovedData, Quiet

EXAMPLES = """
[bold]Examples[/]

  ngmca ambiguity result

  ngmca ambiguity result moved/spectra.csv
"""


@one_line_errors
def ambiguity(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    data: MovedData = None,
    force: Annotated[
        bool, typer.Option("--force", help="Discard a stopped run for this folder.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find other mixtures of the sources that fit as well (rotational ambiguity)."""
    instead = "In Python use ngmca.ambiguity(Y, ngmca.load(FILE))."
    found, stored, record = later.found_in(out, instead)
    settings = stored.changed(data=tuple(data) if data else None, ambiguity=True)
    if not force:
        later.check_not_stopped(out)
    later.check_data(out, settings, record, "ambiguity")
    bare = replace(found, separation=replace(found.separation, ambiguity=None))
    later.add(out, settings, bare, quiet=quiet, as_json=as_json)
