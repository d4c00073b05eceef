"""How many, which and how much: the answers with which a report opens, and what stands behind them."""

from html import escape

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ngmca.answers.how_much.amounts import Amounts, with_unit
from ngmca.answers.how_sure import percent
from ngmca.answers.which.identification import Identification
from ngmca.report.plotly_style import (
    INK,
    SOFT,
    axis_of,
    bare_rows,
    colour,
    line,
    literal,
    shortened,
    small,
    style,
)
from ngmca.saving.results import Run

ROWS = 60  # of a table: more help nobody
SHARED = "of the signal"


def opening(run: Run) -> str:
    """The three answers as sentences, and what each source is as a table."""
    said = "".join(f"<p><b>{escape(what)}</b> {escape(text)}</p>" for what, text in run.answers_told)
    head = "<tr><th>source<th>substance<th>similarity<th>by chance<th>amount: median<th>range"
    rows = (f"<tr>{_source(run, i)}" for i in range(min(len(run.separation.S), ROWS)))
    return f"{said}<div class=wide><table>{head}{''.join(rows)}</table></div>"


def _source(run: Run, i: int) -> str:
    """The cells of a source: its number, what it is, and how much of it there is."""
    number = f"<th><i style='background:{colour(i)}'></i>{i + 1}"
    return number + _named(run, i) + _measured(run, i)


def _named(run: Run, i: int) -> str:
    """What a source is, by the library or by the standards, and how sure that is."""
    found, known = run.answers.identification, run.answers.called(len(run.separation.S))[i]
    best = found.matches[i][0] if found is not None and found.matches[i] else None
    if best is None or (known and not best.confident):
        return f"<td>{f'<b>{escape(known)}</b>, by standards' if known else '-'}<td>-<td>-"
    name = f"<b>{escape(best.name)}</b>" if best.confident else f"not sure; {escape(best.name)}?"
    return f"<td>{name}<td>{best.similarity:.2f}<td>{best.chance:.2g}"


def _measured(run: Run, i: int) -> str:
    """The middle amount and both ends; shares of the signal where nothing gives a scale."""
    amounts = run.answers.amounts
    if amounts is None:
        values, unit = 100 * run.separation.shares[:, i], f"% {SHARED}"
    elif i in amounts.sources:
        j = amounts.sources.index(i)
        values, unit = amounts.values[:, j], amounts.units[j]
    else:
        return "<td>-<td>-"
    if not np.isfinite(values).any():
        return "<td>-<td>-"
    low, middle, high = np.nanquantile(values, (0, 0.5, 1))
    return f"<td>{escape(with_unit(middle, unit))}<td>{low:.3g} to {escape(with_unit(high, unit))}"


def witnesses(run: Run) -> tuple[go.Figure, ...]:
    """What each witness says about the number of sources; the one that was chosen is marked."""
    choice = run.answers.rank
    if choice is None:
        return ()
    said = choice.witnesses
    panels = (
        (choice.ranks, choice.held_out.mean(axis=0), f"Held-out error: {said['held_out']}"),
        (np.arange(1, len(choice.singular_values) + 1), choice.singular_values,
         f"Singular values: {said['edge']}"),
        (choice.ranks, choice.stability, f"Stability: {said['stability']}"),
    )  # fmt: skip
    figures = []
    for k, (x, y, title) in enumerate(panels):
        figure = go.Figure(
            go.Scatter(x=x, y=np.where(np.isfinite(y), y, np.nan), mode="lines+markers",
                       line={"color": colour(k)}, hovertemplate="%{x}: %{y:.4g}<extra></extra>")
        )  # fmt: skip
        if k == 1 and choice.edge > 0:
            figure.add_hline(choice.edge, line={"color": SOFT, "dash": "dot", "width": 1})
        figure.add_vline(choice.rank, line={"color": "rgba(29,39,51,0.12)", "width": 14})
        style(figure, 260)
        figure.update_layout(title=small(title))
        figure.update_xaxes(title="sources")
        if k < 2 and np.nanmax(y, initial=0.0) > 0:
            figure.update_yaxes(type="log", exponentformat="power", dtick=1)
        figures.append(figure)
    return tuple(figures)


def matches(run: Run) -> tuple[go.Figure, ...]:
    """Each source, and below it the spectrum of the library that is most like it."""
    found = run.answers.identification
    if found is None:
        return ()
    figures = []
    for i, row in enumerate(run.separation.answer[1][:ROWS]):
        if not found.matches[i]:
            continue
        reference, best = found.references[i], found.matches[i][0]
        figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.03)
        figure.add_trace(line(run.data, row, f"source {i + 1}", colour(i), width=1.2), row=1, col=1)
        figure.add_trace(line(run.data, reference, literal(best.name), INK, width=1.2), row=2, col=1)
        style(figure, 280)
        tops = np.array([row.max(), np.nanmax(reference, initial=0.0)])
        bare_rows(figure, tops)
        doubt = "" if best.confident else ", not sure"
        name = literal(shortened(best.name, 40))
        text = f"Source {i + 1} above {name} ({best.similarity:.2f}{doubt})"
        figure.update_layout(title=small(text), margin={"t": 44})
        for k, values in enumerate((row, reference)):  # a reference may have a baseline below 0
            low = min(0.0, float(np.nanmin(values, initial=0.0)))
            figure.update_yaxes(range=[low, 1.1 * (float(tops[k]) or 1.0)], row=k + 1, col=1)
        axis_of(figure, run.data, row=2)
        figures.append(figure)
    return tuple(figures)


