"""What is known of A and S beforehand, as chains hold it, and what they cannot heed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.engines import InMemory, Levels
from ngmca.sampling.sparse_chain import Held
from ngmca.task.known import Known

# Options of `separate` that do not go with a posterior, and why.
REFUSED = {
    "closure": "draws of A would have to keep their sums",
    "profiles": "draws of A would have to keep their shapes",
    "penalised": "it takes the sources alone for sparse",
}
# Those that do not go with the posterior of lines and bands.
REFUSED_FOR_BANDS = dict.fromkeys(
    ("known_sources", "known_mixing", "zero_sources", "zero_mixing", "baseline"),
    "in wavelets all of A and S is drawn",
)


def check_known(given: set[str], *, bands: bool = False) -> None:
    """Refuse options of `separate`, by their names, that a posterior would not heed."""
    for name, why in REFUSED.items():
        if name in given:
            raise ValueError(f"posterior and {name} do not go together: {why}. Leave out one of them.")
    for name, why in REFUSED_FOR_BANDS.items():
        if bands and name in given:
            raise ValueError(
                f"posterior and {name} do not go together where sources are lines and bands: {why}. "
                'Leave out posterior, or take domain="direct".'
            )


@dataclass(frozen=True, eq=False)
class Start:
    """Where chains start, in units of the engine: all that is known is in its place, and is held."""

    A: NDArray  # (m, R)
    S: NDArray  # (R, n): r sources, and rows of a baseline
    r: int
    held: Held


def start(engine: InMemory, A: NDArray, S: NDArray, known: Known, background: Any) -> Start:
    """The start for A and S of a separation, with the baseline that it found."""
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
