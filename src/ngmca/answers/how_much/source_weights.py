"""Weights of sources with their noise, and the names of all that is measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import io
from ngmca._support import arguments
from ngmca.answers.how_much.amounts import Amounts
from ngmca.engines import in_own_units
from ngmca.io.conversion import is_dataframe
from ngmca.plotting import sources_plot as views
from ngmca.result import Separation

FLAT = 1e-12  # part of the energy of a source below which a direction was not observed
SHARED = 1e-8  # part of a source in such a direction from which on it was not observed either


@dataclass(frozen=True, eq=False)
class Sources:
    """What a separation found, in columns of A of largest entry 1, float64."""

    A: NDArray = field(repr=False)  # (m, r)
    S: NDArray = field(repr=False)  # (r, n), in units of `unit`
    sizes: NDArray = field(repr=False)  # (r,) the largest entries that columns of A had
    noise: NDArray = field(repr=False)  # (m, r) variances of A through noise, inf where not observed
    level: NDArray = field(repr=False)  # (m,) noise of the data, in units of `unit`
    unit: float
    measurements: tuple[str, ...]
    numbered: bool  # whether these are numbers from 1, not names
    names: tuple[str | None, ...]
    Y: NDArray | None = field(default=None, repr=False)
    axis: Any = field(default=None, repr=False)  # a Dataset with an axis, if that was given
    background: NDArray | None = field(default=None, repr=False)  # its rows

    @classmethod
    def of(cls, separation: Separation, data: Any, names: Any) -> "Sources":
        """The sources of a separation, and what is known about them."""
        A, S = (np.asarray(part, dtype=np.float64) for part in separation.answer)
        (m, r), n = A.shape, S.shape[1]
        A = np.where(S.any(axis=1), A, 0.0)  # weights of an empty source say nothing
        table = is_dataframe(data)
        data = io.as_dataset(data) if table or hasattr(data, "dims") else data
        measurements, numbered, Y = _described(data, m, n)
        numbered = not data.row_names if table else numbered  # an index from 1 on holds names
        sizes = np.abs(A).max(axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        S, unit = in_own_units(S)
        S = S * sizes[:, None]
        level = np.nan_to_num(np.asarray(separation.noise, dtype=np.float64) / unit, posinf=0.0)
        background = None if separation.background is None else separation.background.basis
        noise = scaled(spread(S, background, None if Y is None else ~np.isnan(Y)), level**2)
        return cls(
            A / sizes, S, sizes, noise, level, unit, measurements, numbered, _checked_names(names, r), Y,
            data if hasattr(data, "axis_unit") else None, background,
        )  # fmt: skip

    @property
    def seen(self) -> NDArray:
        """(m, r) whether the data say anything about a weight."""
        return np.isfinite(self.noise)

    @property
    def told(self) -> NDArray:
        """(m, r) whether noise of a weight is less than the largest weight: else it is no standard."""
        return self.noise < 1

    @property
    def m(self) -> int:
        """Number of measurements."""
        return len(self.A)

    @property
    def r(self) -> int:
        """Number of sources."""
        return len(self.S)

    def called(self, name: str) -> int | None:
        """The source of a name, None where no source has it."""
        found = [i for i, one in enumerate(self.names) if one and one.casefold() == name.casefold()]
        if len(found) > 1:
            raise ValueError(
                f"sources {found[0] + 1} and {found[1] + 1} are both called {name!r}: they may be one "
                "substance in two parts. Separate with one source less, or give them different names."
            )
        return found[0] if found else None

    def blank(
        self,
        values: NDArray,
        units: tuple[str, ...],
        level: float,
        how: str,
        which: Sequence[int] | None = None,
    ) -> Amounts:
        """Amounts of some sources, of all by default, of which nothing else is known yet."""
        which = range(self.r) if which is None else which
        shape, k = values.shape, len(which)
        return Amounts(
            values=values,
            low=np.full(shape, np.nan),
            high=np.full(shape, np.nan),
            measurements=self.measurements,
            substances=tuple(self.names[i] or f"source {i + 1}" for i in which),
            sources=tuple(which),
            units=units,
            detection=np.full(k, np.nan),
            below=np.zeros(shape, dtype=bool),
            outside=np.zeros(shape, dtype=bool),
            leave_one_out=np.full(k, np.nan),
            known=np.full(shape, np.nan),
            weights=self.A[:, list(which)] * self.sizes[list(which)],
            factors=np.full(k, np.nan),
            level=level,
            how=how,
        )


def entire(known: NDArray) -> NDArray:
    """(m,) whether all sources of a measurement are known that are known anywhere."""
    return np.asarray(known[:, known.any(axis=0)].all(axis=1))


def _described(data: Any, m: int, n: int) -> tuple[tuple[str, ...], bool, NDArray | None]:
    """Names of the measurements, whether these only count, and the data where they were given."""
    counted = tuple(str(i + 1) for i in range(m))
    if data is None:
        return counted, True, None
    if _is_line(data):
        names = _as_names(data, m)
        return names, names == counted, None
    values = getattr(data, "Y", data)
    values = values if hasattr(values, "shape") else arguments.as_array(values, "data")
    if values.shape != (m, n):
        raise ValueError(views.misfit(values.shape, (m, n)))
    Y, missing = arguments.check_observed(values, name="data")
    Y = Y.astype(np.float64)
    Y = Y if missing is None else np.where(missing, np.nan, Y)
    names = tuple(getattr(data, "names", counted))
    return names, names == counted, Y


def _is_line(data: Any) -> bool:
    """Whether it has one entry a measurement, as names have, and is no table of numbers."""
    if isinstance(data, str) or np.isscalar(data):
        return True
    if hasattr(data, "ndim"):
        return bool(data.ndim < 2)
    return isinstance(data, Sequence) and all(np.ndim(entry) == 0 for entry in data)


def _as_names(data: Any, m: int) -> tuple[str, ...]:
    """Names of measurements, refused where they are none."""
    names = [data] if np.ndim(data) == 0 else list(data)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"data must be what was separated, measurements x channels, or {m} names of measurements, "
            "which are text."
        )
    if len(names) != m:
        raise ValueError(f"data names {len(names)} measurements, and {m} were separated.")
    return tuple(str(name) for name in names)


def _checked_names(names: Any, r: int) -> tuple[str | None, ...]:
    """One name a source, None where it has none."""
    if names is None:
        return (None,) * r
    if isinstance(names, str) or len(names) != r:
        raise ValueError(f"names must be {r} names, one a source (None where it is not known).")
    return tuple(None if name is None else str(name).strip() or None for name in names)


def spread(S: NDArray, background: NDArray | None, seen: NDArray | None) -> NDArray:
    """(m, r) or (1, r) variances of weights of S that are fitted to noise of variance 1.

    Only what was seen counts, and a background that is fitted besides. The variance is infinite where
    nothing tells a source from none, or from the others.
    """
    r = len(S)
    rows = S if background is None else np.vstack([S, background])
    tops = np.abs(rows).max(axis=1)
    empty = tops == 0
    tops[empty] = 1.0
    sizes = tops * np.where(empty, 1.0, np.linalg.norm(rows / tops[:, None], axis=1))
    rows = rows / sizes[:, None]
    if seen is None or seen.all():
        grams = (rows @ rows.T)[None]
    else:
        pairs = (rows[:, None] * rows).reshape(len(rows) ** 2, -1)
        grams = (seen @ pairs.T).reshape(-1, len(rows), len(rows))
    grams = grams + np.diag(empty)  # an empty source is in nobody's way
    values, vectors = np.linalg.eigh(grams)
    part, told = vectors[:, :r] ** 2, values[:, None] > FLAT
    lost = np.sum(part * ~told, axis=2) > SHARED
    found = np.sum(np.where(told, part / np.where(told, values[:, None], 1), 0), axis=2)
    with np.errstate(over="ignore"):
        return np.where(lost, np.inf, found / sizes[:r] ** 2)


def scaled(variances: NDArray, by: NDArray) -> NDArray:
    """(m, r) variances of spread times a number a measurement; what is infinite stays so."""
    lost = np.isinf(variances)
    return np.where(lost, np.inf, np.where(lost, 0, variances) * by[:, None])
