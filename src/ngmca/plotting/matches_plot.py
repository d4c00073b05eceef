"""Sources and the most similar spectra of a library, as a matplotlib figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca.plotting.pyplot import load_pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(
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
