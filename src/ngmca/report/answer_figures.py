"""Figures of the answers: criteria for the number of sources, best matches, calibration lines."""

from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_much.amounts import Amounts
from ngmca.answers.run import Run
from ngmca.report import plotly_style as look


def criteria(choice: RankChoice) -> Iterator[go.Figure]:
    """Yield one figure for each criterion; the chosen number of sources is marked."""
    numbers = choice.criteria
    panels = (
        (choice.ranks, choice.held_out.mean(axis=0), f"Prediction error: {numbers['held_out']}"),
        (np.arange(1, len(choice.singular_values) + 1), choice.singular_values,
         f"Singular values: {numbers['singular_values']}"),
        (choice.ranks, choice.stability, f"Stability: {numbers['stability']}"),
    )  # fmt: skip
    for k, (x, y, title) in enumerate(panels):
        figure = go.Figure(
            go.Scatter(x=x, y=np.where(np.isfinite(y), y, np.nan), mode="lines+markers",
                       line={"color": look.colour(k)}, hovertemplate="%{x}: %{y:.4g}<extra></extra>")
        )  # fmt: skip
        if k == 1 and choice.edge > 0:
            figure.add_hline(choice.edge, line={"color": look.SOFT, "dash": "dot", "width": 1})
        figure.add_vline(choice.rank, line={"color": "rgba(29,39,51,0.12)", "width": 14})
        look.style(figure, 260, title)
        figure.update_xaxes(title="sources")
        if k < 2 and np.nanmax(y, initial=0.0) > 0:
            figure.update_yaxes(type="log", exponentformat="power", dtick=1)
        yield figure


def matches(run: Run) -> Iterator[go.Figure]:
    """Yield for each source a figure with the most similar spectrum of the library below it."""
    found = run.answers.identification
    if found is None:
        return
    for i, row in enumerate(run.separation.answer[1][: look.MAX_ROWS]):
        if not found.matches[i]:
            continue
        reference, best = found.references[i], found.matches[i][0]
        figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.03)
        figure.add_trace(
            look.line(run.data, row, f"source {i + 1}", look.colour(i), width=1.2), row=1, col=1
        )
        figure.add_trace(
            look.line(run.data, reference, look.literal(best.name), look.INK, width=1.2), row=2, col=1
        )
        look.style(figure, 280)
        tops = np.array([row.max(), np.nanmax(reference, initial=0.0)])
        look.bare_rows(figure, tops)
        doubt = "" if best.confident else ", uncertain"
        name = look.literal(look.shortened(best.name, 40))
        text = f"Source {i + 1} above {name} ({best.similarity:.2f}{doubt})"
        figure.update_layout(title=look.small(text), margin={"t": 44})
        for k, values in enumerate((row, reference)):  # the baseline of a reference may be below 0
            low = min(0.0, float(np.nanmin(values, initial=0.0)))
            figure.update_yaxes(range=[low, 1.1 * (float(tops[k]) or 1.0)], row=k + 1, col=1)
        look.axis_of(figure, run.data, row=2)
        yield figure


def calibrations(amounts: Amounts) -> Iterator[go.Figure]:
    """Yield the calibration line of each substance that has standards."""
    for j, name in enumerate(amounts.substances[: look.MAX_ROWS]):
        known = np.isfinite(amounts.known[:, j])
        if not known.any():
            continue
        x, y = amounts.known[known, j], amounts.weights[known, j]
        top, source, unit = float(x.max()), amounts.sources[j], amounts.units[j]
        names = [look.literal(str(amounts.measurements[i])) for i in np.flatnonzero(known)]
        end = top / amounts.factors[j] if amounts.factors[j] > 0 else 0.0
        figure = go.Figure([
            go.Scatter(x=[0, top], y=[0, end], mode="lines", hoverinfo="skip",
                       line={"color": look.SOFT, "width": 1.2}),
            go.Scatter(x=x, y=y, mode="markers", text=names,
                       marker={"color": look.colour(source), "size": 8},
                       hovertemplate="%{text}: %{x:.4g}<extra></extra>"),
        ])  # fmt: skip
        look.style(figure, 260, look.literal(look.shortened(name, 22)))
        figure.update_xaxes(title=look.literal(f"known concentration{f', {unit}' if unit else ''}"))
        figure.update_yaxes(title="weight of the source", rangemode="tozero")
        yield figure
