"""The task that the options describe, with the contents of the files that they name."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca import constraints as known
from ngmca import io, rules
from ngmca._support.arguments import check_choice
from ngmca.cli.console import note
from ngmca.cli.options import flag_of
from ngmca.cli.settings import Settings
from ngmca.domains import backgrounds
from ngmca.engines import Counts
from ngmca.io import Dataset, ReadError
from ngmca.io.combine import axis_range, has_axis, interpolate, overlap, rising
from ngmca.io.detect import TABLE_FORMATS, format_of
from ngmca.saving.sources_in_file import sources_in
from ngmca.separation import SHARED
from ngmca.task.methods import method_with
from ngmca.task.task import DOMAINS, NoiseModel, Sampling, Task

PROFILES = ("unimodal", "increasing", "decreasing")


def check_early(settings: Settings) -> None:
    """Raise an error for a wrong method, one of its options or a wrong domain, before data are read."""
    method_with(settings.method, settings.method_options)
    check_choice(settings.domain, "domain", DOMAINS)
    check_choice(settings.shared, "shared", SHARED)
    if settings.shared == "mixing":
        asked = {
            "one noise": settings.noise is not None,
            "KnownSources": settings.known_sources is not None,
            "curves of a baseline": settings.baseline not in (None, *backgrounds.KINDS),
            "library": settings.library is not None,
            "responses": settings.responses is not None,
        }
        rules.check(rules.written(["techniques", *(name for name, given in asked.items() if given)]))


def task_of(settings: Settings, data: Dataset, *, quiet: bool = False) -> Task:
    """Return the task that the options describe."""
    return Task(
        r=settings.number,
        method=method_with(settings.method, settings.method_options),
        domain=settings.domain,
        noise=noise_of(settings, data),
        robust=settings.robust,
        constraints=tuple(constraints_of(settings, data, quiet=quiet)),
        n_init=settings.n_init,
        posterior=Sampling(settings.samples or "auto") if settings.posterior else None,
        seed=settings.seed,
        device=settings.device,
    )


def constraints_of(
    settings: Settings, data: Dataset, *, quiet: bool = False
) -> Iterator[known.Constraint]:
    """Yield the constraints that were given."""
    if settings.known_sources is not None:
        spectra = _spectra("KnownSources", settings.known_sources, data, quiet=quiet)
        yield known.KnownSources(spectra, settings.known_scale or "fixed")
    elif settings.known_scale is not None:
        raise ReadError("--known-scale needs --known-sources: give a file of spectra, or leave it out.")
    if settings.known_mixing is not None:
        yield known.KnownMixing(_mixing(settings.known_mixing, data))
    if settings.closure is not None:
        yield known.Closure(_totals(settings.closure, data))
    if settings.profiles == "unimodal":
        yield known.Unimodal()
    elif settings.profiles is not None:
        yield known.Monotonic(check_choice(settings.profiles, "profiles", PROFILES))
    if settings.baseline in backgrounds.KINDS:
        yield known.Baseline(settings.baseline)
    elif settings.baseline is not None:
        yield known.Baseline(_spectra("Baseline", settings.baseline, data, quiet=quiet))


def noise_of(settings: Settings, data: Dataset) -> NoiseModel:
    """Return a noise level, levels of measurements, channels or entries, or those of counts."""
    noise = settings.noise
    if noise != "poisson":
        for name in ("gain", "readout"):
            if getattr(settings, name) is not None:
                raise ReadError(f"--{name} needs --noise poisson: give that too, or leave it out.")
        return _levels(noise, data) if isinstance(noise, str) else noise
    given = {"gain": settings.gain, "readout": settings.readout}
    return Counts(**{name: value for name, value in given.items() if value is not None})


def _levels(path: str, data: Dataset) -> NDArray:
    """Return standard deviations in a file: one for each measurement, or spectra of them."""
    found, m = _read(path, numbers=False), len(data.Y)
    if found.Y.size == m and not has_axis(found):
        return found.Y.ravel()
    if len(found.Y) not in (1, m):
        raise ReadError(
            f"{path} has {len(found.Y)} rows of noise levels: --noise needs one number for each of {m} "
            f"measurements, or one spectrum of levels for all of them or for each."
        )
    return _on_axis(found, path, data, "noise")


def _spectra(name: str, path: str, data: Dataset, *, quiet: bool) -> NDArray:
    """Return spectra in a file, at the channels of the data; negative entries become 0."""
    S = _on_axis(sources_in(Path(path)), path, data, name)
    if (S < 0).any():
        note(f"negative entries of {path} are set to 0.", quiet=quiet)
    return np.maximum(S, 0)


def _on_axis(found: Dataset, path: str, data: Dataset, name: str) -> NDArray:
    """Return rows at the channels of the data, interpolated; all channels must be covered."""
    flag, (X, here), there = flag_of(name), rising(found), data.positions
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
            f"{flag} must cover all channels: {told}. Cut the data with "
            f"--range {max(here[0], there.min()):g}:{min(here[-1], there.max()):g}."
        )
    return interpolate(there, here, X)


def _mixing(path: str, data: Dataset) -> NDArray:
    """Return known columns of the mixing, one row for each measurement."""
    Y = _read(path, numbers=True).Y
    return Y.T if len(Y) == 1 != len(data.Y) else Y


def _totals(closure: float | str, data: Dataset) -> float | NDArray:
    """Return one total, or one for each measurement."""
    if not isinstance(closure, str):
        return closure
    totals = _read(closure, numbers=True).Y
    if totals.size != len(data.Y):
        raise ReadError(
            f"{closure} has {totals.size} numbers: --closure needs one total for each of "
            f"{len(data.Y)} measurements."
        )
    return totals.ravel()


def _read(path: str, *, numbers: bool) -> Dataset:
    """Read a table that an option names; a table of plain numbers has no axis."""
    plain = numbers and format_of(Path(path)) in TABLE_FORMATS
    return io.read(path, axis="none") if plain else io.read(path)
