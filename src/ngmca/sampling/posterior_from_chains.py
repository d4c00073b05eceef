"""From chains to a `Posterior`: distributions in the units of the data, with warnings.

Where the separation is the answer, intervals lie around it. Their width has three parts: the noise, from
samples of the sources for the mixing of the separation and from the fit of A to the sources; how far
sources can be exchanged without a change of A S, judged by their zeros (`loose_rotations`); and, for
sources that these zeros hardly determine, all mixtures that fit as well (`rotational_ambiguity`).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from ngmca.result import Marginals, Posterior
from ngmca.rotations.loose_rotations import Answer
from ngmca.sampling.model_check import check_model
from ngmca.sampling.parallel_chains import Chains
from ngmca.sampling.posterior_warnings import (
    disagreement,
    loose_sources,
    silent_sources,
    stopped_at_limit,
)
from ngmca.sampling.sparse_model import noise_level
from ngmca.sampling.target import Target

HALF_WIDTH = 1.645  # of a 90 % interval, in standard deviations
LOOSE = 0.2  # half the width along shears, over the source, above which other mixtures count too
RANGE_WIDTH = 5.0  # of the range of all mixtures that fit, in standard deviations
MOST_GROWTH = 15.0  # of a spectrum in another mixture: its error is then three times the spectrum
TINY = np.finfo(float).tiny

Ends = Sequence[tuple[NDArray, NDArray]]  # A and S of other mixtures, in the units of the data


def collect(
    chains: Chains, problem: Target, *, final: bool, others: Callable[[], Ends] = tuple
) -> Posterior:
    """Return the posterior in the units of the data, with a check of the model.

    `final` says that the user chose the number of samples: no warning that there are too few.
    `others` finds mixtures that fit as well, and is called only if the sources are loose.
    """
    engine = problem.engine
    if problem.around or problem.wavelet:
        found = _sources(_collect_answer(chains, problem, others, final=final), problem.r)
    else:
        found = _collect(chains, problem, final=final)
        check = check_model(engine, found, _free(problem))
        warnings = (check.warning, *found.warnings) if check.refuted else found.warnings
        found = replace(_sources(found, problem.r), warnings=warnings, refuted=check.severe)
    noise = Marginals(found.noise.mean * problem.spread, found.noise.sd * problem.spread)
    return _whole(replace(found, noise=noise), problem).scaled(engine.unit)


def _free(problem: Target) -> NDArray:
    """Return the sources that are not completely known."""
    held = problem.rules.held.sources
    return np.flatnonzero(~held.all(axis=0)) if held.size else np.arange(problem.r)


def _sources(found: Posterior, r: int) -> Posterior:
    """Return the posterior of the first r sources, without the rows of a baseline."""
    if len(found.S.mean) == r:
        return found

    def first(values: NDArray) -> NDArray:
        return values[..., :r]

    parts: dict[str, Any] = {name: getattr(found, name) for name in ("pi", "stay", "beta")}
    parts = {name: None if law is None else law.each(first) for name, law in parts.items()}
    for name in ("traces", "rhat", "ess"):
        parts[name] = {key: x if key == "noise" else first(x) for key, x in vars(found)[name].items()}
    return replace(found, S=found.S.each(lambda values: values[:r]), A=found.A.each(first), **parts)


def _whole(found: Posterior, problem: Target) -> Posterior:
    """Add measurements and channels without observed entries, with an infinite standard deviation."""
    rows, columns = problem.rows, problem.columns
    if rows.all() and columns.all():
        return found
    S, active = found.S, found.S.active
    if S.mean.shape[1] == len(columns):  # wavelets, which sample all channels
        S = Marginals(S.mean, np.where(columns, S.sd, np.inf))
    else:
        mean, sd = _filled(S.mean, columns, 0.0), _filled(S.sd, columns, np.inf)
        S = Marginals(mean, sd, None if active is None else _filled(active, columns, 1.0))
    A = Marginals(*(_filled(x.T, rows, gap).T for x, gap in ((found.A.mean, 0.0), (found.A.sd, np.inf))))
    level = float(np.sqrt(np.mean(found.noise.mean**2)))
    noise = Marginals(_filled(found.noise.mean, rows, level), _filled(found.noise.sd, rows, np.inf))
    return replace(found, S=S, A=A, noise=noise)


def _filled(values: NDArray, seen: NDArray, gap: float) -> NDArray:
    """Return values (..., n) with `gap` for those that were not observed."""
    whole = np.full((*values.shape[:-1], len(seen)), gap)
    whole[..., seen] = values
    return whole


def _collect(chains: Chains, problem: Target, *, final: bool) -> Posterior:
    """Return the posterior of the sparse model; `final` if the user chose the number of samples."""
    norm, r, held = problem.norm, problem.A.shape[1], problem.rules.held
    mean, sd = (part.T * (1 / norm[:, None]) for part in chains.moments("sources"))
    A, A_sd = (
        (part * norm for part in chains.moments("mixing"))
        if not problem.rules.fixed
        else (problem.A * norm, np.zeros_like(problem.A))
    )
    if held.sources.size:
        sd[held.sources.T], A_sd[held.mixing] = 0, 0  # up to rounding they are 0 already
    trace = chains.trace()
    traces = {
        "noise": trace[:, :, 0],
        "pi": trace[:, :, 1 : r + 1],
        "stay": trace[:, :, r + 1 : 2 * r + 1],
        "beta": trace[:, :, 2 * r + 1 :] * norm,
    }
    active = np.minimum(chains.mean("sources", 0).T, 1.0)
    found = chains.posterior(Marginals(mean, sd, active), Marginals(A, A_sd), traces)
    level = noise_level(found.noise.mean**2, problem.rules.noise)
    return replace(
        found,
        pi=_over_draws(traces["pi"]),
        stay=_over_draws(traces["stay"]),
        beta=_over_draws(traces["beta"]),
        warnings=(
            *disagreement(found.rhat),
            *silent_sources(mean * norm[:, None], problem.S, level),
            *(() if final else stopped_at_limit(chains)),
        ),
    )


def _over_draws(trace: NDArray) -> Marginals:
    """Return mean and standard deviation of a parameter over all samples of all chains."""
    return Marginals(trace.mean(axis=(0, 1)), trace.std(axis=(0, 1)))


def _collect_answer(
    chains: Chains, problem: Target, others: Callable[[], Ends], *, final: bool
) -> Posterior:
    """Return intervals around the separation; for a known mixing, around the mean of the samples."""
    A, S = problem.A * problem.norm, problem.S / problem.norm[:, None]
    mean, sd = chains.moments("sources")
    if not problem.wavelet:
        mean, sd = mean.T / problem.norm[:, None], sd.T / problem.norm[:, None]
    trace = {"noise": chains.trace()[:, :, 0]}
    spent = () if final else stopped_at_limit(chains)
    if not problem.around:
        known = Marginals(A, np.zeros_like(A))
        found = chains.posterior(Marginals(mean, sd), known, trace, rows=True)
        return replace(found, warnings=(*disagreement(found.rhat), *spent), model="bands")
    loose_A, loose_S = _exchanged(problem, A, S)
    width = HALF_WIDTH * np.linalg.norm(loose_S, axis=1) / np.maximum(np.linalg.norm(S, axis=1), TINY)
    of_S, of_A = np.hypot(sd, loose_S), np.hypot(_noise_of_mixing(problem, S), loose_A)
    if (width[: problem.r] > LOOSE).any():
        wide_A, wide_S = _range_of(others(), problem, A, S)
        of_A = np.hypot(of_A, np.where(width > LOOSE, wide_A / RANGE_WIDTH, 0))
        of_S = np.hypot(of_S, np.where(width[:, None] > LOOSE, wide_S / RANGE_WIDTH, 0))
    held = problem.rules.held
    if held.sources.size:
        of_S[held.sources.T], of_A[held.mixing] = 0, 0
    found = chains.posterior(around(S, of_S), around(A, of_A), trace, rows=problem.wavelet)
    warnings = (*loose_sources(width[: problem.r]), *disagreement(found.rhat), *spent)
    return replace(found, warnings=warnings, model="bands" if problem.wavelet else "profiles")


def _exchanged(problem: Target, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
    """Return the spread of A and S along shears, also of those with a baseline."""
    held, profiles = problem.rules.held, problem.profiles
    levels = np.sqrt(problem.growth * problem.variance) * problem.spread
    none = np.zeros(len(S), bool)
    return Answer(
        A, S, levels,
        known=problem.known_sources,
        fixed=np.asarray(held.mixing.all(axis=0)) if held.mixing.size else none,
        kept=none if held.sized is None else held.sized,
        summed=problem.r if profiles.closed else 0,
        off_shape=lambda k, column: profiles.off_shape(k, column, levels),
    ).spread()  # fmt: skip


def _range_of(ends: Ends, problem: Target, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
    """Return how far entries of A (m, R) and S (R, n) range over other mixtures.

    Columns of A have the norm of the answer, unless their scale is known. With a closure, the amounts of
    a source may be near 0 and its spectrum beyond all measure: its norm counts up to `MOST_GROWTH`.
    """
    r, sized = problem.r, problem.rules.held.sized
    known = np.zeros(r, bool) if sized is None else sized[:r]
    norm, size, of_A, of_S = np.linalg.norm(A[:, :r], axis=0), np.linalg.norm(S[:r], axis=1), [A], [S]
    channels = slice(None) if problem.wavelet else problem.columns
    for one, spectra in ends:
        other, signal = one[problem.rows], spectra[:, channels] / problem.engine.unit
        found = np.linalg.norm(other, axis=0)
        scale = np.where(known | (found == 0), 1.0, norm / np.where(found > 0, found, 1.0))
        signal = signal / np.maximum(scale, TINY)[:, None]
        growth = np.linalg.norm(signal, axis=1) / np.maximum(size, TINY)
        signal *= (MOST_GROWTH / np.maximum(growth, MOST_GROWTH))[:, None]
        of_A.append(np.hstack([other * scale, A[:, r:]]))
        of_S.append(np.vstack([signal, S[r:]]))
    return np.ptp(of_A, axis=0), np.ptp(of_S, axis=0)


def _noise_of_mixing(problem: Target, S: NDArray) -> NDArray:
    """Return the standard deviation (m, R) of A for known S; with a closure, of rows with known sums."""
    held, weights = problem.rules.held.mixing, problem.engine.weights
    sampled = ~held.all(axis=0) if held.size else np.ones(len(S), bool)
    inverse = np.linalg.pinv(S[sampled] @ S[sampled].T, hermitian=True)
    if problem.profiles.closed:
        own = np.arange(len(S))[sampled] < problem.r  # a baseline is not part of the sum
        sums = inverse @ own
        inverse = inverse - np.outer(sums, sums) / max(float(own @ sums), TINY)
    variance = problem.growth * problem.variance
    if weights is not None:
        variance = variance / np.maximum(weights.mean(axis=1), TINY)
    found = np.zeros((len(variance), len(S)))
    found[:, sampled] = np.sqrt(np.outer(variance, np.maximum(np.diag(inverse), 0)))
    return found


def around(answer: NDArray, stray: NDArray) -> Marginals:
    """Return a normal variable around the answer, as wide as `stray`, cut off at 0.

    Its intervals contain the answer at every level above 0.42.
    """
    above = np.divide(answer, stray, out=np.full(stray.shape, np.inf), where=stray > 0)
    lifted = np.sqrt(2 / np.pi) * stray / erfcx(-above / np.sqrt(2))  # how much the cut raises the mean
    variance = stray**2 - lifted * (answer + lifted)
    return Marginals(answer + lifted, np.sqrt(np.maximum(variance, 0)))
