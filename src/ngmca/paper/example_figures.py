"""Figures of single examples, from their tables."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ngmca.paper.experiment_figures import STYLES, Draw, label_of, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cost_curves(example: pd.DataFrame, varies: str) -> "Figure":
    """Draw the cost against the iteration, for one simulation."""
    figure, (axes,) = new_figure()
    for method, curve in example.groupby("method", sort=False):
        colour, marker, dashes = STYLES[str(method)]
        axes.plot(
            curve["iteration"],
            curve["cost"],
            color=colour,
            linestyle=dashes,
            marker=marker,
            markevery=50,
            label=label_of(str(method)),
        )
    last = example["iteration"].max()
    axes.axvspan(0.8 * last, last, color="#f0f3f6", zorder=0)
    axes.text(
        0.9 * last, 0.97, "refinement", transform=axes.get_xaxis_transform(), ha="center", va="top"
    )
    axes.set(yscale="log", xlabel="Iteration", ylabel=r"$\Vert Y - AS \Vert_2^2$", xlim=(0, last))
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def thresholds(example: pd.DataFrame, varies: str) -> "Figure":
    """Draw three points before and after soft and hard thresholds of 1."""
    figure, (axes,) = new_figure(size=(5.2, 4.6))
    axes.axvline(1, color="#6B6B6B", linestyle=":")
    axes.axhline(1, color="#6B6B6B", linestyle=":")
    axes.text(1.02, 3.0, r"$\tau$", va="top")
    axes.text(3.0, 1.03, r"$\tau$", ha="right")
    for rule, (colour, marker, dashes) in (("soft", STYLES["soft"]), ("hard", STYLES["hard"])):
        for row in example.to_dict("records"):
            start, end = (row["x1"], row["x2"]), (row[f"{rule}1"], row[f"{rule}2"])
            arrow = {"arrowstyle": "->", "color": colour, "linestyle": dashes, "linewidth": 1.5}
            axes.annotate("", end, start, arrowprops=arrow)
        place = example[f"{rule}1"], example[f"{rule}2"]
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markersize": 11, "markeredgewidth": 1.6}
        axes.plot(
            *place, marker, color=colour, label=f"after {rule} thresholding", clip_on=False, **hollow
        )
    axes.plot(example["x1"], example["x2"], "o", color="black", markersize=5, label="before", zorder=4)
    axes.set(xlim=(0, 3.05), ylim=(0, 3.05), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    figure.legend(loc="outside upper center", ncols=3, fontsize=9)
    return figure


def correlation_matrix(example: pd.DataFrame, varies: str) -> "Figure":
    """Draw normalised scalar products of found and true sources."""
    figure, (axes,) = new_figure(size=(5.6, 4.6))
    wide = example.pivot(index="estimated", columns="reference", values="value")
    r = len(wide)
    others = wide.to_numpy().copy()
    np.fill_diagonal(others, np.nan)  # near 1, it would hide the other values
    image = axes.imshow(others, cmap="cividis", extent=(0.5, r + 0.5, r + 0.5, 0.5))
    axes.grid(visible=False)
    axes.set(xlabel="True source", ylabel="Found source")
    ticks = range(1, r + 1, 2)
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    figure.colorbar(image, label="normalised scalar product, diagonal left out")
    return figure


def biased_sources(example: pd.DataFrame, varies: str) -> "Figure":
    """Draw two sources, true and found."""
    groups = list(example.groupby("source", sort=False))
    figure, panels = new_figure(len(groups), size=(6.4, 4.6))
    for axes, (number, part) in zip(panels, groups, strict=True):
        axes.plot(part["sample"], part["true"], "o-", color="black", markersize=3, label="true")
        axes.plot(part["sample"], part["found"], "--", color="#0072B2", linewidth=1.8, label="found")
        axes.set(ylabel=f"Source {number}", ylim=(0, None))
    panels[-1].set_xlabel("Sample")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def nmr_spectra(shown: tuple[str, ...]) -> Draw:
    """Return a function that draws the spectra of a few compounds."""

    def draw(example: pd.DataFrame, varies: str) -> "Figure":
        figure, panels = new_figure(len(shown), size=(6.4, 6.0))
        for axes, name in zip(panels, shown, strict=True):
            part = example[example["compound"] == name]
            axes.plot(part["ppm"], part["intensity"], color="#0072B2", linewidth=1)
            axes.set_title(name, loc="left", fontsize=10)
            axes.set(ylim=(0, None), yticks=[], xlim=_downwards(part["ppm"]))
        panels[-1].set_xlabel("Chemical shift (ppm)")
        figure.supylabel("Intensity (arbitrary units)", fontsize=10)
        return figure

    return draw


def nmr_mixture(example: pd.DataFrame, varies: str) -> "Figure":
    """Draw a measurement above its main component."""
    figure, panels = new_figure(2, size=(6.4, 4.4))
    panels[0].plot(example["ppm"], example["measured"], color="black", linewidth=0.9)
    panels[0].set_title("measured", loc="left", fontsize=10)
    panels[1].plot(example["ppm"], example["main"], color="#0072B2", linewidth=0.9)
    panels[1].set_title(f"of which {example['compound'].iloc[0]}", loc="left", fontsize=10)
    for axes in panels:
        axes.set(xlim=_downwards(example["ppm"]), ylabel="Intensity (a. u.)")
    panels[-1].set_xlabel("Chemical shift (ppm)")
    return figure


def nmr_reconstruction(example: pd.DataFrame, varies: str) -> "Figure":
    """Draw a true spectrum above the estimates of two methods."""
    figure, panels = new_figure(3, size=(6.4, 5.4))
    top = 1.05 * example["true"].max()
    titles = {"true": f"{example['compound'].iloc[0]}, true"} | {
        name: f"{label_of(name)}, SDR {example[f'sdr_{name}'].iloc[0]:.1f} dB"
        for name in ("soft", "sparse_hals")
    }
    for axes, (column, title) in zip(panels, titles.items(), strict=True):
        colour = "black" if column == "true" else STYLES[column][0]
        axes.plot(example["ppm"], example[column], color=colour, linewidth=0.9)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set(xlim=_downwards(example["ppm"]), ylim=(0, top), yticks=[])
    panels[-1].set_xlabel("Chemical shift (ppm)")
    figure.supylabel("Intensity (arbitrary units)", fontsize=10)
    return figure


def _downwards(ppm: "pd.Series[float]") -> tuple[float, float]:
    """Return limits with large shifts on the left, as usual for NMR spectra."""
    return float(ppm.max()), float(ppm.min())
