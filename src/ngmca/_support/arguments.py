"""Checks of arguments: an error names the argument, says what is wrong with it and what to do."""

import math
import numbers
from collections.abc import Sequence
from difflib import get_close_matches
from os import PathLike
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.messages import ArgumentError, ArgumentTypeError, message, option, warn_user

LARGEST_NOISE_RATIO = 1e6
FEW_CHOICES = 6  # an error lists these first


class Measured(Protocol):
    """The facts about data that checks of arguments use."""

    shape: tuple[int, int]
    dtype: np.dtype
    unit: float


def check_data(Y: ArrayLike, name: str = "Y") -> NDArray:
    """Return Y as a finite, non-empty float32 or float64 matrix, without a copy where possible.

    A matrix in another order than row by row is copied: otherwise its products would have other rounding
    errors, and in single precision the result would differ by more than these.
    """
    if isinstance(Y, str | PathLike):
        raise ArgumentTypeError(
            "{} is the name of a file: read it first, with ngmca.io.read({!r}).", option(name), str(Y)
        )
    array = as_array(Y, name)
    if array.dtype.newbyteorder("=") == np.float32:
        array = array.astype(np.float32, copy=False)  # in the byte order of this machine
    else:
        with np.errstate(over="ignore"):  # numbers beyond float64 become infinite and are refused below
            array = array.astype(np.float64, copy=False)
    if array.ndim != 2:
        hint = f" For a single measurement pass {name}[None, :]." if array.ndim == 1 else ""
        raise ArgumentError(
            "{} must be two-dimensional, measurements x channels, got shape {}.{}",
            *(option(name), array.shape, hint),
        )
    if array.size == 0:
        raise ArgumentError(
            "{} is empty, shape {}: there is nothing to separate.", option(name), array.shape
        )
    _check_finite(array, name)
    step, next_entry = array.strides
    by_rows = next_entry == array.itemsize and step >= array.shape[1] * array.itemsize
    return array if by_rows else np.ascontiguousarray(array)


def check_observed(Y: Any, mask: Any = None, name: str = "Y") -> tuple[NDArray, NDArray | None]:
    """Return Y with 0 for missing entries, and where they are, or None where nothing is missing."""
    missing = _missing(Y, name)
    if mask is not None:
        given = np.asarray(mask)
        if given.dtype != bool:
            raise ArgumentTypeError(
                "{} must be an array of booleans, True where an entry of {} is missing.",
                *(option("mask"), name),
            )
        if given.shape != np.shape(Y):
            raise ArgumentError(
                "{} must have the shape of {}, {}, got {}.",
                *(option("mask"), name, np.shape(Y), given.shape),
            )
        missing = given if missing is None else missing | given
    if missing is None or not missing.any():
        return check_data(Y if missing is None else np.ma.getdata(Y), name), None
    if missing.all():
        # a mask that is True where an entry was measured is the usual reason
        hint = "" if mask is None else " A mask is True where an entry is missing."
        raise ArgumentError(
            "all entries of {} are missing: there is nothing to separate.{}", option(name), hint
        )
    values = np.asarray(np.ma.getdata(Y) if isinstance(Y, np.ma.MaskedArray) else as_array(Y, name))
    return check_data(np.where(missing, values.dtype.type(0), values), name), missing


def _missing(Y: Any, name: str) -> NDArray | None:
    """Return where Y is masked or NaN, or None where it is nowhere."""
    if isinstance(Y, str | PathLike):
        return None  # `check_data` raises the error
    if isinstance(Y, np.ma.MaskedArray):
        values, masked = np.ma.getdata(Y), np.ma.getmaskarray(Y)
    else:
        values, masked = as_array(Y, name), None
    if values.dtype.kind != "f" or values.ndim != 2 or not values.size:
        return masked
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isnan(np.sum(values)):  # a quick test; infinities of both signs also give NaN
            return masked
    missing = np.isnan(values)
    return missing if masked is None else missing | masked


