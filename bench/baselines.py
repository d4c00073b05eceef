"""The baseline that the data decide: `python bench/baselines.py [clean] [planted] [real]`.

`clean` are simulations without a background, each with the right number of sources, one less, one more, and the number that
is counted: nothing should be found. `planted` are simulations with a background. `real` are data sets whose amounts are
known from another method: how well the separation agrees with these, without a baseline and with the one that is decided.
"""

import argparse
import os
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections import Counter
from collections.abc import Iterator

import how_many
import judgement
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import ngmca
from ngmca import simulate
from ngmca.answers.how_many.choose_rank import quick_numbers
from ngmca.constraints import found_baseline
from ngmca.engines import open_data

Mixtures = Iterator[tuple[str, NDArray, int]]


def broad(seed: int, width: float, m: int = 40, snr: float = 30) -> NDArray:
    """Four sources of three broad bands each, 400 channels; `width` is the mean FWHM."""
    rng, x = np.random.default_rng(seed), np.arange(400)
    S = np.zeros((4, 400))
    for row in S:
        for _ in range(3):
            height, centre, own = (
                rng.uniform(0.3, 1),
                rng.uniform(20, 380),
                width * rng.uniform(0.7, 1.3),
            )
            row += height * np.exp(-4 * np.log(2) * ((x - centre) / own) ** 2)
    X = rng.dirichlet(np.ones(4), m) @ S
    return X + rng.standard_normal(X.shape) * np.sqrt(np.mean(X**2)) * 10 ** (-snr / 20)


def clean() -> Mixtures:
    """Simulations without a background."""
    yield from judgement.clean_mixtures()
    for seed in range(6):
        for width in (25, 50, 80):
            yield f"broad bands, {width}", broad(seed, width), 4
        yield "broad bands, 50, 45 dB", broad(seed, 50, snr=45), 4
        for m in (12, 20):
            yield f"broad bands, 50, m = {m}", broad(seed, 50, m), 4
    for kind, (make, _) in how_many.SIMULATED.items():
        if "baseline" not in kind and "missing" not in kind:
            for r in (3, 5):
                yield from ((kind, make(r, seed), r) for seed in range(2))
    for seed in range(3):
        image = simulate.images(seed=seed)
        yield "images", image.Y, len(image.S)


def planted() -> Mixtures:
    """Simulations with a background: its strength is over that of the signal, both root mean squares."""
    for seed in range(4):
        for r in (3, 5):
            plain = how_many.noisy(how_many.mixed(r, seed), seed)
            B = how_many.with_background(r, seed) - plain
            for strength in (4, 1, 0.3, 0.1):
                yield f"three broad curves, {strength}", plain + strength * B, r
        x, rng = judgement.mixture(seed)
        (m, n), size = x.Y.shape, np.sqrt(np.mean(x.Y**2))
        t = np.linspace(0, 1, n)
        decays = np.array([rng.random() * np.exp(-t / rng.uniform(0.3, 2)) for _ in range(m)])
        for kind in ("constant", "linear", "polynomial"):
            curves = ngmca.Baseline(kind).basis(n)
            yield kind, x.Y + size * rng.random((m, len(curves))) @ curves, 3
        yield "exponential curves, another one each", x.Y + 5 * size * decays, 3


def simulated(mixtures: Mixtures) -> None:
    """Print what is found, for four numbers of sources each."""
    found: dict[str, Counter] = {}
    for kind, Y, r in mixtures:
        engine = open_data(np.ascontiguousarray(Y))
        quick = quick_numbers(engine, ngmca.Baseline("splines"))
        numbers = {
            "right": r,
            "one less": max(r - 1, 1),
            "one more": r + 1,
            "counted": min(quick, default=r),
        }
        for name, number in numbers.items():
            baseline = found_baseline(engine, max(number, 1))
            found.setdefault(name, Counter())[(kind, baseline and baseline.kind)] += 1
    for name, counts in found.items():
        hits = sum(count for (_, kind), count in counts.items() if kind)
        print(f"{name}: found in {hits} of {counts.total()}")
        for (kind, chosen), count in sorted(counts.items(), key=str):
            if name == "right" and (chosen or kind.startswith(("three", "exp"))):
                print(f"    {kind}: {chosen or 'none'}, {count} times")


def training() -> tuple[NDArray, NDArray]:
    """Infrared spectra of a fermentation, with glucose."""
    folder = how_many.chemotools()
    Y = how_many.table_of(folder / "train_spectra.csv", 950, 1550)
    return Y, pd.read_csv(folder / "train_hplc.csv").to_numpy(float)


def fermentation() -> tuple[NDArray, NDArray]:
    """A fermentation on line, at the times of its samples, with glucose and ethanol."""
    folder = how_many.chemotools()
    Y, known = (
        how_many.table_of(folder / "fermentation_spectra.csv", 950, 1550),
        pd.read_csv(folder / "fermentation_hplc.csv"),
    )
    times = np.arange(len(Y)) * 1.25 / 60  # one spectrum each 1.25 minutes
    nearest = [int(np.abs(times - time).argmin()) for time in known["time"]]
    kept = np.unique(np.concatenate([np.arange(0, len(Y), 5), nearest]))
    amounts = np.full((len(kept), 2), np.nan)
    amounts[np.searchsorted(kept, nearest)] = known[["glucose", "ethanol"]].to_numpy(float)
    return Y[kept], amounts


def agreement(A: NDArray, known: NDArray) -> str:
    """Return the correlation of each known amount with its best source."""
    seen = ~np.isnan(known).any(axis=1)
    best = [max(np.corrcoef(a, x)[0, 1] for a in A[seen].T) for x in known[seen].T]
    return ", ".join(f"{value:.2f}" for value in best)


def real() -> None:
    """Print how well amounts agree with those of other methods."""
    for name, read in {
        "meats": how_many.meats,
        "training set": training,
        "fermentation": fermentation,
    }.items():
        Y, known = read()
        for r in (2, 3, 4):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plain, found = ngmca.separate(Y, r, constraints=()), ngmca.separate(Y, r)
            kind = found.background.found if found.background is not None else "none"
            print(f"{name}, {r} sources: without {agreement(plain.A, known)}; auto ({kind}) "
                  f"{agreement(found.A, known)}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["clean", "planted", "real"])
    for part in parser.parse_args().parts:
        real() if part == "real" else simulated({"clean": clean, "planted": planted}[part]())
