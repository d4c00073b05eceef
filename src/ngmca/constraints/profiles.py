"""Shapes of concentration profiles along the measurements, and profiles common to several data sets."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.arguments import check_choice, check_count
from ngmca._support.messages import ArgumentError, option
from ngmca.nnqp.pooling import best_column
from ngmca.nnqp.profile_shapes import SHAPES


@dataclass(frozen=True)
class Unimodal:
    """Columns of A rise to one maximum and then fall, as elution profiles do.

    Parameters
    ----------
    sources : sequence of int, optional
        Indices of the sources whose profiles are unimodal; all of them by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.Unimodal(sources=[0])])
    >>> steps = np.sign(np.diff(found.A[:, 0]).round(12))
    >>> bool((np.diff(steps[steps != 0]) <= 0).all())  # rises, then falls
    True
    """

    sources: Sequence[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", _checked(self.sources, "Unimodal"))

    @property
    def shape(self) -> str:
        """The name of the shape."""
        return "unimodal"


@dataclass(frozen=True)
class Monotonic:
    """Columns of A only increase, or only decrease, as products and reactants of a reaction do.

    Parameters
    ----------
    direction : {"increasing", "decreasing"}
        The direction along the measurements.
    sources : sequence of int, optional
        Indices of the sources whose profiles are monotonic; all of them by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(x.Y, 2, constraints=[ngmca.Monotonic("increasing", sources=[1])])
    >>> bool((np.diff(found.A[:, 1]) >= -1e-12).all())
    True
    """

    direction: str = "increasing"
    sources: Sequence[int] | None = None

    def __post_init__(self) -> None:
        check_choice(self.direction, "direction", ("increasing", "decreasing"))
        object.__setattr__(self, "sources", _checked(self.sources, "Monotonic"))

    @property
    def shape(self) -> str:
        """The name of the shape."""
        return self.direction


@dataclass(frozen=True)
class Trilinear:
    """Profiles are the same in every data set, up to their amount, as excitation spectra are.

    The data are several data sets with the same measurements, such as the same excitations for each
    sample: ``separate([Y1, Y2, ...], r, constraints=[Trilinear()])``. If amounts differ enough between
    the data sets, this alone determines the sources.

    Parameters
    ----------
    sources : sequence of int, optional
        Indices of the sources whose profiles are common; all of them by default.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.bands(m=8, n=60, r=2, seed=0)
    >>> rng = np.random.default_rng(0)
    >>> sets = [x.A * rng.random(2) @ x.S + 0.01 * rng.standard_normal((8, 60)) for _ in range(3)]
    >>> found = ngmca.separate(sets, 2, constraints=[ngmca.Trilinear()])
    >>> profiles = found.A[:, 0].reshape(3, 8)  # of the first source in each data set
    >>> int(np.linalg.matrix_rank(profiles, tol=1e-6))
    1
    """

    sources: Sequence[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", _checked(self.sources, "Trilinear"))

    def columns(self, r: int, parts: Sequence[slice], m: int) -> tuple[int, ...]:
        """Return the sources with common profiles; raise an error if the data sets do not suit."""
        sizes = {len(range(*part.indices(m))) for part in parts}
        if len(parts) < 2 or len(sizes) > 1:
            raise ArgumentError(
                "{} needs several data sets with equally many measurements, as {}: got {}.",
                *(option("Trilinear"), "separate([Y1, Y2], r)"),
                "one data set" if len(parts) < 2 else f"{min(sizes)} and {max(sizes)} measurements",
            )
        found = tuple(range(r)) if self.sources is None else tuple(self.sources)
        if max(found) >= r:
            raise ArgumentError(
                "{} names source {}, but there are {} sources: indices go from 0 to {}.",
                *(option("Trilinear"), max(found), r, r - 1),
            )
        return found


def _checked(sources: Sequence[int] | None, name: str) -> tuple[int, ...] | None:
    """Return the indices as a tuple."""
    if sources is None:
        return None
    return tuple(check_count(k, f"sources of {name}", low=0) for k in sources)


def shapes_of(profiles: Sequence[Unimodal | Monotonic], r: int) -> tuple[str, ...]:
    """Return the shape of each of r profiles, "free" where nothing is known."""
    shapes = ["free"] * r
    for profile in profiles:
        name = type(profile).__name__
        for k in range(r) if profile.sources is None else profile.sources:
            if k >= r:
                raise ArgumentError(
                    "{} names source {}, but there are {} sources: indices go from 0 to {}.",
                    *(option(name), k, r, r - 1),
                )
            if shapes[k] not in ("free", profile.shape):
                raise ArgumentError(
                    "source {} cannot be both {} and {}: give it one shape.", k, shapes[k], profile.shape
                )
            shapes[k] = profile.shape
    return tuple(shapes)


def nearest_profile(
    shape: str, column: NDArray, weights: NDArray, parts: Sequence[slice | NDArray]
) -> NDArray:
    """Return the nearest column of a shape, in each part of the measurements, by weighted squares."""
    found = np.empty_like(column)
    for part in parts:
        h = weights[part]
        x, points = np.empty(len(h)), np.full(len(h), np.nan)
        best_column(SHAPES[shape], h * column[part], h, np.inf, points, x)
        found[part] = x
    return found
