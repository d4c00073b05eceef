"""Figures of the residual and of the iterations."""

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_sure.residual_pass import HISTOGRAM_BINS
from ngmca.answers.run import Run
from ngmca.report import plotly_style as look
from ngmca.report.mixing_figures import MAX_BARS, image, measurements, places
from ngmca.report.plotly_figure import Figure, bar, scatter


def convergence_figures(run: Run) -> list[Figure]:
    """Return cost, thresholds, active share and optimality of all iterations, one figure each."""
    history = run.separation.history
    k = np.arange(1, len(history.cost) + 1)
    drawn = [
        ("Cost, |Y - AS|² / 2", history.cost[:, None], "log"),
        ("Threshold of each source", history.threshold, "log"),
        ("Share of active entries", history.active[:, None], "linear"),
        ("Distance from optimality", history.violation[:, None], "log"),
    ]
    begun = run.separation.domain.begun
    if begun:  # wavelet iterations have no certificates: single precision, a few steps each
        drawn.pop()
    figures = [_curves(k, title, values, kind) for title, values, kind in drawn]
    for figure in figures if begun else ():
        figure.vertical(begun + 0.5, line={"dash": "dot", "color": "#888", "width": 1})
        figure.annotate(x=begun + 0.5, y=1, yref="paper", text="wavelets", xanchor="left")
    return figures


def _curves(k: NDArray, title: str, values: NDArray, kind: str) -> Figure:
    figure = Figure()
    usable = np.where(np.isfinite(values) & ((values > 0) | (kind == "linear")), values, np.nan)
    for i, column in enumerate(usable.T):
        x, y = look.thin(k.astype(float), column, 1000) if np.isfinite(column).all() else (k, column)
        figure.add(
            scatter(
                x=x, y=y, mode="lines", name=f"source {i + 1}" if values.shape[1] > 1 else "",
                line={"color": look.colour(i), "width": 1.4},
            )
        )  # fmt: skip
    look.style(figure, 250, title)
    figure.update_x(title="iteration")
    figure.update_y(exponentformat="power")
    if not np.isfinite(usable).any():
        figure.annotate(text="not available for this method", font={"color": look.SOFT})
        figure.update_y(showticklabels=False)
        return figure
    low, high = float(np.nanmin(usable)), float(np.nanmax(usable))
    if "optimality" in title:  # the scale reaches down to rounding errors
        look.logarithmic(figure, 1e-17, max(1e-5, 3 * high))
    elif kind == "log" and high > 3 * low:
        look.logarithmic(figure, low / 1.2, high * 1.2)
    return figure


def histogram(run: Run) -> Figure:
    """Return the histogram of the residual in units of the noise, with a Gaussian."""
    centres = (HISTOGRAM_BINS[1:] + HISTOGRAM_BINS[:-1]) / 2
    density = run.diagnostics.histogram
    figure = Figure(
        bar(
            x=centres,
            y=np.where(density > 0, density, np.nan),
            name="residual",
            marker={"color": "#9fc3e0"},
        )
    )
    gaussian = np.exp(-(centres**2) / 2) / np.sqrt(2 * np.pi)
    figure.add(
        scatter(x=centres, y=gaussian, name="Gaussian", line={"color": look.COLOURS[1], "width": 1.6})
    )
    floor = max(1e-6, float(density[density > 0].min(initial=1e-3)))
    corner = {
        "x": 0.99,
        "xanchor": "right",
        "y": 0.99,
        "yanchor": "top",
        "bgcolor": "rgba(255,255,255,.7)",
    }
    look.style(figure, 300, "Residual against a Gaussian", bargap=0, showlegend=True, legend=corner)
    figure.update_y(title="density")
    look.logarithmic(figure, floor / 1.6, 1.3)
    figure.update_x(title="residual / noise", range=[-6, 6])
    return figure


def structure(run: Run) -> Figure:
    """Return the singular values of the residual over the largest of pure noise."""
    values, edge = run.diagnostics.singular, run.diagnostics.singular_edge
    figure = Figure(
        scatter(
            x=np.arange(1, len(values) + 1),
            y=values / edge,
            mode="lines+markers",
            name="residual",
            line={"color": look.COLOURS[0], "width": 1.4},
        )
    )
    figure.horizontal(1, line={"color": look.COLOURS[1], "dash": "dash", "width": 1.4})
    look.style(figure, 300, "Structure in the residual")
    figure.update_y(title="singular value (noise: up to 1)", rangemode="tozero")
    figure.update_x(title="number", tickformat="d", nticks=min(len(values) + 1, 11))
    return figure


def along_axis(run: Run) -> Figure:
    """Return the residual over the noise level along the axis."""
    figure = Figure(
        look.line(run.data, run.diagnostics.column_rms, "residual", look.COLOURS[0], width=1)
    )
    figure.horizontal(1, line={"color": look.COLOURS[1], "dash": "dash", "width": 1.2})
    look.style(
        figure, 300, look.literal(f"Residual along the axis{run.technique and ': '}{run.technique}")
    )
    figure.update_y(title="residual / noise", rangemode="tozero")
    look.axis_of(figure, run.data)
    return figure


def per_measurement(run: Run) -> Figure:
    """Return residual and noise level of each measurement."""
    rms, sigma = run.diagnostics.row_rms, run.diagnostics.sigma
    if run.data.image_shape:
        return image(rms, run.data, "Residual of each pixel")
    place = places(run)
    names = [look.literal(name) for name in run.data.names]
    hover = "%{text}: %{y:.3g}<extra>%{fullData.name}</extra>"
    figure = Figure()
    for name, values, tint, symbol in (
        ("residual", rms, look.COLOURS[0], "circle"),
        ("noise", sigma, look.COLOURS[1], "line-ew-open"),
    ):
        mode = "markers" if len(rms) <= MAX_BARS else "lines"
        figure.add(
            scatter(
                x=place, y=values, name=name, text=names, mode=mode, hovertemplate=hover,
                marker={"color": tint, "symbol": symbol, "size": 6}, line={"color": tint, "width": 1},
            )
        )  # fmt: skip
    look.style(
        figure,
        300,
        "Residual of each measurement",
        showlegend=True,
        legend=look.above(),
        margin={"t": 56},
    )
    figure.update_y(rangemode="tozero", title="standard deviation")
    measurements(figure, run)
    return figure
