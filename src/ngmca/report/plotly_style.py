"""What the figures of the report share: lines, axes, labels, colours and short names."""

import re
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.io import Dataset
from ngmca.io.axis_units import MASS
from ngmca.report.plotly_figure import Figure, Trace, scatter

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#B5478C",
    "#C98A00",
    "#3B9BD9",
    "#6A3D9A",
    "#9C5A2C",
    "#4D4D4D",
    "#7A8F00",
)
ALLOWED, ALLOWED_AREA = "#d98200", "rgba(255, 165, 0, 0.45)"  # what the data allow
INK, SOFT, GRID = "#1d2733", "#6b7785", "#e6eaee"
INTERVAL_AREA = "rgba(29, 39, 51, 0.25)"  # of 90 % intervals
MAX_ROWS = 60  # of a table, and figures of single sources
MAX_POINTS = 6000  # of one line; longer lines are drawn by their extremes


def colour(i: int) -> str:
    """Return the colour of source i, the same in every figure; after eight, darker and lighter ones."""
    base, turn = COLOURS[i % len(COLOURS)], i // len(COLOURS) % 3
    if not turn:
        return base
    other, share = (0, 0.45) if turn == 1 else (255, 0.5)
    parts = (int(base[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round((1 - share) * part + share * other):02X}" for part in parts)


def literal(text: str) -> str:
    """Return text of the data escaped, as Plotly would take tags in it for its own markup."""
    return escape(text, quote=False)


def is_reversed(data: Dataset) -> bool:
    """Return whether this axis is drawn from right to left: as asked, or as is usual for its quantity.

    Chemical shifts and wavenumbers of infrared spectra fall; Raman shifts and all others rise.
    """
    asked = data.meta.get("axis_direction")
    if asked is not None:
        return bool(asked == "falling")
    if "raman" in data.axis_name.lower():
        return False
    axis = data.axis
    falls = axis is not None and len(axis) > 1 and bool(axis[0] > axis[-1])
    unit = data.axis_unit.lower().replace(" ", "")
    return unit in ("ppm", "cm-1", "1/cm", "cm^-1", "cm⁻¹") or (unit == "hz" and falls)


def thin(x: NDArray, y: NDArray, limit: int = MAX_POINTS) -> tuple[NDArray, NDArray]:
    """Return a line with at most `limit` points: the lowest and the highest of every stretch."""
    if len(x) <= limit:
        return x, y
    size = int(np.ceil(2 * len(x) / limit))
    whole = len(x) // size * size
    blocks = y[:whole].reshape(-1, size)
    start = np.arange(0, whole, size)
    gone = np.isnan(blocks)  # a gap is drawn if all of a stretch is missing
    low, high = (
        np.where(gone, np.inf, blocks).argmin(axis=1),
        np.where(gone, -np.inf, blocks).argmax(axis=1),
    )
    both = np.stack([start + low, start + high], axis=1)
    keep = np.concatenate([np.sort(both, axis=1).ravel(), np.arange(whole, len(x))])
    keep = np.unique(keep)  # of a flat stretch both are the same
    return x[keep], y[keep]


def is_sticks(data: Dataset) -> bool:
    """Return whether channels are single peaks with nothing between them: masses, lists of peaks."""
    return bool(data.meta.get("peaks")) or data.axis_name == MASS[0]


def sticks(x: NDArray, y: NDArray) -> tuple[NDArray, NDArray]:
    """Return a line that rises from 0 to each peak, with gaps between peaks; peaks of 0 are left out."""
    x, y = x[y != 0], y[y != 0]
    gap = np.full(len(x), np.nan)
    return np.stack([x, x, gap], axis=1).ravel(), np.stack([0 * y, y, gap], axis=1).ravel()


def compact(values: NDArray) -> NDArray:
    """Return the values in single precision, which halves the page, unless they would overflow."""
    peak = float(np.nanmax(np.abs(values), initial=0.0))
    return values.astype(np.float32) if peak == 0 or 1e-30 < peak < 1e38 else values


def line(
    data: Dataset, y: NDArray, name: str, tint: str, *, width: float, fill: str | None = None
) -> Trace:
    """Return a row against the axis as a line; peaks of mass spectra as sticks."""
    x, y = thin(data.positions, np.asarray(y))
    if is_sticks(data) and fill != "tonexty":
        x, y, fill = *sticks(x, y), None
    tinted = f"rgba({int(tint[1:3], 16)},{int(tint[3:5], 16)},{int(tint[5:7], 16)},0.15)"
    return scatter(
        x=x.astype(np.float32 if len(x) < 1000 else float),
        y=compact(y),
        name=name,
        mode="lines",
        line={"color": tint, "width": width},
        fill=fill,
        fillcolor=tinted if fill else None,
        hovertemplate="%{x:.5g}: %{y:.3g}<extra>%{fullData.name}</extra>",
    )


def style(figure: Figure, height: int, title: str = "", **layout: Any) -> None:
    """Give a figure the look that all figures share, then its title and further parts of its layout."""
    figure.update(
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="white",
        font={"family": "system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif", "size": 12,
              "color": INK},
        margin={"l": 52, "r": 12, "t": 36, "b": 44},
        showlegend=False,
        hovermode="closest",
        dragmode="zoom",
        modebar={"orientation": "h", "bgcolor": "rgba(0,0,0,0)", "color": SOFT},
    )  # fmt: skip
    figure.update_x(gridcolor=GRID, zeroline=False, automargin=True, ticks="outside", tickcolor=GRID)
    figure.update_y(gridcolor=GRID, zerolinecolor="#c9d1d9", automargin=True, nticks=6)
    figure.update(title=small(title) if title else None, **layout)


def axis_of(figure: Figure, data: Dataset) -> None:
    """Label the spectral axis below the last panel, and draw it in the usual direction.

    Its ends are set, not left to Plotly: then a double click resets a zoom even if several panels share
    the axis.
    """
    figure.update_x(figure.panels - 1, title=literal(data.axis_label))
    low, high = float(data.positions.min()), float(data.positions.max())
    room = 0.01 * (high - low) or 0.5
    ends = [low - room, high + room]
    figure.update_x(range=ends[::-1] if is_reversed(data) else ends)


def label(figure: Figure, i: int, text: str, tint: str) -> None:
    """Write the number of a source into the corner of its row."""
    ref = "" if i == 0 else str(i + 1)
    figure.annotate(
        text=text, x=0.004, y=0.98, xref="paper", yref=f"y{ref} domain", xanchor="left", yanchor="top",
        font={"size": 12, "color": tint}, bgcolor="rgba(255,255,255,0.75)",
    )  # fmt: skip


def bare_rows(figure: Figure, tops: NDArray) -> None:
    """Remove the ticks of all rows, and leave room for a label above the highest value of each."""
    figure.update(margin={"l": 10, "t": 28})
    figure.update_y(showticklabels=False, showgrid=False, automargin=False)
    for i, top in enumerate(tops):
        figure.update_y(range=[0, 1.2 * (float(top) or 1.0)], panel=i)


def above() -> dict[str, Any]:
    """Return the place of a legend above the figure."""
    return {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"}


def small(title: str) -> dict[str, Any]:
    """Return a title in the size of the text, at the left."""
    return {"text": title, "font": {"size": 13}, "x": 0, "xref": "paper", "xanchor": "left", "y": 0.97,
            "yanchor": "top"}  # fmt: skip


def logarithmic(figure: Figure, low: float, high: float) -> None:
    """Make the y-axis logarithmic, with at most six round numbers: 1, 2 and 5, or powers of ten."""
    ends = np.log10([low, high])
    powers = np.arange(np.floor(ends[0]), np.ceil(ends[1]) + 1)
    rounds = np.add.outer(powers, np.log10([1, 2, 5])).ravel()
    for candidates in (rounds, *(powers[powers % k == 0] for k in range(1, 20))):
        inside = candidates[(candidates >= ends[0]) & (candidates <= ends[1])]
        if len(inside) <= 6:
            break
    figure.update_y(
        type="log",
        range=ends.tolist(),
        tickvals=10**inside,
        ticktext=[_power(value) for value in inside],
    )


def _power(exponent: float) -> str:
    """Return 10^exponent as a short text."""
    power = int(np.floor(exponent + 1e-9))
    digit = round(10 ** (exponent - power))
    if -3 <= power <= 3:
        return f"{digit * 10.0**power:g}"
    return (f"{digit}·" if digit > 1 else "") + f"10<sup>{power}</sup>"


def place_of(data: Dataset, i: int) -> str:
    """Return the name of measurement i for a title of Plotly."""
    if data.image_shape:
        row, column = divmod(i, data.image_shape[1])
        return f"pixel in row {row}, column {column}"
    return f"measurement {literal(shortened_all(list(data.names), 30)[i])}"


def shortened_all(names: list[str], limit: int = 14) -> list[str]:
    """Return names of at most `limit` letters that still differ: their beginnings if these differ.

    Otherwise the words that all names share are left out. If that does not help, they are numbered.
    """
    middles = _differing(names)
    ends = [name if len(name) <= limit else "…" + name[1 - limit :] for name in middles]
    for short in ([shortened(name, limit) for name in one] for one in (names, middles, ends)):
        if len(set(short)) == len(set(names)):
            return short
    return [shortened(f"{i}: {name}", limit) for i, name in enumerate(names, 1)]


def _differing(names: list[str]) -> list[str]:
    """Return names without the words that all of them begin or end with."""
    words = [re.split(r"(?<=[ _/-])", name) for name in names]
    fewest = min(map(len, words))
    before = _common(words, fewest)
    after = _common([one[::-1] for one in words], fewest - before)
    kept = ["".join(one[before : len(one) - after]).rstrip(" _/-") for one in words]
    return [("…" if before else "") + one + ("…" if after else "") for one in kept]


def _common(words: list[list[str]], limit: int) -> int:
    """Return how many of the first words are the same in all names, at most `limit`."""
    return next((i for i in range(limit) if len({one[i] for one in words}) > 1), limit)


def shortened(name: str, limit: int = 14) -> str:
    """Return a name of at most `limit` letters."""
    return name if len(name) <= limit else name[: limit - 1] + "…"
