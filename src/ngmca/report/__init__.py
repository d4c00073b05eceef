"""One HTML file that shows a separation: it opens offline, in any browser."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngmca.diagnosis import diagnose
from ngmca.io import Dataset
from ngmca.report.page import render
from ngmca.report.sections import sections
from ngmca.result import Separation
from ngmca.saving.results import Run
from ngmca.saving.whole_files import write_whole

__all__ = ["html", "write"]


def write(
    path: str | os.PathLike[str],
    separation: Separation,
    data: Dataset | ArrayLike,
    **record: Any,
) -> Path:
    """Write the report of a separation of data, and return where it is.

    `data` is what `ngmca.io.read` returned, or the array Y itself. Keyword arguments are shown among
    the parameters of the run.
    """
    if not isinstance(data, Dataset):
        data = Dataset(Y=np.asarray(data))
    if not data.Y.size:
        raise ValueError(
            "data holds no measurements, as what `ngmca.load` returns: read them again with "
            "ngmca.io.read, or draw the saved result with `ngmca report FILE`."
        )
    run = Run(separation, diagnose(data.Y, separation), data, {"separate": record} if record else {})
    target = Path(path)
    write_whole(target, html(run))
    return target


def html(run: Run) -> str:
    """The report of a run as one self-contained page."""
    title = str(run.data.meta.get("title") or "") or Path(str(run.data.meta.get("path", ""))).name
    return render(title or "Separation", sections(run))
