"""A reaction A -> B -> C with overlapping spectra: how well known points, shapes, closure and kinetics do.

    python bench/reactions.py [seeds] [runs for the rate constants]

Prints the RMSE of the profiles in fractions for several sets of constraints, and how often the true rate
constants are inside their 90 % intervals. Profiles of plain `soft` are scaled to the true ones first.
"""

import itertools
import sys

import numpy as np

import ngmca

MEASUREMENTS, CHANNELS, NOISE = 40, 120, 0.02
RATES = (0.6, 0.25)
TIMES = np.linspace(0, 10, MEASUREMENTS)


def reaction(seed):
    """Profiles (m, 3), spectra (3, n) and data: three bands close together, and a weaker one each."""
    rng = np.random.default_rng(seed)
    a = np.exp(-RATES[0] * TIMES)
    b = RATES[0] / (RATES[1] - RATES[0]) * (a - np.exp(-RATES[1] * TIMES))
    A, x = np.column_stack([a, b, 1 - a - b]), np.arange(CHANNELS)
    S = np.zeros((3, CHANNELS))
    for k, centre in enumerate((38, 49, 60)):
        for place, height in ((centre + rng.uniform(-2, 2), 1.0), (rng.uniform(70, 100), 0.5)):
            S[k] += height * np.exp(-0.5 * ((x - place) / rng.uniform(10, 14)) ** 2)
    return A, S, A @ S + NOISE * rng.standard_normal((MEASUREMENTS, CHANNELS))


def rmse(found, A, *, scaled=False):
    """Root mean square error of the profiles; in the best order and scale, if `scaled`."""
    if not scaled:
        return float(np.sqrt(np.mean((found - A) ** 2)))
    errors = []
    for order in itertools.permutations(range(3)):
        B = found[:, order]
        B = B * (np.einsum("ij,ij->j", B, A) / np.einsum("ij,ij->j", B, B))
        errors.append(rmse(B, A))
    return min(errors)


def known(A, places):
    """Known values at some places, as (row, column)."""
    points = np.full(A.shape, np.nan)
    for place in places:
        points[place] = A[place]
    return points


def sets_of_constraints(A):
    """The constraints to compare, by name."""
    three = known(A, [(0, 0), (10, 1), (-1, 2)])
    two = known(A, [5, 25])
    noisy = np.clip(three + 0.02 * np.random.default_rng(1).standard_normal(A.shape), 0, None)
    closure, unimodal = ngmca.Closure(), ngmca.Unimodal()
    law = ngmca.Kinetics("A -> B -> C", times=TIMES)
    return {
        "unimodal": [unimodal],
        "closure, unimodal": [closure, unimodal],
        "3 points, closure, unimodal": [ngmca.KnownMixing(three), closure, unimodal],
        "3 points with sd 0.02, the same": [ngmca.KnownMixing(noisy, sd=0.02), closure, unimodal],
        "two known times": [ngmca.KnownMixing(two)],
        "two known times, closure": [ngmca.KnownMixing(two), closure],
        "two known times, closure, unimodal": [ngmca.KnownMixing(two), closure, unimodal],
        "kinetics": [law],
        "3 points with sd 0.02, kinetics": [ngmca.KnownMixing(noisy, sd=0.02), law],
    }


def profiles(seeds):
    """Print the RMSE of the profiles for each set of constraints."""
    errors = {}
    for seed in range(seeds):
        print(f"  seed {seed}", flush=True, file=sys.stderr)
        A, _, Y = reaction(seed)
        plain = ngmca.separate(Y, 3)
        errors.setdefault("plain soft, scaled", []).append(rmse(plain.A, A, scaled=True))
        for name, constraints in sets_of_constraints(A).items():
            found = ngmca.separate(Y, 3, constraints=constraints)
            anchored = any(isinstance(one, ngmca.KnownMixing | ngmca.Kinetics) for one in constraints)
            errors.setdefault(name, []).append(rmse(found.A, A, scaled=not anchored))
    if not seeds:
        return
    print(f"RMSE of the profiles in fractions, {seeds} seeds: median, largest")
    for name, values in errors.items():
        print(f"  {name:36s} {np.median(values):.4f}  {max(values):.4f}")


def intervals(runs):
    """Print how often the true rate constants are inside their intervals."""
    inside = np.zeros(len(RATES), dtype=int)
    for seed in range(runs):
        _, _, Y = reaction(seed)
        law = ngmca.Kinetics("A -> B -> C", times=TIMES)
        rates = ngmca.separate(Y, 3, constraints=[law], domain="direct", n_init=1).rates
        inside += (rates.low <= RATES) & (rates.high >= RATES)
    for name, count in zip(("A -> B", "B -> C"), inside, strict=True):
        print(f"  the rate constant of {name} is inside its 90 % interval in {count} of {runs}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    profiles(given[0] if given else 10)
    intervals(given[1] if len(given) > 1 else 100)