def as_array(values: Any, name: str) -> NDArray:
    """Return an array of real numbers."""
    if hasattr(values, "toarray"):
        raise ArgumentTypeError("{} is a sparse matrix: pass {}.toarray().", option(name), name)
    if hasattr(values, "__cuda_array_interface__"):
        raise ArgumentTypeError("{} is on a GPU: pass {}.get().", option(name), name)
    if any(map(np.ma.is_masked, values if isinstance(values, list | tuple) else [values])):
        raise ArgumentError("{} has masked entries, which are not supported here.", option(name))
    try:
        array = np.asarray(values)
        array = _numbers(values, array) if array.dtype.kind == "O" else array
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentTypeError(
            "{} must hold numbers only, in rows of equal length: {}", option(name), error
        ) from error
    if array.dtype.kind == "c":
        raise ArgumentError(
            "{} is complex. Complex data not supported: take its real part or its modulus.", option(name)
        )
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError("{} must hold numbers only, got dtype {}.", option(name), array.dtype)
    return array


def _numbers(values: Any, array: NDArray) -> NDArray:
    """Return an array of Python objects as numbers; NA of pandas becomes NaN."""
    for i, entry in enumerate(array.flat):
        if isinstance(entry, str | bytes):  # float() would accept some of them
            place = ""
            if hasattr(values, "set_index"):  # a DataFrame
                column = values.columns[i % array.shape[1]]
                place = f" Names belong into its index: set_index({column!r})."
            raise TypeError(f"{entry!r} is text.{place}")
    if hasattr(values, "to_numpy"):
        array = values.to_numpy(dtype=object, na_value=np.nan)
    return array.astype(np.float64)


def check_rank(r: Any, shape: Sequence[int], name: str = "r", *, warn: bool = True) -> int:
    """Return the number of sources as an integer that suits the shape of the data."""
    m, n = shape
    r = check_count(r, name)
    if r > n:
        raise ArgumentError(
            "{} sources are too many: the data have {} channels (n_features={}), so use at most {}. If "
            "the channels are in the rows, transpose the data.",
            *(option(name, r), n, n, n),
        )
    if r > m and warn:
        warn_user(
            message(
                "{} sources are more than the {} measurements. The answer is then uncertain: several "
                "different ones may fit equally well, and the estimated noise level is too low. Use "
                "fewer sources, or add measurements.",
                *(option(name, r), m),
            )
        )
    return r


def check_shape(shape: Any, n: int) -> tuple[int, int] | None:
    """Return the shape of sources that are images of n pixels, or None where they are spectra."""
    if shape is None:
        return None
    try:
        h, w = (check_count(size, "sample_shape") for size in shape)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            "{} must be two integers (rows, columns), got {!r}.", option("sample_shape"), shape
        ) from error
    if h * w != n:
        raise ArgumentError("{} {} x {} does not fit {} channels.", option("sample_shape"), h, w, n)
    return (h, w) if min(h, w) > 1 else None


def check_levels(noise: Any, engine: Measured) -> NDArray:
    """Return noise levels in units of the engine: (1, 1), (m, 1), (1, n) or (m, n).

    A vector has one number for each measurement or one for each channel; where m equals n, it is taken
    as one for each measurement.
    """
    m, n = engine.shape
    levels = as_array(noise, "noise").astype(np.float64)
    if levels.ndim == 1 and levels.size in (m, n):
        levels = levels[:, None] if levels.size == m else levels[None]
    levels = levels[None] if levels.ndim == 1 and levels.size == 1 else levels
    levels = levels[None, None] if levels.ndim == 0 else levels
    if levels.ndim != 2 or levels.shape[0] not in (1, m) or levels.shape[1] not in (1, n):
        raise ArgumentError(
            "{} must be one number, or one for each measurement ({}), each channel ({}) or each entry "
            "({} x {}), got shape {}.",
            *(option("noise"), m, n, m, n, np.shape(noise)),
        )
    if not np.isfinite(levels).all() or (levels < 0).any():
        raise ArgumentError(
            "{} holds standard deviations: they must be finite and not negative.", option("noise")
        )
    loudest = float(levels.max())
    if loudest / engine.unit > _largest(engine):
        raise ArgumentError(
            "{} is too large: {:.3g} is far above every entry of Y. Give its standard deviation in the "
            "units of Y.",
            *(option("noise"), loudest),
        )
    least = float(levels.min())
    if loudest > least * LARGEST_NOISE_RATIO:
        raise ArgumentError(
            "{} has levels from {:.3g} to {:.3g}, which differ by more than a factor of 1e6: leave out "
            "the measurements or channels with extreme levels.",
            *(option("noise"), least, loudest),
        )
    return levels / engine.unit


