"""What is known beforehand, and the noise: options of the command line, and the files that they name."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import io
from ngmca.cli.console import FLAGS, note
from ngmca.cli.settings import Settings
from ngmca.domains import backgrounds
from ngmca.engines import Counts
from ngmca.io import Dataset, ReadError
from ngmca.io.detect import TABLE_FORMATS, format_of
from ngmca.io.resampling import axis_range, has_axis, interpolate, overlap, rising
from ngmca.saving.sources_in_file import sources_in

SAMPLED = ("noise", "known_sources", "known_mixing", "known_scale")  # what a posterior heeds


def options(settings: Settings, data: Dataset, *, quiet: bool = False) -> dict[str, Any]:
    """Keyword arguments of `ngmca.separate` for these data, those alone that were given."""
    found: dict[str, Any] = {
        "noise": _noise(settings, data),
        "robust": settings.robust or None,
        "known_sources": _spectra("known_sources", settings.known_sources, data, quiet=quiet),
        "known_mixing": _mixing(settings.known_mixing, data),
        "known_scale": settings.known_scale,
        "closure": _closure(settings.closure, data),
        "profiles": settings.profiles,
        "baseline": settings.baseline,
        "penalised": settings.penalised,
    }
    if settings.baseline not in (None, *backgrounds.KINDS):
        found["baseline"] = _spectra("baseline", settings.baseline, data, quiet=quiet)
    return {name: value for name, value in found.items() if value is not None}


def is_plain(given: dict[str, Any]) -> bool:
    """Whether all entries count alike, and nothing is known beforehand."""
    return not given or (set(given) == {"noise"} and isinstance(given["noise"], float))


def _noise(settings: Settings, data: Dataset) -> Any:
    """A level, levels of measurements, channels or entries, or those of counts."""
    noise = settings.noise
    if noise != "poisson":
        for name in ("gain", "readout"):
            if getattr(settings, name) is not None:
                raise ReadError(f"--{name} says how a detector counts: it belongs to --noise poisson.")
        return _levels(noise, data) if isinstance(noise, str) else noise
    given = {"gain": settings.gain, "readout": settings.readout}
    return Counts(**{name: value for name, value in given.items() if value is not None})


def _levels(path: str, data: Dataset) -> NDArray:
    """Standard deviations in a file: one a measurement, or spectra of them, one for all or one each."""
    found, m = _read(path, numbers=False), len(data.Y)
    if found.Y.size == m and not has_axis(found):
        return found.Y.ravel()
    if len(found.Y) not in (1, m):
        raise ReadError(
            f"{path} has {len(found.Y)} rows of noise levels: --noise needs one number for each of {m} "
            f"measurements, or one spectrum of levels for all of them or for each."
        )
    return _on_axis(found, path, data, "noise")


def _spectra(name: str, path: str | None, data: Dataset, *, quiet: bool) -> NDArray | None:
    """Spectra in a file, at the channels of the data; what is negative of them is noise."""
    if path is None:
        return None
    S = _on_axis(sources_in(Path(path)), path, data, name)
    if (S < 0).any():
        note(f"negative entries of {path} are taken as 0.", quiet=quiet)
    return np.maximum(S, 0)


def _on_axis(found: Dataset, path: str, data: Dataset, name: str) -> NDArray:
    """Rows at the channels of the data, interpolated; an error where they do not reach all of them."""
    flag, (X, here), there = FLAGS[name], rising(found), data.positions
    if not (has_axis(found) and has_axis(data)):
        if len(here) != len(there):
            raise ReadError(
                f"{path} has {len(here)} channels and the data have {len(there)}: {flag} needs the same "
                "channels, or an axis in both files."
            )
        return found.Y
    told = f"{path} goes from {axis_range(found)}, the data from {axis_range(data)}"
    overlap(told, found, data)
    step = float(np.median(np.abs(np.diff(there)))) if len(there) > 1 else 0.0
    if there.min() < here[0] - step or there.max() > here[-1] + step:
        raise ReadError(
            f"{flag} must reach all channels: {told}. "
            f"--range {max(here[0], there.min()):g}:{min(here[-1], there.max()):g} cuts the data to it."
        )
    return interpolate(there, here, X)


def _mixing(path: str | None, data: Dataset) -> NDArray | None:
    """Known columns of the mixing, one row a measurement."""
    if path is None:
        return None
    Y = _read(path, numbers=True).Y
    return Y.T if len(Y) == 1 != len(data.Y) else Y


def _closure(closure: float | str | None, data: Dataset) -> float | NDArray | None:
    """One total, or those of all measurements."""
    if not isinstance(closure, str):
        return closure
    totals = _read(closure, numbers=True).Y
    if totals.size != len(data.Y):
        raise ReadError(
            f"{closure} has {totals.size} numbers: --closure needs one total a measurement, "
            f"{len(data.Y)} of them."
        )
    return totals.ravel()


def _read(path: str, *, numbers: bool) -> Dataset:
    """A table that an option names; one of plain numbers has no axis, and names at most."""
    plain = numbers and format_of(Path(path)) in TABLE_FORMATS
    return io.read(path, axis="none") if plain else io.read(path)
