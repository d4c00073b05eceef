"""`ngmca answer`: identify and quantify the sources of an existing result."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca.cli import add_to_result as later
from ngmca.cli.errors import one_line_errors
from ngmca.cli.options import AsJson, MovedData, Quiet, takes
from ngmca.io import ReadError
from ngmca.settings.settings import QUESTION_FILES, QUESTIONS

EXAMPLES = """
[bold]Examples[/]

  ngmca answer result --library reference_spectra --tolerance 4

  ngmca answer result --library reference_spectra --detect acetone

  ngmca answer result --standards standards.csv
"""


@one_line_errors
@takes(*QUESTIONS)
def answer(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    given: dict[str, Any],
    data: MovedData = None,
    force: Annotated[
        bool, typer.Option("--force", help="Discard a stopped run for this folder.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Identify and quantify the sources of a result, without separating again."""
    asked = {name: path for name, path in given.items() if name in QUESTION_FILES}
    if not asked:
        raise ReadError("there is no question: give --library, --standards or --responses.")
    instead = "In Python use ngmca.identify(ngmca.load(FILE), library) or ngmca.quantify."
    found, stored, record = later.found_in(out, instead)
    for path in asked.values():
        if not Path(path).exists():
            raise ReadError(f"{path} does not exist.")
    if {"standards", "responses"} & set(asked):  # one scale in place of the other
        stored = stored.without("standards", "responses")
    settings = stored.changed(data=tuple(data) if data else None, **given)
    if not force:
        later.check_not_stopped(out)
    later.check_data(out, settings, record, "answer")
    later.add(out, settings, found, asked=asked, quiet=quiet, as_json=as_json)
