"""Lines of a compound at a field: quantum mechanics of its coupled protons, by nmrsim."""

import itertools
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.simulate.compounds import SPINS, System, find

LARGEST = 9  # coupled protons: 7 s and 1 GB; each one more takes eight times as long
FAINTEST = 1e-6  # of a transition of one proton: nmrsim's own 1e-3 moves the centre of some multiplets
SAME = 0.01  # Hz: lines closer than that are one


def peaks(compound: str, field: float = 400.0) -> tuple[NDArray, NDArray]:
    """Positions in ppm, from left to right as spectra are drawn, and intensities of a compound's lines.

    `field` is the frequency of protons in MHz. The intensities sum to the number of protons, those that
    exchange with the solvent left out.
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
    """The labels of a system in sets that couple to each other: they can be simulated one by one."""
    left = list(part.visible)
    while left:
        group = [left.pop(0)]
        for label in group:  # grows while it is walked through
            coupled = [other for other in left if part.coupling(label, other)]
            group += coupled
            left = [other for other in left if other not in coupled]
        yield group


def _lines(part: System, group: list[str], field: float) -> tuple[NDArray, NDArray]:
    """Frequencies in Hz and intensities of protons that couple to each other.

    Other nuclei are so far away in frequency that a state m of one just shifts the protons by m J: the
    spectrum is the mean over the states of all of them.
    """
    nuclei = [nucleus for nucleus in part.nuclei if any(part.coupling(x, nucleus) for x in group)]
    states = [np.arange(SPINS[part.nuclei[x]]) - (SPINS[part.nuclei[x]] - 1) / 2 for x in nuclei]
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
    """Lines of coupled protons, second order and all, whose intensities sum to their number."""
    if len(group) == 1:  # couplings among equivalent protons do not show
        return np.array(hertz), np.array([float(part.protons[group[0]])])
    spins = [i for i, label in enumerate(group) for _ in range(part.protons[label])]
    if len(spins) > LARGEST:
        raise ValueError(
            f"{len(spins)} protons couple to each other: at most {LARGEST} can be simulated."
        )
    between = np.array([[part.coupling(a, b) for b in group] for a in group])
    places, J = [hertz[i] for i in spins], between[np.ix_(spins, spins)]
    lines = np.array(_nmrsim().secondorder_dense(places, J, cutoff=FAINTEST))
    return lines[:, 0], lines[:, 1]


def _merge(hertz: NDArray, intensity: NDArray) -> tuple[NDArray, NDArray]:
    """Rising frequencies, with lines that no spectrometer could tell apart put together."""
    order = np.argsort(hertz)
    hertz, intensity = hertz[order], intensity[order]
    first = np.flatnonzero(np.diff(hertz, prepend=-np.inf) > SAME)
    total = np.add.reduceat(intensity, first)
    return np.add.reduceat(hertz * intensity, first) / total, total


def _nmrsim() -> ModuleType:
    """The quantum mechanics of nmrsim; its dense variant, for the sparse one needs files of its own."""
    try:
        from nmrsim import qm
    except ImportError as error:
        raise ImportError(
            'Spectra of compounds are simulated by nmrsim, which is missing: pip install "ngmca[paper]".'
        ) from error
    return qm
