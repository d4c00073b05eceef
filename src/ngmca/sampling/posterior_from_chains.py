"""What the chains say together: distributions in the units of the data, and what is wrong with them."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.result import Marginals, Posterior
from ngmca.sampling.model_check import check_model
from ngmca.sampling.parallel_chains import Chains
from ngmca.sampling.posterior_warnings import disagreement, silence, spent_budget
from ngmca.sampling.sparse_model import noise_level
from ngmca.sampling.target import Target
from ngmca.sampling.wavelet_chain import collect_bands


def collect(chains: Chains, problem: Target, *, final: bool) -> Posterior:
    """What the chains say, in the units of the data, and whether that contradicts what they assume.

    `final` if so many samples were asked for.
    """
    engine, fixed = problem.engine, problem.rules.fixed
    if problem.bands:
        start = (problem.A * problem.norm, problem.S / problem.norm[:, None])
        found = collect_bands(chains, start, fixed=fixed, final=final)
    else:
        found = _collect(chains, problem, final=final)
        told = check_model(engine, found, _free(problem))
        words = (told.words, *found.warnings) if told.refuted else found.warnings
        found = replace(_sources(found, problem.r), warnings=words, refuted=told.grave)
    noise = Marginals(found.noise.mean * problem.spread, found.noise.sd * problem.spread)
    return _whole(replace(found, noise=noise), problem).scaled(engine.unit)


def _free(problem: Target) -> NDArray:
    """Sources of which not all is known."""
    held = problem.rules.held.sources
    return np.flatnonzero(~held.all(axis=0)) if held.size else np.arange(problem.r)


def _sources(found: Posterior, r: int) -> Posterior:
    """The first r sources, without the rows of a baseline."""
    if len(found.S.mean) == r:
        return found

    def first(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: x[..., :r] if name != "noise" else x for name, x in part.items()}
        return Marginals(part.mean[..., :r], part.sd[..., :r])

    names = ("A", "pi", "stay", "beta", "traces", "rhat", "ess")
    S, active = found.S, found.S.active
    S = Marginals(S.mean[:r], S.sd[:r], None if active is None else active[:r])
    return replace(found, S=S, **{name: first(getattr(found, name)) for name in names})


def _whole(found: Posterior, problem: Target) -> Posterior:
    """With the measurements and samples of which nothing was observed: their spread is infinite."""
    rows, columns = problem.rows, problem.columns
    if rows.all() and columns.all():
        return found
    S, active = found.S, found.S.active
    if S.mean.shape[1] == len(columns):  # of bands, which were drawn through
        S = Marginals(S.mean, np.where(columns, S.sd, np.inf))
    else:
        mean, sd = _filled(S.mean, columns, 0.0), _filled(S.sd, columns, np.inf)
        S = Marginals(mean, sd, None if active is None else _filled(active, columns, 1.0))
    A = Marginals(*(_filled(x.T, rows, gap).T for x, gap in ((found.A.mean, 0.0), (found.A.sd, np.inf))))
    level = float(np.sqrt(np.mean(found.noise.mean**2)))
    noise = Marginals(_filled(found.noise.mean, rows, level), _filled(found.noise.sd, rows, np.inf))
    return replace(found, S=S, A=A, noise=noise)


def _filled(values: NDArray, seen: NDArray, gap: float) -> NDArray:
    """Values (..., n), of which those that were seen are given."""
    whole = np.full((*values.shape[:-1], len(seen)), gap)
    whole[..., seen] = values
    return whole


def _collect(chains: Chains, problem: Target, *, final: bool) -> Posterior:
    """What the chains say; `final` if so many samples were asked for."""
    norm, r, held = problem.norm, problem.A.shape[1], problem.rules.held
    mean, sd = (part.T * (1 / norm[:, None]) for part in chains.moments("sources"))
    A, A_sd = (
        (part * norm for part in chains.moments("mixing"))
        if not problem.rules.fixed
        else (problem.A * norm, np.zeros_like(problem.A))
    )
    if held.sources.size:
        sd[held.sources.T], A_sd[held.mixing] = 0, 0  # but for rounding they are
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
            *silence(mean * norm[:, None], problem.S, level),
            *(() if final else spent_budget(chains)),
        ),
    )


def _over_draws(trace: NDArray) -> Marginals:
    """A parameter over all draws of all chains."""
    return Marginals(trace.mean(axis=(0, 1)), trace.std(axis=(0, 1)))
