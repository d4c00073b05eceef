"""Quality of answers in cases that were once wrong: `python bench/right_answers.py [--seeds 8] [ROW ...]`.

Each row is a case, and its figure the mean over the seeds: SDR of the sources in dB, unless the row says otherwise.
`--record FILE` keeps the figures, and `--before FILE` prints those of an earlier version beside them. The figures of
version 0.1 are in `right_answers_before.json`, the default of `--before`.
"""

import argparse
import json
import os
import sys
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, gaussian_filter1d

sys.path.insert(0, str(Path(__file__).parent))
import infrared

import ngmca
from ngmca import simulate

BEFORE = Path(__file__).parent / "right_answers_before.json"
Data = tuple[NDArray, NDArray]  # Y and the true S


def sdr(S: NDArray, found: ngmca.Separation) -> float:
    return float(ngmca.evaluate(S, found.S).mean_sdr)


def rng_of(seed: int, row: int) -> np.random.Generator:
    return np.random.default_rng([seed, row, 2025])


def noisy(A: NDArray, S: NDArray, snr: float, rng: np.random.Generator) -> NDArray:
    clean, noise = A @ S, rng.standard_normal((len(A), S.shape[1]))
    return clean + noise * (np.linalg.norm(clean) / np.linalg.norm(noise) * 10 ** (-snr / 20))


def unit_rows(S: NDArray) -> NDArray:
    return S / np.linalg.norm(S, axis=1, keepdims=True)


def gauss(r: int, n: int, rng: np.random.Generator, bands: int = 6, width: tuple = (6, 25)) -> NDArray:
    """r spectra of Gaussian bands whose full widths at half maximum are drawn from a range."""
    S, t = np.zeros((r, n)), np.arange(n)
    for row in S:
        for _ in range(bands):
            centre, spread = rng.uniform(0, n), rng.uniform(*width) / 2.355
            row += rng.uniform(0.2, 1) * np.exp(-0.5 * ((t - centre) / spread) ** 2)
    return unit_rows(S)


def lorentz(r: int, n: int, rng: np.random.Generator, lines: int = 8, width: tuple = (3, 8)) -> NDArray:
    S, t = np.zeros((r, n)), np.arange(n)
    for row in S:
        for _ in range(lines):
            centre, half = rng.uniform(0, n), rng.uniform(*width) / 2
            row += rng.uniform(0.2, 1) / (1 + ((t - centre) / half) ** 2)
    return unit_rows(S)


def dense(r: int, n: int, rng: np.random.Generator) -> NDArray:
    """Spectra that are nowhere 0."""
    S = gaussian_filter1d(rng.exponential(size=(r, n)) ** 2, 5, axis=1)
    return unit_rows(S - 0.5 * S.min(axis=1, keepdims=True))


def white(r: int, n: int, rng: np.random.Generator, share: float) -> NDArray:
    return rng.exponential(size=(r, n)) * (rng.random((r, n)) < share)


def rectangles(r: int, side: int, rng: np.random.Generator) -> NDArray:
    S = np.zeros((r, side, side))
    for image in S:
        for _ in range(4):
            top, left = rng.integers(0, side - 8, 2)
            image[top : top + rng.integers(3, 12), left : left + rng.integers(3, 12)] += rng.uniform(
                0.3, 1
            )
    return S.reshape(r, -1)


def compounds(r: int, rng: np.random.Generator, fwhm: float = 0.0) -> NDArray:
    """Infrared spectra of different compounds."""
    known, chosen = infrared.spectra(1024), []
    for name in rng.permutation(sorted(known)):
        blurred = gaussian_filter1d(known[name], 4)
        if all(np.corrcoef(blurred, gaussian_filter1d(known[one], 4))[0, 1] < 0.97 for one in chosen):
            chosen.append(name)
        if len(chosen) == r:
            break
    S = np.stack([known[name] for name in chosen])
    S = gaussian_filter1d(S, fwhm / 2.3548, axis=1, mode="reflect") if fwhm else S
    return unit_rows(np.maximum(S, 0))


def kinetics(m: int, r: int, rng: np.random.Generator) -> NDArray:
    """Concentrations of a chain of reactions of first order."""
    steps, rates = 4000, np.append(np.sort(rng.uniform(2, 25, r - 1))[::-1], 0)
    found, now = np.empty((steps, r)), np.eye(r)[0]
    for row in found:
        row[:] = now
        flow = rates * now
        now = now + (np.concatenate([[0], flow[:-1]]) - flow) / steps
    return found[np.linspace(0, steps - 1, m).astype(int)]


