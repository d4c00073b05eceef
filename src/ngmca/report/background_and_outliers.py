"""Figures and tables of what belongs to no source: backgrounds and outliers."""

from html import escape

import numpy as np
import plotly.graph_objects as go

from ngmca.answers.run import Run
from ngmca.report.maps import image
from ngmca.report.plotly_style import INK, above, axis_of, colour, line, literal, shortened, style
from ngmca.report.section import table
from ngmca.saving.results import outliers


def background(run: Run) -> tuple[go.Figure, ...]:
    """Return the backgrounds of at most 12 measurements, evenly spread, and a map if they are pixels."""
    found, m = run.separation.background, len(run.separation.A)
    assert found is not None
    figure = go.Figure()
    for k, i in enumerate(np.unique(np.linspace(0, m - 1, 12).round().astype(int))):
        name = literal(shortened(run.data.names[i], 24))
        figure.add_trace(line(run.data, found.weights[i] @ found.basis, name, colour(k), width=1.2))
    style(figure, 320)
    figure.update_layout(showlegend=m > 1, legend=above(), margin={"t": 64})
    figure.update_yaxes(rangemode="tozero")
    axis_of(figure, run.data)
    if not run.data.image_shape:
        return (figure,)
    return figure, image(found.weights @ found.basis.sum(axis=1), run.data, "Sum of the background")


def mark_outliers(figure: go.Figure, run: Run, i: int) -> None:
    """Mark the outliers of measurement i in the first row of the figure of its fit."""
    found = run.separation.outliers
    here = np.zeros(0, dtype=int) if found is None else np.flatnonzero(found[:, 0] == i)
    if not here.size:
        return
    assert found is not None
    figure.add_trace(
        go.Scatter(
            x=run.data.positions[found[here, 1]], y=run.diagnostics.outlying[here], mode="markers",
            name="outlier", marker={"color": INK, "symbol": "x", "size": 7},
        ), row=1, col=1,
    )  # fmt: skip


def outlier_table(run: Run) -> str:
    """Return a table of the 50 largest outliers."""
    names, values = zip(*outliers(run), strict=True)
    order = np.argsort(-np.abs(run.diagnostics.outlying), kind="stable")[:50]
    rows = [
        f"<td>{escape(str(values[0][k]))}<td>{values[1][k]:.6g}<td>{values[2][k]:.4g}" for k in order
    ]
    return table("".join(f"<th>{escape(name)}" for name in names), rows)
