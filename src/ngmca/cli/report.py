"""`ngmca report`: the report of a result, drawn again."""

from pathlib import Path
from typing import Annotated

import typer

from ngmca.cli.console import one_line_errors, say
from ngmca.saving import result_folder
from ngmca.saving.results import load_run
from ngmca.saving.whole_files import write_whole

EXAMPLES = """
[bold]Examples[/]

  ngmca report result

  ngmca report saved.nc --to report.html
"""


@one_line_errors
def report(
    out: Annotated[Path, typer.Argument(help="Folder of a result, or a file of `ngmca.save`.")],
    to: Annotated[Path | None, typer.Option("--to", help="File to write (OUT/report.html).")] = None,
) -> None:
    """Draw the report of a result again."""
    from ngmca.report import html

    run = load_run(out)
    usual = out / result_folder.REPORT if out.is_dir() else out.with_suffix(".html")
    target = to or usual
    write_whole(target, html(run))
    say(f"report: {result_folder.absolute(target)}")
