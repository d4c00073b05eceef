"""The report of a separation: one HTML file that opens offline in any browser."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from ngmca._support.atomic_files import write_atomically
from ngmca._support.messages import ArgumentError, Option, option
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Run
from ngmca.io import Dataset
from ngmca.report.html_page import render
from ngmca.report.sections import sections
from ngmca.result import Separation
from ngmca.saving.results import described

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataArray

__all__ = ["html", "write"]


def write(
    path: str | os.PathLike[str],
    separation: Separation,
    data: "Dataset | ArrayLike | DataFrame | DataArray",
    **record: object,
) -> Path:
    """Write the report of a separation.

    Parameters
    ----------
    path : str or path
        The file to write, usually named .html. An existing file is replaced.
    separation : Separation
        The result of `ngmca.separate`.
    data : Dataset, array-like of shape (m, n), DataFrame or DataArray
        The data that were separated. A `Dataset` of `ngmca.io.read` or a DataArray has an axis and
        names; the columns of a DataFrame are the axis if they are numbers.
    **record
        Parameters to show in the section "This run".

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If `data` do not have the shape of the separation, or hold no measurements.

    Examples
    --------
    >>> import tempfile
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=8, n=100, r=2, snr=20, seed=0)
    >>> found = ngmca.separate(mixture.Y, 2, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = ngmca.report.write(f"{folder}/report.html", found, mixture.Y, seed=0)
    ...     page.name, page.stat().st_size > 1_000_000
    ('report.html', True)
    """
    separation = separation.in_memory()
    data = described(separation, data)
    if not data.Y.size:
        raise ArgumentError(
            "{} has no measurements, as from `ngmca.load`. Read them again with ngmca.io.read, or draw "
            "the report of a saved result with `ngmca report FILE`.",
            option("data"),
        )
    run = Run(separation, diagnose(data.Y, separation), data, {"separate": record} if record else {})
    target = Path(path)
    write_atomically(target, html(run))
    return target


def html(run: Run, show: Callable[[Option], str] = str) -> str:
    """Return the report of a run as one self-contained HTML page.

    Parameters
    ----------
    run : Run
        The separation with its diagnostics and answers.
    show : callable
        Returns how the page writes an argument of the library. `str` writes ``tau=2``; the command line
        gives a function that writes ``--tau 2``.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> import ngmca
    >>> from ngmca.answers.how_sure import diagnose
    >>> from ngmca.answers.run import Run
    >>> Y = ngmca.simulate.spectra(m=8, n=100, r=2, snr=20, seed=0).Y
    >>> found = ngmca.separate(Y, 2, seed=0)
    >>> page = ngmca.report.html(Run(found, diagnose(Y, found), ngmca.io.Dataset(Y)))
    >>> "<h2>Sources</h2>" in page
    True
    """
    kept = {name: run.record.get(name, {}) for name in ("separate", "record")}
    kept["answer"] = run.separation.checksum
    return render(_title(run), sections(run, show), json.dumps(kept, default=str))


def _title(run: Run) -> str:
    """Return the title in the file, or the name of the file; for several files, that of their folder."""
    meta, given = run.data.meta, run.record.get("separate", {}).get("data", ())
    if meta.get("title"):
        return str(meta["title"])
    if isinstance(given, list | tuple) and len(given) > 1:
        folders = {Path(str(one)).absolute().parent for one in given}
        common = Path(os.path.commonpath(folders))
        return f"{common.name or common}: {len(given)} files"
    return Path(str(meta.get("path", ""))).name or "Separation"
