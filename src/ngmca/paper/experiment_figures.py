"""Figures of the tables, in one style: methods differ by colour, marker and dashes."""

import re
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ngmca._support.atomic_files import write_atomically
from ngmca.paper.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[pd.DataFrame, str], "Figure"]  # of a table, and the column of what varies

AXES = {  # what varies, in words
    "snr": r"Noise level of the data, SNR$_Y$ (dB)",
    "m": "Number of measurements m",
    "r": "Number of sources r",
    "alpha_A": r"Shape parameter $\alpha_A$ of the mixing",
    "fwhm": "Full width at half maximum (channels)",
}

# Colours that the colour-blind tell apart, and for each a marker and dashes.
STYLES: dict[str, tuple[str, str, Any]] = {
    "soft": ("#0072B2", "o", "-"),
    "hard": ("#D55E00", "s", "--"),
    "naive": ("#009E73", "^", "-."),
    "als": ("#CC79A7", "v", ":"),
    "hals": ("#7A5200", "D", (0, (5, 1))),
    "multiplicative": ("#6B6B6B", "X", (0, (1, 1))),
    "sparse_hals": ("#CC79A7", "v", ":"),
    "hoyer": ("#E69F00", "D", (0, (5, 1))),
    "kim_park": ("#6B6B6B", "X", (0, (1, 1))),
    "oracle": ("#000000", "*", (0, (3, 1, 1, 1))),
    "exact": ("#56B4E9", "D", (0, (1, 1))),
    "unbounded": ("#E69F00", "v", ":"),
    "default": ("#009E73", "^", "-."),
    "posterior": ("#D55E00", "s", "--"),
    "known": ("#6B6B6B", "X", (0, (1, 1))),
    "soft_init": ("#56B4E9", "D", (0, (1, 1))),
    "naive_init": ("#E69F00", "v", ":"),
    "direct": ("#0072B2", "o", "-"),
    "analysis": ("#D55E00", "s", "--"),
    "synthesis": ("#E69F00", "v", ":"),
    "analysis_reweighted": ("#009E73", "^", "-."),
    "synthesis_reweighted": ("#56B4E9", "D", (0, (1, 1))),
    "minvol": ("#6B6B6B", "X", (0, (5, 1))),
    "auto": ("#CC79A7", "P", "-"),
}
COLOURS = 96
SIZE = (6.4, 4.2)
MIN_DRAWN = -12.0  # dB, relative to the oracle: lower values are not drawn
RC: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e7eb",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "svg.hashsalt": "ngmca",  # the same table gives the same file
    "svg.fonttype": "path",
}


def label_of(method: str) -> str:
    """Return the name of a method in a figure: nGMCA^S becomes nGMCA with a superscript."""
    return re.sub(r"\^(\w+)", r"$^\\mathrm{\1}$", METHODS[method].label)


def style() -> Any:
    """Return a context that draws figures in our style."""
    import matplotlib as mpl

    return mpl.rc_context(RC)


def new_figure(rows: int = 1, *, size: tuple[float, float] = SIZE) -> tuple["Figure", list["Axes"]]:
    """Return an empty figure with axes below each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(np.ravel(figure.subplots(rows, 1, sharex=True)))


def save(figure: "Figure", path: Any) -> None:
    """Write PATH.png, with few colours to save bytes, and PATH.svg."""
    from PIL import Image  # comes with matplotlib

    whole: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.08}  # no label is cut off
    drawn, vectors = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=110, metadata={"Software": None}, **whole)
    with Image.open(drawn) as image:
        few = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    write_atomically(Path(f"{path}.png"), lambda file: few.save(file, format="png", optimize=True))
    figure.savefig(vectors, format="svg", metadata={"Date": None, "Creator": None}, **whole)
    write_atomically(Path(f"{path}.svg"), vectors.getvalue())


def against(beside: str | None = None) -> Draw:
    """Return a function that draws the mean SDR_S of each method, with standard deviations.

    With `beside` it is the difference to that method on the same data.
    """

    def draw(table: pd.DataFrame, varies: str) -> "Figure":
        figure, (axes,) = new_figure()
        wide = table.pivot(index=[varies, "sim"], columns="method", values="sdr")
        ylabel = "SDR$_S$ (dB)"
        if beside is not None:
            wide = wide.sub(wide[beside], axis=0).drop(columns=beside)
            ylabel = f"SDR$_S$ minus that of the {label_of(beside)} (dB)"
            axes.axhline(0, color="black", linewidth=1)
        shown = [method for method in STYLES if method in wide]
        draw_curves(axes, wide, shown)
        if beside is not None and axes.get_ylim()[0] < MIN_DRAWN:
            axes.set_ylim(MIN_DRAWN, None)
            axes.text(0.01, 0.02, "what lies lower is left out", transform=axes.transAxes, fontsize=9)
        top = wide.groupby(level=0).mean().max(axis=None)
        if beside is None and axes.get_ylim()[1] > 1.3 * top > 0:
            axes.set_ylim(None, 1.15 * top)  # a single exact answer must not flatten all the rest
        axes.set(xlabel=AXES[varies], ylabel=ylabel)
        sims = int(wide.groupby(level=0).size().min())
        bars = f"mean and standard deviation of {sims} simulations" if sims > 1 else "one simulation"
        figure.legend(loc="outside upper center", ncols=4, title=bars, title_fontsize=9, fontsize=9)
        return figure

    return draw


def draw_curves(axes: "Axes", wide: pd.DataFrame, methods: Iterable[str]) -> None:
    """Draw one curve for each method; `wide` has values in its first index level, methods in columns."""
    methods = list(methods)
    values = np.array(sorted(wide.index.get_level_values(0).unique()), dtype=float)
    step = np.diff(values).min() if len(values) > 1 else 1.0
    for k, method in enumerate(methods):
        groups = wide[method].groupby(level=0)
        colour, marker, dashes = STYLES[method]
        axes.errorbar(
            values + 0.03 * step * (k - (len(methods) - 1) / 2),  # side by side, or bars hide bars
            groups.mean().to_numpy(),
            groups.std(ddof=1).fillna(0).to_numpy(),
            color=colour,
            marker=marker,
            linestyle=dashes,
            markersize=6 if marker != "*" else 9,
            linewidth=1.6,
            elinewidth=0.9,
            capsize=2,
            label=label_of(method),
        )
    room = 0.04 * (values[-1] - values[0])  # for a label
    crowded = np.diff(values, prepend=-np.inf) < room
    axes.set_xticks(values, ["" if c else f"{x:g}" for x, c in zip(values, crowded, strict=True)])


def conditioning(printed: dict[float, float]) -> Draw:
    """Return a function that draws the conditioning numbers and those printed in the paper."""

    def draw(table: pd.DataFrame, varies: str) -> "Figure":
        figure, (axes,) = new_figure()
        groups = table.groupby(varies)["cond"]
        x = np.array(list(groups.groups))
        axes.errorbar(
            x,
            groups.mean(),
            groups.std(ddof=1).fillna(0),
            color="#0072B2",
            marker="o",
            capsize=3,
            label=f"measured, mean and standard deviation of {int(groups.size().min())}",
        )
        axes.plot(
            x, [printed[v] for v in x], "x", color="black", markersize=9, label="printed in the paper"
        )
        for v, mean in zip(x, groups.mean(), strict=True):
            axes.annotate(f"{mean:.2f}", (v, mean), (4, -14), textcoords="offset points", fontsize=9)
        axes.set(xlabel=AXES[varies], ylabel="cond(A), unit columns")
        axes.legend(loc="lower right")
        return figure

    return draw
