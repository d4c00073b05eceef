"""`ngmca report`: draw the report of a result again."""

from pathlib import Path
from typing import Annotated

import typer

from ngmca._support.atomic_files import check_free, occupied, write_atomically
from ngmca.cli.console import say
from ngmca.cli.errors import one_line_errors
from ngmca.saving import result_folder
from ngmca.saving.results import load_run
from ngmca.settings.option_names import as_flag

EXAMPLES = """
[bold]Examples[/]

  ngmca report result

  ngmca report saved.nc --to report.html
"""


@one_line_errors
def report(
    out: Annotated[Path, typer.Argument(help="Folder of a result, or a file written by `ngmca.save`.")],
    to: Annotated[Path | None, typer.Option("--to", help="File to write (OUT/report.html).")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is not a report of ngmca.")
    ] = False,
) -> None:
    """Draw the report of a result again."""
    from ngmca.report import html

    target = to or (out / result_folder.REPORT if out.is_dir() else out.with_suffix(".html"))
    _check_target(target, result_folder.find(out), force=force)
    write_atomically(target, html(load_run(out), as_flag))
    say(f"report: {result_folder.absolute(target)}")


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
