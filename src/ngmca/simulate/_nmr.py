"""Mixtures of 1H NMR spectra of real compounds, as in the paper's application."""

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, message, option
from ngmca._support.seeds import Seed
from ngmca.simulate._sparse import modulus
from ngmca.simulate.compounds import compounds as all_compounds
from ngmca.simulate.compounds import find
from ngmca.simulate.mixture import Mixture, checked, mix, simulator
from ngmca.simulate.nmr_lines import peaks as lines_of
from ngmca.simulate.peak_table import read_peaks

# Some are similar, most of all glycerophosphocholine and phosphoethanolamine, with a normalised scalar
# product of 0.68 (0.67 in the paper, for cholesterol and menthone). None has all its lines among those
# of one other compound, as creatine has with tyrosine: these could not be separated.
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
Peaks = tuple[NDArray, NDArray]


@simulator
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
    """Simulate measurements of 1H NMR spectra of real compounds, from high ppm to low.

    The entries of A are absolute values of unit Gaussians, as in `sparse`.

    Parameters
    ----------
    m, n : int
        Numbers of measurements and channels.
    r : int or None
        Number of compounds. None takes all that are named, all of the peak table, or 15.
    compounds : {"default", "random"} or sequence of str
        "default" takes the first r of `simulate.DEFAULT_COMPOUNDS`, "random" draws r of
        `simulate.compounds()` without repetition, and names take these compounds. With a peak table, all
        of these refer to the compounds of the table.
    peaks : path, optional
        A peak table with the compounds: CSV with the columns compound, ppm, intensity.
    field : float
        Frequency of protons in MHz, on which the lines of coupled protons depend. It has no effect on a
        peak table.
    ppm : (float, float)
        Ends of the axis. Lines outside are lost; a compound without any line inside is an error.
    fwhm : float
        Full width at half maximum of a line in channels. Each line is a Laplacian exp(-|x|), evaluated
        from the exact position of the line, not rounded to a channel.
    scale : {"unit", "integral"}
        "unit" scales each spectrum to norm 1, so that all compounds are equally strong. With "integral"
        the sum over the channels is the number of protons, or the sum of the intensities of the table
        (within 3 % at the default width, because lines fall between channels).
    {noise}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.nmr(m=4, n=300, compounds=["alanine", "glycerol"], seed=0)
    >>> data.names
    ('alanine', 'glycerol')
    """
    rng = checked(snr, seed, m=m)
    arguments.check_choice(scale, "scale", ("unit", "integral"))
    axis = _axis(n, ppm)
    arguments.check_number(fwhm, "fwhm", low=0.1, high=float(n))
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
    """Return the 1H NMR spectrum of one built-in compound.

    Parameters
    ----------
    compound : str
        Name of the compound, one of `simulate.compounds()`.
    n : int
        Number of channels.
    field, ppm, fwhm
        As in `nmr`.

    Returns
    -------
    axis : ndarray of shape (n,)
        Positions in ppm, falling.
    values : ndarray of shape (n,)
        The spectrum; its sum is the number of protons.

    Examples
    --------
    >>> from ngmca.simulate import spectrum
    >>> axis, values = spectrum("alanine", n=1200)
    >>> round(float(values.sum()))
    4
    """
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
        raise ArgumentError(
            "{} must be two different numbers, such as (0.5, 9.0), got {!r}.", option("ppm"), ppm
        )
    return np.linspace(max(ends), min(ends), n)


def _choose(
    wanted: str | Sequence[str], r: int | None, table: dict[str, Peaks] | None, rng: np.random.Generator
) -> tuple[str, ...]:
    """Return the names of the compounds to mix."""
    if isinstance(wanted, str):
        arguments.check_choice(wanted, "compounds", ("default", "random"))
        pool = tuple(table or (DEFAULT_COMPOUNDS if wanted == "default" else all_compounds()))
        usual = len(table or DEFAULT_COMPOUNDS)
        r = usual if r is None else arguments.check_count(r, "r")
        if r > len(pool):
            more = (
                "" if table or wanted == "random" else message(", or {}", option("compounds", "random"))
            )
            raise ArgumentError(
                "{} is more than the {} compounds: use a smaller {}{}.",
                *(option("r", r), len(pool), option("r"), more),
            )
        return pool[:r] if wanted == "default" else tuple(rng.permutation(pool)[:r].tolist())
    names = tuple(_known(name, table) for name in wanted)
    if not names or len(set(names)) < len(names):
        raise ArgumentError(
            "{} must name each compound once, got {}.", option("compounds"), ", ".join(names) or "none"
        )
    if r is not None and r != len(names):
        raise ArgumentError(
            "{} does not match the {} named compounds: leave out {}.",
            *(option("r", r), len(names), option("r")),
        )
    return names


def _known(name: str, table: dict[str, Peaks] | None) -> str:
    if table is None:
        return find(name).name
    if name not in table:
        raise ArgumentError(
            "{} has no compound {!r}; it has {}.", option("peaks"), name, ", ".join(table)
        )
    return name


def _drawn(name: str, peaks: Peaks, axis: NDArray, fwhm: float) -> NDArray:
    """Return Laplacians of unit area at the lines, evaluated at the channels."""
    step = axis[0] - axis[1]
    place = (axis[0] - peaks[0]) / step
    inside = (place >= 0) & (place <= axis.size - 1) & (peaks[1] > 0)
    if not inside.any():
        raise ArgumentError(
            "{} has no line between {:g} and {:g} ppm; its lines are at {:g} to {:g}: change {}.",
            *(name, axis[-1], axis[0], peaks[0].min(), peaks[0].max(), option("ppm")),
        )
    rate = 2 * np.log(2) / fwhm
    distance = np.abs(np.arange(axis.size)[:, None] - place[inside])
    return rate / 2 * np.exp(-rate * distance) @ peaks[1][inside]
