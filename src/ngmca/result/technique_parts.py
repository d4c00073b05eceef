"""What a separation of several techniques says about one of them."""

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngmca.io.technique import Technique
from ngmca.result.ambiguity import Ambiguity
from ngmca.result.error_bars import Marginals, Posterior
from ngmca.result.states import Background

if TYPE_CHECKING:
    from ngmca.result.factorisation import Others, Separation

Range = TypeVar("Range", "Others", Ambiguity)


def part_of(found: "Separation", one: Technique) -> "Separation":
    """Return the separation of one technique: the same A, and S on its own axis and in its own unit."""
    S = found.in_memory().S
    posterior, others, ambiguity = found.posterior, found.others, found.ambiguity
    return replace(
        found,
        S=_cut(S, one),
        lam=found.lam * one.unit,
        noise=found.noise * one.unit,
        joined=(replace(one, first=0, end=one.end - one.first, unit=1.0),),
        posterior=None if posterior is None else _bars(posterior, one),
        others=None if others is None else _range(others, one),
        ambiguity=None if ambiguity is None else _range(ambiguity, one),
        background=None if found.background is None else _background(found.background, one),
        outliers=None if found.outliers is None else outliers_of(found.outliers, one)[1],
    )


def outliers_of(outliers: NDArray, one: Technique) -> tuple[NDArray, NDArray]:
    """Return which outliers belong to a technique, and their places in it."""
    here = (outliers[:, 1] >= one.first) & (outliers[:, 1] < one.end)
    return here, outliers[here] - np.array([0, one.first])


def _cut(S: NDArray, one: Technique) -> NDArray:
    return np.ascontiguousarray(S[:, one.channels]) * S.dtype.type(one.unit)


def _range(given: Range, one: Technique) -> Range:
    return replace(given, S_low=_cut(given.S_low, one), S_high=_cut(given.S_high, one))


def _bars(given: Posterior, one: Technique) -> Posterior:
    S, active = given.S, given.S.active
    cut = Marginals(
        _cut(S.mean, one), _cut(S.sd, one), None if active is None else active[:, one.channels]
    )
    return replace(given, S=cut)


def _background(given: Background, one: Technique) -> Background:
    """Return the curves that are not 0 in this technique, with their weights."""
    basis = given.basis[:, one.channels]
    own = basis.any(axis=1)
    weights = given.weights[:, own] * one.unit
    return replace(given, weights=weights, basis=np.ascontiguousarray(basis[own]))
