"""Figures of the mixing: the composition of each measurement, the columns of A, and maps of images."""

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.run import Run
from ngmca.io import Dataset
from ngmca.report import plotly_style as look
from ngmca.report.html_page import table
from ngmca.report.plotly_figure import Figure, Trace, bar, heatmap, scatter
from ngmca.result import Marginals, Posterior

MAX_BARS = 400  # more measurements are drawn as a line
MAX_ERROR_BARS = 60  # more measurements have their intervals as a band around a line
MIN_COORDINATES = 5  # measurements that are drawn against their coordinates
MAX_NAMES = 30  # more measurements are numbered
LETTERS_BELOW_FIGURE = 110


def shares(run: Run) -> Figure:
    """Return the shares of all sources in the signal of every measurement, stacked."""
    parts, figure = 100 * run.separation.shares, Figure()
    (m, r), bars_fit = parts.shape, _bars_fit(run)
    for i, column in enumerate(parts.T):
        shared = _trace(run, i, column.astype(np.float32), " %")
        figure.add(
            bar(**shared, marker={"color": look.colour(i), "line": {"width": 0}}, textposition="none")
            if bars_fit
            else scatter(**shared, mode="none", stackgroup="all", fillcolor=look.colour(i))
        )
    bars: dict[str, Any] = {"barmode": "stack", "bargap": 0.15 if m < 80 else 0}
    legend = look.above() | {"traceorder": "normal"}
    look.style(figure, 320, **bars, showlegend=r <= 12, legend=legend, margin={"t": 56})
    figure.update_y(range=[0, 100.5], ticksuffix=" %", nticks=6)
    measurements(figure, run)
    return figure


def weights(run: Run) -> Figure:
    """Return the weights of each source in every measurement, one row of bars for each source."""
    A = run.separation.answer[0]
    (m, r), tops, posterior = A.shape, A.max(axis=0), shown_posterior(run)
    place, few = places(run), m <= MAX_ERROR_BARS
    bars_fit = _bars_fit(run) and (few or posterior is None)
    figure = Figure(rows=[1] * r, gap=min(0.02, 0.4 / r))
    for i, column in enumerate(A.T):
        shared = _trace(run, i, column)
        if bars_fit:
            trace = bar(
                **shared, marker={"color": look.colour(i), "line": {"width": 0}}, textposition="none"
            )
        else:
            mode = "lines" if m > MAX_BARS else "lines+markers"
            trace = scatter(
                **shared, mode=mode, line={"color": look.colour(i), "width": 1}, marker={"size": 4}
            )
        figure.add(trace, panel=i)
        for trace in _measured(run, i, place):
            figure.add(trace, panel=i)
            tops[i] = max(tops[i], np.max(trace["y"]))
        for trace in _allowed(run, i, place):
            figure.add(trace, panel=i)
            tops[i] = max(tops[i], np.max(trace["y"]))
        if posterior is not None:
            low, high = Marginals(posterior.A.mean[:, i], posterior.A.sd[:, i]).interval(0.9)
            for trace in (_error_bars if few else _interval)(low, high, place):
                figure.add(trace, panel=i)
            tops[i] = max(tops[i], np.max(high, where=np.isfinite(high), initial=0))
        name = look.literal(look.shortened(run.labels[i].removeprefix("source "), 40))
        look.label(figure, i, f"<b>{name}</b>", look.colour(i))
    look.style(figure, int(np.clip(720 / r, 50, 150)) * r + 80)
    look.bare_rows(figure, tops)
    figure.update(bargap=0.15 if m < 80 else 0)
    measurements(figure, run)
    return figure


def _trace(run: Run, i: int, values: NDArray, unit: str = "") -> dict[str, Any]:
    """Return what bars and lines of source i share: places, values, names and texts."""
    return {
        "x": places(run),
        "y": values,
        "name": look.literal(look.shortened(run.labels[i], 34)),
        "text": [look.literal(name) for name in run.data.names],
        "hovertemplate": f"%{{text}}: %{{y:.3g}}{unit}<extra>%{{fullData.name}}</extra>",
    }


def scale_of_weights(run: Run) -> str:
    """Return a sentence about the scale of the weights."""
    if run.record.get("separate", {}).get("closure"):
        return (
            "The weights of a measurement add up to the given total: they are concentrations in its "
            "unit, and can be compared between sources."
        )
    norms = np.linalg.norm(run.separation.A, axis=0)
    if np.allclose(norms[norms > 0], 1, rtol=1e-3):
        return "Each column has norm 1: compare weights of the same source only."
    return (
        "Weights of known sources and known weights are in the given units. The other columns have norm "
        "1: compare weights of the same source only."
    )


