"""Reading in a process of its own, which can be killed: `python -m ngmca.app.worker JOB FOLDER`."""

import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ngmca._support.atomic_files import write_atomically
from ngmca._support.messages import ArgumentError, to_plain
from ngmca.answers.which.library import open_library
from ngmca.app.kept_data import FACTS, keep, kept
from ngmca.app.previews import ERROR, PREVIEW, ROWS, library_key, reading_key
from ngmca.report import preview_figures
from ngmca.saving.result_folder import RECORD
from ngmca.settings import from_file


def preview(folder: Path) -> None:
    """Read the data of a session, without what is left out of them, and keep them with a heat map."""
    settings = from_file(folder / RECORD)[0]
    key = reading_key(settings)
    data = replace(settings, range=None, leave_out=None, leave_rows=None, align=False).read()
    step = max(1, data.Y.size // 20_000_000)
    some = np.asarray(data.Y[:: min(step, len(data.Y))], dtype=float)
    with warnings.catch_warnings(action="ignore"):
        low, high = float(np.nanmin(some)), float(np.nanmax(some))
    missing = float(np.mean(np.isnan(some)))
    heat, rows = preview_figures.heat_map(data)
    facts = {"low": low, "high": high, "missing": missing, "key": key, "rows": rows}
    keep(
        folder / PREVIEW,
        data,
        **facts,
        heat=json.loads(heat.to_json()),
        at=data.positions[[0, -1]].tolist(),
    )


def measurements(folder: Path) -> None:
    """Read the data of a run as it read them, and keep them for figures of their fit."""
    keep(folder / ROWS, from_file(folder / RECORD)[0].read())


def library(folder: Path) -> None:
    """Read the library of a session, on axes in the unit of the data, and keep its spectra."""
    settings = from_file(folder.parent / RECORD)[0]
    assert settings.library is not None
    data, _ = kept(folder.parent / PREVIEW)
    found = open_library(settings.library, data.axis_unit, data.axis_name).references
    part = folder / "spectra.part.npz"
    arrays: dict[str, Any] = {f"axis-{k}": one.axis for k, one in enumerate(found)}
    np.savez(part, **arrays | {f"values-{k}": one.values for k, one in enumerate(found)})
    part.replace(folder / "spectra.npz")
    facts = {"key": library_key(settings), "names": [one.name for one in found]}
    write_atomically(folder / FACTS, json.dumps(facts))


JOBS = {"preview": preview, "measurements": measurements, "library": library}

if __name__ == "__main__":
    job, folder = sys.argv[1], Path(sys.argv[2])
    (folder / ERROR).unlink(missing_ok=True)
    try:
        JOBS[job](folder)
    except Exception as error:
        known = isinstance(error, ValueError | OSError | MemoryError)
        text = str(error) if known else f"{type(error).__name__}: {error}"
        text = error.message if isinstance(error, ArgumentError) else text
        write_atomically(folder / ERROR, json.dumps(to_plain(text)))
        sys.exit(2)
