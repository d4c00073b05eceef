"""Verdicts where the truth is known: `python bench/judgement.py [clean] [faults] [real]`.

`clean` are simulations with white noise at the right number of sources: every verdict should be green. `faults` are the
same with one planted fault each: none should be green, and the next step should improve the result. `real` are data sets
from packages, with what a chemist would say beside verdict, next step and number of sources.
"""

import argparse
import os
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections import Counter
from collections.abc import Callable

import how_many
import numpy as np
from numpy.typing import NDArray

import ngmca
from ngmca import simulate

SEEDS = 3


def clean_mixtures() -> list[tuple[str, NDArray, int]]:
    """50 simulations."""
    kinds = [
        ("bands", {"m": 40, "n": 400, "r": 4, "snr": 25}),
        ("bands", {"m": 20, "n": 300, "r": 3, "snr": 35}),
        ("spectra", {"m": 30, "n": 600, "r": 3, "snr": 20}),
        ("spectra", {"m": 60, "n": 400, "r": 5, "snr": 30}),
        ("nmr", {"m": 40, "n": 600, "r": 4, "snr": 25}),
        ("nmr", {"m": 60, "n": 1000, "r": 5, "snr": 15}),
        ("sparse", {"m": 60, "n": 300, "r": 5, "snr": 20}),
        ("sparse", {"m": 40, "n": 200, "r": 3, "snr": 30}),
        ("bands", {"m": 100, "n": 500, "r": 5, "snr": 15}),
        ("spectra", {"m": 25, "n": 300, "r": 2, "snr": 40}),
    ]
    return [
        (kind, getattr(simulate, kind)(**settings, seed=seed).Y, settings["r"])
        for kind, settings in kinds
        for seed in range(5)
    ]


def mixture(seed: int) -> tuple[simulate.Mixture, np.random.Generator]:
    return simulate.spectra(m=40, n=500, r=3, snr=30, seed=seed), np.random.default_rng(seed)


def noise_like(x: simulate.Mixture, e: NDArray) -> NDArray:
    """The clean signal with other noise of the same strength."""
    clean = x.A @ x.S
    return clean + e / e.std() * np.sqrt(np.mean(clean**2)) * 10 ** (-25 / 20)


def baseline(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    t = np.linspace(0, 1, x.Y.shape[1])
    B = sum(rng.random((len(x.Y), 1)) * np.exp(-(((t - c) / 0.35) ** 2)) for c in (0.1, 0.6, 0.9))
    return x.Y + B / np.sqrt(np.mean(B**2)) * np.sqrt(np.mean(x.Y**2))


def shifted(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    at = np.arange(x.Y.shape[1])
    moves = rng.normal(0, 1.5, len(x.Y))
    clean = [a @ [np.interp(at + move, at, s) for s in x.S] for a, move in zip(x.A, moves, strict=True)]
    return np.array(clean) + (x.Y - x.A @ x.S)


def saturated(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    return np.minimum(x.Y, 0.5 * x.Y.max())


def with_column(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    return np.column_stack([rng.uniform(1, 10, len(x.Y)) * x.Y.max(), x.Y])


def with_copies(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    return np.vstack([x.Y, x.Y[:4]])


def negative(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    return x.Y - x.Y.mean(axis=0)


def spiked(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    Y = x.Y.copy()
    Y[rng.integers(0, len(Y), 6), rng.integers(0, Y.shape[1], 6)] += 3 * Y.max()
    return Y


def counted(x: simulate.Mixture, rng: np.random.Generator) -> NDArray:
    clean = x.A @ x.S
    return rng.poisson(clean * 20 / clean.mean()).astype(float)


FAULTS: dict[str, tuple[Callable, int, str]] = {
    "baseline": (baseline, 3, "fit a baseline"),
    "shifting lines": (shifted, 3, "align"),
    "correlated noise": (lambda x, rng: noise_like(x, how_many.smooth(5)(rng, x.Y.shape)), 3, "know it"),
    "1/f noise": (lambda x, rng: noise_like(x, how_many.pink(rng, x.Y.shape)), 3, "know it"),
    "saturation": (saturated, 3, "leave out"),
    "transposed": (lambda x, rng: x.Y.T.copy(), 3, "transpose"),
    "a column of other numbers": (with_column, 3, "leave out"),
    "too many sources": (lambda x, rng: x.Y, 6, "3 sources"),
    "too few sources": (lambda x, rng: x.Y, 2, "3 sources"),
    "copied measurements": (with_copies, 3, "leave out"),
    "centred spectra": (negative, 3, "do not centre"),
    "spikes": (spiked, 3, "robust"),
    "counts": (counted, 3, "counting noise"),
    "an axis as a measurement": (lambda x, rng: np.vstack([np.linspace(400, 4000, x.Y.shape[1]), x.Y]), 3,
                                 "leave out"),
}  # fmt: skip


def judged(Y: NDArray, r: int, **options: object) -> ngmca.Verdict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ngmca.judge(Y, ngmca.separate(Y, r, **options))


def clean() -> None:
    colours = Counter()
    for kind, Y, r in clean_mixtures():
        found = judged(Y, r)
        colours[found.colour] += 1
        if found.colour != "green":
            print(f"  {kind} {Y.shape} r = {r}: {found.colour}, {found.text}", flush=True)
    print(f"clean simulations: {dict(colours)}", flush=True)


def faults() -> None:
    for name, (plant, r, wanted) in FAULTS.items():
        for seed in range(SEEDS):
            x, rng = mixture(seed)
            known = {"constraints": ()} if name == "baseline" else {}  # which is found otherwise
            found = judged(plant(x, rng), r, **known)
            step = found.next_step or (found.findings[0].text if found.findings else "")
            print(
                f"{name:26}{found.colour:6} {found.text}\n{'':32} wanted: {wanted}. {step[:170]}",
                flush=True,
            )


def real() -> None:
    for name, Y, options, (low, high), why in how_many.fetched():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                choice = ngmca.choose_rank(Y, seed=0, threads=1, **options)
                r = max(choice.rank, 1)
                found = judged(Y, r)
            except ValueError as error:
                print(f"{name}: {error}")
                continue
        print(f"{name:30}{Y.shape!s:>14} chemist {low} to {high} ({why}); chosen {choice.rank} {choice.range}\n"
              f"    {found.colour}: {found.text} Next: {found.next_step}", flush=True)  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["clean", "faults", "real"])
    for part in parser.parse_args().parts:
        {"clean": clean, "faults": faults, "real": real}[part]()