def match_table(found: Identification) -> str:
    """The best matches of every source as a table."""
    head = "<tr><th>source<th>match<th>substance<th>similarity<th>shift<th>by chance<th>"
    rows = []
    for i, best in enumerate(found.matches[:ROWS]):
        for k, match in enumerate(best):
            sure = "sure" if match.confident else ""
            turned = ", upside down" if match.upside_down else ""
            first = f"<i style='background:{colour(i)}'></i>{i + 1}" if k == 0 else ""
            rows.append(
                f"<tr><th>{first}<td>{k + 1}<td>{escape(match.name)}{turned}"
                f"<td>{match.similarity:.3f}<td>{match.shift:.4g}<td>{match.chance:.2g}<td>{sure}"
            )
    return f"<div class=wide><table>{head}{''.join(rows)}</table></div>"


def calibrations(amounts: Amounts) -> tuple[go.Figure, ...]:
    """For every substance the line through its standards; none where there were no standards."""
    figures = []
    for j, name in enumerate(amounts.substances[:ROWS]):
        known = np.isfinite(amounts.known[:, j])
        if not known.any():
            continue
        x, y = amounts.known[known, j], amounts.weights[known, j]
        top, source = float(x.max()), amounts.sources[j]
        names = [literal(str(amounts.measurements[i])) for i in np.flatnonzero(known)]
        end = top / amounts.factors[j] if amounts.factors[j] > 0 else 0.0
        figure = go.Figure([
            go.Scatter(x=[0, top], y=[0, end], mode="lines", hoverinfo="skip",
                       line={"color": SOFT, "width": 1.2}),
            go.Scatter(x=x, y=y, mode="markers", text=names, marker={"color": colour(source), "size": 8},
                       hovertemplate="%{text}: %{x:.4g}<extra></extra>"),
        ])  # fmt: skip
        style(figure, 260)
        figure.update_layout(title=small(literal(shortened(name, 22))))
        figure.update_xaxes(title=literal(f"known, {amounts.units[j]}" if amounts.units[j] else "known"))
        figure.update_yaxes(title="weight", rangemode="tozero")
        figures.append(figure)
    return tuple(figures)


def substance_table(amounts: Amounts) -> str:
    """How well each substance is known: errors of standards, limit of detection, what lies beyond."""
    heads = ("substance", "source", "error of left-out standards", "limit of detection", "below it",
             "above the standards")  # fmt: skip
    rows = []
    for j, (name, unit) in enumerate(zip(amounts.substances, amounts.units, strict=True)):
        error, part = amounts.leave_one_out[j], amounts.leave_one_out_relative[j]
        told = f"{escape(with_unit(error, unit))} ({percent(part)})" if np.isfinite(error) else "-"
        limit = amounts.detection[j]
        shown = escape(with_unit(limit, unit)) if np.isfinite(limit) else "-"
        source, m = amounts.sources[j], len(amounts.values)
        rows.append(
            f"<tr><th><i style='background:{colour(source)}'></i>{escape(name)}<td>{source + 1}"
            f"<td>{told}<td>{shown}<td>{int(amounts.below[:, j].sum())} of {m}"
            f"<td>{int(amounts.outside[:, j].sum())} of {m}"
        )
    head = "".join(f"<th>{name}" for name in heads)
    return f"<div class=wide><table><tr>{head}{''.join(rows)}</table></div>"


def amount_table(amounts: Amounts) -> str:
    """Amounts with their intervals, one row a measurement."""
    head = "".join(
        f"<th>{escape(name)}{escape(f', {unit}' if unit else '')}"
        for name, unit in zip(amounts.substances, amounts.units, strict=True)
    )
    rows = []
    for i, name in enumerate(amounts.measurements[:ROWS]):
        cells = (_cell(amounts, i, j) for j in range(len(amounts.substances)))
        rows.append(f"<tr><th>{escape(str(name))}{''.join(cells)}")
    table = f"<div class=wide><table><tr><th>measurement{head}{''.join(rows)}</table></div>"
    return f"<details><summary>amounts in each measurement</summary>{table}</details>"


def _cell(amounts: Amounts, i: int, j: int) -> str:
    value, low, high = amounts.values[i, j], amounts.low[i, j], amounts.high[i, j]
    if np.isnan(value):
        return "<td>not observed"
    text = f"{value:.3g}" + (f" ({low:.3g} to {high:.3g})" if np.isfinite(low) else "")
    if np.isfinite(amounts.known[i, j]):
        return f"<td>{text} standard, {amounts.known[i, j]:.3g}"
    if amounts.below[i, j]:
        return f"<td>{text} &lt; limit"
    return f"<td>{text}{' !' if amounts.outside[i, j] else ''}"
