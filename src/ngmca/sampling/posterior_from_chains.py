"""From chains to a `Posterior`: distributions in the units of the data, with warnings.

Samples of lines and bands fit the data as well as the answer. But if the data cannot distinguish a
source from one that contains a little of another source, the samples may lie close together and away
from the answer. Their spread alone would then give narrow intervals that miss the answer. The distance
between the two is part of the uncertainty: intervals of lines and bands lie around the answer.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from ngmca.result import Marginals, Posterior
from ngmca.sampling.model_check import check_model
from ngmca.sampling.parallel_chains import Chains
from ngmca.sampling.posterior_warnings import disagreement, not_settled, silent_sources, stopped_at_limit
from ngmca.sampling.sparse_model import noise_level
from ngmca.sampling.target import Target


def collect(chains: Chains, problem: Target, *, final: bool) -> Posterior:
    """Return the posterior in the units of the data, with a check of the model.

    `final` says that the user chose the number of samples: no warning that there are too few.
    """
    engine, fixed = problem.engine, problem.rules.fixed
    if problem.wavelet:
        start = (problem.A * problem.norm, problem.S / problem.norm[:, None])
        found = _collect_bands(chains, start, fixed=fixed, final=final)
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


def _collect_bands(
    chains: Chains, start: tuple[NDArray, NDArray], *, fixed: bool, final: bool
) -> Posterior:
    """Return the posterior in units of the engine: intervals around the start, which is the answer.

    If the mixing is known, the answer is the mean of the samples.
    """
    A, S = start
    sources, mixing = Marginals(*chains.moments("sources")), Marginals(A, np.zeros_like(A))
    inside = np.ones(len(S))
    if not fixed:
        draws = Marginals(*chains.moments("mixing"))
        inside = np.minimum(share_inside(sources, S, 1), share_inside(draws, A, 0))
        sources, mixing = around(sources, S), around(draws, A)
    traces = {"noise": chains.trace()[:, :, 0]}
    found = chains.posterior(sources, mixing, traces, rows=True)
    spent = () if final else stopped_at_limit(chains)
    warnings = (*not_settled(inside), *disagreement(found.rhat), *spent)
    return replace(found, warnings=warnings, model="bands")


def around(draws: Marginals, answer: NDArray) -> Marginals:
    """Return a normal variable around the answer, as wide as the samples differ from it, cut off at 0.

    Its intervals contain the answer at every level above 0.42.
    """
    stray = np.hypot(draws.sd, draws.mean - answer)
    above = np.divide(answer, stray, out=np.full(stray.shape, np.inf), where=stray > 0)
    lifted = np.sqrt(2 / np.pi) * stray / erfcx(-above / np.sqrt(2))  # how much the cut raises the mean
    variance = stray**2 - lifted * (answer + lifted)
    return Marginals(answer + lifted, np.sqrt(np.maximum(variance, 0)))


def share_inside(draws: Marginals, answer: NDArray, axis: int) -> NDArray:
    """Return the share of the answer, along an axis, inside the 90 % intervals of the samples alone."""
    low, high = draws.interval(0.9)
    return np.asarray(np.mean((low <= answer) & (answer <= high), axis=axis))
