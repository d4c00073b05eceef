"""Figures of data before a run: a heat map of all measurements, and single spectra."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io import Dataset
from ngmca.report import plotly_style as look
from ngmca.report.mixing_figures import MAX_PIXELS, image
from ngmca.report.plotly_figure import Figure, heatmap

MAX_ROWS, MAX_COLUMNS = 300, 700  # of a heat map
NUMBERS_OF_BLOCK = 2_000_000  # that are averaged at once
LEFT_OUT = "rgba(120, 128, 138, 0.35)"


def heat_map(data: Dataset) -> tuple[Figure, dict[str, Any]]:
    """Return all measurements in colours, and how a click finds its measurement.

    Pixels of an image are drawn as the image of their mean. The second part has the numbers of the rows
    that are drawn, or the columns of the image and the size of its averaged pixels.
    """
    if data.image_shape is not None:
        mean = _means(data.Y)
        step = int(np.ceil(np.sqrt(len(mean) / MAX_PIXELS)))
        return image(mean, data, "mean of each pixel"), {"columns": data.image_shape[1], "step": step}
    m, n = data.Y.shape
    rows = np.unique(np.linspace(0, m - 1, min(m, MAX_ROWS)).astype(int))
    edges = np.unique(np.linspace(0, n, min(n, MAX_COLUMNS) + 1).astype(int))[:-1]
    z = np.stack([np.fmax.reduceat(np.asarray(data.Y[i], dtype=float), edges) for i in rows])
    low, high = np.nanpercentile(z, [0.5, 99.5])
    figure = Figure(
        heatmap(
            z=look.compact(z), x=data.positions[edges], y=np.arange(1, len(rows) + 1), zmin=low,
            zmax=high if high > low else None, colorscale="Viridis",
            colorbar={"thickness": 8, "nticks": 5, "tickfont": {"size": 9}},
            text=[look.literal(data.names[i]) for i in rows],
            hovertemplate="%{x:.5g}: %{z:.3g}<extra></extra>",
        )
    )  # fmt: skip
    look.style(figure, 320)
    look.axis_of(figure, data)
    picked = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 8)).astype(int))
    ticks: dict[str, Any] = {"tickvals": picked + 1, "ticktext": _row_words(data, rows[picked])}
    title = look.literal(data.row_label) or "measurement"
    figure.update_y(title=title, autorange="reversed", showgrid=False, **ticks)
    return figure, {"rows": rows.tolist()}


def _means(Y: NDArray) -> NDArray:
    """Return the mean of each row; blocks of rows keep the memory small."""
    step = max(1, NUMBERS_OF_BLOCK // Y.shape[1])
    blocks = (np.asarray(Y[i : i + step], dtype=float) for i in range(0, len(Y), step))
    return np.concatenate([np.nanmean(block, axis=1) for block in blocks])


def _row_words(data: Dataset, rows: NDArray) -> list[str]:
    """Return what stands beside rows of the heat map: times or other coordinates, or names."""
    if data.row_axis is not None:
        return [f"{value:.4g}" for value in data.row_axis[rows]]
    return [look.literal(name) for name in look.shortened_all([data.names[i] for i in rows])]


def spectra(
    data: Dataset, chosen: Sequence[tuple[int, NDArray]], left_out: Sequence[tuple[float, float]] = ()
) -> Figure:
    """Return measurements against the axis; parts that are left out are grey and may be cut off."""
    figure = Figure(*[
        look.line(data, y, look.place_of(data, i), look.colour(k), width=1.2)
        for k, (i, y) in enumerate(chosen)
    ])  # fmt: skip
    for low, high in left_out:
        figure.stretch(low, high, LEFT_OUT)
    if left_out:  # what stands in the grey parts is often far larger than all that is used
        figure.update_y(range=_heights(data, chosen, left_out))
    title = look.place_of(data, chosen[0][0]) if len(chosen) == 1 else ""
    look.style(figure, 320, title, showlegend=len(chosen) > 1, legend=look.above())
    figure.update(dragmode="select", selectdirection="h")
    look.axis_of(figure, data)
    return figure


def _heights(
    data: Dataset, chosen: Sequence[tuple[int, NDArray]], left_out: Sequence[tuple[float, float]]
) -> list[float] | None:
    """Return the lowest and the highest place of a figure that shows all values that are used."""
    used = np.ones(len(data.positions), dtype=bool)
    for low, high in left_out:
        used &= (data.positions <= low) | (data.positions >= high)
    values = np.concatenate([y[used] for _, y in chosen])
    values = values[np.isfinite(values)]
    if not len(values) or values.min() == values.max():
        return None
    space = 0.08 * float(values.max() - values.min())
    return [float(values.min()) - space, float(values.max()) + space]
