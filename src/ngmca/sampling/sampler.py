"""`posterior`: from a separation to distributions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngmca import rules
from ngmca._support import arguments
from ngmca._support.messages import warn_user
from ngmca._support.progress import progress_bar
from ngmca._support.seeds import Seed
from ngmca._support.threads import available, one_blas_thread
from ngmca.constraints import Baseline, Constraint, as_constraints
from ngmca.engines import Counts, Engine, open_data, require_whole
from ngmca.result import Posterior, Separation
from ngmca.rotations.rotational_ambiguity import ends_that_fit
from ngmca.sampling.columns import Columns
from ngmca.sampling.parallel_chains import BURN, MOST
from ngmca.sampling.posterior_from_chains import Ends, collect
from ngmca.sampling.target import Factorisation, Target


@one_blas_thread
def posterior(
    Y: ArrayLike | Engine,
    separation: Factorisation | None,
    *,
    domain: str = "auto",
    A: ArrayLike | None = None,
    noise: str | ArrayLike | Counts | None = None,
    mask: ArrayLike | None = None,
    constraints: Sequence[Constraint] = (),
    columns: int | ArrayLike | None = None,
    n_samples: int | str = "auto",
    burn: int | str = "auto",
    n_chains: int = 2,
    seed: Seed = None,
    threads: int | None = None,
    progress: bool = False,
    device: str = "cpu",
) -> Posterior:
    """Sample sources and mixing around a separation: means, standard deviations, intervals.

    In the domain "direct" the noise is Gaussian, and an entry of a source is either 0, or active and
    exponentially distributed with rate beta. An entry next to an active one is active more often,
    because lines have a width. The directions of the columns of A are uniform. The share of active
    entries, beta and the noise level are learnt, with weak priors that need no tuning. If the result
    contradicts this model, as smooth bands do, the first of `Posterior.warnings` says so; if this is
    severe, `Posterior.refuted` is true.

    In the domain "wavelet", for lines and bands, and with a closure or shapes of profiles, the
    separation is the answer, and intervals lie around it. They contain the noise, from samples of the
    sources for the mixing of the separation, and how far sources can be exchanged: what their zeros
    leave open, and if that is much, what the fit leaves open (`ambiguity`). In wavelets, coefficients
    have heavy tails with scales that are learnt. `docs/explanations/posterior.md` describes the models,
    and how often their intervals contained the truth.

    Parameters
    ----------
    Y : array_like of shape (m, n)
        Measurements x channels. Entries that are NaN or masked are missing, and so are the outliers of
        the separation. A measurement or channel without observed entries gets an infinite standard
        deviation.
    separation : Separation, or an object with the attributes A, S and noise
        Where the chains start. It is ignored, and may be None, if `A` is given.
    domain : {"auto", "direct", "wavelet"}
        The model. "auto" uses the domain of the separation, and "direct" if it has none.
    A : array_like of shape (m, r), optional
        The mixing, if it is known. It stays fixed and its columns keep their scale: only the sources
        are sampled.
    noise : {"white", "rows", "poisson"}, array_like, Counts or None
        "white" learns one level, "rows" one level for each measurement. Numbers are known standard
        deviations: one for all entries, (m,), (n,) or (m, n), as in `separate`. "poisson" and `Counts`
        use the variances of the fit of the separation. None chooses "rows" if the separation found very
        unequal levels, otherwise "white". Levels below 1e-6 of the root mean square of Y (3e-4 in
        single precision) are raised to that.
    mask : array_like of bool of shape (m, n), optional
        True where an entry is missing, in addition to those that are NaN or masked in Y.
    constraints : sequence of constraints
        Those of the separation. Known entries are fixed, with a standard deviation of 0. A known source
        of a free scale keeps the scale that the separation found. The weights of a baseline are sampled
        too; where the separation is the answer, only their exchange with the sources is.
    columns : int or array_like of int, optional
        Sample only some channels, for data that are too large to sample completely; in the domain
        "direct" only. A number takes that many channels, in 64 stretches spread over the data. Sorted
        indices take these channels. `Posterior.S` then holds these channels, and `Posterior.columns`
        their indices. Given indices are sampled together with 4 neighbours on each side and with
        1,024 channels spread over the data (all, if there are fewer), from which the mixing is learnt.
        The standard deviation of A is larger than it would be with all channels.
    n_samples : int or "auto"
        Samples of each chain, rounded up to an even number. "auto" samples until the Monte Carlo error
        of the mean is a tenth of the posterior standard deviation, and for at most 2,000 sweeps.
    burn : int or "auto"
        Sweeps before the first sample. "auto" is 60; if `n_samples` is "auto" too, the first half of
        the samples is dropped as long as all chains still drift in the same direction.
    n_chains : int
        Number of chains, at least 2. They start at the same point and use different random numbers.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same result, to the bit, on the same machine.
    threads : int or None
        Threads for chains, or for blocks of large data; None uses all cores. The result does not depend
        on it.
    progress : bool
        Show a progress bar.
    device : {"cpu", "cuda"}
        Where to calculate, as in `separate`. On a GPU the domain "direct" draws the sources there, if
        the data are large and no entries are held. All else is drawn on the CPU. Both sample the same
        distribution with other random numbers.

    Returns
    -------
    Posterior
        Distributions of S, A and the noise level, in the units of Y, with checks of convergence.

    Raises
    ------
    ValueError
        If an argument has a wrong value, or cannot be combined with another one.

    Warns
    -----
    UserWarning
        If the chains disagree, if the data contradict the model, or if sampling stopped at its limit.
        `Posterior.warnings` holds the same texts.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=20, n=200, r=2, snr=20, seed=0)
    >>> separation = ngmca.separate(data.Y, 2, seed=0, domain="direct")
    >>> found = ngmca.posterior(data.Y, separation, n_samples=50, seed=0)
    >>> low, high = found.S.interval(0.9)
    >>> low.shape
    (2, 200)
    """
    if n_samples != "auto":
        arguments.check_count(n_samples, "n_samples", low=4)
    if burn != "auto":
        arguments.check_count(burn, "burn", low=0)
    arguments.check_count(n_chains, "n_chains", low=2)
    threads = available() if threads is None else arguments.check_count(threads, "threads")
    known = [
        one for one in as_constraints(constraints) if not isinstance(one, Baseline) or one.is_decided
    ]
    wavelet = _is_wavelet(domain, separation, A)
    engine = open_data(Y, mask=mask, device=device)
    if hasattr(getattr(separation, "S", None), "__cuda_array_interface__"):
        on_gpu: Any = separation
        separation = replace(on_gpu, A=on_gpu.A.get(), S=on_gpu.S.get())
    chosen: Columns | None = None
    if columns is None:
        require_whole(engine, "the posterior of all columns (columns=1000 takes some)")
    else:
        names = ["columns", *(type(one).__name__ for one in known)]
        names += ["posterior in wavelets"] if wavelet else []
        names += ["mask"] if mask is not None else []
        names += ["missing entries"] if engine.weights is not None else []
        rules.check(rules.written(names))
        chosen = Columns.of(columns, engine)
        noise = chosen.noise(noise, engine)
        separation = chosen.separation(separation)
        engine = engine.part(slice(None), chosen.sampled)
    problem = Target.of(engine, separation, A, noise, known, wavelet=wavelet)
    chains = problem.chains(seed, n_chains, threads)
    before = BURN if burn == "auto" else int(burn)
    total = MOST if n_samples == "auto" else int(n_samples) + before
    with progress_bar(total, show=progress, label="sampling") as shown:
        chains.run(n_samples, burn, shown)

    def others() -> Ends:
        if chosen is not None or not isinstance(separation, Separation):
            return ()
        return ends_that_fit(engine, separation, known, threads)

    found = collect(chains, problem, final=n_samples != "auto", others=others)
    for text in found.warnings:
        warn_user(text)
    if chosen is None:
        return found
    wanted = np.searchsorted(chosen.sampled, chosen.wanted)
    return replace(found, S=found.S.at(wanted), columns=chosen.wanted)


def _is_wavelet(domain: str, separation: Factorisation | None, A: ArrayLike | None) -> bool:
    """Return whether the model is the one for lines and bands."""
    if arguments.check_choice(domain, "domain", ("auto", "direct", "wavelet")) != "auto":
        return bool(domain == "wavelet")
    if A is not None:
        return False
    return getattr(getattr(separation, "domain", None), "name", "direct") == "wavelet"
