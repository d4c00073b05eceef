"""`ngmca report`: draw the report of a result again."""

from pathlib import Path
from typing import Annotated

import typer

from ngmca._support.atomic_files import check_free, occupied, write_atomically
from ngmca.cli.console import say
from ngmca.cli.errors import one_line_errors
from ngmca.io import ReadError
from ngmca.saving import result_folder, results
from ngmca.saving.results import load_run
from ngmca.settings.option_names import as_flag

EXAMPLES = """
[bold]Examples[/]

  ngmca report result

  ngmca report saved.nc --to report.html

  ngmca report result --name 1=glucose --name 3=ethanol
"""


@one_line_errors
def report(
    out: Annotated[Path, typer.Argument(help="Folder of a result, or a file written by `ngmca.save`.")],
    to: Annotated[Path | None, typer.Option("--to", help="File to write (OUT/report.html).")] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Name of a source, as 1=glucose, for the report and the tables too."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is not a report of ngmca.")
    ] = False,
) -> None:
    """Draw the report of a result again, and give names to its sources."""
    from ngmca.report import html

    if name and not out.is_dir():
        raise ReadError(f"--name writes the tables of a result too, but {out} is not its folder.")
    target = to or (out / result_folder.REPORT if out.is_dir() else out.with_suffix(".html"))
    _check_target(target, result_folder.find(out), force=force)
    run = load_run(out).renamed(_names(name or []))
    if name:
        results.write(out, run)
    write_atomically(target, html(run, as_flag))
    say(f"report: {result_folder.absolute(target)}")


def _names(given: list[str]) -> dict[int, str]:
    """Return numbers of sources and their names."""
    pairs = [one.partition("=") for one in given]
    for number, mark, name in pairs:
        if not mark or not number.strip().isdecimal():
            raise ReadError(f"--name {number}{mark}{name}: give the number of a source, as 1=glucose.")
    return {int(number): name for number, _, name in pairs}


def _check_target(target: Path, result: Path, *, force: bool) -> None:
    """Raise an error if the report would replace the result, or, without force, any other file."""
    others = set(result_folder.OURS) - {result_folder.REPORT}
    place = result_folder.absolute(target)
    if place == result_folder.absolute(result) or (
        place.parent == result_folder.absolute(result).parent and place.name in others
    ):
        raise occupied(f"{target} is a part of the result: choose another name for the report")
    check_free(target, force=force or is_page(target))


def is_page(path: Path) -> bool:
    """Whether a file is a report of ngmca."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return b"ngmca</title>" in file.read(1 << 16)
