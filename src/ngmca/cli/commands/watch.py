"""`ngmca watch`: separate spectra while an instrument writes them."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca.cli.arrivals import Arrivals
from ngmca.cli.console import note, say
from ngmca.cli.errors import as_bad_input, one_line_errors
from ngmca.cli.live import Live
from ngmca.cli.options import Quiet, takes
from ngmca.io import ReadError
from ngmca.settings.settings import READING, Settings, count_or_auto

EXAMPLES = """
[bold]Examples[/]

  ngmca watch spectra_folder -r 3 -o live

  ngmca watch spectra_folder -r 3 -o live --every 10 --first 20
"""


@one_line_errors
@takes(*READING)
def watch(
    folder: Annotated[Path, typer.Argument(help="Folder that the instrument writes files to.")],
    sources: Annotated[
        str, typer.Option("-r", "--sources", metavar="NUMBER|auto", help="Number of sources.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the tables and the page.")],
    given: dict[str, Any],
    first: Annotated[
        int, typer.Option(help="Spectra to wait for before the first separation.", min=2)
    ] = 10,
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1)] = 2.0,
    forgetting: Annotated[
        float, typer.Option(help="Weight of earlier spectra at every step, up to 1 (1).")
    ] = 1.0,
    stop_after: Annotated[int | None, typer.Option(help="End after so many spectra.")] = None,
    quiet: Quiet = False,
) -> None:
    """Separate spectra while an instrument writes them; Ctrl-C ends.

    A file is read when its size and time were the same at two looks. OUT/amounts.csv has the amounts of
    all spectra so far, OUT/sources.csv the sources, and OUT/live.html shows both and refreshes itself.
    """
    if not folder.is_dir():
        raise ReadError(f"{folder} is not a folder: name the folder that the instrument writes to.")
    live = Live(out, count_or_auto(sources), first=first, forgetting=forgetting, refresh=every)
    arrivals = Arrivals(folder)
    say(f"watching {folder}; page: {live.page}. Ctrl-C ends.", quiet=quiet)
    try:
        while stop_after is None or live.count < stop_after:
            for path in arrivals.look():
                _take(live, arrivals, path, given)
            for path in arrivals.changed():
                note(
                    f"{path.name} changed after it was read, and is not read again. If it was not yet "
                    "complete, its amounts are wrong: watch again with more seconds as --every."
                )
            with as_bad_input():
                if live.update():
                    say(live.state, quiet=quiet)
            if stop_after is None or live.count < stop_after:
                time.sleep(every)
    except KeyboardInterrupt:
        pass
    live.end()
    say(f"{live.state} Results: {live.page}", quiet=quiet)


def _take(live: Live, arrivals: Arrivals, path: Path, given: dict[str, Any]) -> None:
    """Read a file; one that cannot be read waits until it changes."""
    try:
        live.add(path, Settings(data=(str(path),), **given).read())
    except ReadError as error:
        note(f"{path.name} is left out until it changes: {error}")
    else:
        arrivals.taken(path)
