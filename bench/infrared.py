"""Mixtures of real infrared spectra, and other smooth ones, to measure on.

The infrared spectra are those of the `jcamp` sdist, which `tests/real_data.py` downloads once. Each is brought to
1,024 points between 600 and 3,760 1/cm (all but one file cover it; the two that are no pure compounds are left out).
Transmittance T becomes absorbance -log10 T, with T limited to 0.001 (percent are recognised by their size); all other
ordinates are proportional to absorbance already. The smallest value is taken away as a baseline, then the spectrum is
convolved with a Gaussian (fwhm in channels), as liquids look, and scaled to unit norm.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import jcamp
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from ngmca import simulate
from ngmca.simulate.mixture import Mixture, mix

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import real_data

LEFT_OUT = {"example_compound_file", "example_multiline_datasets"}
RANGE = (600.0, 3760.0)


@cache
def spectra(n: int = 1024) -> dict[str, NDArray]:
    """Absorbance of every compound on n points."""
    axis = np.linspace(*RANGE, n)
    found = {}
    for path in sorted(real_data.infrared().glob("*.jdx")):
        if path.stem in LEFT_OUT:
            continue
        data = jcamp.readfile(str(path))
        x, y = np.asarray(data["x"], float), np.asarray(data["y"], float)
        good = np.isfinite(x) & np.isfinite(y)
        x, y = x[good], y[good]
        if "TRANS" in str(data.get("yunits", "")).upper():
            y = y / 100 if np.median(y) > 2 else y
            y = -np.log10(np.clip(y, 1e-3, None))
        order = np.argsort(x, kind="stable")
        y = np.interp(axis, x[order], y[order])
        found[path.stem] = y - y.min()
    return found


def infrared(
    m: int = 40,
    r: int = 5,
    *,
    fwhm: float = 0.0,
    snr: float = 25.0,
    mixing: str = "uniform",
    n: int = 1024,
    seed: int = 0,
) -> Mixture:
    """m mixtures of r compounds drawn by the seed."""
    rng = np.random.default_rng([seed, 77])
    names = tuple(rng.permutation(sorted(spectra(n)))[:r].tolist())
    S = np.stack([spectra(n)[name] for name in names])
    S = gaussian_filter1d(S, fwhm / 2.3548, axis=1, mode="reflect") if fwhm else S
    S = np.maximum(S, 0)
    S = S / np.linalg.norm(S, axis=1, keepdims=True)
    A = rng.random((m, r)) if mixing == "uniform" else rng.dirichlet(np.ones(r), m)
    return replace(mix(A, S, snr, rng), names=names)


def dense(m: int = 40, r: int = 5, *, n: int = 1024, snr: float = 25.0, seed: int = 0) -> Mixture:
    """As Raman spectra of proteins: many bands on a broad background, two nearly pure measurements of each."""
    rng = np.random.default_rng([seed, 78])
    t = np.arange(n)
    S = np.zeros((r, n))
    for i in range(r):
        for _ in range(25):
            width, place, height = rng.uniform(4, 14), rng.uniform(0, n), rng.exponential()
            S[i] += height / (1 + ((t - place) / width) ** 2)
        S[i] += 0.3 * np.exp(-0.5 * ((t - rng.uniform(0, n)) / (n / 4)) ** 2)
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    A = rng.dirichlet(np.ones(r), m)
    for i in range(r):
        A[2 * i : 2 * i + 2] = 0.04 / (r - 1)
        A[2 * i : 2 * i + 2, i] = 0.96
    return mix(A, S, snr, rng)


def shuffled(mixture: Mixture, seed: int = 0) -> Mixture:
    """The same mixture with its channels in random order."""
    order = np.random.default_rng(seed).permutation(mixture.Y.shape[1])
    return replace(mixture, Y=mixture.Y[:, order], S=mixture.S[:, order], noise=mixture.noise[:, order])


ROWS: dict[str, Callable[[int], Mixture]] = {
    "infrared as they are": lambda s: infrared(seed=s),
    "FWHM 10": lambda s: infrared(fwhm=10, seed=s),
    "FWHM 30": lambda s: infrared(fwhm=30, seed=s),
    "FWHM 10, 35 dB": lambda s: infrared(fwhm=10, snr=35, seed=s),
    "FWHM 10, Dirichlet": lambda s: infrared(fwhm=10, mixing="dirichlet", seed=s),
    "FWHM 10, r = 8, m = 80": lambda s: infrared(80, 8, fwhm=10, seed=s),
    "FWHM 10, 10 dB": lambda s: infrared(fwhm=10, snr=10, seed=s),
    "FWHM 10, m = 10": lambda s: infrared(10, fwhm=10, seed=s),
    "NMR, m = 30, 15 dB": lambda s: simulate.nmr(m=30, snr=15, seed=s),
    "NMR, m = 60, 30 dB": lambda s: simulate.nmr(m=60, snr=30, seed=s),
    "dense, nearly pure": lambda s: dense(seed=s),
    "white, p_S = 0.1": lambda s: simulate.sparse(p_S=0.1, snr=15, seed=s),
    "white, p_S = 0.3": lambda s: simulate.sparse(p_S=0.3, snr=15, seed=s),
    "white, p_S = 0.5": lambda s: simulate.sparse(p_S=0.5, snr=15, seed=s),
    "FWHM 10, shuffled": lambda s: shuffled(infrared(fwhm=10, seed=s)),
}
