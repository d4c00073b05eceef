"""Known entries of A and S, which the chains hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ngmca.constraints import Baseline, Closure, Constraint, Monotonic, Unimodal, constraint_arrays
from ngmca.constraints.profiles import nearest_profile, shapes_of
from ngmca.engines import Engine, Levels
from ngmca.result import Background
from ngmca.sampling.sparse_chain import Held


@dataclass(frozen=True, eq=False)
class Start:
    """Where the chains start, in units of the engine, with all known entries in place and fixed.

    Attributes
    ----------
    A : ndarray of shape (m, R)
        Mixing.
    S : ndarray of shape (R, n)
        Sources: r sources, then the rows of a baseline.
    r : int
        Number of sources.
    held : Held
        Entries that are fixed.
    profiles : Profiles
        What is known about columns and rows of A.
    """

    A: NDArray
    S: NDArray
    r: int
    held: Held
    profiles: "Profiles"

    def part(self, rows: NDArray, columns: NDArray) -> "Start":
        """Return some of the measurements and channels (booleans)."""
        held = self.held
        sources = held.sources[columns] if held.sources.size else held.sources
        mixing = held.mixing[rows] if held.mixing.size else held.mixing
        held = Held(np.ascontiguousarray(sources), np.ascontiguousarray(mixing), held.sized)
        return Start(self.A[rows], self.S[:, columns], self.r, held, self.profiles.part(rows))


@dataclass(frozen=True, eq=False)
class Profiles:
    """What is known about the columns and the rows of A, beside single entries.

    Attributes
    ----------
    data_set : ndarray of int of shape (m,)
        The data set of each measurement: a shape holds within each of them.
    shapes : tuple of str
        The shape of each column, "free" where nothing is known; empty if no column has one.
    sized : bool
        Whether sums, or limits of sums, give a scale to the columns.
    closed : bool
        Whether the sums of whole rows are known.
    """

    data_set: NDArray
    shapes: tuple[str, ...] = ()
    sized: bool = False
    closed: bool = False
    _parts: tuple[NDArray, ...] = field(init=False)

    def __post_init__(self) -> None:
        parts = tuple(np.flatnonzero(self.data_set == one) for one in np.unique(self.data_set))
        object.__setattr__(self, "_parts", parts)

    @classmethod
    def of(cls, known: Sequence[Constraint], r: int, m: int, parts: Sequence[slice]) -> "Profiles":
        """Return what these constraints say."""
        data_set = np.zeros(m, int)
        for number, part in enumerate(parts):
            data_set[part] = number
        profiles = [one for one in known if isinstance(one, Unimodal | Monotonic)]
        closures = [one for one in known if isinstance(one, Closure)]
        closed = any(one.sums_up_all for one in closures)
        return cls(data_set, shapes_of(profiles, r) if profiles else (), bool(closures), closed)

    @property
    def any(self) -> bool:
        """Whether anything is known."""
        return self.sized or bool(self.shapes)

    def part(self, rows: NDArray) -> "Profiles":
        """Return the same for some of the measurements."""
        return replace(self, data_set=self.data_set[rows])

    def off_shape(self, k: int, column: NDArray, levels: NDArray) -> NDArray:
        """Return how far a column of A, with noise of these levels, is from the nearest of its shape."""
        if k >= len(self.shapes) or self.shapes[k] == "free":
            return np.minimum(column, 0)
        return column - nearest_profile(self.shapes[k], column, levels**-2.0, self._parts)


def start(
    engine: Engine,
    A: NDArray,
    S: NDArray,
    known: Sequence[Constraint],
    background: Background | None,
    parts: Sequence[slice] = (slice(None),),
) -> Start:
    """Return the start for A and S of a separation, with its baseline."""
    r = len(S)
    profiles = Profiles.of(known, r, len(A), parts)
    held = [one for one in known if not isinstance(one, Baseline)]  # its amounts are sampled
    made = constraint_arrays(held, engine, r, Levels(), tuple(parts))
    given, columns = made.given.copy(), made.held.copy()
    A, S = A.copy(), S.copy()
    sources, mixing = np.zeros(S.shape, bool), np.zeros(A.shape, bool)
    if made.zero_sources is not None:
        sources |= made.zero_sources
    if made.zero_mixing is not None:
        mixing |= made.zero_mixing
    S[sources], A[mixing] = 0, 0
    for k in np.flatnonzero(given):
        profile = made.sources[k]  # type: ignore[index]
        scale = float(S[k] @ profile / (profile @ profile)) or 1.0
        S[k], A[:, k] = (profile, A[:, k] * scale) if made.rigid else (profile * scale, A[:, k])
    for k in np.flatnonzero(columns):
        column = made.mixing[:, k]  # type: ignore[index]
        S[k] *= np.linalg.norm(A[:, k]) / np.linalg.norm(column)
        A[:, k] = column
    sources[given], mixing[:, columns] = True, True
    if made.mixing is not None:
        some = ~np.isnan(made.mixing)
        A[some], mixing = made.mixing[some], mixing | some
    for k in np.flatnonzero(made.windows):
        some = ~np.isnan(made.sources[k])  # type: ignore[index]
        values = made.sources[k, some]  # type: ignore[index]
        scale = 1.0 if made.rigid else float(S[k, some] @ values / (values @ values)) or 1.0
        S[k, some], sources[k, some] = values * scale, True
    sized = given | columns | made.pointed | made.windows | profiles.sized
    if background is not None:
        A, S = np.hstack([A, background.weights / engine.unit]), np.vstack([S, background.basis])
        q = len(S) - r
        sources = np.vstack([sources, np.ones((q, S.shape[1]), bool)])
        mixing = np.pad(mixing, ((0, 0), (0, q)))
        sized = np.pad(sized, (0, q), constant_values=True)
    if not (sources.any() or mixing.any() or profiles.sized):
        return Start(A, S, r, Held(), profiles)
    return Start(A, S, r, Held(np.ascontiguousarray(sources.T), mixing, sized), profiles)