def pixels(r: int, rng: np.random.Generator, side: int = 20) -> NDArray:
    """Concentrations in the pixels of a map."""
    A = np.stack([gaussian_filter(rng.standard_normal((side, side)), 3).ravel() for _ in range(r)], 1)
    A = np.maximum(A / A.std(axis=0), 0) + 0.02
    return A / A.sum(axis=1, keepdims=True)


def bands_case(
    kind: Callable, m: int, r: int, snr: float, n: int = 512, missing: float = 0.0
) -> Callable:
    def case(seed: int) -> float:
        rng = rng_of(seed, 1)
        S = kind(r, n, rng)
        Y = noisy(rng.random((m, r)), S, snr, rng)
        Y = np.where(rng.random(Y.shape) < missing, np.nan, Y) if missing else Y
        return sdr(S, ngmca.separate(Y, r, n_init=1))

    return case


def nmr_case(m: int, snr: float) -> Callable:
    def case(seed: int) -> float:
        x = simulate.nmr(m=m, snr=snr, seed=1000 + seed)
        return sdr(x.S, ngmca.separate(x.Y, 15, n_init=1))

    return case


def compounds_case(mixing: str, r: int, snr: float, fwhm: float, m: int = 40) -> Callable:
    def case(seed: int) -> float:
        rng = rng_of(seed, 2)
        S = compounds(r, rng, fwhm)
        A = {
            "kinetics": lambda: kinetics(m, r, rng),
            "map": lambda: pixels(r, rng),
            "uniform": lambda: rng.random((m, r)),
            "nothing pure": lambda: rng.dirichlet(4 * np.ones(r), m),
        }[mixing]()
        return sdr(S, ngmca.separate(noisy(A, S, snr, rng), r, n_init=1))

    return case


def images_case(seed: int) -> float:
    rng = rng_of(seed, 3)
    S = np.maximum(gaussian_filter(rng.standard_normal((4, 32, 32)), (0, 2, 2)), 0).reshape(4, -1)
    Y = noisy(rng.random((4, 4)), S, 25, rng)
    return sdr(S, ngmca.separate(Y, 4, sample_shape=(32, 32), n_init=1))


def rectangles_case(seed: int) -> float:
    rng = rng_of(seed, 8)
    S = rectangles(4, 32, rng)
    Y = noisy(rng.random((30, 4)), S, 20, rng)
    return sdr(S, ngmca.separate(Y, 4, sample_shape=(32, 32), n_init=1))


def closure_case(closed: bool) -> Callable:
    """Levels of entries, with and without a closure: the sources are the same ones."""

    def case(seed: int) -> float:
        rng = rng_of(seed, 4)
        S, A = white(4, 300, rng, 0.2), rng.dirichlet(np.ones(4), 40)
        levels = 10 ** rng.uniform(-1, 1, (40, 300)) * 0.02
        Y = A @ S + levels * rng.standard_normal((40, 300))
        constraints = [ngmca.Closure()] if closed else []
        return sdr(S, ngmca.separate(Y, 4, noise=levels, constraints=constraints, n_init=1))

    return case


def level_case(kind: str) -> Callable:
    """The reported noise over the true one, where noise levels are given."""

    def case(seed: int) -> float:
        rng = rng_of(seed, 5)
        S, A = gauss(4, 400, rng), rng.random((30, 4))
        clean = A @ S
        scale = np.sqrt(np.mean(clean**2)) * 10 ** (-20 / 20)
        spread = {"channels": (1, 400), "entries": (30, 400)}.get(kind)
        if kind == "counts":
            gain = scale**2 / clean.mean()
            found = ngmca.separate(
                gain * rng.poisson(clean / gain), 4, noise=ngmca.Counts(gain=gain), n_init=1
            )
            true = np.sqrt(np.mean(gain * clean))
        else:
            levels = scale * 10 ** rng.uniform(-0.5, 0.5, spread)
            Y = clean + levels * rng.standard_normal(clean.shape)
            found = ngmca.separate(Y, 4, noise=levels, n_init=1)
            true = np.sqrt(np.mean(np.broadcast_to(levels, clean.shape) ** 2))
        return float(np.sqrt(np.mean(found.noise**2)) / true)

    return case


