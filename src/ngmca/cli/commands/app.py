"""`ngmca app`: a page in the browser to open, separate and look at data."""

from pathlib import Path
from typing import Annotated

import typer

from ngmca._support.extras import load_extra
from ngmca.cli.console import say
from ngmca.cli.errors import one_line_errors

EXAMPLES = """
[bold]Examples[/]

  ngmca app

  ngmca app spectra.csv

  ngmca app measurements --folder sessions --port 8000 --no-browser
"""


@one_line_errors
def app(
    target: Annotated[
        Path, typer.Argument(help="A file to open, or the folder whose files may be opened.")
    ] = Path(),
    *,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server (a free one).")] = 0,
    host: Annotated[
        str, typer.Option(help="Address to listen at; other computers can reach any but this one.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None, typer.Option(help="Secret in the address of the page (drawn; needed with --host).")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    folder: Annotated[
        Path | None, typer.Option(help="Where sessions are kept (ngmca-sessions in your home).")
    ] = None,
) -> None:
    """Open a page in the browser: open data, separate them and look at results, without a terminal."""
    for package in ("starlette", "uvicorn", "jinja2", "python_multipart"):
        load_extra(package, "the page")
    from ngmca.app.serve import serve

    serve(target, host=host, port=port, token=token, browser=browser, folder=folder, say=say)
