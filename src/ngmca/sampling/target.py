"""Where chains start, and what they are to sample: checked arguments, in the units of the engine."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca.algorithms.constraint_arrays import exact_rows
from ngmca.algorithms.sources_for_mixing import sources_for
from ngmca.engines import WORTH_THREADS, InMemory, by_part
from ngmca.sampling.drawn_entries import Filled
from ngmca.sampling.held_entries import Start, check_known, start
from ngmca.sampling.parallel_chains import SPARSE, Chains, Trace, Track
from ngmca.sampling.sparse_chain import Chain, Held, Rules, Sums
from ngmca.sampling.sparse_model import TINY, Noise, Parameters, Priors, noise_level
from ngmca.sampling.unequal_noise import Weighing, weighed
from ngmca.sampling.wavelet_chain import BANDS, band_tracks
from ngmca.task.known import NOTHING, Known

CHAINS = 2**32 - 1  # among the children of a seed; first guesses are numbered from 0


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be sampled, of the measurements and samples of which anything was observed."""

    engine: InMemory
    A: NDArray  # (m, R), columns of norm 1, but for those that are sized
    S: NDArray  # (R, n): r sources, and rows of a baseline
    r: int
    norm: NDArray  # (R,) by which columns of a known size were divided; 1 otherwise
    variance: NDArray  # (m,) of the noise, at first
    spread: NDArray  # (m,) noise over the root of that
    rules: Rules
    rows: NDArray  # measurements of which anything was observed, of all
    columns: NDArray  # samples of which anything was observed, of all
    bands: bool = False

    @classmethod
    def of(
        cls,
        engine: InMemory,
        separation: Any,
        known: ArrayLike | None,
        noise: Any,
        beforehand: Known = NOTHING,
        *,
        bands: bool = False,
    ) -> "Target":
        """The problem, or an error that says which argument is wrong."""
        if known is None:
            begin, levels = _start(separation, engine, beforehand, bands=bands)
        else:
            begin, levels = _known(engine, known, beforehand)
        outliers = getattr(separation, "outliers", None)
        fit = begin.A @ begin.S
        noise = by_part(noise, engine)
        weighing = Weighing.of(engine, noise, levels, fit, outliers, bands=bands)
        rows, columns = weighing.observed(engine.shape)
        # samples without any datum are left out of the chains, but for bands, which go on through them
        taken = np.ones_like(columns) if bands else columns
        data = weighed(engine, weighing.weights, rows, taken)
        begin = _cut(begin, rows, taken)
        given = (weighing.variance[rows], weighing.spread[rows], weighing.kind)
        return cls._of(data, begin, *given, known is not None, rows, columns, bands)

    @classmethod
    def _of(
        cls,
        engine: InMemory,
        begin: Start,
        variance: NDArray,
        spread: NDArray,
        kind: str,
        fixed: bool,
        rows: NDArray,
        columns: NDArray,
        bands: bool,
    ) -> "Target":
        """For what was observed."""
        m, n = engine.shape
        floor = TINY[engine.dtype] * (engine.energy / (m * n) or 1.0)
        if kind == "white":
            variance = np.full(m, variance.mean())
        variance = np.maximum(variance, floor)
        norm, sized = np.linalg.norm(begin.A, axis=0), begin.held.sized
        if fixed and not norm.all():
            raise ValueError("A has a column of zeros: leave it out, its source cannot be seen.")
        if sized is not None:  # a known source may be absent: as much of it as is below the noise
            least = np.sqrt(variance.mean() / np.maximum(np.mean(begin.S**2, axis=1), floor))
            norm = np.where(sized & ~begin.held.mixing.all(axis=0), np.maximum(norm, least), norm)
        A = np.where(norm > 0, begin.A / np.where(norm > 0, norm, 1), m**-0.5)
        norm = np.where(norm > 0, norm, 1)
        kept = np.zeros(len(norm), bool) if sized is None else sized
        rules = Rules(Noise(kind, floor), Priors(beta_most=1.0), fixed=fixed, held=begin.held)
        return cls(
            engine=engine,
            A=A,
            S=begin.S * norm[:, None],
            r=begin.r,
            norm=np.where(kept | fixed, norm, 1.0),
            variance=variance,
            spread=spread,
            rules=rules,
            rows=rows,
            columns=columns,
            bands=bands,
        )

    def chains(self, seed: Seed, n_chains: int, threads: int) -> Chains:
        """Chains at the start."""
        if self.bands:
            return self._band_chains(seed, n_chains, threads)
        (m, n), r = self.engine.shape, self.A.shape[1]
        count, total = np.count_nonzero(self.S, axis=1), self.S.sum(axis=1)
        pi = (count + 1) / (n + 2)
        beta = (count + 1) / (total + np.sqrt(self.variance.mean()))
        beta = np.minimum(beta, 1 / noise_level(self.variance, self.rules.noise))
        first = Parameters(pi, pi, beta, np.full(r, m**-0.5), self.variance)
        tracks = [
            Track(
                Chain(self.engine, self.A, self.S.T, first, self.rules, seed=child),
                Sums(self.engine.shape, r),
                Sums(self.engine.shape, r),
                Trace(1 + 3 * r),
            )
            for child in streams(seed, n_chains)
        ]
        return Chains(tracks, *self._threads(n_chains, threads), SPARSE)

    def _band_chains(self, seed: Seed, n_chains: int, threads: int) -> Chains:
        """Chains for lines and bands, at the start."""
        given = (self.A * self.norm, self.S / self.norm[:, None], self.variance, self.rules)
        tracks = [
            track
            for stream in streams(seed, n_chains)
            for track in band_tracks(Filled.of(self.engine), *given, [stream])
        ]
        # all but two products of a sweep is one chain's own: more threads than chains are of little use
        return Chains(tracks, min(threads, n_chains), True, BANDS)

    def _threads(self, n_chains: int, threads: int) -> tuple[int, bool]:
        """How many, and whether a chain has one for itself."""
        (m, n), r = self.engine.shape, self.A.shape[1]
        apart = threads <= n_chains or m * n * r < WORTH_THREADS
        return (min(threads, n_chains) if apart else threads), apart