def parts_of(run: Run) -> list[tuple[str, slice]]:
    """Return name and measurements of each file; an empty list if there is only one."""
    parts = run.data.parts if len(run.data.parts) > 1 else run.separation.parts
    names = [name for name, _ in run.data.meta.get("parts", ())]
    if len(names) != len(parts):
        names = [f"data set {i + 1}" for i in range(len(parts))]
    return list(zip(names, parts, strict=True)) if len(parts) > 1 else []


def by_file(run: Run) -> str:
    """Return a table with the mean share of each source in each of several files."""
    parts, found = parts_of(run), 100 * run.separation.shares
    if not parts:
        return ""
    head = "".join(f"<th>source {i + 1}" for i in range(found.shape[1]))
    rows = [
        f"<th>{escape(name)}" + "".join(f"<td>{value:.3g} %" for value in found[part].mean(axis=0))
        for name, part in parts
    ]
    return f"<p>Mean shares of each file:</p>{table(f'<th>file{head}', rows)}"


def shown_posterior(run: Run) -> Posterior | None:
    """Return the posterior, or None if the result contradicts its model."""
    posterior = run.separation.posterior
    return None if posterior is None or posterior.refuted else posterior


def coordinates(run: Run) -> tuple[NDArray, str] | None:
    """Return time or another coordinate of the measurements, and what it is.

    Names that are numbers in order, as `0.5` or `time (s)=0.5`, are coordinates too. None if there are
    none, or if they go back and forth.
    """
    own = (
        _numbers_in_names(run) if run.data.row_axis is None else (run.data.row_axis, run.data.row_label)
    )
    if own is None or len(own[0]) != len(run.separation.A):
        return None
    steps = np.diff(own[0])
    return own if (steps >= 0).all() or (steps <= 0).all() else None


def _numbers_in_names(run: Run) -> tuple[NDArray, str] | None:
    """Return the numbers that the names of measurements are, unless they only count."""
    names = run.data.row_names
    if len(names) < MIN_COORDINATES or run.data.image_shape or len(run.data.parts) > 1:
        return None
    words, _, numbers = zip(*(name.rpartition("=") for name in names), strict=True)
    try:
        found = np.array([float(number) for number in numbers])
    except ValueError:
        return None
    counts = bool((np.abs(np.diff(found)) == 1).all())
    if len(set(words)) > 1 or counts or not np.isfinite(found).all():
        return None
    return found, words[0].strip() or "measurement"


def places(run: Run) -> NDArray:
    """Return where measurements are drawn: at their coordinates, or at their numbers from 1."""
    own = coordinates(run)
    return np.arange(1.0, len(run.separation.A) + 1) if own is None else own[0]


def _bars_fit(run: Run) -> bool:
    """Return whether measurements are drawn as bars: few, and without coordinates."""
    return len(run.separation.A) <= MAX_BARS and coordinates(run) is None


def measurements(figure: Figure, run: Run) -> None:
    """Draw the axis of the measurements below the last panel, with names if there is room."""
    m, last = len(run.separation.A), figure.panels - 1
    own = coordinates(run)
    if own is not None:
        figure.update_x(last, title=look.literal(own[1]))
        return
    ticks: dict[str, Any] = {"title": "measurement", "tickformat": "d", "nticks": min(m + 1, 15)}
    if m <= MAX_NAMES and run.data.row_names:
        names = look.shortened_all(list(run.data.names))
        upright = sum(map(len, names)) > LETTERS_BELOW_FIGURE  # slanted names hide the last one
        ticks = {"tickvals": np.arange(1, m + 1), "title": None, "tickangle": -90 if upright else None}
        ticks["ticktext"] = [look.literal(name) for name in names]
    figure.update_x(last, **ticks)
    for name, part in parts_of(run):
        if part.start:
            figure.vertical(part.start + 0.5, line={"color": look.SOFT, "dash": "dot", "width": 1})
        words = look.literal(look.shortened(name, 20))
        figure.annotate(
            text=words, x=part.start + 0.6, y=1, yref="paper", xanchor="left", yanchor="bottom",
            font={"size": 11, "color": look.SOFT},
        )  # fmt: skip
    figure.update_x(range=[0.4, m + 0.6])


def _measured(run: Run, i: int, place: NDArray) -> list[Trace]:
    """Return the amounts that fit each measurement alone, where those of source i follow a rate law."""
    rates = run.separation.rates
    if rates is None or i not in rates.columns or len(rates.amounts) != len(place):
        return []
    marker = {"color": look.SOFT, "size": 5, "symbol": "circle-open"}
    y = rates.amounts[:, rates.columns.index(i)]
    return [scatter(x=place, y=y, mode="markers", marker=marker, hoverinfo="skip", showlegend=False)]


