"""`ngmca answer`: identify and quantify the sources of an existing result."""

from pathlib import Path
from typing import Annotated

import typer

from ngmca.cli import add_to_result as later
from ngmca.cli.errors import one_line_errors
from ngmca.cli.options import AsJson, Library, Quiet, Responses, Standards, Tolerance
from ngmca.io import ReadError

EXAMPLES = """
[bold]Examples[/]

  ngmca answer result --library reference_spectra --tolerance 4

  ngmca answer result --standards standards.csv
"""


@one_line_errors
def answer(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    data: Annotated[
        list[str] | None, typer.Argument(help="The data of the result, if they were moved.")
    ] = None,
    library: Library = None,
    tolerance: Tolerance = None,
    standards: Standards = None,
    responses: Responses = None,
    force: Annotated[
        bool, typer.Option("--force", help="Discard a stopped run for this folder.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Identify and quantify the sources of a result, without separating again."""
    given = {"library": library, "standards": standards, "responses": responses}
    asked = {name: path for name, path in given.items() if path is not None}
    if not asked:
        raise ReadError("there is no question: give --library, --standards or --responses.")
    instead = "In Python use ngmca.identify(ngmca.load(FILE), library) or ngmca.quantify."
    found, stored, record = later.found_in(out, instead)
    for path in asked.values():
        if not Path(path).exists():
            raise ReadError(f"{path} does not exist.")
    if standards or responses:  # one scale in place of the other
        stored = stored.without("standards", "responses")
    settings = stored.changed(data=tuple(data) if data else None, tolerance=tolerance, **asked)
    if not force:
        later.check_not_stopped(out)
    later.check_data(out, settings, record, "answer")
    later.add(out, settings, found, asked=asked, quiet=quiet, as_json=as_json)
