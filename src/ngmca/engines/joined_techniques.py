"""Data of several techniques on the same measurements, joined along the channels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import rules
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.engines.opening import is_dask, is_large
from ngmca.engines.units import in_own_units
from ngmca.io import Dataset, as_dataset
from ngmca.io.technique import MAX_TECHNIQUES, Technique
from ngmca.io.technique_matching import joined_facts, matched, own_names, row_coordinates

LEAST_NOISE = 1e-4  # of the root mean square of a technique: cleaner data count as if they had it
MAX_ROWS_FOR_LEVEL = 1000  # measurements from which a level is estimated
NOISE_QUANTILE = 0.3  # of singular values: up to it they belong to noise

Given = Sequence[Any] | Mapping[str, Any]


def join_techniques(data: Given) -> Dataset:
    """Join data of several techniques on the same measurements, each divided by the level of its noise.

    ``separate(data, r, shared="mixing")`` does it by itself. The joined data are for other functions:
    `choose_rank`, `posterior`, `ambiguity`, `judge`, `iterate`.

    Measurements with the same name belong together. One that a technique does not have is missing
    there: its entries are NaN. Without names, or if no two names are the same, measurements are matched
    by their number.

    Parameters
    ----------
    data : list or dict of matrices, Datasets, DataFrames or DataArrays
        One for each technique. The keys of a dict are the names of the techniques.

    Returns
    -------
    Dataset
        The channels of the techniques one after the other. `Dataset.techniques` says which belong to
        which, and what a value of 1 is; `Dataset.split` undoes the joining.

    Examples
    --------
    >>> import numpy as np, ngmca
    >>> x = ngmca.simulate.bands(m=20, n=200, r=2, seed=0)
    >>> joined = ngmca.join_techniques({"uv": x.Y[:, :80], "ir": 1000 * x.Y[:, 80:]})
    >>> joined
    Dataset: 20 x 200, channel of 2 techniques
    >>> [(one.name, one.channels) for one in joined.techniques]
    [('uv', slice(0, 80, None)), ('ir', slice(80, 200, None))]
    """
    return joined(data)[0]


def joined(
    data: Given, noise: Any = None, mask: Any = None, units: Sequence[float] | None = None
) -> tuple[Dataset, Any]:
    """Return joined data, and their noise in these units, or None if it is estimated.

    Parameters
    ----------
    data : list or dict
        One matrix for each technique.
    noise : list, optional
        Noise of each technique, as a level or as an array of levels.
    mask : list of (m, n) arrays of bool, optional
        True where an entry of a technique is missing.
    units : sequence of float, optional
        What 1 is in the joined data; by default the level of the noise.
    """
    parts = _parts(data, mask)
    names, rows, note = matched(parts)
    levels = None if noise is None else _levels(noise, parts)
    if units is None:
        found = [_level(part.Y) for part in parts] if levels is None else [_rms(one) for one in levels]
        units = found
    ends = [0, *accumulate(part.Y.shape[1] for part in parts)]
    techniques = [
        Technique(str(part.meta["technique"]), first, end, float(unit), part.axis_name, part.axis_unit)
        for part, first, end, unit in zip(parts, ends[:-1], ends[1:], units, strict=True)
    ]
    Y = np.hstack([
        _placed(part.Y / unit, where, np.nan)
        for part, where, unit in zip(parts, rows, units, strict=True)
    ])  # fmt: skip
    axis = np.concatenate([part.positions for part in parts])
    shapes = {part.image_shape for part in parts}
    whole = Dataset(Y, axis, row_names=names, meta=joined_facts(parts, techniques))
    place, label = row_coordinates(parts, rows)
    image = shapes.pop() if len(shapes) == 1 else None
    whole = replace(whole, image_shape=image, row_axis=place, row_label=label)
    notes = dict.fromkeys(text for part in parts for text in part.notes)
    told = ", ".join(f"{one.name} {one.unit:.3g}" for one in techniques)
    whole = whole.with_notes(*notes, *note, f"each technique is divided by its noise level: {told}.")
    if levels is None:
        return whole, None
    if all(np.ndim(one) == 0 for one in levels):
        return whole, 1.0
    return whole, np.hstack([
        _placed(np.broadcast_to(level, part.Y.shape) / unit, where, 1.0)
        for level, part, where, unit in zip(levels, parts, rows, units, strict=True)
    ])  # fmt: skip


def _parts(data: Given, mask: Any) -> list[Dataset]:
    """Return one Dataset for each technique, with its name, and NaN where entries are missing."""
    names = list(data) if isinstance(data, Mapping) else None
    given = list(data.values()) if isinstance(data, Mapping) else data
    if isinstance(given, np.ndarray | Dataset) or not isinstance(given, Sequence):
        given = [given]
    if not 2 <= len(given) <= MAX_TECHNIQUES:
        raise ArgumentTypeError(
            "{} needs a list or a dict with the data of each technique, from 2 to {} of them, got {}.",
            *(option("shared", "mixing"), MAX_TECHNIQUES, len(given)),
        )
    masks = [None] * len(given) if mask is None else list(mask)
    if len(masks) != len(given):
        raise ArgumentError("{} must be a list with one array for each technique.", option("mask"))
    parts = [_part(one, gone) for one, gone in zip(given, masks, strict=True)]
    names = own_names(parts) if names is None else [str(name) for name in names]
    return [
        replace(part, meta=part.meta | {"technique": name})
        for part, name in zip(parts, names, strict=True)
    ]


def _part(data: Any, mask: Any) -> Dataset:
    """Return the data of one technique in memory."""
    values = getattr(data, "Y", data)
    for place, there in (("dask", is_dask(values)), ("disk", is_large(values))):
        if there:
            rules.check(rules.written(["techniques", place]))
    if np.ma.isMaskedArray(data):
        data = np.ma.asarray(data, dtype=float).filled(np.nan)
    known = as_dataset(data)
    if known.Y.ndim != 2 or not known.Y.size:
        raise ArgumentError(
            "the data of a technique must be measurements x channels, got the shape {}.", known.Y.shape
        )
    if np.isnan(known.Y).all() or np.isinf(known.Y).any():
        raise ArgumentError("the data of a technique must have numbers, and none that is infinite.")
    Y = known.Y if known.Y.dtype.kind == "f" else known.Y.astype(float)
    if mask is not None:
        gone = np.asarray(mask, dtype=bool)
        if gone.shape != Y.shape:
            raise ArgumentError(
                "{} of a technique must have the shape of its data, {}, got {}.",
                *(option("mask"), Y.shape, gone.shape),
            )
        Y = np.where(gone, Y.dtype.type(np.nan), Y)
    return replace(known, Y=np.asarray(Y))


def _placed(values: NDArray, rows: NDArray, missing: float) -> NDArray:
    """Return the rows of values in another order, with a value for rows that are missing."""
    return np.where((rows >= 0)[:, None], values[rows], values.dtype.type(missing))


def _levels(noise: Any, parts: Sequence[Dataset]) -> list[Any]:
    """Return the given noise of each technique: a level, or an array that broadcasts to its data."""
    if not isinstance(noise, Sequence) or isinstance(noise, str) or len(noise) != len(parts):
        rules.check(rules.written(["techniques", "one noise"]))
    found = []
    for given, part in zip(noise, parts, strict=True):
        level = np.asarray(given, dtype=float)
        if level.shape == (len(part.Y),):
            level = level[:, None]
        if not np.all(np.isfinite(level)) or np.min(level) <= 0:
            raise ArgumentError("{} must be above 0 in every technique.", option("noise"))
        try:
            np.broadcast_to(level, part.Y.shape)
        except ValueError:
            raise ArgumentError(
                "{} of a technique of {} x {} must be a level for all entries, for each measurement, "
                "each channel (1, n) or each entry, got the shape {}.",
                *(option("noise"), *part.Y.shape, np.shape(given)),
            ) from None
        found.append(level)
    return found


def _level(Y: NDArray) -> float:
    """Return the level of white noise whose small singular values are those of the data.

    The small ones belong to noise, whatever the spectra look like and however the noise is correlated
    along the channels. Differences of neighbouring channels would need smooth spectra and white noise.
    """
    Y = Y[~np.isnan(Y).all(axis=1)]
    values, unit = in_own_units(_bridged(Y[:: -(-len(Y) // MAX_ROWS_FOR_LEVEL) or 1].astype(float)))
    noise = np.random.default_rng(0).standard_normal(values.shape)
    own, other = (np.linalg.svd(one, compute_uv=False) for one in (values, noise))
    level = float(np.quantile(own, NOISE_QUANTILE) / np.quantile(other, NOISE_QUANTILE))
    return unit * (max(level, LEAST_NOISE * _rms(values)) or 1.0)


def _bridged(Y: NDArray) -> NDArray:
    """Return rows with a straight line in place of missing entries."""
    places = np.arange(Y.shape[1])
    for row in Y:
        seen = ~np.isnan(row)
        row[~seen] = np.interp(places[~seen], places[seen], row[seen])
    return Y


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=float))))
