"""The figures of the mixing: what each measurement is made of, and the columns of A."""

from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from ngmca.report.plotly_style import (
    INK,
    SOFT,
    above,
    bare_rows,
    colour,
    label,
    literal,
    shortened,
    shortened_all,
    style,
)
from ngmca.result import Marginals, Posterior
from ngmca.saving.results import Run

BARS = 400  # more measurements than this are drawn as a line
NAMED = 30  # more measurements than this are numbered, not named
ROOM = 110  # letters that fit below a figure side by side


def shares(run: Run) -> go.Figure:
    """The share of each source in the signal of every measurement, one on top of the other."""
    parts, figure = 100 * run.separation.shares, go.Figure()
    m, r = parts.shape
    for i, column in enumerate(parts.T):
        shared: dict[str, Any] = {
            "x": np.arange(1, m + 1),
            "y": column.astype(np.float32),
            "name": literal(shortened(run.labels[i], 34)),
            "text": [literal(name) for name in run.data.names],
            "hovertemplate": "%{text}: %{y:.3g} %<extra>%{fullData.name}</extra>",
        }
        figure.add_trace(
            go.Bar(**shared, marker_color=colour(i), marker_line_width=0, textposition="none")
            if m <= BARS
            else go.Scatter(**shared, mode="none", stackgroup="all", fillcolor=colour(i))
        )
    style(figure, 320)
    figure.update_layout(barmode="stack", bargap=0.15 if m < 80 else 0, showlegend=r <= 12)
    figure.update_layout(legend=above() | {"traceorder": "normal"}, margin={"t": 56})
    figure.update_yaxes(range=[0, 100.5], ticksuffix=" %", nticks=6)
    measurements(figure, run)
    return figure


def weights(run: Run) -> go.Figure:
    """The weight of each source in every measurement, one row of bars a source."""
    A, names = run.separation.answer[0], run.data.names
    (m, r), tops, posterior = A.shape, A.max(axis=0), shown_posterior(run)
    place = np.arange(1, m + 1)
    figure = make_subplots(rows=r, cols=1, shared_xaxes=True, vertical_spacing=min(0.02, 0.4 / r))
    for i, column in enumerate(A.T):
        shared: dict[str, Any] = {
            "x": place,
            "y": column,
            "name": literal(shortened(run.labels[i], 34)),
            "text": [literal(name) for name in names],
            "hovertemplate": "%{text}: %{y:.3g}<extra>%{fullData.name}</extra>",
        }
        if m <= BARS:
            trace = go.Bar(**shared, marker_color=colour(i), marker_line_width=0, textposition="none")
        else:
            trace = go.Scatter(**shared, mode="lines", line={"color": colour(i), "width": 1})
        figure.add_trace(trace, row=i + 1, col=1)
        if m <= BARS and posterior is not None:
            bars = _error_bars(posterior, i, place)
            figure.add_trace(bars, row=i + 1, col=1)
            tops[i] = max(tops[i], np.max(bars.y + bars.error_y.array))
        name = literal(shortened(run.labels[i].removeprefix("source "), 40))
        label(figure, i, f"<b>{name}</b>", colour(i))
    style(figure, int(np.clip(720 / r, 50, 150)) * r + 80)
    bare_rows(figure, tops)
    figure.update_layout(bargap=0.15 if m < 80 else 0)
    measurements(figure, run, row=r)
    return figure


def scale_told(run: Run) -> str:
    """What the sizes of weights mean, in words."""
    if run.record.get("separate", {}).get("closure"):
        return (
            "Those of a measurement sum up to the given total: scales are physical, the weights are "
            "concentrations in its unit, and can be compared between sources."
        )
    norms = np.linalg.norm(run.separation.A, axis=0)
    if np.allclose(norms[norms > 0], 1, rtol=1e-3):
        return "Columns have norm 1: compare within a source."
    return (
        "Columns of sources or weights that were known are in their units, the others have norm 1: "
        "compare within a source."
    )


def parts_of(run: Run) -> list[tuple[str, slice]]:
    """Name and measurements of each of several files; none where there is one."""
    parts = run.data.parts if len(run.data.parts) > 1 else run.separation.parts
    names = [name for name, _ in run.data.meta.get("parts", ())]
    if len(names) != len(parts):
        names = [f"data set {i + 1}" for i in range(len(parts))]
    return list(zip(names, parts, strict=True)) if len(parts) > 1 else []


def by_file(run: Run) -> str:
    """A table of HTML with the mean share of each source in each of several files."""
    parts, found = parts_of(run), 100 * run.separation.shares
    if not parts:
        return ""
    head = "".join(f"<th>source {i + 1}" for i in range(found.shape[1]))
    rows = "".join(
        f"<tr><th>{escape(name)}" + "".join(f"<td>{value:.3g} %" for value in found[part].mean(axis=0))
        for name, part in parts
    )
    return (
        f"<p>On average, file by file:</p><div class=wide><table><tr><th>file{head}{rows}</table></div>"
    )


def shown_posterior(run: Run) -> Posterior | None:
    """The posterior, if its intervals are to be shown: not if what was found contradicts its model."""
    posterior = run.separation.posterior
    return None if posterior is None or posterior.refuted else posterior


def measurements(figure: go.Figure, run: Run, row: int | None = None) -> None:
    """The axis of the measurements below the last row: their names where there is room, or numbers."""
    m, place = len(run.separation.A), {} if row is None else {"row": row, "col": 1}
    ticks: dict[str, Any] = {"title": "measurement", "tickformat": "d", "nticks": min(m + 1, 15)}
    if m <= NAMED and run.data.row_names:
        names = shortened_all(list(run.data.names))
        upright = sum(map(len, names)) > ROOM  # slanted ones hide the last
        ticks = {"tickvals": np.arange(1, m + 1), "title": None, "tickangle": -90 if upright else None}
        ticks["ticktext"] = [literal(name) for name in names]
    figure.update_xaxes(ticks, **place)
    for name, part in parts_of(run):
        if part.start:
            figure.add_vline(part.start + 0.5, line={"color": SOFT, "dash": "dot", "width": 1})
        words = literal(shortened(name, 20))
        figure.add_annotation(
            text=words, x=part.start + 0.6, y=1, yref="paper", xanchor="left", yanchor="bottom",
            showarrow=False, font={"size": 11, "color": SOFT},
        )  # fmt: skip
    figure.update_xaxes(range=[0.4, m + 0.6])


def _error_bars(posterior: Posterior, i: int, place: NDArray) -> go.Scatter:
    """The 90 % interval of column i of A."""
    low, high = Marginals(posterior.A.mean[:, i], posterior.A.sd[:, i]).interval(0.9)
    centre = (low + high) / 2
    return go.Scatter(
        x=place,
        y=centre,
        mode="markers",
        name="90 % interval",
        marker={"color": INK, "opacity": 0},  # the bar itself is the answer: no second mark
        error_y={"array": np.maximum(high - centre, 0), "thickness": 1, "width": 2, "color": INK},
        customdata=np.stack([low, high], axis=1),
        hovertemplate="%{customdata[0]:.3g} to %{customdata[1]:.3g}<extra>%{fullData.name}</extra>",
    )
