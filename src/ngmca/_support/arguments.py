"""Bad input gets an error that names the argument, what is wrong with it, and what to do."""

import math
import numbers
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_UNEQUAL = 1e6  # ratio of noise levels


class Measured(Protocol):
    """What an engine says of its data."""

    shape: tuple[int, int]
    dtype: np.dtype
    unit: float


def check_data(Y: ArrayLike, name: str = "Y") -> NDArray:
    """Y as a finite, non-empty float32 or float64 matrix, without a copy where its layout allows."""
    if isinstance(Y, str | PathLike):
        raise TypeError(
            f"{name} is the name of a file: read it first, with ngmca.io.read({str(Y)!r}).Y."
        )
    array = as_array(Y, name)
    if array.dtype != np.float32:
        with np.errstate(over="ignore"):  # what no float64 can hold becomes infinite, and is refused
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


def check_observed(Y: Any, mask: Any = None, name: str = "Y") -> tuple[NDArray, NDArray | None]:
    """Y as `check_data` has it, with 0 for what is missing, and where that is; None where nothing is."""
    missing = _missing(Y, name)
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype != bool:
            raise TypeError(f"mask must be an array of booleans, true where {name} is missing.")
        if given.shape != np.shape(Y):
            raise ValueError(f"mask must have the shape of {name}, {np.shape(Y)}, got {given.shape}.")
        missing = given if missing is None else missing | given
    if missing is None or not missing.any():
        return check_data(Y if missing is None else np.ma.getdata(Y), name), None
    if missing.all():
        raise ValueError(f"all entries of {name} are missing: there is nothing to separate.")
    values = np.asarray(np.ma.getdata(Y) if isinstance(Y, np.ma.MaskedArray) else as_array(Y, name))
    return check_data(np.where(missing, values.dtype.type(0), values), name), missing


def _missing(Y: Any, name: str) -> NDArray | None:
    """Where Y is masked or NaN; None where it is nowhere."""
    if isinstance(Y, str | PathLike):
        return None  # `check_data` tells
    if isinstance(Y, np.ma.MaskedArray):
        values, masked = np.ma.getdata(Y), np.ma.getmaskarray(Y)
    else:
        values, masked = as_array(Y, name), None
    if values.dtype.kind != "f" or values.ndim != 2 or not values.size:
        return masked
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isnan(np.sum(values)):  # infinity less infinity is NaN too, and is looked at
            return masked
    missing = np.isnan(values)
    return missing if masked is None else missing | masked


