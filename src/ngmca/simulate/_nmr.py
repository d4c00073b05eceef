"""Mixtures of 1H NMR spectra of real compounds, as in the paper's application."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.seeds import Seed, generator
from ngmca._support.threads import one_blas_thread
from ngmca.simulate._sparse import modulus
from ngmca.simulate.compounds import compounds as all_compounds
from ngmca.simulate.compounds import find
from ngmca.simulate.mixture import Mixture, check_sizes, check_snr, mix
from ngmca.simulate.nmr_lines import peaks as lines_of
from ngmca.simulate.peak_table import read_peaks

# Some are alike: glycerophosphocholine and phosphoethanolamine most of all, with a normalised scalar
# product of 0.68 (0.67 in the paper, for cholesterol and menthone). None has all of its lines inside
# those of one other, as creatine has with tyrosine: without more knowledge nobody could tell them apart.
DEFAULT_COMPOUNDS = (
    "lactate",
    "creatine",
    "N-acetylaspartate",
    "glutamate",
    "glutamine",
    "myo-inositol",
    "taurine",
    "GABA",
    "valine",
    "alanine",
    "alpha-glucose",
    "aspartate",
    "glycerol",
    "glycerophosphocholine",
    "phosphoethanolamine",
)
SCALES = ("unit", "integral")
Peaks = tuple[NDArray, NDArray]


@one_blas_thread
def nmr(
    m: int = 15,
    n: int = 1200,
    r: int | None = None,
    *,
    compounds: str | Sequence[str] = "default",
    peaks: str | PathLike[str] | None = None,
    field: float = 400.0,
    ppm: tuple[float, float] = (0.5, 9.0),
    fwhm: float = 3.0,
    scale: str = "unit",
    snr: float | None = None,
    seed: Seed = None,
) -> Mixture:
    """m measurements of the spectra of r compounds on n channels, from the higher ppm to the lower.

    Parameters
    ----------
    r
        How many compounds; None takes all that are named, or of the peak table, and else 15.
    compounds
        "default" takes the first r of `simulate.DEFAULT_COMPOUNDS`, "random" draws r of
        `simulate.compounds()` without repetition, and names take just those. With a peak table, both
        words and names mean the compounds in it.
    peaks
        A peak table to take the compounds from: CSV with the columns compound, ppm, intensity.
    field
        Frequency of protons in MHz, which the lines of coupled protons depend on; a peak table does not.
    ppm
        Ends of the axis. Lines outside are lost; a compound without any line inside is an error.
    fwhm
        Full width at half maximum in channels of the Laplacian exp(-|x|) that each line becomes. It is
        evaluated at the channels from the exact position of the line, not rounded to a channel.
    scale
        "unit" gives each spectrum unit Euclidean norm, so that no compound is louder than others;
        "integral" leaves the sum over the channels equal to the number of protons, or to the intensities
        of the table (within 3 % at the default width, as lines fall between channels).
    snr
        White Gaussian noise is added at exactly that many dB; None is noiseless.

    The mixing coefficients are moduli of unit Gaussians, as those of `sparse`.
    """
    check_sizes(m=m)
    check_snr(snr)
    arguments.check_choice(scale, "scale", SCALES)
    axis = _axis(n, ppm)
    arguments.check_number(fwhm, "fwhm", low=0.1, high=float(n))
    rng = generator(seed)
    table = None if peaks is None else read_peaks(peaks)
    names = _choose(compounds, r, table, rng)
    S = np.stack(
        [_drawn(name, table[name] if table else lines_of(name, field), axis, fwhm) for name in names]
    )
    if scale == "unit":
        S /= np.linalg.norm(S, axis=1, keepdims=True)
    A = modulus(rng, (m, len(names)), 1.0, 2.0)
    return replace(mix(A, S, snr, rng), names=names, axis=axis, axis_name="ppm")


def spectrum(
    compound: str,
    n: int = 1200,
    *,
    field: float = 400.0,
    ppm: tuple[float, float] = (0.5, 9.0),
    fwhm: float = 3.0,
) -> tuple[NDArray, NDArray]:
    """Axis in ppm, and the spectrum of one built-in compound on it, summing to its number of protons."""
    axis = _axis(n, ppm)
    arguments.check_number(fwhm, "fwhm", low=0.1, high=float(n))
    return axis, _drawn(find(compound).name, lines_of(compound, field), axis, fwhm)


def _axis(n: int, ppm: tuple[float, float]) -> NDArray:
    arguments.check_count(n, "n", low=2)
    try:
        ends = [arguments.check_number(end, "ppm", low=-1000.0, high=1000.0) for end in ppm]
    except TypeError:
        ends = []
    if len(ends) != 2 or ends[0] == ends[1]:
        raise ValueError(f"ppm must be two different numbers, such as (0.5, 9.0), got {ppm!r}.")
    return np.linspace(max(ends), min(ends), n)


def _choose(
    wanted: str | Sequence[str], r: int | None, table: dict[str, Peaks] | None, rng: np.random.Generator
) -> tuple[str, ...]:
    """The names of the compounds to mix."""
    if isinstance(wanted, str):
        arguments.check_choice(wanted, "compounds", ("default", "random"))
        pool = tuple(table or (DEFAULT_COMPOUNDS if wanted == "default" else all_compounds()))
        usual = len(table or DEFAULT_COMPOUNDS)
        r = usual if r is None else arguments.check_count(r, "r")
        if r > len(pool):
            more = "" if table or wanted == "random" else ' compounds="random" draws from all of them.'
            raise ValueError(f"r={r} compounds of {len(pool)} that there are: use a smaller r.{more}")
        return pool[:r] if wanted == "default" else tuple(rng.permutation(pool)[:r].tolist())
    names = tuple(_known(name, table) for name in wanted)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"compounds must name each compound once, got {', '.join(names) or 'none'}.")
    if r is not None and r != len(names):
        raise ValueError(f"r={r} does not fit the {len(names)} compounds that are named: leave r out.")
    return names


def _known(name: Any, table: dict[str, Peaks] | None) -> str:
    if table is None:
        return find(name).name
    if name not in table:
        raise ValueError(f"no compound {name!r} in the peak table: it has {', '.join(table)}.")
    return name


def _drawn(name: str, peaks: Peaks, axis: NDArray, fwhm: float) -> NDArray:
    """Laplacians of unit area at the lines, evaluated at the channels."""
    step = axis[0] - axis[1]
    place = (axis[0] - peaks[0]) / step
    inside = (place >= 0) & (place <= axis.size - 1) & (peaks[1] > 0)
    if not inside.any():
        raise ValueError(
            f"{name} has no line between {axis[-1]:g} and {axis[0]:g} ppm, "
            f"its lines are at {peaks[0].min():g} to {peaks[0].max():g}: choose other ends for ppm."
        )
    rate = 2 * np.log(2) / fwhm
    distance = np.abs(np.arange(axis.size)[:, None] - place[inside])
    return rate / 2 * np.exp(-rate * distance) @ peaks[1][inside]
