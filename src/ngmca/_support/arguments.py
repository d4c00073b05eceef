"""Bad input gets an error that names the argument, what is wrong with it, and what to do."""

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def check_data(Y: ArrayLike, name: str = "Y") -> NDArray:
    """Y as a finite, non-empty float32 or float64 matrix, without a copy where its layout allows."""
    if hasattr(Y, "toarray"):
        raise TypeError(f"{name} is a sparse matrix: pass {name}.toarray().")
    if isinstance(Y, np.ma.MaskedArray) and np.ma.is_masked(Y):
        raise ValueError(f"{name} has masked entries: fill them or leave out their columns.")
    array = as_array(Y, name)
    if array.dtype.kind == "c":
        raise ValueError(
            f"{name} is complex. Complex data not supported: take its real part or its modulus."
        )
    if array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if array.ndim != 2:
        raise ValueError(
            f"{name} must be two-dimensional, measurements x channels, got shape {array.shape}."
            + (f" For a single measurement pass {name}[None, :]." if array.ndim == 1 else "")
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty, shape {array.shape}: there is nothing to separate.")
    _check_finite(array, name)
    if array.itemsize not in array.strides:
        array = np.ascontiguousarray(array)
    return array


def as_array(values: ArrayLike, name: str) -> NDArray:
    """An array of numbers."""
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype.kind == "O" else array
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must hold numbers only, in rows of equal length: {error}") from error
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} must hold numbers only, got dtype {array.dtype}.")
    return array


def check_rank(r: Any, shape: Sequence[int], name: str = "r", *, warn: bool = True) -> int:
    """The number of sources as an integer that the data can bear."""
    m, n = shape
    r = check_count(r, name)
    if r > n:
        raise ValueError(
            f"{name}={r} sources cannot be told apart on {n} channels (n_features={n}): "
            f"use {name} <= {n}, or transpose the data if its channels are in the rows."
        )
    if r > m and warn:
        warnings.warn(
            f"{name}={r} sources from {m} measurements: more unknowns than measurements in every "
            "channel, so that only sparsity separates, and the noise level will be underestimated. "
            "Expect several different answers to fit equally well; more measurements would help.",
            UserWarning,
            stacklevel=4,
        )
    return r


def check_shape(shape: Any, n: int) -> tuple[int, int] | None:
    """The shape of sources that are images of n pixels; None where they are lines."""
    if shape is None:
        return None
    try:
        h, w = (check_count(size, "sample_shape") for size in shape)
    except (TypeError, ValueError) as error:
        raise TypeError(f"sample_shape must be two integers (rows, columns), got {shape!r}.") from error
    if h * w != n:
        raise ValueError(f"sample_shape {h} x {w} does not fit {n} channels.")
    return (h, w) if min(h, w) > 1 else None


def check_noise(noise: ArrayLike | None, m: int) -> NDArray | None:
    """One noise level a measurement, or None to estimate it."""
    if noise is None:
        return None
    levels = as_array(noise, "noise")
    if levels.dtype.kind == "c":
        raise TypeError("noise must be real: standard deviations of the measurements.")
    levels = levels.astype(np.float64)
    if levels.ndim > 1 or levels.size not in (1, m):
        raise ValueError(
            f"noise must be a number or one number a measurement ({m}), got shape {levels.shape}."
        )
    if not np.isfinite(levels).all() or (levels < 0).any():
        raise ValueError("noise levels are standard deviations: they must be finite and not negative.")
    return np.broadcast_to(levels, (m,)).copy()


def check_start(
    start: Any, shape: tuple[int, int], r: int, *, name: str = "start"
) -> tuple[NDArray, NDArray]:
    """A given first guess (A, S) as float64 arrays, or anything with attributes A and S."""
    if hasattr(start, "A") and hasattr(start, "S"):
        start = (start.A, start.S)
    try:
        A, S = start
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (A, S) or have the attributes A and S.") from None
    m, n = shape
    factors = []
    for letter, factor, expected in (("A", A, (m, r)), ("S", S, (r, n))):
        called = f"{letter} of {name}"
        factor = as_array(factor, called)
        if factor.dtype.kind == "c":
            raise TypeError(f"{called} must be real.")
        factor = factor.astype(np.float64)
        if factor.shape != expected:
            raise ValueError(f"{called} must have shape {expected}, got {factor.shape}.")
        _check_finite(factor, called)
        if (factor < 0).any():
            raise ValueError(f"{called} has negative entries: use np.maximum({letter}, 0).")
        factors.append(factor)
    return factors[0], factors[1]


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """A word out of a few."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


def check_number(value: Any, name: str, *, low: float = 0.0, high: float = math.inf) -> float:
    """A finite number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    if not low <= value <= high:
        limit = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be {limit}, got {value!r}.")
    return value


def check_switch(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def check_count(value: Any, name: str, *, low: int = 1) -> int:
    """An integer of at least low."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    value = int(value)
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}.")
    return value


def _check_finite(array: NDArray, name: str) -> None:
    """Refuse NaN and infinity, and say where the first one is."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(array)):
            return
    for i, row in enumerate(array):  # row by row: no temporary of the size of the data
        bad = np.flatnonzero(~np.isfinite(row))
        if bad.size:
            what = "NaN" if np.isnan(row[bad[0]]) else "infinity"
            raise ValueError(
                f"{name} contains {what}, first at row {i}, column {bad[0]}: "
                "replace such entries or leave out their columns."
            )
