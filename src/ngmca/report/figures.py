"""The figures of the report, as Plotly figures. Each function draws one thing."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from ngmca.answers.how_sure import percent
from ngmca.answers.how_sure.diagnostics import BINS
from ngmca.report.background_and_spikes import mark_outliers
from ngmca.report.maps import image
from ngmca.report.mixing_figures import BARS, measurements, shown_posterior
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
    thin,
    top_right,
)
from ngmca.result import Marginals, Posterior
from ngmca.saving.results import Run

TICKS = 6  # of a logarithmic axis
SPAN = 3.0  # largest over smallest value, up to which an axis needs no logarithm


def sources(run: Run) -> go.Figure:
    """Each source against the axis, one row each, zoomed together."""
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
    """Where source i lies in equally good answers, in its own colour, if it differs in them."""
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
    """The 90 % interval of source i as two lines with ink between them."""
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
    """One measurement with its fit, and the residual below it with twice the noise."""
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


def histogram(run: Run) -> go.Figure:
    """The residual in standard deviations of the noise, beside a Gaussian."""
    centres = (BINS[1:] + BINS[:-1]) / 2
    density = run.diagnostics.histogram
    figure = go.Figure(
        go.Bar(
            x=centres, y=np.where(density > 0, density, np.nan), name="residual", marker_color="#9fc3e0"
        )
    )
    gaussian = np.exp(-(centres**2) / 2) / np.sqrt(2 * np.pi)
    figure.add_trace(
        go.Scatter(x=centres, y=gaussian, name="Gaussian", line={"color": COLOURS[1], "width": 1.6})
    )
    style(figure, 300)
    floor = max(1e-6, float(density[density > 0].min(initial=1e-3)))
    figure.update_layout(
        bargap=0, showlegend=True, legend=top_right(), title=small("Residual against a Gaussian")
    )
    figure.update_yaxes(title="density")
    logarithmic(figure, floor / 1.6, 1.3)
    figure.update_xaxes(title="residual / noise", range=[-6, 6])
    return figure


def structure(run: Run) -> go.Figure:
    """Singular values of the residual beside the largest that pure noise would have."""
    values, edge = run.diagnostics.singular, run.diagnostics.singular_edge
    figure = go.Figure(
        go.Scatter(
            x=np.arange(1, len(values) + 1),
            y=values / edge,
            mode="lines+markers",
            name="residual",
            line={"color": COLOURS[0], "width": 1.4},
        )
    )
    figure.add_hline(1, line={"color": COLOURS[1], "dash": "dash", "width": 1.4})
    style(figure, 300)
    figure.update_layout(title=small("Structure left over"))
    figure.update_yaxes(title="strength (noise: up to 1)", rangemode="tozero")
    figure.update_xaxes(title="direction", tickformat="d", nticks=min(len(values) + 1, 11))
    return figure


def along_axis(run: Run) -> go.Figure:
    """Where along the axis the residual is larger than the noise."""
    figure = go.Figure(line(run.data, run.diagnostics.column_rms, "residual", COLOURS[0], width=1))
    figure.add_hline(1, line={"color": COLOURS[1], "dash": "dash", "width": 1.2})
    style(figure, 300)
    figure.update_layout(title=small("Residual along the axis"))
    figure.update_yaxes(title="residual / noise", rangemode="tozero")
    axis_of(figure, run.data)
    return figure


def per_measurement(run: Run) -> go.Figure:
    """Residual and noise of each measurement."""
    rms, sigma = run.diagnostics.row_rms, run.diagnostics.sigma
    if run.data.image_shape:
        return image(rms, run.data, "Residual of each pixel")
    place = np.arange(1, len(rms) + 1)
    names = [literal(name) for name in run.data.names]
    hover = "%{text}: %{y:.3g}<extra>%{fullData.name}</extra>"
    figure = go.Figure()
    for name, values, tint, symbol in (
        ("residual", rms, COLOURS[0], "circle"),
        ("noise", sigma, COLOURS[1], "line-ew-open"),
    ):
        mode = "markers" if len(rms) <= BARS else "lines"
        figure.add_trace(
            go.Scatter(
                x=place, y=values, name=name, text=names, mode=mode, hovertemplate=hover,
                marker={"color": tint, "symbol": symbol, "size": 6}, line={"color": tint, "width": 1},
            )
        )  # fmt: skip
    style(figure, 300)
    figure.update_layout(
        showlegend=True,
        legend=above(),
        title=small("Residual of each measurement"),
        margin={"t": 56},
    )
    figure.update_yaxes(rangemode="tozero", title="standard deviation")
    measurements(figure, run)
    return figure


def convergence(run: Run) -> list[go.Figure]:
    """Cost, threshold, active share and optimality along the iterations, and where wavelets begin."""
    history = run.separation.history
    k = np.arange(1, len(history.cost) + 1)
    drawn = [
        ("Cost, half of |Y - AS|²", history.cost[:, None], "log"),
        ("Threshold of each source", history.threshold, "log"),
        ("Share of active entries", history.active[:, None], "linear"),
        ("Distance from optimality", history.violation[:, None], "log"),
    ]
    begun = run.separation.domain.begun
    if begun:  # no certificates on the way there: single precision, a few steps at a time
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
        figure.add_annotation(text="this method has none", showarrow=False, font={"color": SOFT})
        figure.update_yaxes(showticklabels=False)
        return figure
    low, high = float(np.nanmin(usable)), float(np.nanmax(usable))
    if "optimality" in title:  # the scale says that rounding is the limit
        logarithmic(figure, 1e-17, max(1e-5, 3 * high))
    elif kind == "log" and high > SPAN * low:
        logarithmic(figure, low / 1.2, high * 1.2)
    return figure


def logarithmic(figure: go.Figure, low: float, high: float) -> None:
    """A logarithmic y-axis with a few round numbers on it: 1, 2 and 5, or powers of ten."""
    ends = np.log10([low, high])
    powers = np.arange(np.floor(ends[0]), np.ceil(ends[1]) + 1)
    rounds = np.add.outer(powers, np.log10([1, 2, 5])).ravel()
    for candidates in (rounds, *(powers[powers % k == 0] for k in range(1, 20))):
        inside = candidates[(candidates >= ends[0]) & (candidates <= ends[1])]
        if len(inside) <= TICKS:
            break
    figure.update_yaxes(
        type="log", range=ends, tickvals=10**inside, ticktext=[_power(value) for value in inside]
    )


def _power(exponent: float) -> str:
    """10^exponent as a short text."""
    power = int(np.floor(exponent + 1e-9))
    digit = round(10 ** (exponent - power))
    if -3 <= power <= 3:
        return f"{digit * 10.0**power:g}"
    return (f"{digit}·" if digit > 1 else "") + f"10<sup>{power}</sup>"
