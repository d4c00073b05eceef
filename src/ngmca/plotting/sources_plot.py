"""Sources and weights as a matplotlib figure, or as tables of pandas."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.extras import load_extra
from ngmca._support.messages import ArgumentError, option
from ngmca.io import Dataset, as_dataset
from ngmca.io.conversion import is_dataframe
from ngmca.plotting.answer_plots import load_pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

BAND = "#d98200"  # of everything that shows what the data allow


def tables(
    A: NDArray, spectra: Sequence[tuple[str, NDArray]], shares: NDArray, data: Any
) -> tuple["DataFrame", "DataFrame"]:
    """Return two DataFrames: sources with one row for each channel, weights for each measurement.

    `spectra` are name and sources of each technique. The rows of several techniques have its name too.
    """
    pd = load_extra("pandas", "to_pandas")
    columns = [f"source {i + 1}" for i in range(A.shape[1])]
    found = {}
    for (technique, S), one in zip(spectra, _of_each(data, len(spectra)), strict=True):
        axis, label, names = described(one, len(A), S.shape[1])
        found[technique] = pd.DataFrame(S.T, index=pd.Index(axis, name=label), columns=columns)
    sources = pd.concat(found, names=["technique", "position"]) if len(found) > 1 else found[technique]
    rows = pd.Index(names, name="measurement")
    parts = pd.DataFrame(100 * shares, index=rows, columns=[f"{name} share (%)" for name in columns])
    return sources, pd.concat([pd.DataFrame(A, index=rows, columns=columns), parts], axis=1)


def picture(spectra: Sequence[tuple[str, NDArray]], shares: NDArray, data: Any) -> "Figure":
    """Return a figure: each source against the axis, and beside it its share in every measurement.

    `spectra` are name and sources of each technique, which has a column of its own.
    """
    pyplot = load_pyplot()
    count, r = len(spectra), shares.shape[1]
    shape = getattr(data, "image_shape", None)
    figure, panels = pyplot.subplots(
        r, count + 1, figsize=(3 + 6 * count, 1.2 + 1.5 * r), squeeze=False, layout="constrained",
        sharex="col", width_ratios=(*[2] * count, 1),
    )  # fmt: skip
    for k, one in enumerate(_of_each(data, count)):
        technique, S = spectra[k]
        axis, label, names = described(one, len(shares), S.shape[1])
        for i, row in enumerate(S):
            panels[i][k].plot(axis, row, color=f"C{i % 10}", linewidth=1)
        if axis.dtype.kind in "fiu" and len(axis) > 1:
            panels[-1][k].set_xlim(axis[0], axis[-1])  # falling axes are drawn falling
        panels[-1][k].set_xlabel(label)
        if count > 1:
            panels[0][k].set_title(technique, fontsize=10)
    for i, share in enumerate(100 * shares.T):
        right = panels[i][-1]
        panels[i][0].set_ylabel(f"source {i + 1}")
        if shape:
            shown = right.imshow(share.reshape(shape))
            figure.colorbar(shown, ax=right, label="%")
        else:
            right.bar(np.arange(1, len(share) + 1), share, color=f"C{i % 10}")
            right.set_ylabel("%")
    if not shape and len(names) <= 12 and names[0] != "1":
        panels[-1][-1].set_xticks(np.arange(1, len(names) + 1), names, rotation=90)
    panels[0][-1].set_title("share of each pixel" if shape else "share of each measurement", fontsize=10)
    return figure


def _of_each(data: Any, count: int) -> Sequence[Any]:
    """Return the data of each technique: joined ones are split, others are none or one already."""
    if count == 1:
        return [data]
    if isinstance(data, Dataset) and len(data.techniques) == count:
        return data.split()
    if data is None:
        return [None] * count
    raise ArgumentError(
        "{} are of {} techniques: give ngmca.join_techniques of them.", option("data"), count
    )


def bands_picture(bands: Any, data: Any) -> "Figure":
    """Return a figure of an `ngmca.Ambiguity`: the band of each source, and that of its mixing."""
    pyplot = load_pyplot()
    r, n = bands.S_low.shape
    axis, label, _ = described(data, len(bands.A_low), n)
    numeric = axis.dtype.kind in "fiu"
    figure, panels = pyplot.subplots(
        r, 2, figsize=(9, 1.2 + 1.5 * r), squeeze=False, layout="constrained", sharex="col",
        width_ratios=(2, 1),
    )  # fmt: skip
    places = axis if numeric else np.arange(n)
    for i, (left, right) in enumerate(panels):
        _filled(left, places, bands.S_low[i], bands.S_high[i])
        left.set_ylabel(f"source {i + 1}")
        if len(places) > 1:
            left.set_xlim(places[0], places[-1])
        ends = (
            f"contribution {bands.lowest[i]:.2f} to {bands.highest[i]:.2f}, found {bands.found[i]:.2f}"
        )
        left.set_title(ends, fontsize=9, loc="left", color="0.3")
        _filled(right, np.arange(1, len(bands.A_low) + 1), bands.A_low[:, i], bands.A_high[:, i])
    panels[-1][0].set_xlabel(label if numeric else "channel")
    panels[-1][1].set_xlabel("measurement")
    panels[0][1].set_title("mixing", fontsize=9, loc="left", color="0.3")
    return figure


def _filled(panel: Any, x: NDArray, low: NDArray, high: NDArray) -> None:
    """Draw a band between its ends."""
    peak = float(high.max(initial=0)) or 1.0  # matplotlib overflows with very large or small units
    panel.fill_between(x, low / peak, high / peak, color=BAND, alpha=0.45, linewidth=0)
    for edge in (low, high):
        panel.plot(x, edge / peak, color=BAND, linewidth=0.8)
    panel.set_ylim(bottom=0)
    panel.set_yticks([])


def described(data: Any, m: int, n: int) -> tuple[NDArray, str, list[str]]:
    """Return axis, its label and names of the measurements, from a Dataset, a DataFrame, or None."""
    if data is None:
        return np.arange(n), "channel", [str(i + 1) for i in range(m)]
    known = fitting_dataset(data, m, n)
    names, axis = known.names, known.positions
    if known.axis is None and is_dataframe(data):
        axis = np.asarray(data.columns)  # the columns have names, not positions
    return axis, known.axis_label, list(names)


def fitting_dataset(data: Any, m: int, n: int) -> Dataset:
    """Return data as a Dataset; raise an error if it does not have m measurements and n channels."""
    known = as_dataset(data)
    shape = (len(known.Y), len(known.positions)) if known.Y.ndim == 2 else known.Y.shape
    if shape != (m, n):
        raise wrong_shape(shape, (m, n))
    return known


def wrong_shape(given: tuple[int, ...], separated: tuple[int, int]) -> ArgumentError:
    """Return the error for data of another shape than those that were separated."""
    transposed = given == separated[::-1]
    return ArgumentError(
        "{} have the shape {}, but {} x {} were separated (measurements x channels): give {}.",
        option("data"), " x ".join(map(str, given)), *separated,
        "them transposed" if transposed else "the data that were separated",
    )  # fmt: skip