def missing_noise_case(m: int, r: int, share: float, missing: float, n: int = 1000) -> Callable:
    """The estimated noise over the true one, with missing entries."""

    def case(seed: int) -> float:
        rng = rng_of(seed, 6)
        A, S = rng.random((m, r)), white(r, n, rng, share)
        clean = A @ S
        sigma = np.sqrt(np.mean(clean**2)) * 10 ** (-15 / 20)
        Y = clean + sigma * rng.standard_normal(clean.shape)
        Y[rng.random(Y.shape) < missing] = np.nan
        found = ngmca.separate(Y, r, domain="direct", start=(A, S), n_init=1)
        return float(np.sqrt(np.mean(found.noise**2)) / sigma)

    return case


def precision_case(seed: int) -> float:
    """What single precision loses for `naive` in dB."""
    x = simulate.sparse(m=200, n=200, r=15, p_S=0.1, snr=30, seed=1000 + seed)
    both = (ngmca.separate(x.Y.astype(kind), 15, method="naive", n_init=1) for kind in ("f8", "f4"))
    double, single = (sdr(x.S, found) for found in both)
    return double - single


def unequal_case(
    kind: Callable, m: int, r: int, n: int, decades: float, known: bool = False
) -> Callable:
    def case(seed: int) -> float:
        rng = rng_of(seed, 7)
        S, A = kind(r, n, rng), rng.random((m, r))
        clean = A @ S
        levels = (
            np.sqrt(np.mean(clean**2)) * 10 ** (-18 / 20) * 10 ** rng.uniform(-decades, decades, (m, 1))
        )
        Y = clean + levels * rng.standard_normal(clean.shape)
        return sdr(S, ngmca.separate(Y, r, noise=levels if known else None, n_init=1))

    return case


