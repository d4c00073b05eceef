"""The criteria for the number of sources as a matplotlib figure."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ngmca.plotting.pyplot import load_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def picture(choice: Any, stable: float) -> "Figure":
    """Return a figure with one panel for each criterion of an `ngmca.RankChoice`."""
    pyplot = load_pyplot()
    from matplotlib.ticker import MaxNLocator

    figure, panels = pyplot.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    _predicted(panels[0], choice)
    _values(panels[1], choice)
    _stability(panels[2], choice, stable)
    for panel, name in zip(panels, ("held_out", "singular_values", "stability"), strict=True):
        panel.set_title(f"{panel.get_title()}: {choice.criteria[name]}", fontsize=10)
        panel.axvline(choice.rank, color="0.8", linewidth=6, zorder=0)
        panel.set_xlabel("sources")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(choice.advice, fontsize=11, wrap=True)
    return figure


def _predicted(panel: "Axes", choice: Any) -> None:
    panel.plot(choice.ranks, choice.held_out.T, color="C0", linewidth=0.7, alpha=0.5)
    panel.plot(choice.ranks, choice.held_out.mean(axis=0), "o-", color="C0", markersize=4)
    panel.set_yscale("log")
    panel.set_ylabel("error (1 without sources)")
    panel.set_title("held-out entries")


def _values(panel: "Axes", choice: Any) -> None:
    values = choice.singular_values[: len(choice.ranks) + 9]
    values = np.where(values > 0, values, np.nan)
    panel.plot(np.arange(1, len(values) + 1), values, "o", color="C1", markersize=4)
    if np.isfinite(values).any():
        panel.set_yscale("log")
    if choice.edge > 0:
        panel.axhline(choice.edge, color="C1", linestyle=":", label="edge of white noise")
        panel.legend(fontsize=8)
    panel.set_title("singular values")


def _stability(panel: "Axes", choice: Any, stable: float) -> None:
    panel.plot(choice.ranks, choice.stability, "o-", color="C2", markersize=4)
    panel.axhline(stable, color="C2", linestyle=":")
    panel.set_ylim(-1.05, 1.05)
    panel.set_ylabel("least stable source (1 is perfect)")
    panel.set_title("stability")
