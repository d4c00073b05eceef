"""How often the range of other mixtures that fit as well contains the true contributions.

Mixtures with concentrations of Dirichlet 1, 4 and 8 (the larger, the less pure measurements there are),
spectra of smooth bands, of sharp lines and of sparse entries, and noise that is white or correlated. A
mixture is inside if the true contributions of all its sources are.

    python bench/feasible.py [--seeds 7]
"""

import argparse
import time
import warnings

import numpy as np
from machine import describe
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment

import ngmca

CASES = (  # name, sources, measurements, signal to noise in dB, channels over which noise is correlated
    ("bands", 3, 40, 25.0, 0.0),
    ("sparse", 3, 40, 25.0, 0.0),
    ("bands", 4, 20, 20.0, 2.0),
)
DIRICHLET = (1, 4, 8)


def mixture(kind, r, m, snr, width, alpha, seed, n=600):
    """Return the data and the true factors."""
    rng = np.random.default_rng(seed)
    S = getattr(ngmca.simulate, kind)(m=2, n=n, r=r, seed=seed).S
    A = rng.dirichlet(np.full(r, alpha), m)
    noise = rng.standard_normal((m, n))
    noise = gaussian_filter1d(noise, width, axis=1) if width else noise
    noise *= np.linalg.norm(A @ S) / np.linalg.norm(noise) * 10 ** (-snr / 20)
    return A @ S + noise, A, S


def contributions(A, S):
    return np.linalg.norm(A, axis=0) * np.linalg.norm(S, axis=1) / np.linalg.norm(A @ S)


def matched(S, true):
    """Return for each source the index of the true one."""
    found, true = (X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300) for X in (S, true))
    return linear_sum_assignment(-found @ true.T)[1]


def beyond_plain(Y, A, S, separation, limit):
    """Return how far the truth, fitted again, is from the plain factorisation, in limits of the deviance."""
    plain = ngmca.separate(Y, len(S), method="anls", start=separation)
    S = ngmca.nnqp.pivot(A.T @ A, A.T @ Y, S).X
    A = ngmca.nnqp.pivot(S @ S.T, S @ Y.T, A.T).X.T
    rest, least = (np.sum((Y - one) ** 2) for one in (A @ S, plain.A @ plain.S))
    return (rest - least) / np.median(separation.noise) ** 2 / limit


def study(case, alpha, seed):
    """Return facts about one mixture."""
    kind, r, m, snr, width = case
    Y, A, S = mixture(kind, r, m, snr, width, alpha, seed)
    begun = time.perf_counter()
    separation = ngmca.separate(Y, r)
    middle = time.perf_counter()
    found = ngmca.ambiguity(Y, separation)
    end = time.perf_counter()
    order = matched(separation.S, S)
    truth = contributions(A, S)[order]
    inside = (found.lowest <= truth) & (truth <= found.highest)
    scale = np.linalg.norm(separation.A, axis=0) / np.linalg.norm(A, axis=0)[order]
    weights, error = (
        A[:, order] * scale,
        2 * np.median(separation.noise) / np.linalg.norm(separation.S, axis=1),
    )
    return {
        "inside": inside.all(),
        "sources": inside.mean(),
        "weights": np.mean((found.A_low - error <= weights) & (weights <= found.A_high + error)),
        "width": np.median(found.width),
        "error": np.median(np.abs(found.found / truth - 1)),
        "growth": found.variance_growth,
        "plain": beyond_plain(Y, A, S, separation, found.limit * found.variance_growth),
        "converged": found.converged.mean(),
        "time": (end - middle) / (middle - begun),
        "seconds": end - middle,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=7)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    print(describe())
    study(CASES[0], 1, 100)  # compiles
    study(CASES[1], 1, 100)
    print(
        "mixtures inside | sources inside | weights inside (2 standard errors) | median half width of a"
    )
    print("contribution | median error of the separation | variance growth | deviance of the truth from")
    print("the plain factorisation, over the limit | ends converged | time\n")
    rows = []
    for case in CASES:
        for alpha in DIRICHLET:
            found = [study(case, alpha, seed) for seed in seeds]
            rows += found
            name = f"{case[0]}, r={case[1]}, m={case[2]}, {case[3]:g} dB, Dirichlet {alpha}"
            print(line(name + (", correlated" if case[4] else ""), found), flush=True)
    print(line("all", rows))


def line(name, rows):
    mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
    inside = sum(bool(row["inside"]) for row in rows)
    return (
        f"{name:52s} {inside:3d} of {len(rows):3d}  {mean['sources']:5.1%} {mean['weights']:6.1%}  "
        f"+-{mean['width']:6.1%} {mean['error']:6.1%}  {mean['growth']:4.1f} {mean['plain']:5.1f} {mean['converged']:5.0%}  "
        f"{mean['time']:.2f} of a separation ({mean['seconds']:.2f} s)"
    )


if __name__ == "__main__":
    main()
