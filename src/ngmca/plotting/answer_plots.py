"""Pictures of the answers with matplotlib, which is loaded only when a picture is drawn."""

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.extras import load_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def load_pyplot() -> ModuleType:
    """Return matplotlib.pyplot; raise an error that says how to install it."""
    module: ModuleType = load_extra("matplotlib.pyplot", "plot")
    return module


def matches_picture(
    S: NDArray, references: NDArray, titles: Sequence[str], axis: NDArray, label: str
) -> "Figure":
    """Return a figure: each source, and above it its reference on the same scale."""
    pyplot = load_pyplot()
    figure, panels = pyplot.subplots(
        len(S), 1, figsize=(9, 1.2 + 1.6 * len(S)), squeeze=False, layout="constrained", sharex=True
    )  # fmt: skip
    for i, (panel, row, reference) in enumerate(zip(panels[:, 0], S, references, strict=True)):
        peak = float(np.abs(row).max()) or 1.0  # matplotlib overflows with very large or small units
        panel.plot(axis, row / peak, color=f"C{i % 10}", linewidth=1)
        panel.plot(axis, reference / peak + 1.1, color="0.4", linewidth=1)
        panel.set_ylabel(f"source {i + 1}")
        panel.set_yticks([])
        panel.set_title(titles[i], fontsize=9, loc="left", color="0.3")
    panels[-1, 0].set_xlim(axis[0], axis[-1])
    panels[-1, 0].set_xlabel(label)
    return figure


def amounts_picture(amounts: Any) -> "Figure":
    """Return a figure of `ngmca.Amounts`, with standards and amounts of each substance."""
    pyplot = load_pyplot()
    k, calibrated = len(amounts.substances), bool(np.isfinite(amounts.known).any())
    figure, panels = pyplot.subplots(
        k, 2 if calibrated else 1, figsize=(9, 1.2 + 1.9 * k), squeeze=False, layout="constrained",
        width_ratios=(1, 2) if calibrated else (1,),
    )  # fmt: skip
    for j in range(k):
        if calibrated:
            _standards(panels[j][0], amounts, j)
        _amounts(panels[j][-1], amounts, j)
    if calibrated:
        panels[-1][0].set_xlabel("known concentration")
        panels[0][0].set_title("standards, predicted by the others", fontsize=10)
    panels[0][-1].set_title(
        "relative amounts" if amounts.relative else f"amounts, {100 * amounts.level:g} % intervals",
        fontsize=10,
    )
    panels[-1][-1].set_xlabel(amounts.row_label or "measurement")
    return figure


def rates_picture(rates: Any) -> "Figure":
    """Return a figure of `ngmca.result.Rates`: a panel for each source that follows the law."""
    pyplot = load_pyplot()
    k = len(rates.columns)
    figure, panels = pyplot.subplots(
        k, 1, figsize=(9, 1.2 + 1.6 * k), squeeze=False, layout="constrained", sharex=True
    )
    for j, (panel, source) in enumerate(zip(panels[:, 0], rates.columns, strict=True)):
        panel.plot(rates.times, rates.amounts[:, j], "o", color="0.5", markersize=4, fillstyle="none")
        panel.plot(rates.times, rates.profiles[:, j], color=f"C{source % 10}", linewidth=1.5)
        panel.set_ylabel(f"source {source + 1}")
    title = "\n".join(
        f"{name}: {value:.4g} ± {sd:.2g}"
        for name, value, sd in zip(rates.names, rates.values, rates.sd, strict=True)
    )
    panels[0, 0].set_title(title, fontsize=9, loc="left", color="0.3")
    panels[-1, 0].set_xlabel("time")
    return figure


def _standards(panel: "Axes", amounts: Any, j: int) -> None:
    """Draw the concentrations of standards that the other standards predict over the known ones."""
    known, predicted = amounts.known[:, j], amounts.predicted[:, j]
    ends = [np.nanmin(known), np.nanmax(known)]
    panel.plot(ends, ends, color="0.6", linewidth=1)
    panel.plot(known, np.where(np.isfinite(predicted), predicted, np.nan), "o", color=f"C{j % 10}",
               markersize=4)  # fmt: skip
    panel.set_ylabel("by " + amounts.by[j].replace(" and", "\nand"), fontsize=8)


def _amounts(panel: "Axes", amounts: Any, j: int) -> None:
    """Draw amounts in all measurements with their intervals, and standards as open circles."""
    values, places = amounts.values[:, j], amounts.places
    ends = np.stack([values - amounts.low[:, j], amounts.high[:, j] - values])
    ends = np.where(np.isfinite(ends), np.maximum(ends, 0), 0)
    panel.errorbar(
        places, values, yerr=ends, fmt=".", color=f"C{j % 10}", ecolor="0.6", markersize=4, elinewidth=1
    )
    panel.plot(places, amounts.known[:, j], "o", color="black", markersize=6, fillstyle="none")
    if np.isfinite(amounts.detection[j]):
        panel.axhline(amounts.detection[j], color="0.6", linewidth=0.8, linestyle=":")
    unit = amounts.units[j]
    panel.set_ylabel(amounts.substances[j] + (f"\n{unit}" if unit else ""))
