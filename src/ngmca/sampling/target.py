"""What the chains sample and where they start: checked arguments, in the units of the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca._support.seeds import Seed, generator
from ngmca.algorithms.constraint_arrays import exact_rows
from ngmca.algorithms.sources_for_mixing import sources_for
from ngmca.constraints import Constraint, KnownMixing
from ngmca.engines import (
    WORTH_THREADS,
    Counts,
    Engine,
    by_part,
    everything,
    fetched,
    in_memory,
    variance_growth,
)
from ngmca.result import HasFactors
from ngmca.sampling.chain_on_gpu import kinds
from ngmca.sampling.held_entries import Profiles, Start, start
from ngmca.sampling.parallel_chains import Chains, Track
from ngmca.sampling.sampled_data import Filled, SampledData
from ngmca.sampling.sparse_chain import Held, Rules, SparseChain
from ngmca.sampling.sparse_model import NOISE_FLOOR, Noise, Parameters, Priors, noise_level
from ngmca.sampling.unequal_noise import Weighing, weighed
from ngmca.sampling.wavelet_chain import WaveletChain, WaveletSums

CHAINS_KEY = 2**32 - 1  # among the children of a seed; those of first guesses are numbered from 0


class Factorisation(HasFactors, Protocol):
    """A separation, or any other object with factors and noise levels."""

    @property
    def noise(self) -> NDArray:
        """Noise level of each measurement, (m,)."""


@dataclass(frozen=True, eq=False)
class Target:
    """What the chains sample: measurements and channels with at least one observed entry.

    Attributes
    ----------
    engine : Engine
        The data.
    A : ndarray of shape (m, R)
        Mixing at the start. Columns have norm 1, except those with a known scale.
    S : ndarray of shape (R, n)
        Sources at the start: r sources, then the rows of a baseline.
    r : int
        Number of sources.
    norm : ndarray of shape (R,)
        Numbers by which columns with a known scale were divided; 1 for all others.
    variance : ndarray of shape (m,)
        Noise variances at the start.
    spread : ndarray of shape (m,)
        Noise level over the root of `variance`.
    rules : Rules
        Noise model, priors and fixed entries.
    rows : ndarray of bool
        Which of all measurements have an observed entry.
    columns : ndarray of bool
        Which of all channels have an observed entry.
    profiles : Profiles
        What is known about columns and rows of A.
    growth : float
        How much larger the noise counts because it is correlated along the channels.
    wavelet : bool
        Whether the model is the one for lines and bands.
    around : bool
        Whether the separation is the answer, and the intervals lie around it. The chains then only
        sample the sources, for its mixing.
    """

    engine: Engine
    A: NDArray
    S: NDArray
    r: int
    norm: NDArray
    variance: NDArray
    spread: NDArray
    rules: Rules
    rows: NDArray
    columns: NDArray
    profiles: Profiles
    growth: float
    wavelet: bool = False
    around: bool = False

    @classmethod
    def of(
        cls,
        engine: Engine,
        separation: Factorisation | None,
        A: ArrayLike | None,
        noise: str | ArrayLike | Counts | None,
        constraints: Sequence[Constraint] = (),
        *,
        wavelet: bool = False,
    ) -> "Target":
        """Return the problem, or raise an error that says which argument is wrong."""
        fixed = A is not None
        if A is None:
            begin, levels = _start(separation, engine, constraints, wavelet=wavelet)
        else:
            begin, levels = _with_known_mixing(engine, A, constraints)
        outliers, fit = getattr(separation, "outliers", None), begin.A @ begin.S
        noise = by_part(noise, engine)
        weighing = Weighing.of(engine, noise, levels, fit, outliers, wavelet=wavelet)
        rows, columns = weighing.observed(engine.shape)
        # chains leave out channels without observed entries; wavelets continue through them
        taken = np.ones_like(columns) if wavelet else columns
        engine, begin = weighed(engine, weighing.weights, rows, taken), begin.part(rows, taken)
        m, n = engine.shape
        floor = NOISE_FLOOR[engine.dtype] * (engine.energy / (m * n) or 1.0)
        variance = weighing.variance[rows]
        if weighing.kind == "white":
            variance = np.full(m, variance.mean())
        variance = np.maximum(variance, floor)
        around = not fixed and (wavelet or begin.profiles.any)
        growth = variance_growth(engine, begin.A, begin.S) if around or wavelet else 1.0
        # samples that follow correlations are too far from the data to learn the level from them
        kind = weighing.kind if growth == 1 else "given"
        norm, sized = np.linalg.norm(begin.A, axis=0), begin.held.sized
        if fixed and not norm.all():
            raise ArgumentError(
                "{} has a column of zeros: leave it out, nothing can be said about its source.",
                option("A"),
            )
        if sized is not None:  # a known source may be absent: start with an amount below the noise
            least = np.sqrt(variance.mean() / np.maximum(np.mean(begin.S**2, axis=1), floor))
            norm = np.where(sized & ~begin.held.mixing.all(axis=0), np.maximum(norm, least), norm)
        unit = np.where(norm > 0, norm, 1)
        kept = np.zeros(len(norm), bool) if sized is None else sized
        return cls(
            engine=engine,
            A=np.where(norm > 0, begin.A / unit, m**-0.5),
            S=begin.S * unit[:, None],
            r=begin.r,
            norm=np.where(kept | fixed, unit, 1.0),
            variance=variance,
            spread=weighing.spread[rows],
            rules=Rules(Noise(kind, floor), Priors(beta_most=1.0), fixed or around, held=begin.held),
            rows=rows,
            columns=columns,
            profiles=begin.profiles,
            growth=growth,
            wavelet=wavelet,
            around=around,
        )

    def chains(self, seed: Seed, n_chains: int, threads: int) -> Chains:
        """Return the chains at the start."""
        (m, n), r = self.engine.shape, self.A.shape[1]
        children = streams(seed, n_chains)
        if self.wavelet:
            engine, free = self._without_known()
            A, S = (self.A * self.norm)[:, free], (self.S / self.norm[:, None])[free]
            places = np.flatnonzero(free)
            chains = [
                WaveletChain(Filled.of(engine), A, S, self.variance, self, places, seed=child)
                for child in children
            ]
            tracks = [Track(chain, WaveletSums, (m, n), r) for chain in chains]
            # a sweep has only two products that use threads: more threads than chains hardly help
            return Chains(tracks, min(threads, n_chains), True)
        count, total = np.count_nonzero(self.S, axis=1), self.S.sum(axis=1)
        pi = (count + 1) / (n + 2)
        beta = (count + 1) / (total + np.sqrt(self.variance.mean()))
        beta = np.minimum(beta, 1 / noise_level(self.variance, self.rules.noise))
        first = Parameters(pi, pi, beta, np.full(r, m**-0.5), self.variance)
        given = (self.A, self.S.T, first, self.rules)
        chain, sums = kinds(self.engine, r, self.rules, n_chains)
        tracks = [
            Track(chain(SampledData(self.engine), *given, seed=child), sums, (m, n), r)
            for child in children
        ]
        if chain is not SparseChain:  # they share a GPU
            return Chains(tracks, 1, True)
        apart = threads <= n_chains or m * n * r < WORTH_THREADS  # each chain has a thread of its own
        return Chains(tracks, min(threads, n_chains) if apart else threads, apart)

    @property
    def known_sources(self) -> NDArray:
        """Which of the sources (R,) are known in all channels."""
        held = self.rules.held.sources
        return np.asarray(held.all(axis=0)) if held.size else np.zeros(len(self.S), bool)

    def _without_known(self) -> tuple[Engine, NDArray]:
        """Return the data without the known sources and the baseline, and which sources are left."""
        known, engine = self.known_sources, self.engine
        if not known.any():
            return engine, ~known
        Y = everything(engine) - (self.A[:, known] @ self.S[known]).astype(engine.dtype)
        return in_memory(Y, engine.weights, unit=engine.unit), ~known


def streams(seed: Seed, n_chains: int) -> list[np.random.SeedSequence]:
    """Return one stream of random numbers for each chain; first guesses of `separate` use others.

    The same seed gives the same streams, whether `separate` or a user calls; a generator moves on.
    """
    root = generator(seed).bit_generator.seed_seq
    assert isinstance(root, np.random.SeedSequence)
    if isinstance(seed, np.random.Generator):
        root = root.spawn(1)[0]
    key = (*root.spawn_key, CHAINS_KEY)
    return np.random.SeedSequence(root.entropy, spawn_key=key, pool_size=root.pool_size).spawn(n_chains)


def _start(
    separation: Factorisation | None,
    engine: Engine,
    constraints: Sequence[Constraint],
    *,
    wavelet: bool,
) -> tuple[Start, NDArray]:
    """Return A and S with what is fixed, and noise levels of a separation, in units of the engine."""
    if separation is None or not all(hasattr(separation, name) for name in ("A", "S", "noise")):
        raise ArgumentTypeError(
            "{} must be the result of `separate`, or have the attributes A, S and noise.",
            option("separation"),
        )
    if np.ndim(separation.A) != 2:
        raise ArgumentError(
            "{} must have one row for each measurement and one column for each source, got shape {}.",
            *(option("A of separation"), np.shape(separation.A)),
        )
    A, S = arguments.check_start(separation, engine, np.shape(separation.A)[1], name="separation")
    levels = arguments.as_array(separation.noise, "noise of separation").astype(np.float64)
    if levels.shape != A.shape[:1] or not np.isfinite(levels).all() or not (levels >= 0).all():
        raise ArgumentError(
            "{} must be one noise level for each measurement ({}), finite and not negative.",
            *(option("noise of separation"), len(A)),
        )
    background = getattr(separation, "background", None)
    names = {type(one).__name__ for one in constraints} | (
        {"Baseline"} if background is not None else set()
    )
    if any(isinstance(one, KnownMixing) and one.sd is not None for one in constraints):
        names.add("uncertain mixing")
    names |= {"posterior", "posterior in wavelets"} if wavelet else {"posterior"}
    rules.check(rules.written(sorted(names)))
    parts = getattr(separation, "parts", (slice(None),))
    return start(engine, A, S, constraints, background, parts), levels / engine.unit


def _with_known_mixing(
    engine: Engine, A: ArrayLike, constraints: Sequence[Constraint]
) -> tuple[Start, NDArray]:
    """Return a known mixing with its sources, and the noise levels of the residual."""
    names = ["known A", *(type(one).__name__ for one in constraints)]
    rules.check(rules.written(names))
    A = arguments.check_mixing(A, engine.shape[0])
    if engine.weights is None:
        S = fetched(sources_for(engine, A, tau=1.0).S)
    else:  # each channel from its observed entries; without thresholds, because the chains learn theirs
        S = np.zeros((A.shape[1], engine.shape[1]), engine.dtype)
        S = engine.sweep(A, S, lambda G, C, X, _: exact_rows(G, C, X)).S
    profiles = Profiles(np.zeros(len(A), int))
    return Start(A, S.astype(np.float64), len(S), Held(), profiles), engine.noise(A, S, final=True)
