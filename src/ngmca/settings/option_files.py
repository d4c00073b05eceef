"""The task that the options describe, with the contents of the files that they name."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca import constraints as known
from ngmca import io, rules
from ngmca._support.arguments import check_choice
from ngmca._support.messages import warn_user
from ngmca.domains import backgrounds
from ngmca.engines import Counts
from ngmca.io import Dataset, ReadError
from ngmca.io.combine import axis_range, has_axis, interpolate, overlap, rising
from ngmca.io.detect import TABLE_FORMATS, format_of
from ngmca.io.row_coordinates import times_of
from ngmca.saving.sources_in_file import sources_in
from ngmca.separation import SHARED
from ngmca.settings.features import features_of
from ngmca.settings.known_amounts import known_amounts
from ngmca.settings.option_names import flag_of
from ngmca.settings.settings import PROFILES, Settings
from ngmca.task.methods import method_with
from ngmca.task.task import AUTOMATIC_BASELINE, DOMAINS, NoiseModel, Sampling, Task


def check_early(settings: Settings) -> None:
    """Raise an error for a wrong method, one of its options or a wrong domain, before data are read."""
    method_with(settings.method, settings.method_options)
    check_choice(settings.domain, "domain", DOMAINS)
    check_choice(settings.shared, "shared", SHARED)
    asked = features_of(settings)
    if "techniques" in asked:
        rules.check(asked)


def task_of(settings: Settings, data: Dataset) -> Task:
    """Return the task that the options describe."""
    return Task(
        r=settings.number,
        method=method_with(settings.method, settings.method_options),
        domain=settings.domain,
        noise=noise_of(settings, data),
        robust=settings.robust,
        constraints=tuple(constraints_of(settings, data)),
        n_init=settings.n_init,
        posterior=Sampling(settings.samples or "auto") if settings.posterior else None,
        seed=settings.seed,
        device=settings.device,
    )


def constraints_of(settings: Settings, data: Dataset) -> Iterator[known.Constraint]:
    """Yield the constraints that were given.

    Without any, there is an automatic baseline, as in Python.
    """
    if settings.known_sources is not None:
        spectra = _spectra("KnownSources", settings.known_sources, data)
        yield known.KnownSources(spectra, settings.known_scale or "fixed")
    elif settings.known_scale is not None:
        raise ReadError("--known-scale needs --known-sources: give a file of spectra, or leave it out.")
    if settings.known_mixing is not None:
        yield known.KnownMixing(
            known_amounts(settings.known_mixing, data), sd=_deviations(settings.known_mixing_sd, data)
        )
    elif settings.known_mixing_sd is not None:
        raise ReadError("--known-mixing-sd needs --known-mixing: give that too, or leave it out.")
    if settings.closure is not None:
        totals = _numbers(settings.closure, data, "closure", "total")
        yield known.Closure(totals, settings.closure_kind or "equal")
    elif settings.closure_kind is not None:
        raise ReadError("--closure-kind needs --closure: give that too, or leave it out.")
    if settings.kinetics is not None:
        yield known.Kinetics(
            settings.kinetics, start=_start(settings.kinetics_start), times=_times(settings.times, data)
        )
    elif settings.kinetics_start is not None or settings.times is not None:
        raise ReadError("--kinetics-start and --times need --kinetics: give it, or leave them out.")
    if settings.profiles == "unimodal":
        yield known.Unimodal()
    elif settings.profiles is not None:
        yield known.Monotonic(check_choice(settings.profiles, "profiles", PROFILES))
    if settings.trilinear:
        yield known.Trilinear()
    others = (
        settings.trilinear or None,
        settings.known_sources,
        settings.known_mixing,
        settings.closure,
        settings.profiles,
    )
    kind = settings.baseline or ("auto" if others == (None,) * len(others) else "none")
    if kind == "auto":
        yield from AUTOMATIC_BASELINE
    elif kind in backgrounds.KINDS:
        yield known.Baseline(kind)
    elif kind != "none":
        yield known.Baseline(_spectra("Baseline", kind, data))


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


def _spectra(name: str, path: str, data: Dataset) -> NDArray:
    """Return spectra in a file, at the channels of the data; negative entries become 0."""
    S = _on_axis(sources_in(Path(path)), path, data, name)
    if (S < 0).any():
        warn_user(f"negative entries of {path} are set to 0.")
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


def _deviations(given: float | str | None, data: Dataset) -> float | NDArray | None:
    """Return standard deviations of known amounts: one number, or a table like that of the amounts."""
    return known_amounts(given, data) if isinstance(given, str) else given


def _numbers(given: float | str, data: Dataset, name: str, word: str) -> float | NDArray:
    """Return a number, or one for each measurement from a file."""
    if not isinstance(given, str):
        return given
    found = _read(given, numbers=True).Y
    if found.size != len(data.Y):
        raise ReadError(
            f"{given} has {found.size} numbers: {flag_of(name)} needs one {word} for each of "
            f"{len(data.Y)} measurements."
        )
    return found.ravel()


def _times(path: str | None, data: Dataset) -> float | NDArray | None:
    """Return the times in a file, or those of the data."""
    return times_of(data) if path is None else _numbers(path, data, "times", "time")


def _start(text: str | None) -> dict[str, float] | None:
    """Return the amounts in a text such as A=0.1,B=0.2."""
    if text is None:
        return None
    parts = [part.partition("=") for part in text.split(",")]
    try:
        return {name.strip(): float(amount) for name, _, amount in parts}
    except ValueError:
        raise ReadError(f"--kinetics-start {text} is not a list of amounts, as A=0.1,B=0.2.") from None


def _read(path: str, *, numbers: bool) -> Dataset:
    """Read a table that an option names; a table of plain numbers has no axis."""
    plain = numbers and format_of(Path(path)) in TABLE_FORMATS
    return io.read(path, axis="none") if plain else io.read(path)
