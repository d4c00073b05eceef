"""One HTML file that shows a separation: it opens offline, in any browser."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ngmca._support.atomic_files import write_atomically
from ngmca.answers.how_sure import diagnose
from ngmca.io import Dataset
from ngmca.report.html_page import render
from ngmca.report.sections import sections
from ngmca.result import Separation
from ngmca.saving.results import Run, described

__all__ = ["html", "write"]


def write(
    path: str | os.PathLike[str],
    separation: Separation,
    data: Dataset | ArrayLike | Any,
    **record: Any,
) -> Path:
    """Write the report of a separation of data, and return where it is.

    `data` is what `ngmca.io.read` returned, the array Y itself, or a DataFrame (columns are the axis,
    if they are numbers) or xarray's DataArray. Keyword arguments are shown among the parameters of the
    run.
    """
    separation = separation.in_memory()
    data = described(separation, data)
    if not data.Y.size:
        raise ValueError(
            "data holds no measurements, as what `ngmca.load` returns: read them again with "
            "ngmca.io.read, or draw the saved result with `ngmca report FILE`."
        )
    run = Run(separation, diagnose(data.Y, separation), data, {"separate": record} if record else {})
    target = Path(path)
    write_atomically(target, html(run))
    return target


def html(run: Run, words: Callable[[str], str] = str) -> str:
    """The report of a run as one self-contained page.

    `words` puts warnings, which name arguments of the library, into other words: options of a command.
    """
    return render(_title(run), sections(run, words))


def _title(run: Run) -> str:
    """The title that the file has, or its name; several files are called by their folder."""
    meta, given = run.data.meta, run.record.get("separate", {}).get("data", ())
    if meta.get("title"):
        return str(meta["title"])
    if isinstance(given, list | tuple) and len(given) > 1:
        folders = {Path(str(one)).absolute().parent for one in given}
        common = Path(os.path.commonpath(folders))
        return f"{common.name or common}: {len(given)} files"
    return Path(str(meta.get("path", ""))).name or "Separation"
