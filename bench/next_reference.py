"""Which reference to measure next: does the advised one narrow the range more than others?

    python bench/next_reference.py [seeds]

Two and three substances with a closure, whose spectra overlap and of which none is ever pure. Many
factorisations that fit as well are drawn by a random walk: A T and T^-1 S without negative entries, up
to 1 % of the largest. Each of them may be the truth. What a reference leaves of the range is then counted
among those that agree with it, and compared with the advice of `ngmca.references`.
"""

import sys
import warnings

import numpy as np

import ngmca

WALK, KEPT, NEIGHBOURS = 40_000, 800, 12
NEGATIVE = 0.01  # of the largest entry, which noise can hide


def mixture(seed, r):
    """Fractions (30, r), none of which is ever 1 or 0, and spectra (r, 80)."""
    rng = np.random.default_rng(seed)
    A = 0.1 + rng.dirichlet(np.ones(r), 30)
    A /= A.sum(axis=1, keepdims=True)
    x = np.arange(80)
    places, widths = np.linspace(25, 55, r) + rng.uniform(-3, 3, r), rng.uniform(8, 14, r)
    S = 0.05 * rng.random((r, 1)) + np.exp(-0.5 * ((x - places[:, None]) / widths[:, None]) ** 2)
    return A, S, A @ S + 0.005 * rng.standard_normal((30, 80))


def factorisations(A, S, rng):
    """Draw T with rows that sum to 1, for which A T and T^-1 S have no clearly negative entries."""
    r, T, drawn, step = len(S), np.eye(len(S)), [], 0.02
    for k in range(WALK):
        move = step * rng.standard_normal((r, r))
        trial = T + move - move.mean(axis=1, keepdims=True)
        mixing, sources = A @ trial, np.linalg.solve(trial, S)
        low = min(mixing.min() / mixing.max(), sources.min() / sources.max())
        if low >= -NEGATIVE:
            T = trial
        if k % (WALK // KEPT) == 0:
            drawn.append((A @ T, np.linalg.solve(T, S)))
    return drawn


def left_by(drawn, A, S):
    """Return the share of the range that each reference takes away, by (kind, index)."""
    unit_A, unit_S = np.linalg.norm(A, axis=0), np.linalg.norm(S, axis=1)[:, None]
    all_A, all_S = (
        np.stack(part) for part in zip(*((a / unit_A, s / unit_S) for a, s in drawn), strict=True)
    )
    every = np.hstack([all_A.reshape(len(drawn), -1), all_S.reshape(len(drawn), -1)])
    total = every.var(axis=0).sum()
    seen = {("measurement", i): all_A[:, i] for i in range(0, len(A), 3)}
    seen |= {("spectrum", k): all_S[:, k] for k in range(len(S))}
    found = {}
    for place, values in seen.items():
        distance = ((values[:, None] - values[None]) ** 2).sum(axis=2)
        near = np.argsort(distance, axis=1)[:, :NEIGHBOURS]
        left = every[near].var(axis=1, ddof=1).sum(axis=1).mean()
        found[place] = 1 - left / total
    return found


def main(seeds):
    """Print the narrowing by the advised reference, and that by the median one, for each kind."""
    for r in (2, 3):
        better = {"measurement": 0, "spectrum": 0, "all": 0}
        for seed in range(seeds):
            _, _, Y = mixture(seed, r)
            known = [ngmca.Closure()]
            separation = ngmca.separate(Y, r, constraints=known)
            made = ngmca.references(separation, ngmca.ambiguity(Y, separation, constraints=known))
            A, S = separation.A, separation.S
            true = left_by(factorisations(A, S, np.random.default_rng(seed)), A, S)
            for kind in better:
                some = {place: one for place, one in true.items() if kind in (place[0], "all")}
                best = next((one.kind, one.index) for one in made if (one.kind, one.index) in some)
                values = list(some.values())
                better[kind] += some[best] >= np.median(values)
                print(
                    f"  {r} sources, {kind:12s} {some[best]:.2f}, median {np.median(values):.2f}, "
                    f"best {max(values):.2f}",
                    flush=True,
                )
        for kind, count in better.items():
            print(
                f"{r} sources, {kind}: the advice is at least as good as the median in {count} of {seeds}"
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)
