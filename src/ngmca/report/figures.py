"""Figures of sources and of measurements with their fit."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ngmca.answers.run import Run
from ngmca.answers.wording import percent
from ngmca.report.background_and_outliers import mark_outliers
from ngmca.report.mixing_figures import shown_posterior
from ngmca.report.plotly_style import (
    COLOURS,
    INK,
    SOFT,
    above,
    axis_of,
    bare_rows,
    colour,
    label,
    line,
    literal,
    place_of,
    shortened,
    small,
    style,
)
from ngmca.result import Marginals, Posterior


def sources(run: Run) -> go.Figure:
    """Return each source against the axis, one row for each; they zoom together."""
    S, data, posterior = run.separation.answer[1], run.data, shown_posterior(run)
    r, tops = len(S), S.max(axis=1)
    figure = make_subplots(rows=r, cols=1, shared_xaxes=True, vertical_spacing=min(0.02, 0.4 / r))
    for i, row in enumerate(S):
        figure.add_trace(
            line(data, row, literal(run.labels[i]), colour(i), width=1.1, fill="tozeroy"),
            row=i + 1,
            col=1,
        )
        bands = _others(run, i) + ([] if posterior is None else _band(run, posterior, i))
        for trace in bands:
            figure.add_trace(trace, row=i + 1, col=1)
            tops[i] = max(tops[i], np.max(trace.y))
        name = literal(shortened(run.labels[i].removeprefix("source "), 40))
        label(figure, i, f"<b>{name}</b>  {percent(run.diagnostics.share[i])}", colour(i))
    height = int(np.clip(1000 / r, 56, 190))
    style(figure, height * r + 60)
    bare_rows(figure, tops)
    axis_of(figure, data, row=r)
    return figure


def _others(run: Run, i: int) -> list[go.Scatter]:
    """Return the range of source i over equally good starts, if it differs there."""
    others = run.separation.others
    if others is None or not others.differs[i]:
        return []
    drawn = [
        line(run.data, others.S_low[i], "lowest", colour(i), width=0.5),
        line(run.data, others.S_high[i], "highest", colour(i), width=0.5, fill="tonexty"),
    ]
    for trace in drawn:
        trace.line.dash = "dot"
    return drawn


def _band(run: Run, posterior: Posterior, i: int) -> list[go.Scatter]:
    """Return the 90 % interval of source i as a dark band."""
    active = posterior.S.active
    found = Marginals(posterior.S.mean[i], posterior.S.sd[i], None if active is None else active[i])
    low, high = found.interval(0.9)
    drawn = [
        line(run.data, low, "5 %", INK, width=0),
        line(run.data, high, "95 %", INK, width=0, fill="tonexty"),
    ]
    drawn[1].fillcolor = "rgba(29, 39, 51, 0.25)"
    return drawn


def fit(run: Run, pick: int) -> go.Figure:
    """Return one measurement with its fit, and the residual below it with twice the noise level."""
    i = int(run.diagnostics.picks[pick])
    y, data = run.diagnostics.picked[pick], run.data
    model, background = run.separation.A[i] @ run.separation.S, run.separation.background
    smooth = None if background is None else background.weights[i] @ background.basis
    model = model if smooth is None else model + smooth
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.05
    )
    figure.add_trace(line(data, y, "measured", "#9aa5b1", width=1.2), row=1, col=1)
    figure.add_trace(line(data, model, "fit", COLOURS[1], width=1.2), row=1, col=1)
    if smooth is not None:
        figure.add_trace(line(data, smooth, "background", COLOURS[2], width=1), row=1, col=1)
    mark_outliers(figure, run, i)
    figure.add_trace(line(data, y - model, "residual", COLOURS[0], width=0.9), row=2, col=1)
    sigma = float(run.diagnostics.sigma[i])
    for level in (-2 * sigma, 2 * sigma):
        figure.add_hline(level, row=2, col=1, line={"color": SOFT, "dash": "dot", "width": 1})
    style(figure, 330)
    figure.update_layout(
        showlegend=True,
        legend=above(),
        title=small(place_of(data, i)),
        margin={"t": 56},
    )
    figure.update_yaxes(nticks=4, row=2, col=1)
    axis_of(figure, data, row=2)
    return figure
