"""Several chains side by side: how long they run, and what they say together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.threads import in_parts
from ngmca.result import Marginals, Posterior
from ngmca.sampling.convergence import agreement, drifts, effective_size, split_rhat
from ngmca.sampling.sparse_chain import Sums

ENOUGH = 0.1  # Monte Carlo error of the mean, over the posterior's spread: costs 1 % of the accuracy
TRACED = 1024  # draws of the parameters kept of each chain
LOT = 20  # sweeps between two looks at the progress

MEAN = -2  # where sums have the mean; the second moment comes after it, the last

Shown = Callable[[Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Length:
    """How long chains run, with "auto"."""

    burn: int  # sweeps before the samples
    first: int  # samples in each half of the first lot
    most: int  # sweeps in all


SPARSE = Length(burn=60, first=75, most=2000)


class Trace:
    """Evenly spaced rows of a long table, at most TRACED of them."""

    def __init__(self, width: int) -> None:
        self._rows = np.empty((TRACED, width))
        self._kept, self._stride, self._seen = 0, 1, 0

    def add(self, row: NDArray) -> None:
        """One more; when the room is used up every second one goes."""
        self._seen += 1
        if self._seen % self._stride:
            return
        if self._kept == TRACED:
            self._rows[: TRACED // 2] = self._rows[1::2]
            self._kept, self._stride = TRACED // 2, 2 * self._stride
            if self._seen % self._stride:
                return
        self._rows[self._kept] = row
        self._kept += 1

    def forget_half(self) -> None:
        """Forget the older half."""
        half = self._kept // 2
        self._rows[: self._kept - half] = self._rows[half : self._kept].copy()
        self._kept -= half

    @property
    def rows(self) -> NDArray:
        """What is kept."""
        return self._rows[: self._kept]


@dataclass
class Track:
    """A chain with what it collects, in an older and a newer half of equally many draws."""

    chain: Any  # `Chain`, or one for lines and bands: it has `sweep` and `traced`
    older: Sums
    newer: Sums
    trace: Trace

    def run(self, count: int, collect: str, threads: int) -> None:
        """Sweeps, whose draws go to the half named by `collect`, or nowhere."""
        sums = getattr(self, collect) if collect else None
        for _ in range(count):
            self.chain.sweep(sums, threads)
            if sums is not None:
                self.trace.add(self.chain.traced)


@dataclass
class Chains:
    """Chains that run side by side, and what has been asked of them."""

    tracks: list[Track]
    threads: int
    apart: bool  # a thread for each chain, rather than for blocks of the data
    length: Length
    burn: int = field(default=0, init=False)

    def run(self, n_samples: int | str, burn: int | str, shown: Shown) -> None:
        """Burn in and sample; with "auto" until the mean is known well enough, or the budget spent."""
        first = self.length.first if n_samples == "auto" else max(1, -(-int(n_samples) // 2))
        self.burn = self.length.burn if burn == "auto" else int(burn)
        self._sweep(self.burn, "", shown)
        self._sweep(first, "older", shown)
        self._sweep(first, "newer", shown)
        while n_samples == "auto" and not self.settled:
            step, drifting = self.count // 2, burn == "auto" and self.drifting
            step = step if drifting else 2 * step
            if self.burn + self.count + step > self.length.most:
                break
            for track in self.tracks:
                if drifting:
                    track.older.clear()
                    track.trace.forget_half()
                track.older.merge(track.newer)
            self.burn += self.count if drifting else 0
            self._sweep(step, "newer", shown)

    def _sweep(self, count: int, collect: str, shown: Shown) -> None:
        """In every chain; a chain's draws do not depend on what runs beside it."""
        for start in range(0, count, LOT):
            lot = min(LOT, count - start)
            inner = 1 if self.apart else self.threads

            def work(indices: range, lot: int = lot, inner: int = inner) -> None:
                for index in indices:
                    self.tracks[index].run(lot, collect, inner)

            in_parts(work, len(self.tracks), 1, self.threads if self.apart else 1)
            for _ in shown(range(lot)):
                pass

    @property
    def count(self) -> int:
        """Draws of each chain."""
        return self.tracks[0].older.count + self.tracks[0].newer.count

    def halves(self, name: str, which: int = MEAN) -> NDArray:
        """Means (chain, 2, ...) of one of the quantities that are summed up."""
        return np.stack(
            [
                [getattr(sums, name)[which] / sums.count for sums in (track.older, track.newer)]
                for track in self.tracks
            ]
        )

    def mean(self, name: str, which: int = MEAN) -> NDArray:
        """Mean over all draws of all chains."""
        every = [sums for track in self.tracks for sums in (track.older, track.newer)]
        total = getattr(every[0], name)[which] / every[0].count
        for sums in every[1:]:  # one by one: halves are as large as S
            total += getattr(sums, name)[which] / sums.count
        return np.asarray(total / len(every))

    def moments(self, name: str) -> tuple[NDArray, NDArray]:
        """Mean and standard deviation of a quantity."""
        mean = self.mean(name)
        return mean, np.sqrt(np.maximum(self.mean(name, MEAN + 1) - mean**2, 0))

    def error(self, name: str) -> float:
        """Monte Carlo error of the means over the spread, root mean square."""
        means = self.halves(name)
        means = means.reshape(-1, *means.shape[2:])
        spread = np.sum(self.moments(name)[1] ** 2)
        between = np.sum(means.var(axis=0, ddof=1)) / len(means)
        return float(np.sqrt(between / spread)) if spread > 0 else 0.0

    @property
    def settled(self) -> bool:
        """Whether the means of S and of A are known well enough."""
        return self.worst_error <= ENOUGH

    @property
    def worst_error(self) -> float:
        """Monte Carlo error over the spread, of S or of A."""
        return max(self.error("sources"), self.error("mixing"))

    @property
    def drifting(self) -> bool:
        """Whether all chains are still on their way."""
        return drifts(self.halves("sources")) or drifts(self.halves("mixing"))

    def trace(self) -> NDArray:
        """(chain, draw, ...): what `traced` of a chain is."""
        return np.stack([track.trace.rows for track in self.tracks])

    def posterior(
        self, S: Marginals, A: Marginals, traces: dict[str, NDArray], *, rows: bool = False
    ) -> Posterior:
        """S and A with what all chains tell: the noise, whether they agree, how long they ran.

        `rows` if sources are summed up as rows (r, n), not as columns.
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
