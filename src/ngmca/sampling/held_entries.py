"""Known entries of A and S, which the chains hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.constraints import Baseline, Constraint, constraint_arrays
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
    """

    A: NDArray
    S: NDArray
    r: int
    held: Held

    def part(self, rows: NDArray, columns: NDArray) -> "Start":
        """Return some of the measurements and channels (booleans)."""
        held = self.held
        sources = held.sources[columns] if held.sources.size else held.sources
        mixing = held.mixing[rows] if held.mixing.size else held.mixing
        held = Held(np.ascontiguousarray(sources), np.ascontiguousarray(mixing), held.sized)
        return Start(self.A[rows], self.S[:, columns], self.r, held)


def start(
    engine: Engine, A: NDArray, S: NDArray, known: Sequence[Constraint], background: Background | None
) -> Start:
    """Return the start for A and S of a separation, with its baseline."""
    r = len(S)
    held = [one for one in known if not isinstance(one, Baseline)]  # its amounts are sampled
    made = constraint_arrays(held, engine, r, Levels())
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
    sized = given | columns | made.pointed | made.windows
    if background is not None:
        A, S = np.hstack([A, background.weights / engine.unit]), np.vstack([S, background.basis])
        q = len(S) - r
        sources = np.vstack([sources, np.ones((q, S.shape[1]), bool)])
        mixing = np.pad(mixing, ((0, 0), (0, q)))
        sized = np.pad(sized, (0, q), constant_values=True)
    if not (sources.any() or mixing.any()):
        return Start(A, S, r, Held())
    return Start(A, S, r, Held(np.ascontiguousarray(sources.T), mixing, sized))
