"""Weights of sources with their noise, and the names of all that is measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments, views
from ngmca.data import in_own_units
from ngmca.diagnosis.answers.amounts import Amounts
from ngmca.result import Separation


@dataclass(frozen=True, eq=False)
class Sources:
    """What a separation found, in columns of A of largest entry 1, float64."""

    A: NDArray = field(repr=False)  # (m, r)
    S: NDArray = field(repr=False)  # (r, n), in units of `unit`
    sizes: NDArray = field(repr=False)  # (r,) the largest entries that columns of A had
    noise: NDArray = field(repr=False)  # (m, r) variances of A through the noise of the data
    level: NDArray = field(repr=False)  # (m,) noise of the data, in units of `unit`
    unit: float
    measurements: tuple[str, ...]
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
        measurements, Y = _described(data, m, n)
        sizes = np.abs(A).max(axis=0)
        sizes = np.where(sizes > 0, sizes, 1.0)
        S, unit = in_own_units(S)
        S = S * sizes[:, None]
        level = np.nan_to_num(np.asarray(separation.noise, dtype=np.float64) / unit, posinf=0.0)
        background = None if separation.background is None else separation.background.basis
        noise = _noise(S, level, background, None if Y is None else ~np.isnan(Y))
        return cls(
            A / sizes, S, sizes, noise, level, unit, measurements, _checked_names(names, r), Y,
            data if hasattr(data, "axis_unit") else None, background,
        )  # fmt: skip

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


def _described(data: Any, m: int, n: int) -> tuple[tuple[str, ...], NDArray | None]:
    """Names of the measurements, and the data themselves where they were given."""
    if data is None or hasattr(data, "columns") or hasattr(data, "positions"):
        _, _, names = views.described(data, m, n)
        values = None if data is None else getattr(data, "Y", data)
        return tuple(names), None if values is None else np.asarray(values, dtype=np.float64)
    if isinstance(data, np.ndarray) and data.ndim == 2:
        if data.shape != (m, n):
            raise ValueError(views.misfit(data.shape, (m, n)))
        return tuple(str(i + 1) for i in range(m)), arguments.as_array(data, "data").astype(np.float64)
    names = [data] if isinstance(data, str) else [str(name) for name in data]
    if len(names) != m:
        raise ValueError(f"data names {len(names)} measurements, and {m} were separated.")
    return tuple(names), None


def _checked_names(names: Any, r: int) -> tuple[str | None, ...]:
    """One name a source, None where it has none."""
    if names is None:
        return (None,) * r
    if isinstance(names, str) or len(names) != r:
        raise ValueError(f"names must be {r} names, one a source (None where it is not known).")
    return tuple(None if name is None else str(name).strip() or None for name in names)


def _noise(S: NDArray, level: NDArray, background: NDArray | None, seen: NDArray | None) -> NDArray:
    """(m, r) variances of weights that are fitted to noisy data, where these were observed."""
    r = len(S)
    if background is not None:
        top = float(np.abs(background).max()) or 1.0
        S = np.vstack([S, background / top * (np.abs(S).max() or 1.0)])
    if seen is None or seen.all():
        spread = np.diagonal(np.linalg.pinv(S @ S.T, hermitian=True))[None, :r]
    else:
        pairs = (S[:, None] * S).reshape(len(S) ** 2, -1)
        grams = (seen @ pairs.T).reshape(-1, len(S), len(S))
        spread = np.diagonal(np.linalg.pinv(grams, hermitian=True), axis1=1, axis2=2)[:, :r]
    return np.maximum(spread, 0) * level[:, None] ** 2