def _allowed(run: Run, i: int, place: NDArray) -> list[Trace]:
    """Return the band of column i of A that the data allow, in orange."""
    found = run.separation.ambiguity
    if found is None or not (found.A_low[:, i] < found.A_high[:, i]).any():
        return []
    shared: dict[str, Any] = {"x": place, "mode": "lines", "line": {"color": look.ALLOWED, "width": 1}}
    hover = "%{y:.3g}<extra>%{fullData.name}</extra>"
    return [
        scatter(**shared, y=found.A_low[:, i], name="allowed, lowest", hovertemplate=hover),
        scatter(**shared, y=found.A_high[:, i], name="allowed, highest", hovertemplate=hover,
                   fill="tonexty", fillcolor=look.ALLOWED_AREA),
    ]  # fmt: skip


def _error_bars(low: NDArray, high: NDArray, place: NDArray) -> list[Trace]:
    """Return the 90 % intervals of a column of A as error bars."""
    centre = (low + high) / 2
    bars = scatter(
        x=place,
        y=centre,
        mode="markers",
        name="90 % interval",
        marker={"color": look.INK, "opacity": 0},  # the bar itself is enough
        error_y={"array": np.maximum(high - centre, 0), "thickness": 1.5, "width": 3, "color": look.INK},
        customdata=np.stack([low, high], axis=1),
        hovertemplate="%{customdata[0]:.3g} to %{customdata[1]:.3g}<extra>%{fullData.name}</extra>",
    )
    return [bars]


def _interval(low: NDArray, high: NDArray, place: NDArray) -> list[Trace]:
    """Return the 90 % intervals of a column of A as a band, for many measurements."""
    shared: dict[str, Any] = {"x": place, "mode": "lines", "line": {"color": look.INK, "width": 0}}
    hover = "%{y:.3g}<extra>%{fullData.name}</extra>"
    return [
        scatter(**shared, y=low, name="lower 90 %", hovertemplate=hover),
        scatter(**shared, y=high, name="upper 90 %", hovertemplate=hover,
                   fill="tonexty", fillcolor=look.INTERVAL_AREA),
    ]  # fmt: skip


MAX_PIXELS = 1 << 16  # of one map


def image(values: NDArray, data: Dataset, title: str = "", unit: str = "") -> Figure:
    """Return a map of one value for each pixel; large maps are averaged to the size of a screen."""
    shape = data.image_shape or (1, len(values))
    pixels = values.reshape(shape)
    (x, across), (y, down) = _coordinates(data, "x", 1), _coordinates(data, "y", 0)
    step = int(np.ceil(np.sqrt(pixels.size / MAX_PIXELS)))
    if step > 1:
        rows, columns = (size // step * step for size in shape)
        pixels = pixels[:rows, :columns].reshape(rows // step, step, columns // step, step).mean((1, 3))
        x, y = x[:columns].reshape(-1, step).mean(1), y[:rows].reshape(-1, step).mean(1)
    bar = {"thickness": 8, "len": 0.9, "tickfont": {"size": 9}, "nticks": 5, "xpad": 4}
    hover = f"{across} %{{x:.5g}}, {down} %{{y:.5g}}: %{{z:.3g}}{unit}<extra></extra>"
    figure = Figure(
        heatmap(
            z=look.compact(pixels), x=x, y=y, colorscale="Viridis", hovertemplate=hover,
            colorbar=bar | {"ticksuffix": unit},
        )
    )  # fmt: skip
    look.style(figure, 290, title, margin={"l": 8, "r": 4, "t": 30, "b": 8})
    ticks: dict[str, Any] = {"constrain": "domain", "showgrid": False, "nticks": 5}
    ticks |= {"tickfont": {"size": 9}, "title": {"font": {"size": 10}, "standoff": 4}}
    figure.update_x(**ticks)
    figure.update_x(title=across)
    first_on_top = "reversed" if len(y) < 2 or y[-1] > y[0] else True
    figure.update_y(autorange=first_on_top, scaleanchor="x", **ticks)
    figure.update_y(title=down)
    return figure


def _coordinates(data: Dataset, name: str, direction: int) -> tuple[NDArray, str]:
    """Return positions and label of the columns (x) or rows (y) of the image; numbers if unknown."""
    shape = data.image_shape or (1, len(data.names))
    size, count = shape[direction], np.arange(shape[direction], dtype=float)
    plain = "column" if direction else "row"
    try:
        given = np.asarray(data.meta.get(name, ()), dtype=float)
    except (TypeError, ValueError):
        return count, plain
    if given.size == shape[0] * shape[1] and given.size != size:  # one for every pixel
        given = given.reshape(shape)[0] if direction else given.reshape(shape)[:, 0]
    steps = np.diff(given)
    if given.shape != (size,) or not ((steps > 0).all() or (steps < 0).all()):
        return count, plain
    unit = str(data.meta.get(f"{name}_unit", ""))
    return given, look.literal(f"{name} [{unit}]" if unit else name)
