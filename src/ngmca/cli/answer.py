"""`ngmca answer`: which substances, and how much of each, for a result that is there already."""

from pathlib import Path
from typing import Annotated

import typer

from ngmca.cli import add_to_result as later
from ngmca.cli.console import one_line_errors
from ngmca.cli.settings import AsJson, Library, Responses, Standards, Tolerance
from ngmca.io import ReadError

EXAMPLES = """
[bold]Examples[/]

  ngmca answer result --library reference_spectra --tolerance 4

  ngmca answer result --standards standards.csv
"""
INSTEAD = "In Python, ngmca.identify(ngmca.load(FILE), library) and ngmca.quantify answer."


@one_line_errors
def answer(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    data: Annotated[
        list[str] | None, typer.Argument(help="Where its data are now, if they were moved.")
    ] = None,
    library: Library = None,
    tolerance: Tolerance = None,
    standards: Standards = None,
    responses: Responses = None,
    force: Annotated[
        bool, typer.Option("--force", help="Discard a run for this folder that was stopped.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Name the sources of a result and tell their amounts, without separating again."""
    given = {"library": library, "standards": standards, "responses": responses}
    asked = {name: path for name, path in given.items() if path is not None}
    if not asked:
        raise ReadError("nothing was asked: name a --library, --standards or --responses.")
    found, begun, known = later.found_in(out, INSTEAD)
    for path in asked.values():
        if not Path(path).exists():
            raise ReadError(f"{path} does not exist.")
    if standards or responses:  # one scale in place of the other
        begun = begun.without("standards", "responses")
    settings = begun.changed(data=tuple(data) if data else None, tolerance=tolerance, **asked)
    if not force:
        later.check_not_stopped(out)
    later.check_data(out, settings, known, "answer")
    later.add(out, settings, found, asked=asked, quiet=quiet, as_json=as_json)
