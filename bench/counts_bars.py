"""How often 90 % intervals hold the truth of data as they come: `python bench/counts_bars.py [--seeds 6]`.

Entries missing at random, levels of entries and of samples over a factor of 10, and counts, all from
`simulate.sparse`. The exit status is 1 if an average share is not between 0.85 and 0.95, or if the posterior
mean has a lower SDR than `soft`; counts that are taken for equally noisy are there to compare.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ngmca
from ngmca.simulate import Mixture, sparse

Case = tuple[Mixture, NDArray, Any]  # the truth, the data, and what is said of their noise


def missing(share: float, p_S: float) -> Callable[[int], Case]:
    """Entries of m = n = 200, r = 15, 15 dB that are missing at random."""

    def make(seed: int) -> Case:
        data = sparse(p_S=p_S, snr=15, seed=seed)
        gaps = np.random.default_rng(seed).random(data.Y.shape) < share
        return data, np.where(gaps, np.nan, data.Y), None

    return make


def levels(shape: tuple[int, int]) -> Callable[[int], Case]:
    """Noise levels over a factor of 10."""

    def make(seed: int) -> Case:
        data, rng = sparse(60, 300, 5, p_S=0.2, seed=seed), np.random.default_rng(seed)
        noise = 0.2 * np.std(data.Y) * 10 ** rng.uniform(-0.5, 0.5, shape)
        return data, data.Y + noise * rng.standard_normal(data.Y.shape), noise

    return make


def counts(mean: float, noise: str | None = "poisson") -> Callable[[int], Case]:
    """Counts, so many a bin on average."""

    def make(seed: int) -> Case:
        data, rng = sparse(100, 300, 8, p_S=0.2, seed=seed), np.random.default_rng(seed)
        factor = mean / data.Y.mean()
        data = Mixture(Y=data.Y * factor, A=data.A, S=data.S * factor, noise=data.noise)
        return data, rng.poisson(data.Y), noise

    return make


CASES = {
    "30 % missing, p_S = 0.1": missing(0.3, 0.1),
    "30 % missing, p_S = 0.3": missing(0.3, 0.3),
    "60 % missing, p_S = 0.1": missing(0.6, 0.1),
    "levels of entries": levels((60, 300)),
    "levels of samples": levels((1, 300)),
    "counts, 5 a bin": counts(5),
    "counts, 20 a bin": counts(20),
    "counts, 50 a bin": counts(50),
}
TO_COMPARE = {"counts, 20 a bin, as if equally noisy": counts(20, None)}


def judge(make: Callable[[int], Case], seed: int) -> list[float]:
    """Shares of active S and of A inside, SDR of soft and of the mean, largest R-hat, and sweeps."""
    data, Y, noise = make(seed)
    separation = ngmca.separate(Y, len(data.S), noise=noise, domain="direct", seed=seed, n_init=1)
    found = ngmca.posterior(Y, separation, noise=noise, seed=seed)
    match = ngmca.evaluate(data.S, found.S.mean)
    norm = np.linalg.norm(data.A, axis=0)
    S, A = data.S * norm[:, None], data.A / norm
    low, high = (end[match.order] for end in found.S.interval(0.9, given_active=True))
    inside = ((low <= S) & (high >= S))[S > 0].mean()
    low, high = (end[:, match.order] for end in found.A.interval(0.9))
    soft = ngmca.evaluate(data.S, separation.S).mean_sdr
    rhat = max(found.rhat["S"].max(), found.rhat["A"].max())
    inside_A = ((low <= A) & (high >= A)).mean()
    return [inside, inside_A, soft, match.mean_sdr, rhat, found.burn + found.n_samples]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=6)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", "the chains disagree|sampling stopped")  # the table tells
    print("| data | S if active | A | SDR soft, posterior | R-hat | sweeps |")
    print("|---|---|---|---|---|---|")
    kept = True
    for name, make in (CASES | TO_COMPARE).items():
        told = np.array([judge(make, seed) for seed in range(args.seeds)])
        S, A, soft, mean, _, sweeps = told.mean(axis=0)
        rhat = told[:, 4].max()
        fine = name in TO_COMPARE or (all(0.85 <= x <= 0.95 for x in (S, A)) and mean >= soft)
        row = f"{S:.3f} | {A:.3f} | {soft:.1f}, {mean:.1f} | {rhat:.2f} | {sweeps:.0f}"
        print(f"| {name} | {row} |" + ("" if fine else " MISSED"), flush=True)
        kept &= fine
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
