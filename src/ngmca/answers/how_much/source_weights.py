"""Weights of sources with their noise, and the names of sources and measurements."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import io
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.answers.how_much.amounts import Amounts
from ngmca.engines import in_own_units
from ngmca.io.conversion import is_dataframe
from ngmca.plotting.sources_plot import wrong_shape
from ngmca.result import Separation

UNOBSERVED_ENERGY = 1e-12  # a direction with less of the energy of a source was not observed
MAX_UNOBSERVED_PART = 1e-8  # of a source in such directions


@dataclass(frozen=True, eq=False)
class Sources:
    """Sources and weights of a separation, in float64.

    Attributes
    ----------
    A : ndarray of shape (m, r)
        Weights; the largest entry of each column is 1.
    S : ndarray of shape (r, n)
        Sources, in units of `unit`.
    sizes : ndarray of shape (r,)
        The largest entries that the columns of A had.
    noise : ndarray of shape (m, r)
        Variances of A due to noise; infinite where nothing was observed.
    level : ndarray of shape (m,)
        Noise level of the data, in units of `unit`.
    unit : float
        Unit of S and of the noise level.
    measurements : tuple of str
        Names of the measurements.
    numbered : bool
        Whether these are numbers from 1 instead of names.
    names : tuple of str or None
        Names of the sources.
    Y : ndarray of shape (m, n) or None
        The data, NaN where entries are missing.
    axis : Dataset or None
        A Dataset with the axis, if it was given.
    background : ndarray of shape (q, n) or None
        Rows of the background.
    smooth : ndarray of shape (m, q) or None
        Weights of these rows, in units of `unit`.
    outliers : ndarray of shape (k, 2) or None
        Entries of Y that were left out of the fit.
    """

    A: NDArray = field(repr=False)
    S: NDArray = field(repr=False)
    sizes: NDArray = field(repr=False)
    noise: NDArray = field(repr=False)
    level: NDArray = field(repr=False)
    unit: float
    measurements: tuple[str, ...]
    numbered: bool
    names: tuple[str | None, ...]
    Y: NDArray | None = field(default=None, repr=False)
    axis: io.Dataset | None = field(default=None, repr=False)
    background: NDArray | None = field(default=None, repr=False)
    smooth: NDArray | None = field(default=None, repr=False)
    outliers: NDArray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, separation: Separation, data: Any, names: Sequence[str | None] | None) -> "Sources":
        """Return the sources of a separation with the names in `data` and `names`."""
        A, S = (np.asarray(part, dtype=np.float64) for part in separation.answer)
        (m, r), n = A.shape, S.shape[1]
        A = np.where(S.any(axis=1), A, 0.0)  # weights of an empty source mean nothing
        table = is_dataframe(data)
        data = io.as_dataset(data) if table or hasattr(data, "dims") else data
        measurements, numbered, Y = _described(data, m, n)
        numbered = not data.row_names if table else numbered  # an index from 1 on holds names
        sizes = np.abs(A).max(axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        S, unit = in_own_units(S)
        S = S * sizes[:, None]
        level = np.nan_to_num(np.asarray(separation.noise, dtype=np.float64) / unit, posinf=0.0)
        smooth, background = None, None
        if separation.background is not None:
            smooth, background = separation.background.weights / unit, separation.background.basis
        noise = scaled(spread(S, background, None if Y is None else ~np.isnan(Y)), level**2)
        return cls(
            A / sizes, S, sizes, noise, level, unit, measurements, numbered, _checked_names(names, r), Y,
            data if isinstance(data, io.Dataset) else None, background, smooth, separation.outliers,
        )  # fmt: skip

    @property
    def seen(self) -> NDArray:
        """(m, r) whether the data say anything about a weight."""
        return np.isfinite(self.noise)

    @property
    def usable(self) -> NDArray:
        """(m, r) whether a weight can be a standard: its noise is below the largest weight of all."""
        return self.noise < 1

    @property
    def m(self) -> int:
        """Number of measurements."""
        return len(self.A)

    @property
    def r(self) -> int:
        """Number of sources."""
        return len(self.S)

    @property
    def fit(self) -> NDArray:
        """(m, n) what sources and background say of the data, in units of `unit`."""
        found = self.A @ self.S
        if self.smooth is not None and self.background is not None:
            found += self.smooth @ self.background
        return np.asarray(found)

    @property
    def spectra(self) -> NDArray | None:
        """(m, n) the data in units of `unit`, at outliers the fit; None without data or with gaps."""
        if self.Y is None or np.isnan(self.Y).any():
            return None
        found = self.Y / self.unit
        if self.outliers is not None and len(self.outliers):
            places = tuple(self.outliers.T)
            found[places] = self.fit[places]
        return np.asarray(found)

    def signed(self) -> "Sources":
        """Return sources whose weights may be negative, as the data say without a limit at 0.

        A source that contains less than nothing of another substance has a weight of 0 in a standard of
        this substance alone, and a regression would not see it. Without data, weights remain.
        """
        if self.Y is None:
            return self
        rows = self.S if self.background is None else np.vstack([self.S, self.background])
        seen = ~np.isnan(self.Y)
        rest = np.where(seen, self.Y / self.unit - self.fit, 0.0)
        if self.outliers is not None and len(self.outliers):
            rest[tuple(self.outliers.T)] = 0.0
        change = (rest @ rows.T)[:, None] @ np.linalg.pinv(_grams(rows, seen), hermitian=True)
        used = (self.A == 0).any(axis=1)[:, None] & self.seen
        return replace(self, A=self.A + np.where(used, change[:, 0, : self.r], 0.0))

    def index_of(self, name: str) -> int | None:
        """Return the source of a name, None if no source has it."""
        found = [i for i, one in enumerate(self.names) if one and one.casefold() == name.casefold()]
        if len(found) > 1:
            raise ArgumentError(
                "sources {} and {} both have the name {!r}: they may be one substance in two parts. "
                "Separate one source less, or give them different {}.",
                *(found[0] + 1, found[1] + 1, name, option("names")),
            )
        return found[0] if found else None

    def blank(
        self,
        values: NDArray,
        units: tuple[str, ...],
        level: float,
        how: str,
        which: Sequence[int | None] | None = None,
    ) -> Amounts:
        """Return amounts of some sources, by default all, without intervals and limits.

        None is a substance without a source of its own.
        """
        which = range(self.r) if which is None else which
        shape, k = values.shape, len(which)
        return Amounts(
            values=values,
            low=np.full(shape, np.nan),
            high=np.full(shape, np.nan),
            measurements=self.measurements,
            substances=tuple("" if i is None else self.names[i] or f"source {i + 1}" for i in which),
            sources=tuple(which),
            units=units,
            detection=np.full(k, np.nan),
            below=np.zeros(shape, dtype=bool),
            outside=np.zeros(shape, dtype=bool),
            hidden=np.zeros(k, dtype=bool),
            leave_one_out=np.full(k, np.nan),
            known=np.full(shape, np.nan),
            predicted=np.full(shape, np.nan),
            by=tuple("" if i is None else f"source {i + 1}" for i in which),
            factors=np.full(k, np.nan),
            level=level,
            how=how,
            row_axis=None if self.axis is None else self.axis.row_axis,
            row_label="" if self.axis is None else self.axis.row_label,
        )


def entire(known: NDArray) -> NDArray:
    """Return (m,) whether a measurement knows all sources that any measurement knows."""
    return np.asarray(known[:, known.any(axis=0)].all(axis=1))


def _described(data: Any, m: int, n: int) -> tuple[tuple[str, ...], bool, NDArray | None]:
    """Return names of the measurements, whether these are numbers, and the data if they were given."""
    counted = tuple(str(i + 1) for i in range(m))
    if data is None:
        return counted, True, None
    if _is_line(data):
        names = _as_names(data, m)
        return names, names == counted, None
    values = getattr(data, "Y", data)
    values = values if hasattr(values, "shape") else arguments.as_array(values, "data")
    if values.shape != (m, n):
        raise wrong_shape(values.shape, (m, n))
    Y, missing = arguments.check_observed(values, name="data")
    Y = Y.astype(np.float64)
    Y = Y if missing is None else np.where(missing, np.nan, Y)
    names = tuple(getattr(data, "names", counted))
    return names, names == counted, Y


def _is_line(data: Any) -> bool:
    """Return whether data has one entry for each measurement, as names have."""
    if isinstance(data, str) or np.isscalar(data):
        return True
    if hasattr(data, "ndim"):
        return bool(data.ndim < 2)
    return isinstance(data, Sequence) and all(np.ndim(entry) == 0 for entry in data)


def _as_names(data: Any, m: int) -> tuple[str, ...]:
    """Return names of measurements; raise an error if they are not names."""
    names = [data] if np.ndim(data) == 0 else list(data)
    if not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(
            "{} must be the data that were separated, measurements x channels, or {} names of "
            "measurements as text.",
            *(option("data"), m),
        )
    if len(names) != m:
        raise ArgumentError(
            "{} has {} names, but {} measurements were separated.", option("data"), len(names), m
        )
    return tuple(str(name) for name in names)


def _checked_names(names: Sequence[str | None] | None, r: int) -> tuple[str | None, ...]:
    """Return one name for each source, None if unknown."""
    if names is None:
        return (None,) * r
    if isinstance(names, str) or len(names) != r:
        raise ArgumentError(
            "{} must have {} names, one for each source (None if unknown).", option("names"), r
        )
    return tuple(None if name is None else str(name).strip() or None for name in names)


def spread(S: NDArray, background: NDArray | None, seen: NDArray | None) -> NDArray:
    """Return (m, r) or (1, r) variances of weights of S that are fitted to noise of variance 1.

    Only observed entries count, and a background is fitted too. The variance is infinite if the observed
    entries do not show a source, or do not separate it from the others.
    """
    r = len(S)
    rows = S if background is None else np.vstack([S, background])
    tops = np.abs(rows).max(axis=1)
    empty = tops == 0
    tops[empty] = 1.0
    sizes = tops * np.where(empty, 1.0, np.linalg.norm(rows / tops[:, None], axis=1))
    rows = rows / sizes[:, None]
    grams = _grams(rows, seen) + np.diag(empty)  # an empty source does not disturb the others
    values, vectors = np.linalg.eigh(grams)
    part, shown = vectors[:, :r] ** 2, values[:, None] > UNOBSERVED_ENERGY
    lost = np.sum(part * ~shown, axis=2) > MAX_UNOBSERVED_PART
    found = np.sum(np.where(shown, part / np.where(shown, values[:, None], 1), 0), axis=2)
    with np.errstate(over="ignore"):
        return np.where(lost, np.inf, found / sizes[:r] ** 2)


def _grams(rows: NDArray, seen: NDArray | None) -> NDArray:
    """Return (m, k, k) products of rows over the observed channels, (1, k, k) if these are all."""
    if seen is None or seen.all():
        return np.asarray(rows @ rows.T)[None]
    pairs = (rows[:, None] * rows).reshape(len(rows) ** 2, -1)
    return np.asarray((seen @ pairs.T).reshape(-1, len(rows), len(rows)))


def scaled(variances: NDArray, by: NDArray) -> NDArray:
    """Return (m, r) variances times one number for each measurement; infinite ones stay infinite."""
    lost = np.isinf(variances)
    return np.where(lost, np.inf, np.where(lost, 0, variances) * by[:, None])
