"""Spectra and positions out of tables of pandas."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.io import Dataset
from ngmca.io.axis_units import heading
from ngmca.io.dataset import shown


def is_frame(table: Any) -> bool:
    """Whether something is a DataFrame."""
    return hasattr(table, "columns") and hasattr(table, "index")


def axis_of(labels: Any, otherwise: str) -> tuple[NDArray, str, str] | None:
    """The positions that labels are, their name and unit; None where they are names or only count."""
    try:
        positions = np.asarray([float(label) for label in labels])
    except (TypeError, ValueError):
        return None
    if any(np.array_equal(positions, start + np.arange(len(positions))) for start in (0, 1)):
        return None
    name, unit = heading(str(labels.name)) if labels.name else (otherwise, "")
    return positions, name, unit


def spectra_of(table: Any) -> Dataset:
    """The spectra of a DataFrame, in its rows or its columns: the labels across them are positions."""
    across, down = (axis_of(labels, "position") for labels in (table.columns, table.index))
    if (across is None) == (down is None):
        both = "neither" if across is None else "both"
        raise TypeError(
            f"the library is a DataFrame and {both} of its index and columns are positions: make the "
            "index the positions and the columns the names, or the other way round."
        )
    values = arguments.as_array(table, "the library").astype(float)
    if across is not None:
        return Dataset(values, *across, tuple(shown(name) for name in table.index))
    assert down is not None
    return Dataset(values.T, *down, tuple(shown(name) for name in table.columns))
