"""What an alignment gains: `python bench/shifts.py`.

Simulated spectra with the shifts of single measurements known: how well they are found, and the sources without shifts, with
shifts, and aligned. Then infrared spectra of coffee from chemotools, whose shifts nobody planted.
"""

import os
import sys
import warnings
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
import how_many

import ngmca
from ngmca import simulate
from ngmca.domains.shifts import Movable

SEEDS = 4
KINDS = {
    "lines": lambda seed: simulate.spectra(m=40, n=500, r=3, snr=30, seed=seed),
    "bands": lambda seed: simulate.bands(m=40, n=400, r=4, snr=25, seed=seed),
    "NMR": lambda seed: simulate.nmr(m=40, n=1000, r=4, snr=25, seed=seed),
}


def sdr(S: NDArray, Y: NDArray) -> float:
    return float(ngmca.evaluate(S, ngmca.separate(Y, len(S), seed=0).S).mean_sdr)


def simulated(kind: str, sd: float) -> str:
    """A row: error of the shifts, and the three ratios in dB, medians over the seeds."""
    rows = []
    for seed in range(SEEDS):
        x = KINDS[kind](seed)
        moves = np.random.default_rng(seed).normal(0, sd, len(x.Y))
        moves -= np.median(moves)
        clean = x.A @ x.S
        Y = Movable.of(clean).moved(moves) + x.Y - clean
        found = ngmca.align(Y, len(x.S))
        wrong = np.sqrt(np.mean((found.shifts - moves) ** 2))
        rows.append([wrong, sdr(x.S, x.Y), sdr(x.S, Y), sdr(x.S[:, found.channels], found.data)])
    wrong, *ratios = np.median(rows, axis=0)
    return f"| {kind} | {sd:g} | {wrong:.3f} | {' | '.join(f'{one:.1f}' for one in ratios)} |"


def coffee() -> None:
    Y = next(iter(how_many.fetched({"coffee, infrared"})))[1]
    found = ngmca.align(Y, 3)
    print(f"coffee: {found.words}\nshifts of spectra 21 to 40: {found.shifts[20:40].round(2) + 0.0}")
    for words, X in (("as they are", Y), ("aligned", found.data)):
        choice = ngmca.choose_rank(X, seed=0, threads=1)
        print(
            f"number of sources, {words}: {choice.rank} (range {choice.range[0]} to {choice.range[1]})"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    print(
        "| data | shifts (channels) | error | no shifts (dB) | shifted | aligned |\n|---|---|---|---|---|---|"
    )
    for kind in KINDS:
        for sd in (0.0, 0.3, 1.5, 6.0):
            print(simulated(kind, sd), flush=True)
    coffee()
