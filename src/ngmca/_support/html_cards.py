"""Small HTML cards that notebooks show: a title, a table with curves as inline SVG, and remarks.

Every text is escaped, because names may come from files. No plotting library is needed.
"""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import ArrayLike, NDArray

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")
WIDTH, HEIGHT = 240, 36
POINTS = 120  # of a curve, each with the lowest and the highest of its values
MAX_ROWS = 12
CELL = "style='text-align:left;padding:2px 8px'"


class Svg(str):
    """A drawing, which is not escaped."""


def card(
    title: str, rows: Sequence[Sequence[str]], head: Sequence[str] = (), remarks: Sequence[str] = ()
) -> str:
    """Return a card: the title, a table of some of the rows, and remarks below it."""
    shown = [_row(row, "td") for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        remarks = [f"{len(rows) - MAX_ROWS} more are not shown.", *remarks]
    above = [_row(head, "th")] if head else []
    table = f"<table>{''.join(above + shown)}</table>" if shown else ""
    below = "".join(f"<div>{escape(text)}</div>" for text in remarks)
    return f"<div><b>{escape(title)}</b>{table}{below}</div>"


def curves(values: ArrayLike, *, first: int = 0, band: tuple[NDArray, NDArray] | None = None) -> Svg:
    """Return curves (k, n), or one (n,), on a common scale that includes 0; NaN is a gap.

    `first` is the number of the colour of the first curve, `band` an area between two curves.
    """
    lines = np.atleast_2d(np.asarray(values, dtype=float))
    inside = lines if band is None else np.vstack([lines, *band])
    low, high = (float(f.reduce(inside, axis=None, initial=0.0)) for f in (np.fmin, np.fmax))
    drawn = []
    if band is not None and high > low:
        edge = [*_points(band[0], low, high, np.fmin), *_points(band[1], low, high, np.fmax)[::-1]]
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        drawn.append(f"<polygon points='{corners}' fill='{_colour(first)}' opacity='0.25'/>")
    for i, line in enumerate(lines if high > low else ()):
        path = _path(line, low, high)
        drawn.append(f"<path d='{path}' fill='none' stroke='{_colour(first + i)}'/>")
    size = f"width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'"
    return Svg(f"<svg xmlns='http://www.w3.org/2000/svg' {size}>{''.join(drawn)}</svg>")


def _row(cells: Sequence[str], tag: str) -> str:
    plain = (cell if isinstance(cell, Svg) else escape(cell) for cell in cells)
    return f"<tr>{''.join(f'<{tag} {CELL}>{cell}</{tag}>' for cell in plain)}</tr>"


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _points(line: NDArray, low: float, high: float, end: np.ufunc) -> list[tuple[float, float]]:
    """Return points of a curve in the drawing, the lowest or the highest of neighbouring values."""
    starts = np.unique(np.linspace(0, len(line), min(POINTS, len(line)), endpoint=False).astype(int))
    x = starts / max(len(line) - 1, 1) * (WIDTH - 2) + 1
    share = (end.reduceat(line, starts) - low) / (high - low)
    return list(zip(x.tolist(), (HEIGHT - 2 - share * (HEIGHT - 4)).tolist(), strict=True))


def _path(line: NDArray, low: float, high: float) -> str:
    """Return the path of a curve; a narrow line is as high as it is."""
    if len(line) <= POINTS:
        ends = [[point] for point in _points(line, low, high, np.fmin)]
    else:
        both = (_points(line, low, high, end) for end in (np.fmin, np.fmax))
        ends = [list(pair) for pair in zip(*both, strict=True)]
    words, pen = [], "M"
    for points in ends:
        for x, y in points:
            if np.isnan(y):
                pen = "M"
                continue
            words.append(f"{pen}{x:.1f},{y:.1f}")
            pen = "L"
    return "".join(words)
