"""Constraints as the chains hold them, and the constraints that a posterior does not support."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option
from ngmca.engines import InMemory, Levels
from ngmca.result import Background
from ngmca.sampling.sparse_chain import Held
from ngmca.task.known import Known

# Options that cannot be combined with a posterior, with the reason.
NOT_WITH_POSTERIOR = {
    "closure": "samples of A would have to keep the row sums",
    "profiles": "samples of A would have to keep the shapes of its columns",
    "penalised": "the posterior assumes that only the sources are sparse",
}
# Further options that cannot be combined with a posterior in wavelets, with the reason.
NOT_WITH_WAVELET_POSTERIOR = dict.fromkeys(
    ("known_sources", "known_mixing", "zero_sources", "zero_mixing", "baseline"),
    "in wavelets all entries of A and S are sampled",
)


def check_known(given: set[str], *, bands: bool = False) -> None:
    """Raise an error if one of the options, given by name, cannot be combined with a posterior.

    Parameters
    ----------
    given : set of str
        Names of the options of `separate` that were given.
    bands : bool
        Whether the posterior is the one in wavelets.
    """
    for name, reason in NOT_WITH_POSTERIOR.items():
        if name in given:
            raise ArgumentError(
                "{} cannot be combined with {}: {}. Leave out one of them.",
                *(option("posterior"), option(name), reason),
            )
    for name, reason in NOT_WITH_WAVELET_POSTERIOR.items():
        if bands and name in given:
            raise ArgumentError(
                "{} in wavelets cannot be combined with {}: {}. Leave out {}, or use {}.",
                *(option("posterior"), option(name), reason),
                *(option("posterior"), option("domain", "direct")),
            )


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


def start(
    engine: InMemory, A: NDArray, S: NDArray, known: Known, background: Background | None
) -> Start:
    """Return the start for A and S of a separation, with its baseline."""
    r = len(S)
    made = known.constraints(engine, r, Levels())
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
        column = made.mixing[:, k] * made.sizes[k]  # type: ignore[index]
        S[k] *= np.linalg.norm(A[:, k]) / np.linalg.norm(column)
        A[:, k] = column
    sources[given], mixing[:, columns] = True, True
    sized = given | columns
    if background is not None:
        A, S = np.hstack([A, background.weights / engine.unit]), np.vstack([S, background.basis])
        q = len(S) - r
        sources = np.vstack([sources, np.ones((q, S.shape[1]), bool)])
        mixing = np.pad(mixing, ((0, 0), (0, q)))
        sized = np.pad(sized, (0, q), constant_values=True)
    if not (sources.any() or mixing.any()):
        return Start(A, S, r, Held())
    return Start(A, S, r, Held(np.ascontiguousarray(sources.T), mixing, sized))
