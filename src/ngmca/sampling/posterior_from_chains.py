"""From chains to a `Posterior`: distributions in the units of the data, with warnings."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca.result import Marginals, Posterior
from ngmca.sampling.model_check import check_model
from ngmca.sampling.parallel_chains import Chains
from ngmca.sampling.posterior_warnings import disagreement, silent_sources, stopped_at_limit
from ngmca.sampling.sparse_model import noise_level
from ngmca.sampling.target import Target
from ngmca.sampling.wavelet_chain import collect_wavelets


def collect(chains: Chains, problem: Target, *, final: bool) -> Posterior:
    """Return the posterior in the units of the data, with a check of the model.

    `final` says that the user chose the number of samples: no warning that there are too few.
    """
    engine, fixed = problem.engine, problem.rules.fixed
    if problem.wavelet:
        start = (problem.A * problem.norm, problem.S / problem.norm[:, None])
        found = collect_wavelets(chains, start, fixed=fixed, final=final)
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

    def first(part: Marginals | None) -> Marginals | None:
        return None if part is None else Marginals(part.mean[..., :r], part.sd[..., :r])

    def first_of_each(part: dict[str, NDArray]) -> dict[str, NDArray]:
        return {name: x[..., :r] if name != "noise" else x for name, x in part.items()}

    S, active = found.S, found.S.active
    return replace(
        found,
        S=Marginals(S.mean[:r], S.sd[:r], None if active is None else active[:r]),
        A=Marginals(found.A.mean[..., :r], found.A.sd[..., :r]),
        pi=first(found.pi),
        stay=first(found.stay),
        beta=first(found.beta),
        traces=first_of_each(found.traces),
        rhat=first_of_each(found.rhat),
        ess=first_of_each(found.ess),
    )


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
