"""Iterations in wavelets: `python bench/wavelet_iterations.py [--seeds 8] [--first 0] [--long] [ROW ...]`.

Mean SDR of the sources, of `before`, where the steps are as long as those for a fixed S and 260 iterations are the
limit, of `now`, and with --long of 500 such iterations. Beside them are the paired difference and its standard error, and
the processor time of the whole run over that of `before` (one thread, median). The starts are the same.
"""

import argparse
import os
import time
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import ngmca
from ngmca.algorithms.wavelets import wavelet_stage

BEFORE = {"MIN_MEASUREMENTS_FOR_SHEARS": np.inf}
RULES = {"before": BEFORE, "now": {}, "500": BEFORE | {"BANDS": 500}}


def rows() -> dict[str, Callable[[int], ngmca.simulate.Mixture]]:
    import infrared  # its spectra are downloaded, which others that import `by` do not need

    without_order = ("white", "FWHM 10, shuffled")
    known = {name: make for name, make in infrared.ROWS.items() if not name.startswith(without_order)}
    return known | {
        "bands": lambda seed: ngmca.simulate.bands(seed=seed),
        "bands, Dirichlet": lambda seed: ngmca.simulate.bands(mixing="dirichlet", seed=seed),
    }


@contextmanager
def by(rule: str) -> Iterator[None]:
    """Iterate by another rule."""
    usual = {name: getattr(wavelet_stage, name) for name in RULES[rule]}
    for name, value in RULES[rule].items():
        setattr(wavelet_stage, name, value)
    try:
        yield
    finally:
        for name, value in usual.items():
            setattr(wavelet_stage, name, value)


def figures(row: str, seed: int, rule: str) -> tuple[float, float, int]:
    mixture = rows()[row](seed)
    begun = time.process_time()
    with by(rule):
        found = ngmca.separate(mixture.Y, len(mixture.S), seed=seed, threads=1, n_init=1)
    seconds = time.process_time() - begun
    return ngmca.evaluate(mixture.S, found.S).mean_sdr, seconds, found.n_iter - found.domain.begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--long", action="store_true", help="500 iterations too")
    args = parser.parse_args()
    rules = list(RULES) if args.long else ["before", "now"]
    columns = [f"{rule} | difference | iterations | time" for rule in rules[1:]]
    print(f"| mean SDR [dB] | before | {' | '.join(columns)} |\n|---|{'---|' * (1 + 4 * len(columns))}")
    differences = []
    for row in args.rows or rows():
        seeds = range(args.first, args.first + args.seeds)
        found = np.array([[figures(row, seed, rule) for seed in seeds] for rule in rules])
        cells = [f"{found[0, :, 0].mean():.1f}"]
        gains = found[1:, :, 0] - found[0, :, 0]
        differences.append(gains.mean(axis=1))
        for own, gain in zip(found[1:], gains, strict=True):
            error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
            ratio = np.median(own[:, 1] / found[0, :, 1])
            cells += [f"{own[:, 0].mean():.1f}", f"{gain.mean():+.2f} ± {error:.2f}"]
            cells += [f"{own[:, 2].mean():.0f}", f"{ratio:.2f}"]
        print(f"| {row} | {' | '.join(cells)} |", flush=True)
    means = " and ".join(f"{mean:+.2f}" for mean in np.mean(differences, axis=0))
    print(f"\nmean difference over the rows: {means} dB")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
