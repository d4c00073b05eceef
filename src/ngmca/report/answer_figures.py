"""Figures of the answers: criteria for the number of sources, best matches, amounts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_much.amounts import Amounts
from ngmca.answers.run import Run
from ngmca.answers.wording import counted
from ngmca.io import Dataset
from ngmca.report import plotly_style as look
from ngmca.report.plotly_figure import Figure, Trace, scatter

MAX_INTERVALS = 400  # more measurements are drawn as a line with a band


def criteria(choice: RankChoice, data: Dataset) -> Iterator[Figure]:
    """Yield one figure for each criterion, and one of the sources for each number around the choice."""
    for k, (title, y, limit) in enumerate(choice.panels):
        figure = Figure(
            scatter(x=choice.ranks, y=y, mode="lines+markers", line={"color": look.colour(k)},
                       hovertemplate="%{x}: %{y:.4g}<extra></extra>")
        )  # fmt: skip
        low, high = choice.range
        figure.stretch(low - 0.3, high + 0.3, "rgba(29,39,51,0.06)")
        figure.vertical(choice.rank, line={"color": "rgba(29,39,51,0.12)", "width": 14})
        look.style(figure, 260, title)
        figure.update_x(title="sources")
        if np.isfinite(limit):
            figure.horizontal(limit, line={"color": look.SOFT, "dash": "dot", "width": 1})
        elif np.nanmax(y, initial=0.0) > 0:
            figure.update_y(type="log", exponentformat="power", dtick=1)
        yield figure
    x = np.interp(choice.channels, np.arange(len(data.positions)), data.positions)
    for S in choice.sources:
        yield stacked(x, S, data.axis_label)


def stacked(x: NDArray, S: NDArray, axis: str) -> Figure:
    """Return sources above each other, each divided by its maximum."""
    shown = S / np.maximum(S.max(axis=1, keepdims=True), np.finfo(float).tiny)
    step = max(1, len(x) // 800)
    figure = Figure(*[
        scatter(x=x[::step], y=row[::step] + len(S) - 1 - i, mode="lines", name=str(i + 1),
                   line={"color": look.colour(i), "width": 1}, hoverinfo="skip")
        for i, row in enumerate(shown)
    ])  # fmt: skip
    look.style(figure, 260, counted(len(S), "source"))
    figure.update_x(title=look.literal(axis))
    figure.update_y(visible=False)
    return figure


def matches(run: Run) -> Iterator[Figure]:
    """Yield for each source a figure with the most similar spectrum of the library below it."""
    found = run.answers.identification
    if found is None:
        return
    for i, row in enumerate(run.separation.answer[1][: look.MAX_ROWS]):
        if not found.matches[i]:
            continue
        reference, best = found.references[i], found.matches[i][0]
        figure = Figure(rows=(1, 1), gap=0.03)
        figure.add(look.line(run.data, row, f"source {i + 1}", look.colour(i), width=1.2), panel=0)
        figure.add(look.line(run.data, reference, look.literal(best.name), look.INK, width=1.2), panel=1)
        look.style(figure, 280)
        tops = np.array([row.max(), np.nanmax(reference, initial=0.0)])
        look.bare_rows(figure, tops)
        doubt = "" if best.confident else ", uncertain"
        name = look.literal(look.shortened(best.name, 40))
        text = f"Source {i + 1} above {name} ({best.similarity:.2f}{doubt})"
        figure.update(title=look.small(text), margin={"t": 44})
        for k, values in enumerate((row, reference)):  # the baseline of a reference may be below 0
            low = min(0.0, float(np.nanmin(values, initial=0.0)))
            figure.update_y(range=[low, 1.1 * (float(tops[k]) or 1.0)], panel=k)
        look.axis_of(figure, run.data)
        yield figure


def amounts_of(amounts: Amounts) -> Iterator[Figure]:
    """Yield for each substance its amounts in all measurements, beside the standards if it has some."""
    for j, name in enumerate(amounts.substances[: look.MAX_ROWS]):
        unit, known = amounts.units[j], np.isfinite(amounts.known[:, j])
        figure = Figure(columns=(0.72, 0.28) if known.any() else (1,), gap=0.09)
        for trace in _amounts(amounts, j):
            figure.add(trace, panel=0)
        below = (
            f", {100 * amounts.level:.3g} % intervals" if np.isfinite(amounts.low[:, j]).any() else ""
        )
        title = f"<b>{look.literal(look.shortened(name, 40))}</b>, by {amounts.by[j]}{below}"
        look.style(figure, 270, title)
        figure.update_y(title=look.literal(unit), rangemode="tozero", panel=0)
        figure.update_x(title=look.literal(amounts.row_label or "measurement"), panel=0)
        if np.isfinite(amounts.detection[j]):
            line = {"color": look.SOFT, "dash": "dot", "width": 1}
            figure.horizontal(amounts.detection[j], line=line, panel=0)
        if known.any():
            for trace in _standards(amounts, j, known):
                figure.add(trace, panel=1)
            figure.update_x(title=look.literal(f"known, {unit}" if unit else "known"), panel=1)
            figure.update_y(title="predicted by the others", panel=1)
        yield figure


def _tint(amounts: Amounts, j: int) -> str:
    """Return the colour of the source of a substance; that of ink if it has none of its own."""
    source = amounts.sources[j]
    return look.INK if source is None else look.colour(source)


def _amounts(amounts: Amounts, j: int) -> Iterator[Trace]:
    """Yield amounts with intervals, and the known concentrations of standards as circles."""
    values, known = amounts.values[:, j], amounts.known[:, j]
    many = len(values) > MAX_INTERVALS
    up, down = (np.nan_to_num(np.maximum(end, 0), posinf=0.0)
                for end in (amounts.high[:, j] - values, values - amounts.low[:, j]))  # fmt: skip
    if many:
        yield from _band(amounts, j)
    bars = {"type": "data", "array": up, "arrayminus": down, "symmetric": False, "thickness": 1,
            "width": 2, "color": look.SOFT, "visible": not many}  # fmt: skip
    names = [look.literal(str(name)) for name in amounts.measurements]
    yield scatter(
        x=amounts.places, y=values, mode="lines" if many else "markers", error_y=bars, text=names,
        marker={"color": _tint(amounts, j), "size": 5}, line={"color": _tint(amounts, j), "width": 1},
        hovertemplate="%{text}: %{y:.4g}<extra></extra>",
    )  # fmt: skip
    yield scatter(
        x=amounts.places, y=known, mode="markers", text=names,
        marker={"color": look.ALLOWED, "size": 10, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate="%{text}: standard, %{y:.4g}<extra></extra>",
    )  # fmt: skip


def _band(amounts: Amounts, j: int) -> Iterator[Trace]:
    """Yield the intervals of very many measurements as a band."""
    line = {"color": _tint(amounts, j), "width": 0}
    for end, fill in ((amounts.low, None), (amounts.high, "tonexty")):
        yield scatter(
            x=amounts.places, y=np.where(np.isfinite(end[:, j]), np.maximum(end[:, j], 0), np.nan),
            mode="lines", line=line, fill=fill, fillcolor=look.INTERVAL_AREA, hoverinfo="skip",
        )  # fmt: skip


def _standards(amounts: Amounts, j: int, known: NDArray) -> Iterator[Trace]:
    """Yield the concentrations of standards that the others predict over the known ones."""
    x, y = amounts.known[known, j], amounts.predicted[known, j]
    ends = [float(x.min()), float(x.max())]
    names = [look.literal(str(amounts.measurements[i])) for i in np.flatnonzero(known)]
    yield scatter(
        x=ends, y=ends, mode="lines", hoverinfo="skip", line={"color": look.SOFT, "width": 1.2}
    )
    yield scatter(
        x=x, y=np.where(np.isfinite(y), y, np.nan), mode="markers", text=names,
        marker={"color": _tint(amounts, j), "size": 8},
        hovertemplate="%{text}: known %{x:.4g}, predicted %{y:.4g}<extra></extra>",
    )  # fmt: skip
