"""The figures of the report, as Plotly figures. Each function draws one thing."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from ngmca.diagnosis import percent
from ngmca.diagnosis.numbers import BINS
from ngmca.report.drawing import (
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
    shortened_all,
    small,
    style,
    thin,
    top_right,
)
from ngmca.result import Marginals, Posterior
from ngmca.saving.results import Run

LARGEST_MAP = 1 << 16  # pixels of one map
BARS = 400  # more measurements than this are drawn as a line


def sources(run: Run) -> go.Figure:
    """Each source against the axis, one row each, zoomed together."""
    S, data, posterior = run.separation.S, run.data, _shown(run)
    r, tops = len(S), S.max(axis=1)
    figure = make_subplots(rows=r, cols=1, shared_xaxes=True, vertical_spacing=min(0.02, 0.4 / r))
    for i, row in enumerate(S):
        figure.add_trace(
            line(data, row, f"source {i + 1}", colour(i), width=1.1, fill="tozeroy"), row=i + 1, col=1
        )
        if posterior is not None:
            for trace in _band(run, posterior, i):
                figure.add_trace(trace, row=i + 1, col=1)
                tops[i] = max(tops[i], np.max(trace.y))
        label(figure, i, f"<b>{i + 1}</b>  {percent(run.diagnostics.share[i])}", colour(i))
    height = int(np.clip(1000 / r, 56, 190))
    style(figure, height * r + 60)
    bare_rows(figure, tops)
    axis_of(figure, data, row=r)
    return figure


def _shown(run: Run) -> Posterior | None:
    """The posterior, if its intervals are to be shown: not if what was found contradicts its model."""
    posterior = run.separation.posterior
    return None if posterior is None or posterior.refuted else posterior


def _band(run: Run, posterior: Posterior, i: int) -> list[go.Scatter]:
    """The 90 % interval of source i as two lines with ink between them; of sparse ones the mean too."""
    active = posterior.S.active
    found = Marginals(posterior.S.mean[i], posterior.S.sd[i], None if active is None else active[i])
    low, high = found.interval(0.9)
    drawn = [
        line(run.data, low, "5 %", INK, width=0),
        line(run.data, high, "95 %", INK, width=0, fill="tonexty"),
    ]
    drawn[1].fillcolor = "rgba(29, 39, 51, 0.25)"
    if posterior.model == "sparse":
        drawn.append(line(run.data, found.mean, "posterior mean", INK, width=0.9))
    return drawn


def weights(run: Run) -> go.Figure:
    """The weight of each source in every measurement, one row of bars a source."""
    A, names = run.separation.A, list(run.data.names)
    (m, r), tops, posterior = A.shape, A.max(axis=0), _shown(run)
    place = np.arange(1, m + 1)
    figure = make_subplots(rows=r, cols=1, shared_xaxes=True, vertical_spacing=min(0.02, 0.4 / r))
    for i, column in enumerate(A.T):
        shared: dict[str, Any] = {
            "x": place,
            "y": column,
            "name": f"source {i + 1}",
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
        label(figure, i, f"<b>{i + 1}</b>", colour(i))
    style(figure, int(np.clip(720 / r, 50, 150)) * r + 80)
    bare_rows(figure, tops)
    figure.update_layout(bargap=0.15 if m < 80 else 0)
    ticks: dict[str, Any] = {"title": "measurement"}
    if m <= 30 and run.data.row_names:
        ticks |= {
            "tickvals": place,
            "ticktext": [literal(name) for name in shortened_all(names)],
            "title": None,
        }
    figure.update_xaxes(ticks, row=r, col=1)
    figure.update_xaxes(range=[0.4, m + 0.6])
    return figure


def _error_bars(posterior: Posterior, i: int, place: NDArray) -> go.Scatter:
    """The 90 % interval of column i of A, around the posterior mean, or around its middle for bands."""
    column = Marginals(posterior.A.mean[:, i], posterior.A.sd[:, i])
    low, high = column.interval(0.9)
    bands = posterior.model == "bands"
    centre = (low + high) / 2 if bands else column.mean
    bars = {"array": np.maximum(high - centre, 0), "arrayminus": np.maximum(centre - low, 0)}
    return go.Scatter(
        x=place,
        y=centre,
        mode="markers",
        name="90 % interval" if bands else "posterior mean",
        marker={"color": INK, "size": 0 if bands else 3},
        error_y=bars | {"thickness": 1, "width": 2, "color": INK},
        hovertemplate="%{y:.3g}<extra>%{fullData.name}</extra>",
    )


def image(values: NDArray, shape: tuple[int, int], title: str = "") -> go.Figure:
    """A map of one value a pixel, thinned to a size that a screen can show."""
    pixels = values.reshape(shape)
    step = int(np.ceil(np.sqrt(pixels.size / LARGEST_MAP)))
    if step > 1:
        rows, columns = (size // step * step for size in shape)
        pixels = pixels[:rows, :columns].reshape(rows // step, step, columns // step, step).mean((1, 3))
    figure = go.Figure(
        go.Heatmap(
            z=pixels.astype(np.float32),
            colorscale="Viridis",
            colorbar={"thickness": 8, "len": 0.9, "tickfont": {"size": 9}, "nticks": 4, "xpad": 4},
            hovertemplate="row %{y}, column %{x}: %{z:.3g}<extra></extra>",
        )
    )
    style(figure, 270)
    figure.update_layout(margin={"l": 8, "r": 4, "t": 30, "b": 8}, title=small(title))
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, autorange="reversed", scaleanchor="x", constrain="domain")
    return figure


def fit(run: Run, pick: int) -> go.Figure:
    """One measurement with its fit, and the residual below it with twice the noise."""
    i = int(run.diagnostics.picks[pick])
    y, data = run.diagnostics.picked[pick], run.data
    model = run.separation.A[i] @ run.separation.S
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.05
    )
    figure.add_trace(line(data, y, "measured", "#9aa5b1", width=1.2), row=1, col=1)
    figure.add_trace(line(data, model, "fit", COLOURS[1], width=1.2), row=1, col=1)
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
    figure.update_yaxes(type="log", range=[np.log10(floor) - 0.2, 0.1], title="density", dtick=1)
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
    figure.update_layout(title=small("Structure left over (above 1: more than noise)"))
    figure.update_yaxes(title="strength / noise", rangemode="tozero")
    figure.update_xaxes(title="direction")
    return figure


def along_axis(run: Run) -> go.Figure:
    """Where along the axis the residual is larger than the noise."""
    figure = go.Figure(line(run.data, run.diagnostics.column_rms, "residual", COLOURS[0], width=1))
    figure.add_hline(1, line={"color": COLOURS[1], "dash": "dash", "width": 1.2})
    style(figure, 300)
    figure.update_layout(title=small("Residual along the axis, all measurements"))
    figure.update_yaxes(title="residual / noise", rangemode="tozero")
    axis_of(figure, run.data)
    return figure


def per_measurement(run: Run) -> go.Figure:
    """Residual and noise of each measurement."""
    rms, sigma = run.diagnostics.row_rms, run.diagnostics.sigma
    if run.data.image_shape:
        return image(rms, run.data.image_shape, "Residual of each pixel")
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
        title=small("Residual and noise of each measurement"),
        margin={"t": 56},
    )
    figure.update_yaxes(rangemode="tozero", title="standard deviation")
    figure.update_xaxes(title="measurement")
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
    figure.update_yaxes(type=kind, exponentformat="power")
    if "optimality" in title and np.isfinite(usable).any():  # the scale says that rounding is the limit
        figure.update_yaxes(range=[-17, max(-5.0, float(np.log10(np.nanmax(usable))) + 0.5)], dtick=3)
    if not np.isfinite(usable).any():
        figure.add_annotation(text="this method has none", showarrow=False, font={"color": SOFT})
        figure.update_yaxes(type="linear", showticklabels=False)
    return figure
