"""`posterior`: from a separation to distributions."""

import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.progress import progress_bar
from ngmca._support.seeds import Seed
from ngmca._support.threads import available, one_blas_thread
from ngmca.engines import Counts, InMemory, by_part, open_data, stretches
from ngmca.result import Posterior
from ngmca.sampling.posterior_from_chains import collect
from ngmca.sampling.target import Target
from ngmca.task.known import NOTHING, Known

NEIGHBOURS = 4  # on each side of a column that is named
COMPANY = 1024  # columns all over the data that are sampled along with those that are named


@one_blas_thread
def posterior(
    Y: ArrayLike | InMemory,
    separation: Any,
    *,
    domain: str = "auto",
    A: ArrayLike | None = None,
    noise: Any = None,
    mask: ArrayLike | None = None,
    known_sources: ArrayLike | None = None,
    known_mixing: ArrayLike | None = None,
    known_scale: str = NOTHING.known_scale,
    zero_sources: ArrayLike | None = None,
    zero_mixing: ArrayLike | None = None,
    columns: int | ArrayLike | None = None,
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
        Measurements x samples. Entries that are NaN, or masked, are missing, as are the outliers of the
        separation. A measurement or sample of which nothing was observed has an infinite spread.
    separation : Separation, or anything with the attributes A, S and noise
        Where the chains start. If A is given it is not looked at, and may be None.
    domain : "auto", "direct" or "wavelet"
        Which of the models. "auto" is that of `separation.domain`, and "direct" where there is none.
    A : (m, r)
        The mixing, if it is known: it is held, and only the sources are sampled, for the columns as they
        are.
    noise : "white", "rows", float, (m,), (n,), (m, n), "poisson", ngmca.Counts or None
        One level that is learnt, one for each measurement, or known standard deviations, of all entries,
        measurements, samples or single entries, as `separate` takes them. Counts have the variances of
        the separation's fit. None learns one for each measurement where the separation found very
        unequal ones, and otherwise one. No level is below 1e-6 of the root mean square of Y (3e-4 if Y
        is in single precision): smaller ones are raised to that.
    mask : (m, n) of booleans
        True where an entry is missing, besides those that are NaN or masked in Y.
    known_sources, known_mixing, known_scale, zero_sources, zero_mixing
        What is known beforehand, as `separate` takes it. It is held, with a spread of 0; with
        known_scale="free" a known source stays at the scale that the separation found. The weights of
        a baseline are drawn along.
    columns : int, sorted indices or None
        Only these columns, or so many in 64 stretches all over the data, in the domain "direct" alone:
        for data that are too large to sample whole. `Posterior.S` then has these columns, which
        `Posterior.columns` names. Those that are given are sampled with 4 neighbours on each side and
        1,024 in stretches all over the data, or all if there are fewer, which tell the mixing. The
        spread of A is that for all columns that were sampled, wider than for all there are.
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
    beforehand = Known(known_sources, known_mixing, known_scale, zero_sources, zero_mixing)
    bands = _is_wavelet(domain, separation, A)
    engine = open_data(Y, mask=mask)
    which: NDArray | None = None
    taken = np.empty(0, int)
    if columns is None:
        engine.check_whole("the posterior of all columns (columns=1000 takes some)")
    else:
        if bands or beforehand.given or mask is not None:
            raise ValueError(
                "columns goes with the domain 'direct' and nothing that is known: what is known of all "
                "columns, and bands, need them all."
            )
        if engine.weights is not None:
            raise ValueError("columns goes with data without missing entries: leave it out.")
        which = chosen_columns(columns, engine.shape[1])
        taken = which if np.ndim(columns) == 0 else _with_company(which, engine.shape[1])
        noise = _noise_at(by_part(noise, engine), engine.shape, taken)
        engine, separation = engine.part(slice(None), taken), _at(separation, taken)
    problem = Target.of(engine, separation, A, noise, beforehand, bands=bands)
    chains = problem.chains(seed, n_chains, threads)
    before = chains.length.burn if burn == "auto" else int(burn)
    total = chains.length.most if n_samples == "auto" else int(n_samples) + before
    with progress_bar(total, show=progress, label="sampling") as shown:
        chains.run(n_samples, burn, shown)
    found = collect(chains, problem, final=n_samples != "auto")
    for words in found.warnings:
        warnings.warn(words, UserWarning, stacklevel=3)
    if which is None:
        return found
    return replace(found, S=found.S.at(np.searchsorted(taken, which)), columns=which)


def chosen_columns(columns: Any, n: int) -> NDArray:
    """Sorted indices: those given, or so many in stretches all over the data."""
    if isinstance(columns, int | np.integer) and not isinstance(columns, bool):
        return stretches(n, min(arguments.check_count(columns, "columns", low=64), n))
    found = np.asarray(columns)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not found.size:
        raise TypeError("columns must be a number of columns, or a list of their indices.")
    if found[0] < 0 or found[-1] >= n or (np.diff(found) <= 0).any():
        raise ValueError(f"columns must be different indices from 0 to {n - 1} in rising order.")
    return found


def _with_company(which: NDArray, n: int) -> NDArray:
    """Columns with their neighbours, and enough others all over the data to learn the mixing from."""
    near = which[:, None] + np.arange(-NEIGHBOURS, NEIGHBOURS + 1)
    return np.union1d(np.clip(near, 0, n - 1), np.arange(n) if n <= COMPANY else stretches(n, COMPANY))


def _noise_at(noise: Any, shape: tuple[int, int], which: NDArray) -> Any:
    """What is known of the noise, at some columns: levels of samples, and of entries, are cut."""
    if noise is None or isinstance(noise, str | Counts):
        return noise
    (m, n), levels = shape, arguments.as_array(noise, "noise")
    if levels.shape == (n,) != (m,):
        return levels[None, which]  # as many might be taken for those of measurements
    return levels[:, which] if levels.ndim == 2 and levels.shape[1] == n else noise


def _at(separation: Any, which: NDArray) -> Any:
    """What a posterior starts from, at some columns."""
    if getattr(separation, "background", None) is not None:
        raise ValueError("columns does not go with a baseline, which is a part of all of them.")
    if getattr(separation, "outliers", None) is not None and len(separation.outliers):
        raise ValueError("columns does not go with outliers, which are named by their place in all.")
    if separation is None:
        return None
    S = np.ascontiguousarray(separation.S[:, which])
    return SimpleNamespace(A=separation.A, S=S, noise=separation.noise, outliers=None, background=None)


def _is_wavelet(domain: Any, separation: Any, known: ArrayLike | None) -> bool:
    """Whether sources are to be taken for lines and bands."""
    if arguments.check_choice(domain, "domain", ("auto", "direct", "wavelet")) != "auto":
        return bool(domain == "wavelet")
    if known is not None:
        return False
    return getattr(getattr(separation, "domain", None), "name", "direct") == "wavelet"
