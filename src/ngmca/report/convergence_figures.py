"""Figures of the iterations: cost, thresholds, active entries, optimality."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ngmca.answers.run import Run
from ngmca.report.plotly_style import SOFT, colour, logarithmic, small, style, thin


def convergence_figures(run: Run) -> list[go.Figure]:
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
        figure.add_vline(begun + 0.5, line={"dash": "dot", "color": "#888", "width": 1})
        figure.add_annotation(
            x=begun + 0.5, y=1, yref="paper", text="wavelets", showarrow=False, xanchor="left"
        )
    return figures


def _curves(k: NDArray, title: str, values: NDArray, kind: str) -> go.Figure:
    figure = go.Figure()
    usable = np.where(np.isfinite(values) & ((values > 0) | (kind == "linear")), values, np.nan)
    for i, column in enumerate(usable.T):
        x, y = thin(k.astype(float), column, 1000) if np.isfinite(column).all() else (k, column)
        figure.add_trace(
            go.Scatter(
                x=x, y=y, mode="lines", name=f"source {i + 1}" if values.shape[1] > 1 else "",
                line={"color": colour(i), "width": 1.4},
            )
        )  # fmt: skip
    style(figure, 250)
    figure.update_layout(title=small(title))
    figure.update_xaxes(title="iteration")
    figure.update_yaxes(exponentformat="power")
    if not np.isfinite(usable).any():
        figure.add_annotation(
            text="not available for this method", showarrow=False, font={"color": SOFT}
        )
        figure.update_yaxes(showticklabels=False)
        return figure
    low, high = float(np.nanmin(usable)), float(np.nanmax(usable))
    if "optimality" in title:  # the scale reaches down to rounding errors
        logarithmic(figure, 1e-17, max(1e-5, 3 * high))
    elif kind == "log" and high > 3 * low:
        logarithmic(figure, low / 1.2, high * 1.2)
    return figure
