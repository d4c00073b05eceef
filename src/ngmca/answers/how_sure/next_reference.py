"""What to measure next: the reference that would narrow the range of what fits as well the most.

Each end of the range is a move of A and S away from the separation. What may be true is taken as random
multiples of these moves. A reference measures some of the entries, to `PRECISION` of their size. What
it leaves of the moves follows from the conditional distribution of the multiples: no new fit is needed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.wording import percent
from ngmca.result import Ambiguity, Separation

PRECISION = 0.02  # of a reference, over the norm of what it measures
CONSTANT_SUMS = 1e-6  # relative spread of the sums of rows of A up to which they are a known total
WORTH_SAYING = 0.05  # width of the range, over the sources, from which a reference is worth its work


@dataclass(frozen=True)
class Reference:
    """A possible reference, and how much it would narrow the range.

    Attributes
    ----------
    kind : {"spectrum", "measurement"}
        The pure spectrum of a source, or the amounts of all sources in one measurement.
    index : int
        The source, or the measurement, from 0.
    narrowing : float
        Share of the range, in squares over all entries of A and S, that would be gone.
    """

    kind: str
    index: int
    narrowing: float


def references(separation: Separation, found: Ambiguity | None = None) -> list[Reference]:
    """Return possible references, the one that narrows the range most first.

    The amounts in one measurement count only if rows of A sum to a known total. Otherwise they say
    nothing but the scale of each source.

    Parameters
    ----------
    separation : Separation
        A separation.
    found : Ambiguity, optional
        Its range; by default that which it holds.

    Returns
    -------
    list of Reference
        One for each source, and one for each measurement if amounts have a known scale; empty if there
        is no range.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> S = ngmca.simulate.bands(n=200, r=2, seed=0).S
    >>> shares = np.linspace(0.3, 0.7, 20)
    >>> Y = np.outer(shares, S[0]) + np.outer(1 - shares, S[1])
    >>> Y += 0.01 * np.random.default_rng(0).standard_normal(Y.shape)
    >>> known = [ngmca.Closure()]
    >>> separation = ngmca.separate(Y, 2, constraints=known)
    >>> best = ngmca.references(separation, ngmca.ambiguity(Y, separation, constraints=known))[0]
    >>> best.kind, bool(best.narrowing > 0.3)
    ('measurement', True)
    """
    found = separation.ambiguity if found is None else found
    if found is None:
        return []
    A, S = (np.asarray(part, dtype=np.float64) for part in (separation.A, separation.S))
    closed = _sums_are_constant(A)
    moves = [_move(A, S, T, closed=closed) for T in found.T.reshape(-1, *found.T.shape[-2:])]
    moved_A, moved_S = (np.stack(part, axis=-1) for part in zip(*moves, strict=True))
    total: NDArray = sum(np.einsum("ijd,ije->de", part, part) for part in (moved_A, moved_S))
    if not total.any():
        return []
    made = [_narrowing("spectrum", k, one, total) for k, one in enumerate(moved_S)]
    if closed:
        made += [
            _narrowing("measurement", i, one, total) for i, one in enumerate(moved_A * len(A) ** 0.5)
        ]
    return sorted(made, key=lambda one: -one.narrowing)


def reference_sentences(separation: Separation) -> list[str]:
    """Return which reference would help most, in words; nothing if the range is narrow."""
    found = separation.ambiguity
    if found is None or found.relative(separation.S).max(initial=0) < WORTH_SAYING:
        return []
    made = references(separation)
    best = [
        next((one for one in made if one.kind == kind), None) for kind in ("spectrum", "measurement")
    ]
    words = {
        "spectrum": "the pure spectrum of source {}",
        "measurement": "the amounts in measurement {}",
    }
    parts = [
        f"{words[one.kind].format(one.index + 1)} (about {percent(one.narrowing)} narrower)"
        for one in sorted((one for one in best if one is not None), key=lambda one: -one.narrowing)
    ]
    return [f"What to measure next: {', or '.join(parts)}."] if parts else []


def _sums_are_constant(A: NDArray) -> bool:
    """Whether rows of A sum to one total, so that amounts have a known scale."""
    sums = A.sum(axis=1)
    return bool(sums.max() - sums.min() <= CONSTANT_SUMS * sums.max())


def _move(A: NDArray, S: NDArray, T: NDArray, *, closed: bool) -> tuple[NDArray, NDArray]:
    """Return by how much an end differs: A and S over the norms of columns and rows.

    A closed A keeps its sums, otherwise sources keep their norms.
    """
    mixing, sources = A @ T, np.linalg.solve(T, S)
    if closed:
        scale = np.linalg.lstsq(mixing, A.sum(axis=1), rcond=None)[0]
    else:
        scale = np.linalg.norm(sources, axis=1) / np.maximum(np.linalg.norm(S, axis=1), 1e-300)
    scale = np.where(scale > 0, scale, 1.0)
    norms = (np.maximum(np.linalg.norm(X, axis=axis), 1e-300) for X, axis in ((A, 0), (S, 1)))
    of_A, of_S = norms
    return (mixing * scale - A) / of_A, (sources / scale[:, None] - S) / of_S[:, None]


def _narrowing(kind: str, index: int, seen: NDArray, total: NDArray) -> Reference:
    """Return what a reference that sees these entries (k, ends) of all moves would narrow."""
    left = np.linalg.inv(np.eye(len(total)) + seen.T @ seen / PRECISION**2)
    return Reference(kind, index, float(1 - np.vdot(left, total) / np.trace(total)))