def as_array(values: Any, name: str) -> NDArray:
    """An array of real numbers."""
    if hasattr(values, "toarray"):
        raise TypeError(f"{name} is a sparse matrix: pass {name}.toarray().")
    if hasattr(values, "__cuda_array_interface__"):
        raise TypeError(f"{name} is on a card: pass {name}.get().")
    if any(map(np.ma.is_masked, values if isinstance(values, list | tuple) else [values])):
        raise ValueError(f"{name} has masked entries: this needs all of them.")
    try:
        array = np.asarray(values)
        array = _numbers(values, array) if array.dtype.kind == "O" else array
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{name} must hold numbers only, in rows of equal length: {error}") from error
    if array.dtype.kind == "c":
        raise ValueError(
            f"{name} is complex. Complex data not supported: take its real part or its modulus."
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers only, got dtype {array.dtype}.")
    return array


def _numbers(values: Any, array: NDArray) -> NDArray:
    """An array of Python's objects as numbers; what pandas calls NA is NaN."""
    for entry in array.flat:
        if isinstance(entry, str | bytes):  # float() would take some of them
            raise TypeError(f"{entry!r} is text.")
    if hasattr(values, "to_numpy"):
        array = values.to_numpy(dtype=object, na_value=np.nan)
    return array.astype(np.float64)


def check_rank(r: Any, shape: Sequence[int], name: str = "r", *, warn: bool = True) -> int:
    """The number of sources as an integer that the data can bear."""
    m, n = shape
    r = check_count(r, name)
    if r > n:
        raise ValueError(
            f"{name}={r} sources cannot be told apart on {n} channels (n_features={n}): "
            f"use at most {n}, or transpose the data if its channels are in the rows."
        )
    if r > m and warn:
        warnings.warn(
            f"{name}={r} sources from {m} measurements: more unknowns than measurements in every "
            "channel, so that only sparsity separates, and the noise level will be underestimated. "
            "Expect several different answers to fit equally well; more measurements would help.",
            UserWarning,
            stacklevel=5,  # the caller of a method, beyond the decorator that holds BLAS
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


def check_levels(noise: Any, engine: Measured) -> NDArray:
    """Noise levels in units of the engine: (1, 1), (m, 1), (1, n) or (m, n).

    One number a measurement, or one a sample; where there are as many of both, a measurement.
    """
    m, n = engine.shape
    levels = as_array(noise, "noise").astype(np.float64)
    if levels.ndim == 1 and levels.size in (m, n):
        levels = levels[:, None] if levels.size == m else levels[None]
    levels = levels[None] if levels.ndim == 1 and levels.size == 1 else levels
    levels = levels[None, None] if levels.ndim == 0 else levels
    if levels.ndim != 2 or levels.shape[0] not in (1, m) or levels.shape[1] not in (1, n):
        raise ValueError(
            f"noise must be a number, one for each measurement ({m}), one for each sample ({n}), or one "
            f"for each entry ({m} x {n}), got shape {np.shape(noise)}."
        )
    if not np.isfinite(levels).all() or (levels < 0).any():
        raise ValueError("noise levels are standard deviations: they must be finite and not negative.")
    loudest = float(levels.max())
    if loudest / engine.unit > _largest(engine):
        raise ValueError(
            f"noise is too large: nothing of Y can be seen below {loudest:.3g}. Give its standard "
            "deviation in the units of Y."
        )
    least = float(levels.min())
    if loudest > least * MOST_UNEQUAL:
        raise ValueError(
            f"noise levels from {least:.3g} to {loudest:.3g} are too unequal to weigh by: leave out "
            "what is without noise or drowns in it, or give levels within a factor of 1e6."
        )
    return levels / engine.unit


def check_noise(noise: ArrayLike | None, engine: Measured) -> NDArray | None:
    """One noise level a measurement, in units of the engine, or None to estimate it."""
    if noise is None:
        return None
    levels = check_levels(noise, engine)
    if levels.shape[1] > 1:
        raise ValueError(f"noise must be a number or one number a measurement ({engine.shape[0]}) here.")
    return np.broadcast_to(levels[:, 0], (engine.shape[0],)).copy()


def check_mixing(A: ArrayLike, m: int, name: str = "A") -> NDArray:
    """A known mixing (m, r) as float64."""
    shape = as_array(A, name).shape
    if len(shape) != 2 or shape[0] != m:
        raise ValueError(
            f"{name} must have one row a measurement ({m}) and one column a source, got shape {shape}."
        )
    mixing = check_data(A, name).astype(np.float64)
    if mixing.any() and not 1e-100 < np.abs(mixing).max() < 1e100:
        raise ValueError(
            f"{name} is far too large or small to calculate with: scale it, and S by the inverse."
        )
    return mixing


def check_start(start: Any, engine: Measured, r: int, *, name: str = "start") -> tuple[NDArray, NDArray]:
    """A given first guess (A, S), or what has these attributes, as float64 in units of the engine."""
    if hasattr(start, "A") and hasattr(start, "S"):
        start = (start.A, start.S)
    try:
        A, S = start
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a pair (A, S) or have the attributes A and S.") from None
    m, n = engine.shape
    factors = []
    for letter, factor, expected in (("A", A, (m, r)), ("S", S, (r, n))):
        called = f"{letter} of {name}"
        factor = as_array(factor, called)
        factor = factor.astype(np.float64)
        if factor.shape != expected:
            raise ValueError(f"{called} must have shape {expected}, got {factor.shape}.")
        _check_finite(factor, called)
        if (factor < 0).any():
            raise ValueError(f"{called} has negative entries: use np.maximum({letter}, 0).")
        factors.append(factor)
    A, S = factors
    peaks = float(A.max()), float(S.max()) / engine.unit
    if max(*peaks, peaks[0] * peaks[1]) > _largest(engine):
        raise ValueError(f"{name} is far larger than Y: give A and S in the units of Y.")
    return A, S / engine.unit


def _largest(engine: Measured) -> float:
    """A number far beyond any entry of the data, whose square can still be summed up."""
    return float(np.finfo(engine.dtype).max) ** 0.4


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