def channels_case(shape: str) -> Callable:
    """Known noise levels of channels on bands."""

    def case(seed: int) -> float:
        rng = rng_of(seed, 9)
        n = 512
        levels = {
            "smooth": lambda: 10 ** (0.5 * np.sin(np.linspace(0, 6.28, n))),
            "halves": lambda: np.where(np.arange(n) < n // 2, 0.32, 3.2),
            "white": lambda: 10 ** rng.uniform(-0.5, 0.5, n),
        }[shape]()
        S, A = gauss(4, n, rng, width=(15, 50)), rng.random((30, 4))
        levels = levels * np.sqrt(np.mean((A @ S) ** 2)) * 10 ** (-25 / 20)
        Y = A @ S + levels * rng.standard_normal((30, n))
        return sdr(S, ngmca.separate(Y, 4, noise=levels[None], n_init=1))

    return case


def counts_case(most: float, noise: str | None = "poisson") -> Callable:
    def case(seed: int) -> float:
        rng = rng_of(seed, 10)
        S, A = gauss(4, 512, rng, width=(15, 50)), rng.random((30, 4))
        clean = A @ S
        Y = rng.poisson(clean * most / clean.mean()).astype(float)
        return sdr(S, ngmca.separate(Y, 4, noise=noise, n_init=1))

    return case


def baseline_case(*, fitted: bool, outside: bool) -> Callable:
    """Bands with and without a baseline in the data and in the fit; outside of the span of the baseline or in all."""

    def case(seed: int) -> float:
        rng, n = rng_of(seed, 12), 512
        S, A = gauss(4, n, rng), rng.random((40, 4))
        clean, t = A @ S, np.linspace(0, 1, n)
        curves = sum(rng.random((40, 1)) * np.exp(-(((t - c) / 0.35) ** 2)) for c in (0.1, 0.6, 0.9))
        Y = clean + rng.standard_normal(clean.shape) * np.sqrt(np.mean(clean**2)) * 0.1
        Y = Y + fitted * curves / np.std(curves) * np.std(clean)
        known = [ngmca.Baseline("splines")] if fitted else []
        found = ngmca.separate(Y, 4, constraints=known, n_init=1).S
        if outside:
            Q = np.linalg.qr(ngmca.Baseline("splines").basis(n).T)[0]
            S, found = (X - (X @ Q) @ Q.T for X in (S, found))
        return float(np.mean(ngmca.metrics.matched_rows(S, found)[1]))

    return case


def white_case(share: float, snr: float = 15) -> Callable:
    def case(seed: int) -> float:
        x = simulate.sparse(m=200, n=200, r=15, p_S=share, snr=snr, seed=1000 + seed)
        return sdr(x.S, ngmca.separate(x.Y, 15, n_init=1))

    return case


def square_case(seed: int) -> float:
    x = simulate.sparse(m=15, n=200, r=15, p_S=0.1, snr=15, seed=1000 + seed)
    return sdr(x.S, ngmca.separate(x.Y, 15))


def dense_case(method: str) -> Callable:
    def case(seed: int) -> float:
        x = simulate.sparse(m=30, n=300, r=4, p_S=1.0, snr=20, seed=seed)
        return sdr(x.S, ngmca.separate(x.Y, 4, method=method))

    return case


def chosen_case(seed: int) -> float:
    """Half of the measurements in another unit, noise given: which of six starts is chosen."""
    rng = np.random.default_rng(seed)
    S = simulate.sparse(m=10, n=200, r=6, p_S=0.3, seed=seed).S
    A = rng.random((8, 6))
    A[:4, 3:] *= 0.02
    A[4:, :3] *= 0.02
    A /= np.linalg.norm(A, axis=0)
    unit = np.repeat([1.0, 100.0], 4)[:, None]
    noise = 0.1 * (A @ S).std() * unit
    Y = unit * (A @ S) + noise * rng.standard_normal((8, 200))
    return sdr(S, ngmca.separate(Y, 6, n_init=6, seed=seed, domain="direct", noise=noise[:, 0]))


def stream_case(r: int, n: int, share: float, level: float, streamed: bool) -> Callable:
    def case(seed: int) -> float:
        rng = rng_of(seed, 11)
        S = white(r, n, rng, share)
        Y = rng.random((3000, r)) @ S + level * rng.standard_normal((3000, n))
        model = ngmca.NGMCA(r, domain="direct", n_init=1)
        if streamed:
            for batch in np.array_split(Y, 30):
                model.partial_fit(batch)
        else:
            model.fit(Y)
        return float(ngmca.evaluate(S, model.components_).mean_sdr)

    return case


def changing_case(seed: int) -> float:
    """A stream whose sources become other ones, for an estimator that forgets."""
    rng = rng_of(seed, 11)
    model = ngmca.NGMCA(3, forgetting=0.7, n_init=1)
    for _ in range(2):
        S = white(3, 80, rng, 0.3)
        for _ in range(15):
            model.partial_fit(rng.random((60, 3)) @ S + 0.05 * rng.standard_normal((60, 80)))
    return float(ngmca.evaluate(S, model.components_).mean_sdr)


def alike_case(seed: int) -> float:
    """Three sources that are nowhere 0 and much alike, in 8 measurements: edges of X-ray absorption."""
    rng = rng_of(seed, 12)
    t = np.linspace(0, 1, 300)
    S = np.stack(
        [
            1
            / (1 + np.exp(-(t - 0.3 - rng.uniform(-0.02, 0.02)) / 0.02))
            * (
                1
                + rng.uniform(0.2, 0.6) * np.exp(-0.5 * ((t - 0.36 - rng.uniform(0, 0.04)) / 0.03) ** 2)
            )
            * (1 + rng.uniform(0.02, 0.08) * np.cos(rng.uniform(20, 40) * t))
            + 0.05
            for _ in range(3)
        ]
    )
    A = rng.dirichlet(np.ones(3), 8)
    A[:3] = 0.9 * np.eye(3) + 0.1 / 3
    Y = noisy(A, S, 50, rng)
    return sdr(S, ngmca.separate(Y, 3))


def clean_case(r: int, share: float = 0.1, method: ngmca.Soft | ngmca.Naive | None = None) -> Callable:
    def case(seed: int) -> float:
        x = simulate.sparse(m=200, n=200, r=r, p_S=share, snr=None, seed=1000 + seed)
        return sdr(x.S, ngmca.separate(x.Y, r, method=method or ngmca.Soft(), n_init=1))

    return case


def clean_bands_case(kind: Callable) -> Callable:
    def case(seed: int) -> float:
        rng = rng_of(seed, 18)
        S = kind(4, 512, rng)
        return sdr(S, ngmca.separate(rng.random((40, 4)) @ S, 4, n_init=1))

    return case


def order_case(m: int, r: int) -> Callable:
    """Largest difference in S between C and Fortran order in single precision, over the largest entry."""

    def case(seed: int) -> float:
        x = simulate.sparse(m=m, n=200, r=r, p_S=0.2, snr=20, seed=1000 + seed)
        Y = x.Y.astype("f4")
        one, other = (ngmca.separate(np.array(Y, order=order), r, n_init=1).S for order in "CF")
        return float(np.abs(one - other).max() / np.abs(one).max())

    return case


ROWS: dict[str, Callable[[int], float]] = {
    "1 NMR, m = r = 15, 15 dB": nmr_case(15, 15),
    "1 NMR, m = r = 15, 20 dB": nmr_case(15, 20),
    "1 Gauss, 4 x 4, 25 dB": bands_case(gauss, 4, 4, 25),
    "1 Gauss, 8 x 8, 20 dB": bands_case(gauss, 8, 8, 20),
    "1 Lorentz, 8 x 8, 20 dB": bands_case(lorentz, 8, 8, 20),
    "1 smooth images, m = r = 4": images_case,
    "1 Gauss, 10 x 8, 30 % missing": bands_case(gauss, 10, 8, 25, missing=0.3),
    "1 dense, 30 x 4": bands_case(dense, 30, 4, 25),
    "1 Gauss, 40 x 5": bands_case(gauss, 40, 5, 25),
    "1 infrared kinetics": compounds_case("kinetics", 4, 30, 0),
    "1 infrared kinetics, blurred": compounds_case("kinetics", 4, 30, 10),
    "1 infrared map": compounds_case("map", 5, 20, 10),
    "1 infrared, nothing pure, 35 dB": compounds_case("nothing pure", 6, 35, 10, 60),
    "1 infrared, m = 15": compounds_case("uniform", 5, 25, 0, 15),
    "1 infrared, m = 40": compounds_case("uniform", 5, 25, 10),
    "2 levels of entries": closure_case(False),
    "2 levels of entries, closure": closure_case(True),
    "3 noise over given levels of channels": level_case("channels"),
    "3 noise over given levels of entries": level_case("entries"),
    "3 noise over that of counts": level_case("counts"),
    "4 noise, 12 x 8, 30 % missing": missing_noise_case(12, 8, 0.3, 0.3),
    "4 noise, 60 x 15, 60 % missing": missing_noise_case(60, 15, 0.3, 0.6),
    "4 noise, 30 x 15, 30 % missing": missing_noise_case(30, 15, 0.3, 0.3),
    "4 noise, 30 x 5, 30 % missing": missing_noise_case(30, 5, 0.3, 0.3),
    "4 noise, 35 x 35, n = 200": missing_noise_case(35, 35, 0.3, 0.0, 200),
    "4 noise, 40 x 35, n = 200": missing_noise_case(40, 35, 0.3, 0.0, 200),
    "4 noise, 60 x 35, n = 200": missing_noise_case(60, 35, 0.3, 0.0, 200),
    "4 noise, 40 x 35, n = 1000": missing_noise_case(40, 35, 0.3, 0.0),
    "5 loss of single precision in naive": precision_case,
    "6 unequal, sparse, 40 x 8": unequal_case(lambda *a: white(*a, 0.3), 40, 8, 200, 0.5),
    "6 the same, levels known": unequal_case(lambda *a: white(*a, 0.3), 40, 8, 200, 0.5, True),
    "6 unequal, bands, 40 x 5": unequal_case(gauss, 40, 5, 512, 0.5),
    "6 unequal bands, levels known": unequal_case(gauss, 40, 5, 512, 0.5, True),
    "6 equal, sparse, 20 x 8": unequal_case(lambda *a: white(*a, 0.3), 20, 8, 200, 0.0),
    "6 equal, bands, 12 x 5": unequal_case(gauss, 12, 5, 512, 0.0),
    "7 bands, smooth levels of channels": channels_case("smooth"),
    "7 bands, levels of two halves": channels_case("halves"),
    "7 bands, white levels of channels": channels_case("white"),
    "7 counts on bands, 5 a bin": counts_case(5),
    "7 counts on bands, 50 a bin": counts_case(50),
    "7 the same as if noise were equal, 5 a bin": counts_case(5, None),
    "7 the same as if noise were equal, 50 a bin": counts_case(50, None),
    "8 bands, n = 16": bands_case(lambda r, n, rng: gauss(r, n, rng, 2, (4, 12)), 30, 3, 20, 16),
    "8 bands, n = 24": bands_case(lambda r, n, rng: gauss(r, n, rng, 2, (4, 12)), 30, 3, 20, 24),
    "8 bands, n = 40": bands_case(lambda r, n, rng: gauss(r, n, rng, 2, (4, 12)), 30, 3, 20, 40),
    "8 permuted bands, n = 40": bands_case(
        lambda r, n, rng: gauss(r, n, rng, 2, (4, 12))[:, rng.permutation(n)], 30, 3, 20, 40
    ),
    "8 white, n = 40": bands_case(lambda r, n, rng: white(r, n, rng, 0.3), 30, 3, 20, 40),
    "8 lines, FWHM 0.5": bands_case(lambda r, n, rng: lorentz(r, n, rng, 8, (0.5, 0.5)), 30, 4, 20),
    "8 lines, FWHM 1": bands_case(lambda r, n, rng: lorentz(r, n, rng, 8, (1, 1)), 30, 4, 20),
    "8 lines, FWHM 2": bands_case(lambda r, n, rng: lorentz(r, n, rng, 8, (2, 2)), 30, 4, 20),
    "8 rectangles in images": rectangles_case,
    "9 white, p_S = 0.1, 15 dB": white_case(0.1),
    "9 white, p_S = 0.3, 15 dB": white_case(0.3),
    "9 white, p_S = 0.5, 15 dB": white_case(0.5),
    "11 whole fit, r = 3": stream_case(3, 80, 0.3, 0.05, False),
    "11 stream, r = 3": stream_case(3, 80, 0.3, 0.05, True),
    "11 whole fit, r = 5": stream_case(5, 150, 0.2, 0.1, False),
    "11 stream, r = 5": stream_case(5, 150, 0.2, 0.1, True),
    "11 whole fit, r = 8": stream_case(8, 200, 0.2, 0.1, False),
    "11 stream, r = 8": stream_case(8, 200, 0.2, 0.1, True),
    "11 stream that changes": changing_case,
    "12 no baseline": baseline_case(fitted=False, outside=False),
    "12 baseline": baseline_case(fitted=True, outside=False),
    "12 no baseline, outside its span": baseline_case(fitted=False, outside=True),
    "12 baseline, outside its span": baseline_case(fitted=True, outside=True),
    "13 white, m = r = 15": square_case,
    "16 order of single precision": order_case(30, 5),
    "16 order of single precision, r > m": order_case(4, 6),
    "17 alike and nowhere 0": alike_case,
    "18 no noise, r = 5": clean_case(5),
    "18 no noise, r = 15": clean_case(15),
    "18 no noise, p_S = 0.3, r = 5": clean_case(5, 0.3),
    "18 the same, naive": clean_case(5, 0.3, ngmca.Naive()),
    "18 no noise, p_S = 0.8, r = 5": clean_case(5, 0.8),
    "18 the same, naive with tau = 0": clean_case(5, 0.8, ngmca.Naive(tau=0)),
    "18 no noise, p_S = 0.8, r = 15": clean_case(15, 0.8),
    "18 no noise, Gauss": clean_bands_case(gauss),
    "18 no noise, Lorentz": clean_bands_case(lorentz),
    "18 no noise, dense": clean_bands_case(dense),
    "18 no noise, infrared": clean_bands_case(lambda r, n, rng: compounds(r, rng)),
    "19 dense and white": dense_case("soft"),
    "19 dense and white, anls": dense_case("anls"),
    "20 choice of starts, measurements in two units": chosen_case,
}


def figure(task: tuple[str, int]) -> float:
    row, seed = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ROWS[row](seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="beginnings of names of rows")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--before", type=Path, default=BEFORE)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    rows = [row for row in ROWS if not args.rows or row.startswith(tuple(args.rows))]
    before = json.loads(args.before.read_text()) if args.before.exists() else {}
    found = {}
    print("| case | before | now | worst seed |\n|---|---|---|---|")
    with ProcessPoolExecutor(args.processes) as pool:
        for row in rows:
            values = list(pool.map(figure, [(row, seed) for seed in range(args.seeds)]))
            found[row] = float(np.mean(values))
            earlier = f"{before[row]:.3g}" if row in before else ""
            print(f"| {row} | {earlier} | {found[row]:.3g} | {min(values):.3g} |", flush=True)
    if args.record:
        args.record.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