def streams(seed: Seed, n_chains: int) -> list[np.random.SeedSequence]:
    """A stream for each chain, none of which `separate` draws its first guesses from.

    The same seed gives the same streams, called from `separate` or by itself; a generator moves on.
    """
    root = generator(seed).bit_generator.seed_seq
    assert isinstance(root, np.random.SeedSequence)
    if isinstance(seed, np.random.Generator):
        root = root.spawn(1)[0]
    key = (*root.spawn_key, CHAINS)
    return np.random.SeedSequence(root.entropy, spawn_key=key, pool_size=root.pool_size).spawn(n_chains)


def _start(
    separation: Any, engine: InMemory, beforehand: Known, *, bands: bool
) -> tuple[Start, NDArray]:
    """A, S and noise levels of a separation, in units of the engine."""
    if not all(hasattr(separation, name) for name in ("A", "S", "noise")):
        raise TypeError(
            "separation must be what `separate` returns, or have the attributes A, S and noise."
        )
    if np.ndim(separation.A) != 2:
        raise ValueError(
            "A of separation must have a row for each measurement and a column for each source, "
            f"got shape {np.shape(separation.A)}."
        )
    A, S = arguments.check_start(separation, engine, np.shape(separation.A)[1], name="separation")
    levels = arguments.as_array(separation.noise, "noise of separation").astype(np.float64)
    if levels.shape != A.shape[:1] or not np.isfinite(levels).all() or not (levels >= 0).all():
        raise ValueError(
            f"noise of separation must be a noise level for each measurement ({len(A)}), finite and not "
            "negative."
        )
    background = getattr(separation, "background", None)
    check_known(beforehand.given | ({"baseline"} if background is not None else set()), bands=bands)
    return start(engine, A, S, beforehand, background), levels / engine.unit


def _known(engine: InMemory, A: ArrayLike, beforehand: Known) -> tuple[Start, NDArray]:
    """A known mixing, the sources that thresholds find for it, and the noise in what is left."""
    for name in sorted(beforehand.given):
        raise ValueError(f"A and {name} do not go together: all of the mixing is known already.")
    A = arguments.check_mixing(A, engine.shape[0])
    if engine.weights is None:
        S = sources_for(engine, A, tau=1.0).S
    else:  # each sample from what was observed of it; no threshold, as chains find their own
        S = np.zeros((A.shape[1], engine.shape[1]), engine.dtype)
        S = engine.sweep(A, S, lambda G, C, X, _: exact_rows(G, C, X)).S
    return Start(A, S.astype(np.float64), len(S), Held()), engine.noise(A, S, final=True)


def _cut(begin: Start, rows: NDArray, columns: NDArray) -> Start:
    """Some of the measurements and samples (booleans) of a start."""
    held = begin.held
    sources = held.sources[columns] if held.sources.size else held.sources
    mixing = held.mixing[rows] if held.mixing.size else held.mixing
    held = replace(held, sources=np.ascontiguousarray(sources), mixing=np.ascontiguousarray(mixing))
    return replace(begin, A=begin.A[rows], S=begin.S[:, columns], held=held)
