"""Lines of a compound at a field, from the quantum mechanics of its coupled protons by nmrsim."""

import itertools
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.extras import load_extra
from ngmca.simulate.compounds import SPIN_STATES, System, find

MAX_COUPLED_PROTONS = 9  # 7 s and 1 GB; each additional proton takes eight times as long
MIN_INTENSITY = (
    1e-6  # of a transition; the default of nmrsim, 1e-3, shifts the centre of some multiplets
)
MIN_DISTANCE = 0.01  # in Hz: closer lines are merged


def peaks(compound: str, field: float = 400.0) -> tuple[NDArray, NDArray]:
    """Return positions and intensities of the lines of a compound.

    Parameters
    ----------
    compound : str
        Name of the compound, one of `simulate.compounds()`.
    field : float
        Frequency of protons in MHz.

    Returns
    -------
    ppm : ndarray
        Positions in ppm, falling, as spectra are drawn.
    intensity : ndarray
        Intensities. They sum to the number of protons, without those that exchange with the solvent.

    Examples
    --------
    >>> from ngmca.simulate import peaks
    >>> ppm, intensity = peaks("alanine", field=400.0)
    >>> round(float(intensity.sum()))
    4
    """
    field = arguments.check_number(field, "field", low=10.0, high=3000.0)
    ppm, intensity = _peaks(find(compound).name, field)
    return ppm.copy(), intensity.copy()


@lru_cache(maxsize=1024)
def _peaks(name: str, field: float) -> tuple[NDArray, NDArray]:
    parts = [_lines(part, group, field) for part in find(name).systems for group in _groups(part)]
    hertz, intensity = (np.concatenate(column) for column in zip(*parts, strict=True))
    hertz, intensity = _merge(hertz, intensity)
    return hertz[::-1] / field, intensity[::-1]


def _groups(part: System) -> Iterator[list[str]]:
    """Yield sets of labels that couple to each other, which can be simulated one by one."""
    left = list(part.visible)
    while left:
        group = [left.pop(0)]
        for label in group:  # the list grows during the loop
            coupled = [other for other in left if part.coupling(label, other)]
            group += coupled
            left = [other for other in left if other not in coupled]
        yield group


def _lines(part: System, group: list[str], field: float) -> tuple[NDArray, NDArray]:
    """Return frequencies in Hz and intensities of protons that couple to each other.

    Other nuclei are so far away in frequency that a state m of one only shifts the protons by m J: the
    spectrum is the mean over all their states.
    """
    nuclei = [nucleus for nucleus in part.nuclei if any(part.coupling(x, nucleus) for x in group)]
    states = [
        np.arange(SPIN_STATES[part.nuclei[x]]) - (SPIN_STATES[part.nuclei[x]] - 1) / 2 for x in nuclei
    ]
    found = []
    for state in itertools.product(*states):
        shift = {
            x: sum(m * part.coupling(x, nucleus) for m, nucleus in zip(state, nuclei, strict=True))
            for x in group
        }
        found.append(_multiplet(part, group, [part.ppm[x] * field + shift[x] for x in group]))
    hertz, intensity = (np.concatenate(column) for column in zip(*found, strict=True))
    return hertz, intensity / len(found)


def _multiplet(part: System, group: list[str], hertz: list[float]) -> tuple[NDArray, NDArray]:
    """Return the lines of coupled protons, with second-order effects; the sum is their number."""
    if len(group) == 1:  # couplings of equivalent protons have no effect
        return np.array(hertz), np.array([float(part.protons[group[0]])])
    spins = [i for i, label in enumerate(group) for _ in range(part.protons[label])]
    if len(spins) > MAX_COUPLED_PROTONS:
        raise ValueError(
            f"{len(spins)} protons couple to each other: at most {MAX_COUPLED_PROTONS} can be simulated."
        )
    between = np.array([[part.coupling(a, b) for b in group] for a in group])
    places, J = [hertz[i] for i in spins], between[np.ix_(spins, spins)]
    lines = np.array(_nmrsim().secondorder_dense(places, J, cutoff=MIN_INTENSITY))
    return lines[:, 0], lines[:, 1]


def _merge(hertz: NDArray, intensity: NDArray) -> tuple[NDArray, NDArray]:
    """Return rising frequencies, with lines merged that no spectrometer could resolve."""
    order = np.argsort(hertz)
    hertz, intensity = hertz[order], intensity[order]
    first = np.flatnonzero(np.diff(hertz, prepend=-np.inf) > MIN_DISTANCE)
    total = np.add.reduceat(intensity, first)
    return np.add.reduceat(hertz * intensity, first) / total, total


def _nmrsim() -> ModuleType:
    """Return the quantum mechanics of nmrsim; its sparse variant is not used, since it needs files."""
    module: ModuleType = load_extra("nmrsim.qm", "a simulation of compounds")
    return module
