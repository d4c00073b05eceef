"""Several chains side by side: how long they run, and what they give together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts
from ngmca.result import Marginals, Posterior
from ngmca.sampling.convergence import agreement, drifts, effective_size, split_rhat
from ngmca.sampling.sparse_chain import SparseSums

ERROR_GOAL = 0.1  # Monte Carlo error of the mean over the posterior's standard deviation
MAX_TRACE_ROWS = 1024  # samples of the parameters stored for each chain
SWEEPS_PER_UPDATE = 20  # of the progress bar
BURN = 60  # sweeps before the first sample
FIRST = 75  # samples in each half before convergence is checked for the first time
MOST = 2000  # limit of the number of sweeps

MEAN, SQUARE = -2, -1  # rows of the sums: mean and second moment

Shown = Callable[[Iterable[Any]], Iterable[Any]]


class Trace:
    """Evenly spaced rows of a long table, at most `MAX_TRACE_ROWS`."""

    def __init__(self, width: int) -> None:
        self._rows = np.empty((MAX_TRACE_ROWS, width))
        self._kept, self._stride, self._seen = 0, 1, 0

    def add(self, row: NDArray) -> None:
        """Add a row; when the table is full, every second row is dropped."""
        self._seen += 1
        if self._seen % self._stride:
            return
        if self._kept == MAX_TRACE_ROWS:
            self._rows[: MAX_TRACE_ROWS // 2] = self._rows[1::2]
            self._kept, self._stride = MAX_TRACE_ROWS // 2, 2 * self._stride
            if self._seen % self._stride:
                return
        self._rows[self._kept] = row
        self._kept += 1

    def forget_half(self) -> None:
        """Drop the older half."""
        half = self._kept // 2
        self._rows[: self._kept - half] = self._rows[half : self._kept].copy()
        self._kept -= half

    @property
    def rows(self) -> NDArray:
        """The stored rows."""
        return self._rows[: self._kept]


class Chain(Protocol):
    """A chain of one of the models."""

    @property
    def traced(self) -> NDArray:
        """The current scalar parameters."""

    def sweep(self, sums: Any = None, threads: int = 1) -> None:
        """Draw everything once, and add the sample to `sums`."""


class Track:
    """A chain and its samples: sums over an older and a newer half of equal size, and a trace."""

    def __init__(
        self, chain: Chain, sums: Callable[..., SparseSums], shape: tuple[int, int], r: int
    ) -> None:
        self.chain, self.trace = chain, Trace(chain.traced.size)
        self.older, self.newer = sums(shape, r), sums(shape, r)

    def run(self, count: int, collect: str, threads: int) -> None:
        """Run this many sweeps, and add the samples to the half named by `collect`, if any."""
        sums = getattr(self, collect) if collect else None
        for _ in range(count):
            self.chain.sweep(sums, threads)
            if sums is not None:
                self.trace.add(self.chain.traced)


@dataclass
class Chains:
    """Chains that run side by side.

    Attributes
    ----------
    tracks : list of Track
        The chains.
    threads : int
        Number of threads.
    thread_per_chain : bool
        Whether each chain runs in a thread of its own; otherwise threads work on blocks of the data.
    burn : int
        Sweeps that were dropped.
    """

    tracks: list[Track]
    threads: int
    thread_per_chain: bool
    burn: int = field(default=0, init=False)

    def run(self, n_samples: int | str, burn: int | str, shown: Shown) -> None:
        """Burn in and sample; with "auto" until the mean is accurate enough or the limit is reached."""
        first = FIRST if n_samples == "auto" else max(1, -(-int(n_samples) // 2))
        self.burn = BURN if burn == "auto" else int(burn)
        self._sweep(self.burn, "", shown)
        self._sweep(first, "older", shown)
        self._sweep(first, "newer", shown)
        while n_samples == "auto" and not self.settled:
            step, drifting = self.count // 2, burn == "auto" and self.drifting
            step = step if drifting else 2 * step
            if self.burn + self.count + step > MOST:
                break
            for track in self.tracks:
                if drifting:
                    track.older.clear()
                    track.trace.forget_half()
                track.older.merge(track.newer)
            self.burn += self.count if drifting else 0
            self._sweep(step, "newer", shown)

    def _sweep(self, count: int, collect: str, shown: Shown) -> None:
        """Run sweeps in every chain; the samples of a chain do not depend on the other chains."""
        for start in range(0, count, SWEEPS_PER_UPDATE):
            lot = min(SWEEPS_PER_UPDATE, count - start)
            inner = 1 if self.thread_per_chain else self.threads

            def work(indices: range, lot: int = lot, inner: int = inner) -> None:
                for index in indices:
                    self.tracks[index].run(lot, collect, inner)

            in_parts(work, len(self.tracks), 1, self.threads if self.thread_per_chain else 1)
            for _ in shown(range(lot)):
                pass

    @property
    def count(self) -> int:
        """Samples of each chain."""
        return self.tracks[0].older.count + self.tracks[0].newer.count

    def halves(self, name: str, which: int = MEAN) -> NDArray:
        """Return the means (chain, 2, ...) of a quantity over each half of each chain."""
        return np.stack(
            [
                [getattr(sums, name)[which] / sums.count for sums in (track.older, track.newer)]
                for track in self.tracks
            ]
        )

    def mean(self, name: str, which: int = MEAN) -> NDArray:
        """Return the mean of a quantity over all samples of all chains."""
        every = [sums for track in self.tracks for sums in (track.older, track.newer)]
        total = getattr(every[0], name)[which] / every[0].count
        for sums in every[1:]:  # one by one, because each is as large as S
            total += getattr(sums, name)[which] / sums.count
        return np.asarray(total / len(every))

    def moments(self, name: str) -> tuple[NDArray, NDArray]:
        """Return the mean and the standard deviation of a quantity."""
        mean = self.mean(name)
        return mean, np.sqrt(np.maximum(self.mean(name, SQUARE) - mean**2, 0))

    def error(self, name: str) -> float:
        """Return the Monte Carlo error of the means over the standard deviation, root mean square."""
        means = self.halves(name)
        means = means.reshape(-1, *means.shape[2:])
        spread = np.sum(self.moments(name)[1] ** 2)
        between = np.sum(means.var(axis=0, ddof=1)) / len(means)
        return float(np.sqrt(between / spread)) if spread > 0 else 0.0

    @property
    def settled(self) -> bool:
        """Whether the means of S and of A are accurate enough."""
        return self.worst_error <= ERROR_GOAL

    @property
    def worst_error(self) -> float:
        """The larger of the Monte Carlo errors of S and of A, over the standard deviation."""
        return max(self.error("sources"), self.error("mixing"))

    @property
    def drifting(self) -> bool:
        """Whether all chains still drift in the same direction."""
        return drifts(self.halves("sources")) or drifts(self.halves("mixing"))

    def trace(self) -> NDArray:
        """Return the stored scalar parameters (chain, sample, ...)."""
        return np.stack([track.trace.rows for track in self.tracks])

    def posterior(
        self, S: Marginals, A: Marginals, traces: dict[str, NDArray], *, rows: bool = False
    ) -> Posterior:
        """Return S and A with the noise, the agreement of the chains, and how long they ran.

        With `rows`, the sums of the sources have shape (r, n), otherwise (n, r).
        """
        rhat = {name: split_rhat(values) for name, values in traces.items()}
        ess = {name: effective_size(values) for name, values in traces.items()}
        for name, sums in (("S", "sources"), ("A", "mixing")):
            halves, variance = self.halves(sums), self.moments(sums)[1] ** 2
            if rows and name == "S":
                halves, variance = halves.swapaxes(2, 3), variance.T
            rhat[name], ess[name] = agreement(halves.reshape(-1, *halves.shape[2:]), variance)
        return Posterior(
            S=S, A=A, noise=Marginals(*self.moments("noise")), pi=None, stay=None, beta=None,
            traces=traces, rhat=rhat, ess=ess, n_samples=self.count, burn=self.burn,
            error=self.error("sources"), settled=self.settled,
        )  # fmt: skip
