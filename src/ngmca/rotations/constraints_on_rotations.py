"""Constraints on A T and T^-1 S: which entries of T are free, and the nearest arrays that keep them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngmca.constraints import (
    Constraint,
    Kinetics,
    KnownMixing,
    KnownSources,
    Monotonic,
    Unimodal,
    ZeroMixing,
    ZeroSources,
)
from ngmca.constraints.profiles import nearest_profile, shapes_of
from ngmca.result import Separation
from ngmca.rotations.feasible_rotations import Derivative, Projection

SAME_VALUE = 1e-12  # of the largest: values of one run


def free_entries(
    known: Sequence[Constraint], r: int, m: int, n: int, present: NDArray
) -> tuple[NDArray, NDArray]:
    """Return (r, r) which entries of T are free, and (r,) which columns of A are known."""
    rows, columns = ~present, ~present
    held = np.zeros(r, dtype=bool)
    for one in known:
        if isinstance(one, KnownSources):  # row l of T^-1 is that of the identity, and so is that of T
            rows = rows | ~np.isnan(one.rows(r, n)).any(axis=1)
        if isinstance(one, KnownMixing):
            held = ~np.isnan(one.columns(m, r)).any(axis=0) & (one.deviations(m, r) == 0).all(axis=0)
        if isinstance(one, Kinetics):
            held = held | one.modelled(m, r)
    return ~np.eye(r, dtype=bool) & ~rows[:, None] & ~(columns | held), held


def nearest_sources(known: Sequence[Constraint], r: int, n: int) -> Projection:
    """Return the projection of S: not negative, and 0 where it is known to be."""
    zeros = next((one.flags(r, n) for one in known if isinstance(one, ZeroSources)), None)

    def nearest(S: NDArray) -> NDArray:
        S = np.maximum(S, 0)
        if zeros is not None:
            S[:, :n][zeros] = 0
        return S

    return nearest


def nearest_mixing(known: Sequence[Constraint], separation: Separation, plain: NDArray) -> Projection:
    """Return the projection of A in units of the noise: not negative, with its zeros and shapes."""
    m, r = separation.A.shape
    zeros = next(
        (one.flags(m, r, separation.parts) for one in known if isinstance(one, ZeroMixing)), None
    )
    shapes = _shapes(known, r)

    def nearest(A: NDArray) -> NDArray:
        found = np.maximum(A, 0)
        if zeros is not None:
            found[zeros] = 0
        for k, shape in shapes.items():
            column = A[:, k] * plain  # this has the shape
            found[:, k] = nearest_profile(shape, column, 1 / plain**2, separation.parts) / plain
        return found

    return nearest


def moves_off_shapes(
    known: Sequence[Constraint], separation: Separation, plain: NDArray
) -> dict[int, Derivative]:
    """Return for each column of A with a shape how far it moves off its nearest one.

    The nearest column is constant along runs in which the column itself breaks the shape: there it is
    the mean of the run, or 0. Elsewhere it is the column itself.
    """

    def moved(near: NDArray, M: NDArray) -> NDArray:
        x, found = near * plain, np.zeros_like(M)
        for part in separation.parts:
            place = np.arange(len(plain))[part]
            steps = np.flatnonzero(np.abs(np.diff(x[place])) > SAME_VALUE * x.max(initial=0)) + 1
            for run in np.split(place, steps):
                if x[run[0]] <= 0:
                    found[run] = M[run]
                elif len(run) > 1:
                    u = 1 / plain[run] / np.linalg.norm(1 / plain[run])
                    found[run] = M[run] - np.outer(u, u @ M[run])
        return found

    return dict.fromkeys(_shapes(known, separation.A.shape[1]), moved)


def _shapes(known: Sequence[Constraint], r: int) -> dict[int, str]:
    """Return the shape of each column of A that has one."""
    found = shapes_of([one for one in known if isinstance(one, Unimodal | Monotonic)], r)
    return {k: shape for k, shape in enumerate(found) if shape != "free"}
