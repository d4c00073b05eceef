"""Picture of the criteria for the number of sources, and of the sources for the numbers around it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ngmca.plotting.answer_plots import load_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def rank_picture(choice: Any) -> "Figure":
    """Return a figure of an `ngmca.RankChoice`: criteria above, sources below."""
    pyplot = load_pyplot()
    from matplotlib.ticker import MaxNLocator

    rows = 2 if choice.sources else 1
    figure, panels = pyplot.subplots(
        rows, 3, figsize=(11, 3.4 * rows), squeeze=False, layout="constrained"
    )
    for i, (panel, (title, values, limit)) in enumerate(zip(panels[0], choice.panels, strict=True)):
        panel.plot(choice.ranks, values, "o-", color=f"C{i}", markersize=4)
        if np.isfinite(limit):
            panel.axhline(limit, color=f"C{i}", linestyle=":")
        elif np.nanmax(values, initial=0) > 0:
            panel.set_yscale("log")
        low, high = choice.range
        panel.axvspan(low - 0.2, high + 0.2, color="0.92", zorder=0)
        panel.axvline(choice.rank, color="0.7", linewidth=6, zorder=0)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("sources")
        panel.set_xlim(-0.4, choice.ranks[-1] + 0.4)
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0][2].set_ylim(-1.05, 1.05)
    for panel, S in zip(panels[1:].flat, choice.sources, strict=False):
        _sources(panel, choice.channels, S)
    for panel in panels[1:].flat[len(choice.sources) :]:
        panel.set_axis_off()
    figure.suptitle(choice.advice, fontsize=11, wrap=True)
    return figure


def _sources(panel: "Axes", channels: Any, S: Any) -> None:
    """Draw sources above each other, each divided by its maximum."""
    for i, row in enumerate(S):
        panel.plot(channels, row / (row.max() or 1.0) + len(S) - 1 - i, color=f"C{i % 10}", linewidth=1)
    panel.set_yticks([])
    panel.set_xlabel("channel")
    panel.set_title(f"{len(S)} source{'s' * (len(S) != 1)}", fontsize=10)
