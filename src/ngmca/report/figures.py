"""Figures of sources, of measurements with their fit, and of what belongs to no source."""

from html import escape

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.run import Run
from ngmca.answers.wording import percent
from ngmca.report import plotly_style as look
from ngmca.report.html_page import table
from ngmca.report.mixing_figures import image, shown_posterior
from ngmca.report.plotly_figure import Figure, Trace, scatter
from ngmca.result import Marginals, Posterior
from ngmca.saving.results import outliers


def background(run: Run) -> tuple[Figure, ...]:
    """Return the backgrounds of at most 12 measurements, evenly spread, and a map if they are pixels."""
    found, m = run.separation.background, len(run.separation.A)
    assert found is not None
    figure = Figure()
    for k, i in enumerate(np.unique(np.linspace(0, m - 1, 12).round().astype(int))):
        name = look.literal(look.shortened(run.data.names[i], 24))
        figure.add(look.line(run.data, found.weights[i] @ found.basis, name, look.colour(k), width=1.2))
    look.style(
        figure, 320, look.literal(run.technique), showlegend=m > 1, legend=look.above(), margin={"t": 64}
    )
    figure.update_y(rangemode="tozero")
    look.axis_of(figure, run.data)
    if not run.data.image_shape:
        return (figure,)
    return figure, image(found.weights @ found.basis.sum(axis=1), run.data, "Sum of the background")


def mark_outliers(figure: Figure, run: Run, i: int) -> None:
    """Mark the outliers of measurement i in the first row of the figure of its fit."""
    found = run.separation.outliers
    here = np.zeros(0, dtype=int) if found is None else np.flatnonzero(found[:, 0] == i)
    if not here.size:
        return
    assert found is not None
    figure.add(
        scatter(
            x=run.data.positions[found[here, 1]], y=run.diagnostics.outlying[here], mode="markers",
            name="outlier", marker={"color": look.INK, "symbol": "x", "size": 7},
        ), panel=0,
    )  # fmt: skip


def outlier_table(run: Run) -> str:
    """Return a table of the 50 largest outliers."""
    names, values = zip(*outliers(run), strict=True)
    order = np.argsort(-np.abs(run.diagnostics.outlying), kind="stable")[:50]
    rows = [
        f"<td>{escape(str(values[0][k]))}<td>{values[1][k]:.6g}<td>{values[2][k]:.4g}" for k in order
    ]
    return table("".join(f"<th>{escape(name)}" for name in names), rows)


def sources(run: Run) -> Figure:
    """Return each source against the axis, one row for each; they zoom together."""
    S, data, posterior = run.separation.answer[1], run.data, shown_posterior(run)
    r, tops = len(S), S.max(axis=1)
    figure = Figure(rows=[1] * r, gap=min(0.02, 0.4 / r))
    for i, row in enumerate(S):
        figure.add(
            look.line(data, row, look.literal(run.labels[i]), look.colour(i), width=1.1, fill="tozeroy"),
            panel=i,
        )
        bands = (
            _allowed(run, i) + _others(run, i) + ([] if posterior is None else _band(run, posterior, i))
        )
        for trace in bands:
            figure.add(trace, panel=i)
            tops[i] = max(tops[i], np.max(trace["y"]))
        name = look.literal(look.shortened(run.labels[i].removeprefix("source "), 40))
        look.label(figure, i, f"<b>{name}</b>  {percent(run.diagnostics.share[i])}", look.colour(i))
    height = int(np.clip(1000 / r, 56, 190))
    look.style(figure, height * r + 60, look.literal(run.technique))
    look.bare_rows(figure, tops)
    look.axis_of(figure, data)
    return figure


def _allowed(run: Run, i: int) -> list[Trace]:
    """Return the band of source i that the data allow, in orange."""
    found = run.separation.ambiguity
    if found is None or not (found.S_low[i] < found.S_high[i]).any():
        return []
    drawn = [
        look.line(run.data, found.S_low[i], "allowed, lowest", look.ALLOWED, width=0.8),
        look.line(
            run.data, found.S_high[i], "allowed, highest", look.ALLOWED, width=0.8, fill="tonexty"
        ),
    ]
    drawn[1]["fillcolor"] = look.ALLOWED_AREA
    return drawn


def _others(run: Run, i: int) -> list[Trace]:
    """Return the range of source i over equally good starts, if it differs there."""
    others = run.separation.others
    if others is None or not others.differs[i]:
        return []
    drawn = [
        look.line(run.data, others.S_low[i], "lowest", look.colour(i), width=0.5),
        look.line(run.data, others.S_high[i], "highest", look.colour(i), width=0.5, fill="tonexty"),
    ]
    for trace in drawn:
        trace["line"]["dash"] = "dot"
    return drawn


def _band(run: Run, posterior: Posterior, i: int) -> list[Trace]:
    """Return the 90 % interval of source i as a dark band."""
    active = posterior.S.active
    found = Marginals(posterior.S.mean[i], posterior.S.sd[i], None if active is None else active[i])
    low, high = found.interval(0.9)
    drawn = [
        look.line(run.data, low, "lower 90 %", look.INK, width=0),
        look.line(run.data, high, "upper 90 %", look.INK, width=0, fill="tonexty"),
    ]
    drawn[1]["fillcolor"] = look.INTERVAL_AREA
    return drawn


def fit(run: Run, pick: int) -> Figure:
    """Return one of the measurements that the run keeps, with its fit and residual."""
    return fit_of(run, int(run.diagnostics.picks[pick]), run.diagnostics.picked[pick])


def fit_of(run: Run, i: int, y: NDArray) -> Figure:
    """Return measurement i with its fit, and the residual below it with twice the noise level."""
    data = run.data
    model, background = run.separation.A[i] @ run.separation.S, run.separation.background
    smooth = None if background is None else background.weights[i] @ background.basis
    model = model if smooth is None else model + smooth
    figure = Figure(rows=(0.7, 0.3), gap=0.05)
    figure.add(look.line(data, y, "measured", "#9aa5b1", width=1.2), panel=0)
    figure.add(look.line(data, model, "fit", look.COLOURS[1], width=1.2), panel=0)
    if smooth is not None:
        figure.add(look.line(data, smooth, "background", look.COLOURS[2], width=1), panel=0)
    mark_outliers(figure, run, i)
    figure.add(look.line(data, y - model, "residual", look.COLOURS[0], width=0.9), panel=1)
    sigma = float(run.diagnostics.sigma[i])
    for level in (-2 * sigma, 2 * sigma):
        figure.horizontal(level, panel=1, line={"color": look.SOFT, "dash": "dot", "width": 1})
    title = look.place_of(data, i) + (f", {look.literal(run.technique)}" if run.technique else "")
    look.style(figure, 330, title, showlegend=True, legend=look.above(), margin={"t": 56})
    figure.update_y(nticks=4, panel=1)
    look.axis_of(figure, data)
    return figure
