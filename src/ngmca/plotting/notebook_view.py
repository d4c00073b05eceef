"""One linked view of a separation for notebooks: sources, amounts or maps, and the fit of a measurement.

The browser gets A, S and the data once, as bytes, and multiplies them itself: the view works without a
kernel and without a network. What is sent is bounded.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.extras import load_extra
from ngmca._support.html_cards import COLOURS
from ngmca._support.messages import ArgumentError, option
from ngmca.io import Dataset
from ngmca.io.dataset import monotonic
from ngmca.plotting.sources_plot import fitting_dataset

MAX_CHANNELS = 8192  # more are averaged: no screen has as many points
MAX_VALUES = 2_000_000  # of the data, in single precision
MAX_MEASUREMENTS = 20_000
MAX_LETTERS = 200
ARRAYS = ("rows", "axis", "A", "S", "shares", "weights", "basis", "Y", "noise")


def view(found: Any, data: Any) -> Any:
    """Return a widget that shows a separation beside its data."""
    anywidget, traitlets = load_extra("anywidget", "explore"), load_extra("traitlets", "explore")
    content, (m, r) = sent(found, data), found.A.shape
    members: dict[str, Any] = {name: traitlets.Bytes().tag(sync=True) for name in ARRAYS}
    members |= {
        "facts": traitlets.Dict().tag(sync=True),
        "measurement": traitlets.Int(min=0, max=m - 1).tag(sync=True),
        "source": traitlets.Int(None, allow_none=True, min=0, max=r - 1).tag(sync=True),
        "_esm": Path(__file__).with_name("notebook_view.js").read_text(encoding="utf-8"),
        "__doc__": "A separation beside its data; what is chosen, counted from 0.",
    }
    return type("Explorer", (anywidget.AnyWidget,), members)(**content)


def sent(found: Any, data: Any) -> dict[str, Any]:
    """Return facts, and arrays as little-endian bytes: the data in float32, all others in float64."""
    (m, r), n = found.A.shape, found.S.shape[1]
    if len(found.joined) > 1:
        raise ArgumentError(
            "{} of several techniques are shown one by one: "
            "result.techniques[0].explore(data.split()[0]).",
            option("data"),
        )
    known = fitting_dataset(data, m, n)
    wide = -(-n // MAX_CHANNELS)
    rows, shape = _kept(m, -(-n // wide), known.image_shape)
    Y, axis = _averaged(_rows(known.Y, rows), wide), known.positions
    numbered = not monotonic(np.asarray(axis))
    axis = np.arange(n, dtype=float) if numbered else axis
    unit = (
        float(np.fmax.reduce(np.abs(Y), axis=None, initial=0.0)) or 1.0
    )  # no value is beyond single precision
    background = found.background
    weights = np.zeros((m, 0)) if background is None else background.weights
    basis = np.zeros((0, n)) if background is None else background.basis
    arrays = {
        "rows": rows,
        "axis": _averaged(axis[None], wide)[0],
        "A": found.A[rows],
        "S": _averaged(found.S, wide),
        "shares": found.shares[rows],
        "weights": weights[rows],
        "basis": _averaged(basis, wide),
        "noise": np.broadcast_to(found.noise, m)[rows],
    }
    content: dict[str, Any] = {name: one.astype("<f8").tobytes() for name, one in arrays.items()}
    facts = {
        "sources": r,
        "total": m,
        "unit": unit,
        "colours": COLOURS,
        "label": ("channel" if numbered else known.axis_label)[:MAX_LETTERS],
        "image": None if shape is None else list(shape),
        "columns": known.image_shape[1] if known.image_shape else 0,
        "names": [known.row_names[i][:MAX_LETTERS] for i in rows] if known.row_names else [],
        "notes": _notes(known, len(rows), wide),
    }
    content["Y"] = (Y / unit).astype("<f4").tobytes()
    return content | {"facts": facts, "measurement": int(rows[0])}


def _kept(m: int, n: int, shape: tuple[int, int] | None) -> tuple[NDArray, tuple[int, int] | None]:
    """Return the measurements that are sent, and the shape of their image."""
    most = min(MAX_MEASUREMENTS, max(MAX_VALUES // n, 1))
    if shape is None:
        return np.arange(0, m, -(-m // most)), None
    step = 1
    while -(-shape[0] // step) * -(-shape[1] // step) > most:
        step += 1
    grid = np.arange(m).reshape(shape)[::step, ::step]
    return grid.ravel(), (grid.shape[0], grid.shape[1])


def _rows(Y: Any, rows: NDArray) -> NDArray:
    """Return some measurements; data that are not in memory are read one by one."""
    if isinstance(Y, np.ndarray):
        return np.asarray(Y[rows], dtype=float)
    return np.concatenate([np.asarray(Y[i : i + 1], dtype=float) for i in rows.tolist()])


def _averaged(values: NDArray, wide: int) -> NDArray:
    """Return means of neighbouring channels: a fit of means is the mean of the fit."""
    if wide == 1:
        return values
    starts = np.arange(0, values.shape[1], wide)
    counts = np.diff(np.append(starts, values.shape[1]))
    return np.asarray(np.add.reduceat(values, starts, axis=1) / counts)


def _notes(data: Dataset, kept: int, wide: int) -> list[str]:
    notes = []
    if kept < len(data.Y):
        notes.append(f"{kept} of {len(data.Y)} measurements are in this view, evenly spaced.")
    if wide > 1:
        notes.append(f"Every point of a spectrum is the mean of {wide} channels.")
    return notes
