"""What 90 % intervals hold, source by source: `python bench/intervals.py [--seeds 0-3] [ROW ...]`.

Each row is a kind of mixture, and four seeds of all ten rows are forty mixtures. Everything is at its default:
`separate(Y, r, posterior=True)` chooses domain and starts. Of S, entries above 1 % of the maximum of their source count;
columns of A have norm 1. A mixture fails if less than 60 % of a source, or of its column of A, is inside.

A in, S in    share of all entries that are inside, mean over the mixtures
worst         the smallest share inside of any single source, of A and of S
half width    median over the sources: half the width over the actual error, both root mean square, of A and of S
warned        mixtures with a warning, and how many of those fail
failing       mixtures that fail, and how many of those have a warning

Rows with constraints are mixtures of a reaction; they are not among the forty, and run only if they are named.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

sys.path.insert(0, str(Path(__file__).parent))
from right_answers import compounds, dense, gauss, kinetics, lorentz

import ngmca
from ngmca.simulate.mixture import Mixture

FAILS = 0.6  # share inside of the worst source, below which a mixture fails
NOTICED = 0.01  # of the largest entry of a source: smaller entries are not counted


def mixture(kind: Callable, m: int, seed: int, *, n: int = 512, correlated: float = 0.0) -> Mixture:
    """Return m mixtures of 4 spectra at 25 dB; the noise is correlated over some channels."""
    rng = np.random.default_rng([seed, m, 26])
    S, A = kind(4, n, rng), rng.random((m, 4))
    noise = rng.standard_normal((m, S.shape[1]))
    noise = gaussian_filter1d(noise, correlated, axis=1) if correlated else noise
    noise *= np.linalg.norm(A @ S) / np.linalg.norm(noise) * 10 ** (-25 / 20)
    return Mixture(Y=A @ S + noise, A=A, S=S, noise=noise)


def narrow(r: int, n: int, rng: np.random.Generator) -> NDArray:
    return gauss(r, n, rng, width=(6, 25))


def broad(r: int, n: int, rng: np.random.Generator) -> NDArray:
    return gauss(r, n, rng, width=(20, 50))


def real(r: int, n: int, rng: np.random.Generator) -> NDArray:
    return compounds(r, rng, fwhm=10)


ROWS: dict[str, Callable[[int], Mixture]] = {
    **{f"Gauss 6-25, m = {m}": lambda s, m=m: mixture(narrow, m, s) for m in (10, 30, 60)},
    **{f"Gauss 20-50, m = {m}": lambda s, m=m: mixture(broad, m, s) for m in (10, 30, 60)},
    "Lorentz, m = 30": lambda s: mixture(lorentz, 30, s),
    "dense, m = 30": lambda s: mixture(dense, 30, s),
    "infrared, m = 30": lambda s: mixture(real, 30, s),
    "correlated noise, m = 30": lambda s: mixture(narrow, 30, s, correlated=3.0),
}


BASIS = np.stack([np.linspace(1, 0, 512), np.linspace(0, 1, 512)])
SHAPES = [
    ngmca.Monotonic("decreasing", sources=[0]),
    ngmca.Unimodal(sources=[1]),
    ngmca.Monotonic("increasing", sources=[2]),
]
CONSTRAINED: dict[str, Callable[[Mixture], list]] = {
    "reaction, closure": lambda x: [ngmca.Closure()],
    "reaction, shapes": lambda x: SHAPES,
    "reaction, one known spectrum": lambda x: [ngmca.KnownSources(x.S[:1])],
    "reaction, baseline": lambda x: [ngmca.Baseline(BASIS)],
}


def reaction(seed: int, *, baseline: bool = False) -> Mixture:
    """Return 30 mixtures of 3 spectra of a reaction, from a reactant to a product."""
    rng = np.random.default_rng([seed, 27])
    S, A = narrow(3, 512, rng), kinetics(30, 3, rng)
    noise = rng.standard_normal((30, 512))
    noise *= np.linalg.norm(A @ S) / np.linalg.norm(noise) * 10 ** (-25 / 20)
    rest = rng.uniform(0.05, 0.3, (30, 2)) @ BASIS * S.max() if baseline else 0.0
    return Mixture(Y=A @ S + noise + rest, A=A, S=S, noise=noise)


def paired(data: Mixture, A: NDArray, S: NDArray) -> tuple[NDArray, NDArray]:
    """Return the truth in the order of the sources that were found, in their scale: norm 1, or as it was known."""
    order = np.argsort(ngmca.evaluate(data.S, S).order)
    known = np.abs(np.linalg.norm(A, axis=0) - 1) > 1e-6
    norm = np.where(known, 1.0, np.linalg.norm(data.A, axis=0)[order])
    return data.A[:, order] / norm, data.S[order] * norm[:, None]


def by_source(
    truth: NDArray, answer: NDArray, ends: tuple[NDArray, NDArray], counted: NDArray
) -> tuple[NDArray, NDArray, float]:
    """Return by row: the share inside, half width over the error; and the share of all entries inside."""
    rounding = 1e-6 * truth.max()
    inside = (ends[0] <= truth + rounding) & (truth - rounding <= ends[1])
    half = (ends[1] - ends[0]) / 2

    def size(values: NDArray) -> NDArray:
        return np.sqrt(np.mean(np.square(values, where=counted, out=np.zeros_like(values)), axis=1))

    shares = np.sum(inside & counted, axis=1) / counted.sum(axis=1)
    return shares, size(half) / np.maximum(size(truth - answer), 1e-12), float(np.mean(inside[counted]))


def score(data: Mixture, constraints: Sequence = ()) -> dict[str, float]:
    """Return what the intervals of one mixture hold, in the scale of the answer."""
    begun = time.perf_counter()
    found = ngmca.separate(data.Y, len(data.S), constraints=constraints, posterior=True, seed=0)
    bars = found.posterior
    assert bars is not None
    A, S = found.answer
    true_A, true_S = paired(data, A, S)
    in_A, wide_A, all_A = by_source(
        true_A.T,
        A.T,
        tuple(end.T for end in bars.A.interval(0.9)),  # type: ignore[arg-type]
        np.ones(true_A.T.shape, bool),
    )
    counted = true_S > NOTICED * true_S.max(axis=1, keepdims=True)
    in_S, wide_S, all_S = by_source(true_S, S, bars.S.interval(0.9), counted)
    return {
        "A": all_A, "S": all_S, "worst A": in_A.min(), "worst S": in_S.min(),
        "width A": float(np.median(wide_A)), "width S": float(np.median(wide_S)),
        "warned": bool(bars.warnings), "refuted": bars.refuted,
        "failing": min(in_A.min(), in_S.min()) < FAILS, "seconds": time.perf_counter() - begun,
    }  # fmt: skip


HEAD = "| data | A in | S in | worst A, S | half width A, S | warned | failing | s |\n|" + "---|" * 8


def cells(rows: list[dict[str, float]]) -> str:
    x = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    warned, failing = x["warned"].astype(bool), x["failing"].astype(bool)
    both = int((warned & failing).sum())
    return (
        f"{x['A'].mean():.3f} | {x['S'].mean():.3f} | {x['worst A'].min():.2f}, {x['worst S'].min():.2f} | "
        f"{np.median(x['width A']):.1f}, {np.median(x['width S']):.1f} | {warned.sum()} ({both} fail) | "
        f"{failing.sum()} ({both} warned) of {len(rows)} | {x['seconds'].mean():.1f}"
    )


def scored(name: str, seed: int) -> dict[str, float]:
    """Return the score of one mixture of a row."""
    if name in ROWS:
        return score(ROWS[name](seed))
    data = reaction(seed, baseline="baseline" in name)
    return score(data, CONSTRAINED[name](data))


def table(names: Iterable[str], seeds: range) -> None:
    every = []
    print(HEAD, flush=True)
    for name in names:
        rows = [scored(name, seed) for seed in seeds]
        every += rows
        print(f"| {name} | {cells(rows)} |", flush=True)
    print(f"| all | {cells(every)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "rows", nargs="*", default=list(ROWS), metavar="ROW", help="all, if none is given"
    )
    parser.add_argument("--seeds", default="0-3", help="from-to")
    args = parser.parse_args()
    first, _, last = args.seeds.partition("-")
    warnings.simplefilter("ignore", UserWarning)  # counted in the table
    table(args.rows, range(int(first), int(last or first) + 1))


if __name__ == "__main__":
    main()