def check_noise(noise: ArrayLike | None, engine: Measured) -> NDArray | None:
    """Return one noise level for each measurement, in units of the engine, or None to estimate it."""
    if noise is None:
        return None
    levels = check_levels(noise, engine)
    if levels.shape[1] > 1:
        raise ArgumentError(
            "{} must be a number or one number for each measurement ({}) here.",
            *(option("noise"), engine.shape[0]),
        )
    return np.broadcast_to(levels[:, 0], (engine.shape[0],)).copy()


def check_mixing(A: ArrayLike, m: int, name: str = "A") -> NDArray:
    """Return a known mixing (m, r) as float64."""
    shape = as_array(A, name).shape
    if len(shape) != 2 or shape[0] != m:
        raise ArgumentError(
            "{} must have one row for each of {} measurements and a column for each source, got {}.",
            *(option(name), m, shape),
        )
    mixing = check_data(A, name).astype(np.float64)
    if mixing.any() and not 1e-100 < np.abs(mixing).max() < 1e100:
        raise ArgumentError(
            "{} is too large or too small to compute with: scale it, and S by the inverse.", option(name)
        )
    return mixing


def check_start(start: Any, engine: Measured, r: int, *, name: str = "start") -> tuple[NDArray, NDArray]:
    """Return a first guess, (A, S) or an object with these attributes, in units of the engine."""
    if hasattr(start, "A") and hasattr(start, "S"):
        start = (start.A, start.S)
    try:
        A, S = start
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            "{} must be a pair (A, S) or have the attributes A and S.", option(name)
        ) from None
    m, n = engine.shape
    factors = []
    for letter, factor, expected in (("A", A, (m, r)), ("S", S, (r, n))):
        called = f"{letter} of {name}"
        factor = as_array(factor, called)
        factor = factor.astype(np.float64)
        if factor.shape != expected:
            raise ArgumentError("{} must have shape {}, got {}.", option(called), expected, factor.shape)
        _check_finite(factor, called)
        if (factor < 0).any():
            raise ArgumentError(
                "{} has negative entries: use np.maximum({}, 0).", option(called), letter
            )
        factors.append(factor)
    A, S = factors
    peaks = float(A.max()), float(S.max()) / engine.unit
    if max(*peaks, peaks[0] * peaks[1]) > _largest(engine):
        raise ArgumentError("{} is far larger than Y: give A and S in the units of Y.", option(name))
    return A, S / engine.unit


def _largest(engine: Measured) -> float:
    """Return a number far above any entry of the data, whose squares can still be summed."""
    return float(np.finfo(engine.dtype).max) ** 0.4


def check_choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return a word if it is one of the choices."""
    if isinstance(value, str) and value in choices:
        return value
    words = ", ".join(map(repr, choices))
    if len(choices) <= FEW_CHOICES:
        raise ArgumentError("{} must be one of {}, got {!r}.", option(name), words, value)
    near = get_close_matches(str(value), choices, n=1)
    hint = f" Do you mean {near[0]!r}?" if near else ""
    raise ArgumentError("{} does not exist.{} Use one of {}.", option(name, value), hint, words)


def check_number(value: Any, name: str, *, low: float = 0.0, high: float = math.inf) -> float:
    """Return a finite number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ArgumentTypeError("{} must be a number, got {!r}.", option(name), value)
    value = float(value)
    if not math.isfinite(value):
        raise ArgumentError("{} must be finite, got {!r}.", option(name), value)
    if not low <= value <= high:
        limit = f"at least {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
        raise ArgumentError("{} must be {}, got {!r}.", option(name), limit, value)
    return value


def check_switch(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentTypeError("{} must be True or False, got {!r}.", option(name), value)
    return bool(value)


def check_count(value: Any, name: str, *, low: int = 1) -> int:
    """Return an integer of at least low."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise ArgumentTypeError("{} must be an integer, got {!r}.", option(name), value)
    value = int(value)
    if value < low:
        raise ArgumentError("{} must be at least {}, got {}.", option(name), low, value)
    return value


def _check_finite(array: NDArray, name: str) -> None:
    """Raise an error that says where the first NaN or infinity is."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(array)):
            return
    for i, row in enumerate(array):  # row by row: no temporary of the size of the data
        bad = np.flatnonzero(~np.isfinite(row))
        if bad.size:
            what = "NaN" if np.isnan(row[bad[0]]) else "infinity"
            raise ArgumentError(
                "{} contains {}, first at row {}, column {}: replace such entries or leave out their "
                "columns.",
                *(option(name), what, i, bad[0]),
            )
