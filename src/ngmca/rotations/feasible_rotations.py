"""Other factorisations of a fitted signal: A T and T^-1 S, as far as constraints and noise allow them.

The signal A S does not change under an invertible T (r, r), and for most T an entry becomes negative or
breaks another constraint. Columns of T are scaled to 1 on the diagonal, because a scale is no ambiguity.
For one source after the other,

    max_T  +-log(|a_k| |s_k|) - rho/2 P(T)

pushes its contribution up or down. P is how far A T and T^-1 S are from the nearest arrays that keep the
constraints, in units of the noise. Then these nearest arrays are taken, so that every end keeps the
constraints exactly, and what they change in the signal is its deviance. rho is such that the deviance is
the largest that the noise can hide.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Projection = Callable[[NDArray], NDArray]  # returns the nearest array that keeps the constraints
# (nearest, M): how far a column of A moves off its nearest one if it moves by each column of M
Derivative = Callable[[NDArray, NDArray], NDArray]
CLOSE = 0.9  # a deviance above this share of its limit is at the limit
SAME = 1e-5  # relative change of a contribution that is none
SETTLED = 1e-2  # largest derivative of a logarithm at which a push has converged
FIRST = 1e-3  # rho times the limit: rather too soft, because stiff constraints stop a push too early
MAX_TRIES, MAX_STEPS, FARTHEST = 16, 100, 30.0  # values of rho, steps for each, factor between two
SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class End:
    """One end: the smallest or largest contribution of a source."""

    T: NDArray
    deviance: float
    converged: bool


@dataclass(frozen=True, eq=False)
class Rotations:
    """What is pushed: columns of A have norm 1, and entries of A S are in units of the noise.

    Attributes
    ----------
    A, S : arrays
        Factors of the fitted signal. S may have further columns at its end, which belong to no channel.
    plain : (m,) array
        What makes entries of A comparable between measurements: their noise levels.
    channels : int
        Number of columns of S that are channels.
    free : (r, r) array of bool
        Entries of T that may differ from the identity.
    nearest : pair of callables
        Return the nearest A and the nearest S that keep the constraints.
    shapes : mapping
        For each column of A that has a shape, how its distance from that shape changes.
    """

    A: NDArray
    S: NDArray
    plain: NDArray
    channels: int
    free: NDArray
    nearest: tuple[Projection, Projection]
    shapes: Mapping[int, Derivative] = field(default_factory=dict)
    _grams: tuple[NDArray, NDArray, NDArray] = field(init=False)
    _step: NDArray = field(init=False)

    def __post_init__(self) -> None:
        S, plain = self.S[:, : self.channels], self.A * self.plain[:, None]
        size = np.linalg.norm(S, axis=1)
        object.__setattr__(self, "_grams", (plain.T @ plain, self.A.T @ self.A, S @ S.T))
        # a_k + t a_l and s_l - t s_k: t is about 1, or less where source l is weaker than source k
        step = np.minimum(1, size[:, None] / np.where(size > 0, size, 1))[self.free]
        object.__setattr__(self, "_step", step)

    def transformation(self, z: NDArray) -> NDArray:
        """Return T for the free entries, each in its own step."""
        T = np.eye(len(self.S))
        T[self.free] = z * self._step
        return T

    def end(self, k: int, sign: float, limit: float) -> End:
        """Return the end at which source k contributes least (sign -1) or most (sign 1)."""
        from scipy.optimize import minimize  # slow to load

        z, rho, low, high = np.zeros(len(self._step)), FIRST / limit, 0.0, np.inf
        best, reached = End(np.eye(len(self.S)), 0.0, False), -np.inf
        if not self.free[k].any() and not self.free[:, k].any():
            return End(best.T, 0.0, True)
        for _ in range(MAX_TRIES):
            found = minimize(
                self._pushed, z, (k, sign, rho), jac=True, hess=self._curvature, method="trust-exact",
                options={"maxiter": MAX_STEPS, "gtol": SETTLED / 3, "max_trust_radius": 10.0},
            )  # fmt: skip
            T = self.transformation(found.x)
            deviance, size = self.deviance(*self.factors(T)), sign * np.log(self.size(T, k))
            settled = bool(np.abs(found.jac).max() <= SETTLED)
            if deviance <= limit:
                gain, high = size - reached, rho
                if size > reached:
                    best, reached = End(T, deviance, settled), size
                if deviance >= CLOSE * limit or abs(gain) < SAME:
                    return best
            else:
                low = rho
            z = found.x
            # the deviance falls with the square of rho
            rho *= np.clip(np.sqrt(deviance / (limit * (1 + CLOSE) / 2)), 1 / FARTHEST, FARTHEST)
            if not low < rho < high:
                rho = np.sqrt(low * high) if low > 0 else high / FARTHEST
        return End(best.T, best.deviance, False)

    def factors(self, T: NDArray) -> tuple[NDArray, NDArray]:
        """Return A T and T^-1 S, both moved to where they keep the constraints."""
        nearest_A, nearest_S = self.nearest
        return nearest_A(self.A @ T), nearest_S(np.linalg.solve(T, self.S))

    def deviance(self, A: NDArray, S: NDArray) -> float:
        """Return how far A S is from the fitted signal: a sum of squares in units of the noise."""
        before, after = self.S[:, : self.channels], S[:, : self.channels]
        pairs = (
            (self.A, before, self.A, before, 1),
            (self.A, before, A, after, -2),
            (A, after, A, after, 1),
        )
        total = sum(sign * np.vdot(a.T @ b, s @ t.T) for a, s, b, t, sign in pairs)
        return max(float(total), 0.0)

    def size(self, T: NDArray, k: int) -> float:
        """Return the contribution |a_k| |s_k| of a source, in plain units."""
        G, _, H = self._grams
        row = np.linalg.inv(T)[k]
        square = (T[:, k] @ G @ T[:, k]) * (row @ H @ row)
        return float(np.sqrt(max(square, np.finfo(float).tiny)))  # rounding may make it negative

    def _pushed(self, z: NDArray, k: int, sign: float, rho: float) -> tuple[float, NDArray]:
        """Return what a push minimises, with its gradient."""
        T = self.transformation(z)
        if not np.isfinite(z).all() or np.linalg.det(T) < SINGULAR:
            return 1e30, np.zeros_like(z)  # behind a singular T: no way there
        G, weighted, H = self._grams
        N = np.linalg.inv(T)
        A, S = self.A @ T, N @ self.S
        far_A, far_S = (X - nearest(X) for X, nearest in zip((A, S), self.nearest, strict=True))
        column, row = weighted @ T, N @ H
        in_A, in_S = np.einsum("ij,ij->j", far_A, far_A), np.einsum("ij,ij->i", far_S, far_S)
        size_A, size_S = np.einsum("ij,ij->j", T, column), np.einsum("ij,ij->i", N, row)
        own = G @ T[:, k]
        energy = own @ T[:, k]
        if not (energy > 0 and size_S[k] > 0):
            return 1e30, np.zeros_like(z)  # sources that depend on each other: nothing is left of one
        value = rho / 2 * (in_A @ size_S + in_S @ size_A) - sign / 2 * np.log(energy * size_S[k])
        of_T = rho * (self.A.T @ (far_A * size_S) + column * in_S)
        of_N = rho * ((far_S * size_A[:, None]) @ self.S.T + row * in_A[:, None])
        of_T[:, k] -= sign * own / energy
        of_N[k] -= sign * row[k] / size_S[k]
        gradient = of_T - N.T @ of_N @ N.T
        return float(value), gradient[self.free] * self._step

    def _curvature(self, z: NDArray, k: int, sign: float, rho: float) -> NDArray:
        """Return the second derivatives of what a push minimises, those of P by Gauss and Newton."""
        T, (G, weighted, H) = self.transformation(z), self._grams
        N, r = np.linalg.inv(T), len(T)
        A, S = self.A @ T, N @ self.S
        near_A, broken_S = self.nearest[0](A), self.nearest[1](S) != S
        size_A, size_S = np.einsum("ij,ij->j", T, weighted @ T), np.einsum("ij,ij->i", N, N @ H)
        inside = np.empty((r, r, r))
        for i, (broken, size) in enumerate(zip(broken_S, rho * size_A, strict=True)):
            inside[i] = size * (S[:, broken] @ S[:, broken].T)
        outside = np.einsum("ia,ic->iac", N, N).reshape(r, -1)
        found = (outside.T @ inside.reshape(r, -1)).reshape(r, r, r, r).transpose(0, 2, 1, 3).copy()
        for i, size in enumerate(rho * size_S):
            near = near_A[:, i]
            moved = self.shapes[i](near, self.A) if i in self.shapes else self.A[near != A[:, i]]
            found[:, i, :, i] += size * (moved.T @ moved)  # of T[a, b] and T[c, d]
        own, energy = G @ T[:, k], float(T[:, k] @ G @ T[:, k])
        found[:, k, :, k] -= sign * (G - 2 * np.outer(own, own) / energy) / energy
        n, pull = N[k], H @ N[k] / size_S[k]
        inner = N @ (H / size_S[k] - 2 * np.outer(pull, pull)) @ N.T
        around = np.einsum("a,bc,d->abcd", n, N, N @ pull)
        found -= sign * (np.einsum("a,bd,c->abcd", n, inner, n) + around + around.transpose(2, 3, 0, 1))
        return found[self.free][:, self.free] * np.outer(self._step, self._step)
