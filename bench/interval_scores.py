"""How often intervals hold the truth, and how often what is called active is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import ngmca

FEWEST = 50  # entries that a bin must have


@dataclass(frozen=True)
class Score:
    """Shares of the truth inside 90 % intervals, and distances of shares from probabilities."""

    active: float  # of truly active entries, inside the interval given that they are
    found: float  # of entries more probably active than not, inside the interval
    mixing: float
    worst_bin: float  # largest |share of active ones - mean probability| over bins, beyond chance
    soft: float  # SDR in dB
    posterior: float

    def row(self) -> str:
        """The cells of a table."""
        shares = " | ".join(f"{x:.3f}" for x in (self.active, self.found, self.mixing, self.worst_bin))
        return f"{shares} | {self.soft:.1f}, {self.posterior:.1f}"


def judge(make: Callable[[int], ngmca.simulate.Mixture], seeds: int) -> Score:
    """Scores over several simulations, after matching order and scale."""
    parts: dict[str, list[NDArray]] = {name: [] for name in ("active", "found", "mixing", "p", "truth")}
    sdr = []
    for seed in range(seeds):
        data = make(seed)
        tau = 2.0 if data.names else 1.0  # 2 for NMR spectra, as in the paper
        separation = ngmca.separate(
            data.Y, len(data.S), method=ngmca.Soft(tau=tau), domain="direct", seed=seed, n_init=1
        )
        posterior = ngmca.posterior(data.Y, separation, seed=seed)
        match = ngmca.evaluate(data.S, posterior.S.mean)
        sdr.append([ngmca.evaluate(data.S, separation.S).mean_sdr, match.mean_sdr])
        order, norm = match.order, np.linalg.norm(data.A, axis=0)
        S, A = data.S * norm[:, None], data.A / norm
        active = active_entries(S, posterior)
        p = posterior.S.active[order]  # type: ignore[index]
        inside = _inside(S, *(end[order] for end in posterior.S.interval(0.9, given_active=True)))
        parts["active"].append(inside[active])
        parts["found"].append(_inside(S, *(end[order] for end in posterior.S.interval(0.9)))[p > 0.5])
        parts["mixing"].append(_inside(A, *(end[:, order] for end in posterior.A.interval(0.9))).ravel())
        parts["p"].append(p.ravel())
        parts["truth"].append(active.ravel())
    whole = {name: np.concatenate(values) for name, values in parts.items()}
    worst = max(_beyond_chance(*one) for one in bins(whole["p"], whole["truth"]))
    shares = (float(whole[name].mean()) for name in ("active", "found", "mixing"))
    return Score(*shares, worst, *np.mean(sdr, axis=0))


def active_entries(S: NDArray, posterior: ngmca.Posterior) -> NDArray:
    """Where S (for columns of A of norm 1) is not 0; of tails that never end, what is above the noise."""
    if (S == 0).mean() > 0.2:
        return S > 0
    level = np.sqrt(np.mean(posterior.noise.mean**2))
    return level < S


def bins(p: NDArray, truth: NDArray) -> list[tuple[float, float, int]]:
    """Mean probability, share of the truth, and number of entries in 10 bins of equal width."""
    which = np.minimum((10 * p).astype(int), 9)
    kept = [which == k for k in range(10)]
    return [
        (float(p[k].mean()), float(truth[k].mean()), int(k.sum())) for k in kept if k.sum() >= FEWEST
    ]


def _beyond_chance(p: float, share: float, n: int) -> float:
    """Distance of a share among n from its probability, less two standard errors."""
    return max(abs(share - p) - 2 * np.sqrt(p * (1 - p) / n), 0.0)


def by_source(make: Callable[[int], ngmca.simulate.Mixture], seeds: int) -> list[str]:
    """Lines about NMR mixtures: coverage of each column of A, and of S if A is known."""
    columns, known = [], []
    for seed in range(seeds):
        data = make(seed)
        separation = ngmca.separate(
            data.Y, 15, method=ngmca.Soft(tau=2), domain="direct", seed=seed, n_init=1
        )
        posterior = ngmca.posterior(data.Y, separation, seed=seed)
        order, norm = ngmca.evaluate(data.S, posterior.S.mean).order, np.linalg.norm(data.A, axis=0)
        ends = (end[:, order] for end in posterior.A.interval(0.9))
        columns.append(_inside(data.A / norm, *ends).mean(axis=0))
        sources = ngmca.posterior(data.Y, None, A=data.A, seed=seed).S.interval(0.9, given_active=True)
        active = active_entries(data.S * norm[:, None], posterior)
        known.append(_inside(data.S, *sources)[active].mean())
    named = zip(data.names, np.mean(columns, axis=0), strict=True)
    words = ", ".join(f"{name} {share:.2f}" for name, share in sorted(named, key=lambda pair: -pair[1]))
    return [f"A inside, by source: {words}", f"S inside, A known: {np.mean(known):.3f}"]


def _inside(x: NDArray, low: NDArray, high: NDArray) -> NDArray:
    return (low <= x) & (x <= high)
