"""Profiles common to several data sets: `Trilinear` beside CP decompositions of tensorly.

    python bench/trilinear.py [seeds]

needs `pip install tensorly`. Simulations have spectra and profiles that overlap everywhere; the figure is
the smallest congruence (cosine) of a source with its true spectrum, and the time of the processor. The
real data are tensorly's `Kinetic`: fluorescence of 64 samples at 12 emissions, 10 excitations and 60
times, without the five outliers that tensorly lists. There is no truth: each half of the samples is
separated alone, and the figure is the congruence of the spectra of both halves.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import tensorly
from scipy.optimize import linear_sum_assignment
from tensorly.decomposition import non_negative_parafac, non_negative_parafac_hals

import ngmca

OUTLIERS = (34, 35, 44, 45, 63)
SOURCES = 4  # of the real data


def congruence(found, true):
    """Cosines of sources (r, n) with true ones, in the best order."""
    unit = [X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300) for X in (found, true)]
    cosines = unit[0] @ unit[1].T
    return cosines[linear_sum_assignment(-cosines)]


def simulated(seed):
    """A tensor (8 data sets, 12 measurements, 60 channels) of 3 sources with 2 % of noise."""
    rng = np.random.default_rng(seed)
    x, t = np.linspace(0, 1, 60), np.linspace(0, 1, 12)
    places = np.array([0.3, 0.5, 0.7]) + rng.uniform(-0.05, 0.05, 3)
    S = 0.1 + np.exp(-((x - places[:, None]) ** 2) / 0.04)
    b = 0.2 + np.exp(-((t[:, None] - rng.permutation(places)) ** 2) / 0.1)
    c = rng.random((8, 3)) + 0.1
    X = np.einsum("pk,ik,kj->pij", c, b, S)
    return S, X + 0.02 * X.max() * rng.standard_normal(X.shape)


def ours(X, r, **constraints):
    """Sources of ngmca, for data sets that are slices of a tensor."""
    known = [ngmca.Trilinear()] if constraints.get("common", True) else []
    return ngmca.separate(list(X), r, constraints=known).S


def filled(X):
    """Missing entries, which these methods do not know, from their neighbours along the channels."""
    found, place = X.reshape(-1, X.shape[-1]).copy(), np.arange(X.shape[-1])
    for row in found:
        seen = ~np.isnan(row)
        row[~seen] = np.interp(place[~seen], place[seen], row[seen]) if seen.any() else 0
    return found.reshape(X.shape)


def by_hals(X, r):
    """Sources of a non-negative CP decomposition by hierarchical least squares."""
    X = filled(X)
    found = non_negative_parafac_hals(tensorly.tensor(X), r, n_iter_max=4000, tol=1e-12, init="svd")
    return np.asarray(found[1][2]).T


def by_updates(X, r):
    """The same by multiplicative updates."""
    X = np.maximum(filled(X), 0)
    found = non_negative_parafac(tensorly.tensor(X), r, n_iter_max=4000, tol=1e-12, init="svd")
    return np.asarray(found[1][2]).T


METHODS = {
    "ngmca, free profiles": lambda X, r: ours(X, r, common=False),
    "ngmca, Trilinear": ours,
    "tensorly, HALS": by_hals,
    "tensorly, multiplicative": by_updates,
}


def simulations(seeds):
    """Print the congruence with the truth."""
    print(f"simulations, {seeds} seeds: smallest congruence (median, worst), seconds (median)")
    for name, method in METHODS.items():
        worst, seconds = [], []
        for seed in range(seeds):
            S, X = simulated(seed)
            begin = time.process_time()
            worst.append(congruence(method(X, len(S)), S).min())
            seconds.append(time.process_time() - begin)
        print(
            f"  {name:26s} {np.median(worst):.4f} {min(worst):.4f}  {np.median(seconds):.2f}", flush=True
        )


def kinetic():
    """Print how well halves of the real data agree."""
    folder = Path(tensorly.__file__).parent / "datasets" / "data"
    X = np.load(folder / "Kinetic.npy")
    X[np.load(folder / "Kinetic_missing.npy")] = np.nan
    X = np.delete(X, OUTLIERS, axis=0).reshape(-1, 12, 600)
    print(f"Kinetic, {SOURCES} sources: congruence of the spectra of two halves, seconds")
    for name, method in METHODS.items():
        begin = time.process_time()
        both = [method(X[half::2], SOURCES) for half in (0, 1)]
        words = " ".join(f"{one:.4f}" for one in np.sort(congruence(*both))[::-1])
        print(f"  {name:26s} {words}  {time.process_time() - begin:.1f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    simulations(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    kinetic()
