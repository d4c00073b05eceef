"""Two results side by side: which sources pair, and how far apart they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca import metrics
from ngmca.answers.run import Run
from ngmca.io import ReadError
from ngmca.io.combine import interpolate
from ngmca.report import plotly_style as look
from ngmca.report.plotly_figure import Figure, scatter

SAME, NEAR = 30.0, 10.0  # dB: no difference is visible; the same source with visible differences


@dataclass(frozen=True)
class Pair:
    """A source of each result; None where one has no partner."""

    one: str | None
    other: str | None
    cosine: float
    words: str


def pairs(one: Run, other: Run) -> list[Pair]:
    """Return the sources of two results, paired by their spectra on the axis that they share."""
    order, cosines, decibels = _paired(one, other)
    found = [
        Pair(one.labels[i], other.labels[j], float(cosines[i]), _words(float(decibels[i])))
        if j >= 0
        else Pair(one.labels[i], None, np.nan, "only in the first")
        for i, j in enumerate(order)
    ]
    alone = sorted(set(range(len(other.separation.S))) - set(order.tolist()))
    return found + [Pair(None, other.labels[j], np.nan, "only in the second") for j in alone]


def _words(decibels: float) -> str:
    if decibels > SAME:
        return "the same"
    if decibels > NEAR:
        return f"alike: they differ by {100 * 10 ** (-decibels / 20):.0f} %"
    return "different"


def _paired(one: Run, other: Run) -> tuple[NDArray, NDArray, NDArray]:
    """Return the partner of each source, the cosine of the pair, and its SDR."""
    S, T, _ = _on_one_axis(one, other)
    order, decibels = metrics.matched_rows(S, T)
    S, T = metrics.unit_rows(S), metrics.unit_rows(T)
    return order, np.einsum("ij,ij->i", S, T[order]), decibels


def _on_one_axis(one: Run, other: Run) -> tuple[NDArray, NDArray, NDArray]:
    """Return the sources of both at the channels of the first that the second covers, and these."""
    S, T = one.separation.answer[1], other.separation.answer[1]
    here, there = one.data.positions, other.data.positions
    order = np.argsort(there)
    inside = (here >= there.min()) & (here <= there.max())
    if not inside.any():
        raise ReadError("the two results have no part of the axis in common.")
    return S[:, inside], interpolate(here[inside], there[order], T[:, order]), here[inside]


def figure(one: Run, other: Run) -> Figure:
    """Return each source of the first result with its partner, both divided by their norm."""
    S, T, x = _on_one_axis(one, other)
    order, _ = metrics.matched_rows(S, T)
    S, T = metrics.unit_rows(S), metrics.unit_rows(T)
    r = len(S)
    drawn = Figure(rows=[1] * r, gap=min(0.03, 0.4 / r))
    for i, j in enumerate(order):
        both = [(S[i], look.colour(i), "first")] + ([(T[j], look.INK, "second")] if j >= 0 else [])
        for y, tint, name in both:
            thin_x, thin_y = look.thin(x, y)
            line = {"color": tint, "width": 1.2, "dash": "dot" if name == "second" else None}
            trace = scatter(x=thin_x, y=look.compact(thin_y), mode="lines", name=name, line=line)
            drawn.add(trace, panel=i)
        look.label(drawn, i, look.literal(one.labels[i]), look.colour(i))
    look.style(drawn, 150 * r + 60)
    look.bare_rows(drawn, np.maximum(S.max(axis=1), 1e-30))
    look.axis_of(drawn, one.data)
    return drawn


def residual(run: Run) -> float:
    """Return the root mean square of the residual over all measurements."""
    return float(np.sqrt(np.mean(run.diagnostics.row_rms**2)))
