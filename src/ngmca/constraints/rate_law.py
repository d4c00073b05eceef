"""Rate laws of first and second order: read from text, and solved for amounts at given times."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, option

ARROW = re.compile(r"\s*(<->|<=>|->|=>)\s*")
TERM = re.compile(r"\s*(\d*)\s*\*?\s*([A-Za-z_][\w']*)\s*")
MOST_REACTING = 2  # molecules in one step
PRECISION = 1e-9  # of amounts, relative to the largest starting amount
WELL_CONDITIONED = 1e3  # eigenvectors, up to which rounding does not show in derivatives by differences


@dataclass(frozen=True)
class RateLaw:
    """Steps of a reaction, each with one rate constant.

    Attributes
    ----------
    species : tuple of str
        Names in the order in which they appear.
    steps : tuple of (dict, dict)
        How many molecules of which species react, and which they become.
    """

    species: tuple[str, ...]
    steps: tuple[tuple[dict[str, int], dict[str, int]], ...]

    @classmethod
    def of(cls, text: str | Sequence[str]) -> "RateLaw":
        """Return the rate law that text such as "A -> B <-> C" describes; several texts are parallel."""
        parts = [text] if isinstance(text, str) else list(text)
        steps: list[tuple[dict[str, int], dict[str, int]]] = []
        for part in (piece for one in parts for piece in re.split(r"[;,\n]", one) if piece.strip()):
            pieces = ARROW.split(part)
            if len(pieces) < 3:
                raise _unreadable(part)
            sides = [_side(side, part) for side in pieces[::2]]
            for before, arrow, after in zip(sides, pieces[1::2], sides[1:], strict=False):
                steps.append((before, after))
                if arrow.startswith("<"):
                    steps.append((after, before))
        if not steps:
            raise _unreadable(str(text))
        for before, _ in steps:
            if sum(before.values()) > MOST_REACTING:
                raise ArgumentError(
                    "{} has a step of {} molecules, {!r}: give steps of one or two.",
                    *(option("Kinetics"), sum(before.values()), _written(before)),
                )
        return cls(
            tuple(dict.fromkeys(name for step in steps for side in step for name in side)), tuple(steps)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The step that each rate constant belongs to."""
        return tuple(f"{_written(before)} -> {_written(after)}" for before, after in self.steps)

    @property
    def orders(self) -> NDArray:
        """Number of molecules that react in each step."""
        return np.array([sum(before.values()) for before, _ in self.steps])

    def amounts(self, times: NDArray, rates: NDArray, start: NDArray) -> NDArray:
        """Return the amounts (m, species) at increasing times, from the amounts at time 0."""
        change = np.array(
            [[after.get(s, 0) - before.get(s, 0) for s in self.species] for before, after in self.steps]
        )
        reacting = np.array([[before.get(s, 0) for s in self.species] for before, _ in self.steps])
        if (self.orders == 1).all():
            return _linear(times, (change * rates[:, None]).T @ reacting, start)
        return _integrated(times, change.T * rates, reacting, start)


def _side(text: str, whole: str) -> dict[str, int]:
    """Return the molecules on one side of an arrow."""
    found: dict[str, int] = {}
    for term in text.split("+"):
        match = TERM.fullmatch(term)
        if match is None:
            raise _unreadable(whole)
        found[match[2]] = found.get(match[2], 0) + int(match[1] or 1)
    return found


def _written(side: dict[str, int]) -> str:
    return " + ".join(f"{count} {name}" if count > 1 else name for name, count in side.items())


def _unreadable(text: str) -> ArgumentError:
    return ArgumentError(
        "{} cannot read {!r}: write steps as 'A -> B -> C', 'A + B -> C', '2 A -> B' or 'A <-> B'.",
        *(option("Kinetics"), text),
    )


def _linear(times: NDArray, K: NDArray, start: NDArray) -> NDArray:
    """Return the solution of dc/dt = K c."""
    if not np.isfinite(K).all():
        return np.full((len(times), len(start)), np.nan)
    values, vectors = np.linalg.eig(K)
    if np.linalg.cond(vectors) < WELL_CONDITIONED:
        weights = np.linalg.solve(vectors, start.astype(vectors.dtype))
        found = np.maximum(((np.exp(np.outer(times, values)) * weights) @ vectors.T).real, 0)
        found[times == 0] = start  # without rounding
        return found
    return _by_steps(times, K, start)


def _by_steps(times: NDArray, K: NDArray, start: NDArray) -> NDArray:
    """Return the solution of dc/dt = K c, also where two rate constants are equal.

    Steps between times that are equal share one exponential of a matrix.
    """
    from scipy.linalg import expm  # takes its time to load: not before it is needed

    steps, unit = np.diff(times, prepend=0.0), float(times[-1]) or 1.0
    different, which = np.unique((steps / unit).round(12), return_inverse=True)
    powers = expm(K * (unit * different)[:, None, None])
    found, now = np.empty((len(times), len(start))), start.astype(np.float64)
    for i, k in enumerate(which):
        now = powers[k] @ now
        found[i] = now
    return np.maximum(found, 0)


def _integrated(times: NDArray, flow: NDArray, reacting: NDArray, start: NDArray) -> NDArray:
    """Return the solution of dc/dt = flow @ (products of the amounts that react)."""
    from scipy.integrate import odeint  # takes its time to load: not before it is needed

    def slope(c: NDArray, t: float) -> NDArray:
        return np.asarray(flow @ np.prod(np.maximum(c, 0) ** reacting, axis=1))

    def jacobian(c: NDArray, t: float) -> NDArray:
        c = np.maximum(c, 0)
        found = np.empty((len(reacting), len(c)))
        for j in range(len(c)):
            less = reacting.copy()
            less[:, j] = np.maximum(less[:, j] - 1, 0)
            found[:, j] = reacting[:, j] * np.prod(c**less, axis=1)
        return np.asarray(flow @ found)

    begun = np.concatenate([[0.0], times])
    tight = PRECISION * float(start.max())
    found = odeint(
        slope, start.astype(float), begun, Dfun=jacobian, rtol=PRECISION, atol=tight, mxstep=5000
    )
    return np.maximum(found[1:], 0)
