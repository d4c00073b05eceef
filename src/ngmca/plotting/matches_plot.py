"""Sources and the spectra of a library that are most like them, as a picture of matplotlib."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.plotting.sources_plot import NEEDED


def picture(S: NDArray, references: NDArray, titles: Sequence[str], axis: NDArray, label: str) -> Any:
    """A figure: each source, and above it its reference, which has the same scale."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(NEEDED["matplotlib"]) from error
    figure, panels = pyplot.subplots(
        len(S), 1, figsize=(9, 1.2 + 1.6 * len(S)), squeeze=False, layout="constrained", sharex=True
    )  # fmt: skip
    for i, (panel, row, reference) in enumerate(zip(panels[:, 0], S, references, strict=True)):
        peak = float(np.abs(row).max()) or 1.0  # units may be such that matplotlib overflows
        panel.plot(axis, row / peak, color=f"C{i % 10}", linewidth=1)
        panel.plot(axis, reference / peak + 1.1, color="0.4", linewidth=1)
        panel.set_ylabel(f"source {i + 1}")
        panel.set_yticks([])
        panel.set_title(titles[i], fontsize=9, loc="left", color="0.3")
    panels[-1, 0].set_xlim(axis[0], axis[-1])
    panels[-1, 0].set_xlabel(label)
    return figure
