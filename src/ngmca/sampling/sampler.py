"""`posterior`: from a separation to distributions."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.progress import progress_bar
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import available, one_blas_thread
from ngmca.algorithms.known_mixing import sources_for
from ngmca.data import WORTH_THREADS, InMemory, open_data
from ngmca.result import Marginals, Posterior
from ngmca.sampling.bands import BANDS, band_tracks, collect_bands
from ngmca.sampling.chain import Chain, Rules, Sums
from ngmca.sampling.chains import SPARSE, Chains, Trace, Track
from ngmca.sampling.convergence import agreement, effective_size, split_rhat
from ngmca.sampling.model import TINY, Noise, Parameters, Priors, noise_level
from ngmca.sampling.model_check import check_model
from ngmca.sampling.warnings import disagreement, silence, spent_budget

LEARNT = ("white", "rows")
CHAINS = 2**32 - 1  # among the children of a seed; first guesses are numbered from 0
UNEQUAL = 0.2  # spread of the logarithms of noise levels above which each row learns its own


@one_blas_thread
def posterior(
    Y: ArrayLike | InMemory,
    separation: Any,
    *,
    domain: str = "auto",
    A: ArrayLike | None = None,
    noise: ArrayLike | str | None = None,
    n_samples: int | str = "auto",
    burn: int | str = "auto",
    n_chains: int = 2,
    seed: Seed = None,
    threads: int | None = None,
    progress: bool = False,
) -> Posterior:
    """Sample sources and mixing around a separation: means, spreads, intervals, activities.

    The model in the domain "direct": Gaussian noise; an entry of a source is 0, or active and
    exponential of rate beta_i, and beside active entries it is active more often, as lines have a
    width; the directions of the columns of A are uniform. How many are active, how often beside others,
    beta and the noise are learnt along, under priors so weak that there is nothing to tune. If what is
    found contradicts it, as smooth bands do, the first of `Posterior.warnings` says so; where that is
    grave `Posterior.refuted` is true.

    In the domain "wavelet", for lines and bands, coefficients of wavelets have heavy tails and scales
    that are learnt. The draws are there for their intervals: the answer is the separation's S, not
    their mean. `docs/posterior.md` says more about both, and how often their intervals held the truth.

    Parameters
    ----------
    Y : (m, n)
        Measurements x samples.
    separation : Separation, or anything with the attributes A, S and noise
        Where the chains start. If A is given it is not looked at, and may be None.
    domain : "auto", "direct" or "wavelet"
        Which of the models. "auto" is that of `separation.domain`, and "direct" where there is none.
    A : (m, r)
        The mixing, if it is known: it is held, and only the sources are sampled, for the columns as they
        are.
    noise : "white", "rows", float, (m,) or None
        One level that is learnt, one for each measurement, or known standard deviations. None learns one
        for each where the separation found very unequal ones, and otherwise one. No level is below 1e-6
        of the root mean square of Y (3e-4 if Y is in single precision): smaller ones are raised to that.
    n_samples : int or "auto"
        Samples of each chain, rounded up to an even number. "auto" samples until the Monte Carlo error
        of the mean is a tenth of the posterior's spread, and at most 2,000 sweeps in all, 3,000 in the
        domain "wavelet".
    burn : int or "auto"
        Sweeps before the samples: 60, or 300 in the domain "wavelet", and with "auto" for both also the
        first half of the samples, as often as all chains still move alike.
    n_chains : int
        Chains, at least 2, that differ in their random numbers.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer, to the bit, on the same machine.
    threads : int or None
        Threads over chains, or over blocks of large data; None takes all cores. The answer does not
        depend on it.
    progress : bool
        Show a progress bar.
    """
    if n_samples != "auto":
        arguments.check_count(n_samples, "n_samples", low=4)
    if burn != "auto":
        arguments.check_count(burn, "burn", low=0)
    arguments.check_count(n_chains, "n_chains", low=2)
    threads = available() if threads is None else arguments.check_count(threads, "threads")
    bands = _is_wavelet(domain, separation, A)
    problem = Target.of(open_data(Y), separation, A, noise)
    chains = (problem.band_chains if bands else problem.chains)(seed, n_chains, threads)
    before = chains.length.burn if burn == "auto" else int(burn)
    total = chains.length.most if n_samples == "auto" else int(n_samples) + before
    with progress_bar(total, show=progress, label="sampling") as shown:
        chains.run(n_samples, burn, shown)
    found = _collect_any(chains, problem, bands=bands, final=n_samples != "auto")
    for words in found.warnings:
        warnings.warn(words, UserWarning, stacklevel=3)
    return found


@dataclass(frozen=True, eq=False)
class Target:
    """Checked arguments, in the units of the engine."""

    engine: InMemory
    A: NDArray  # (m, r), columns of norm 1
    S: NDArray  # (r, n)
    norm: NDArray  # (r,) of the columns of a known A; 1 otherwise
    variance: NDArray  # (m,) of the noise, at first
    rules: Rules

    @classmethod
    def of(cls, engine: InMemory, separation: Any, known: ArrayLike | None, noise: Any) -> "Target":
        """The problem, or an error that says which argument is wrong."""
        m, n = engine.shape
        if known is None:
            A, S, levels = _start(separation, engine)
        else:
            A, S, levels = _known(engine, known)
        kind, given = _noise(noise, levels, engine)
        floor = TINY[engine.dtype] * (engine.energy / (m * n) or 1.0)
        variance = levels**2 if given is None else given**2
        if kind == "white":
            variance = np.full(m, variance.mean())
        variance = np.maximum(variance, floor)
        norm = np.linalg.norm(A, axis=0)
        if known is not None and not norm.all():
            raise ValueError("A has a column of zeros: leave it out, its source cannot be seen.")
        A = np.where(norm > 0, A / np.where(norm > 0, norm, 1), len(A) ** -0.5)
        norm = np.where(norm > 0, norm, 1)
        rules = Rules(Noise(kind, floor), Priors(beta_most=1.0), fixed=known is not None)
        return cls(
            engine,
            A,
            S * norm[:, None],
            norm if known is not None else np.ones_like(norm),
            variance,
            rules,
        )

    def chains(self, seed: Seed, n_chains: int, threads: int) -> Chains:
        """Chains at the start."""
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
            for child in _streams(seed, n_chains)
        ]
        return Chains(tracks, *self._threads(n_chains, threads), SPARSE)

    def band_chains(self, seed: Seed, n_chains: int, threads: int) -> Chains:
        """Chains for lines and bands, at the start."""
        given = (self.engine, self.A * self.norm, self.S / self.norm[:, None], self.variance, self.rules)
        tracks = band_tracks(*given, _streams(seed, n_chains))
        # all but two products of a sweep is one chain's own: more threads than chains are of little use
        return Chains(tracks, min(threads, n_chains), True, BANDS)

    def _threads(self, n_chains: int, threads: int) -> tuple[int, bool]:
        """How many, and whether a chain has one for itself."""
        (m, n), r = self.engine.shape, self.A.shape[1]
        apart = threads <= n_chains or m * n * r < WORTH_THREADS
        return (min(threads, n_chains) if apart else threads), apart


def _is_wavelet(domain: Any, separation: Any, known: ArrayLike | None) -> bool:
    """Whether sources are to be taken for lines and bands."""
    if arguments.check_choice(domain, "domain", ("auto", "direct", "wavelet")) != "auto":
        return bool(domain == "wavelet")
    if known is not None:
        return False
    return getattr(getattr(separation, "domain", None), "name", "direct") == "wavelet"


def _streams(seed: Seed, n_chains: int) -> list[np.random.SeedSequence]:
    """A stream for each chain, none of which `separate` draws its first guesses from.

    The same seed gives the same streams, called from `separate` or by itself; a generator moves on.
    """
    root = generator(seed).bit_generator.seed_seq
    assert isinstance(root, np.random.SeedSequence)
    if isinstance(seed, np.random.Generator):
        root = root.spawn(1)[0]
    key = (*root.spawn_key, CHAINS)
    return np.random.SeedSequence(root.entropy, spawn_key=key, pool_size=root.pool_size).spawn(n_chains)


def _start(separation: Any, engine: InMemory) -> tuple[NDArray, NDArray, NDArray]:
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
    found = arguments.check_noise(levels, engine)
    assert found is not None
    return A, S, found


def _known(engine: InMemory, A: ArrayLike) -> tuple[NDArray, NDArray, NDArray]:
    """A known mixing, the sources that thresholds find for it, and the noise in what is left."""
    A = arguments.check_mixing(A, engine.shape[0])
    S = sources_for(engine, A, tau=1.0).S
    return A, S.astype(np.float64), engine.noise(A, S, final=True)


def _noise(noise: Any, levels: NDArray, engine: InMemory) -> tuple[str, NDArray | None]:
    """What is to be learnt of the noise, and what is given, in units of the engine."""
    if isinstance(noise, str):
        return arguments.check_choice(noise, "noise", LEARNT), None
    if noise is not None:
        return "given", arguments.check_noise(noise, engine)
    positive = levels[levels > 0]
    chance = 2.4 / np.sqrt(min(engine.shape[1], 1 << 14))  # twice the spread that equal noise leads to
    unequal = positive.size > 1 and np.log(positive).std() > max(UNEQUAL, chance)
    return ("rows" if unequal else "white"), None


def _collect_any(chains: Chains, problem: Target, *, bands: bool, final: bool) -> Posterior:
    """What the chains say, in the units of the data, and whether that contradicts what they assume."""
    engine, fixed = problem.engine, problem.rules.fixed
    if bands:
        return collect_bands(
            chains, (problem.A * problem.norm, problem.S), fixed=fixed, final=final
        ).scaled(engine.unit)
    found = _collect(chains, problem, final=final)
    told = check_model(engine, found)
    words = (told.words, *found.warnings) if told.refuted else found.warnings
    return replace(found, warnings=words, refuted=told.grave).scaled(engine.unit)


def _collect(chains: Chains, problem: Target, *, final: bool) -> Posterior:
    """What the chains say; `final` if so many samples were asked for."""
    norm, r = problem.norm, problem.A.shape[1]
    mean, sd = (part.T * (1 / norm[:, None]) for part in chains.moments("sources"))
    A = (
        chains.moments("mixing")
        if not problem.rules.fixed
        else (problem.A * norm, np.zeros_like(problem.A))
    )
    level, level_sd = chains.moments("noise")
    trace = chains.trace()
    traces = {
        "noise": trace[:, :, 0],
        "pi": trace[:, :, 1 : r + 1],
        "stay": trace[:, :, r + 1 : 2 * r + 1],
        "beta": trace[:, :, 2 * r + 1 :] * norm,
    }
    rhat = {name: split_rhat(values) for name, values in traces.items()}
    ess = {name: effective_size(values) for name, values in traces.items()}
    for name, sums in (("S", "sources"), ("A", "mixing")):
        halves = chains.halves(sums)
        variance = chains.moments(sums)[1] ** 2
        rhat[name], ess[name] = agreement(halves.reshape(-1, *halves.shape[2:]), variance)
    return Posterior(
        S=Marginals(mean, sd, np.minimum(chains.mean("sources", 0).T, 1.0)),
        A=Marginals(*A),
        noise=Marginals(level, level_sd),
        pi=_over_draws(traces["pi"]),
        stay=_over_draws(traces["stay"]),
        beta=_over_draws(traces["beta"]),
        traces=traces,
        rhat=rhat,
        ess=ess,
        n_samples=chains.count,
        burn=chains.burn,
        error=chains.error("sources"),
        settled=chains.settled,
        warnings=(
            *disagreement(rhat),
            *silence(mean * norm[:, None], problem.S, noise_level(level**2, problem.rules.noise)),
            *(() if final else spent_budget(chains)),
        ),
    )


def _over_draws(trace: NDArray) -> Marginals:
    """A parameter over all draws of all chains."""
    return Marginals(trace.mean(axis=(0, 1)), trace.std(axis=(0, 1)))
