"""Readers of mass spectra: images (imzML, with pyimzML) and runs (mzML, ANDI in NetCDF)."""

import base64
import gzip
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ngmca.io.claimed_sizes import check_claim
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError, check_held, damaged, require

Groups = dict[str | None, dict[str, str]]  # terms by the name of a group

BIN_WIDTH = 0.1  # in m/z, for spectra with different peak positions
WHOLE_FROM = 0.7  # 42.7 to 43.7 is m/z 43 where masses are told apart by 1 only, for their mass defect
STEPS_OF_WHOLE = 20  # in which such masses are given, for each m/z
TYPES = {"MS:1000521": "<f4", "MS:1000523": "<f8", "MS:1000519": "<i4", "MS:1000522": "<i8"}
LEVEL, TIME, MZ, INTENSITY = "MS:1000511", "MS:1000016", "MS:1000514", "MS:1000515"
POLARITY = {"MS:1000129": "negative", "MS:1000130": "positive"}
ANDI = ("scan_index", "mass_values", "intensity_values", "scan_acquisition_time")
PLAIN, ZLIB = "MS:1000576", "MS:1000574"
SECONDS = "UO:0000010"  # the unit of a time; otherwise it is in minutes


def read_imzml(path: Path, **_: Any) -> Dataset:
    """Read the pixels of an image of mass spectra, on its own m/z axis or in bins of 0.1."""
    parser = require("pyimzml.ImzMLParser", "imzML")
    body = path.with_suffix(".ibd")
    if not body.is_file():
        raise ReadError(f"{path} has no data file {body.name} beside it.")
    with damaged(f"{path} is not a complete imzML file"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with parser.ImzMLParser(str(path)) as stored:
            places = np.array([place[:2] for place in stored.coordinates])
            spectra = [stored.getspectrum(i) for i in range(len(places))]
    short = next((i for i, (mz, y) in enumerate(spectra) if len(mz) != len(y) or not len(mz)), None)
    if short is not None:
        raise ReadError(
            f"{path}: spectrum {short + 1} is cut short: {body.name} is truncated or damaged."
        )
    if not all(np.isfinite(values).all() for spectrum in spectra for values in spectrum):
        raise ReadError(f"{path} has missing or infinite values: {body.name} is damaged.")
    axis, Y, note = _on_one_axis(spectra)
    order, shape = _as_image(places)
    names = tuple(f"x{x} y{y}" for x, y in places[order])
    data = Dataset(Y[order], axis, "m/z", "", () if shape else names, shape)
    return data.with_notes(note) if note else data


def read_mzml(path: Path, **_: Any) -> Dataset:
    """Read the full scans of a run, on their own m/z axis or in bins of 0.1, named by their time."""
    spectra: list[tuple[NDArray, NDArray]] = []
    names: list[str] = []
    times: list[str] = []
    others, signs = 0, set[str]()
    with damaged(f"{path} is not a complete mzML file"):
        for element, groups in _scans(path):
            terms = _terms(element, groups)
            if terms.get(LEVEL, "1") != "1":
                others += 1
                continue
            spectra.append(_arrays(element, groups, path))
            signs.update(word for term, word in POLARITY.items() if term in terms)
            times += [terms[TIME]] if TIME in terms else []
            names.append(terms.get(TIME, str(len(names) + 1)))
    if not any(len(mz) for mz, _ in spectra):
        raise ReadError(
            f"{path} has no full scans (MS level 1) with peaks: its {others} scans have other levels."
        )
    axis, Y, note = _on_one_axis(spectra)
    left_out = f"{others} scans of MS level 2 and above were left out." if others else ""
    mixed = f"{' and '.join(sorted(signs))} scans are in one table." if len(signs) > 1 else ""
    data = Dataset(Y, axis, "m/z", "", tuple(names)).with_notes(*filter(None, (note, left_out, mixed)))
    units = {text.split()[1] for text in times}
    if len(times) < len(names) or len(units) != 1:
        return data
    values = np.array([float(text.split()[0]) for text in times])
    return replace(data, row_axis=values, row_label=f"time [{units.pop()}]")


def andi_run(path: Path) -> Dataset | None:
    """Return the scans of a run that ANDI describes (.cdf of GC-MS); None for other NetCDF files."""
    from scipy.io import netcdf_file

    with damaged(f"{path} is not a complete NetCDF file"), netcdf_file(path, "r", mmap=False) as file:
        if not set(ANDI) <= set(file.variables):
            return None
        check_claim(float(path.stat().st_size), None, str(path))
        starts, mz, y, times = (np.array(file.variables[name][:], dtype=float) for name in ANDI)
        scale = float(getattr(file.variables["intensity_values"], "scale_factor", 1.0))
    ends = np.append(starts[1:], len(mz)).astype(int)
    if not len(starts) or len(mz) != len(y) or starts[0] != 0 or (np.diff(ends, prepend=0) < 0).any():
        raise ReadError(f"{path}: the places of its scans do not fit its masses: it is damaged.")
    if not (np.isfinite(mz).all() and np.isfinite(y).all() and len(times) == len(starts)):
        raise ReadError(f"{path} has missing or infinite values: it is damaged.")
    places = zip(starts.astype(int), ends, strict=True)
    axis, Y, note = _on_one_axis([(mz[a:b], scale * y[a:b]) for a, b in places])
    names = tuple(f"{time:g} s" for time in times)
    data = Dataset(Y, axis, "m/z", "", names, row_axis=times, row_label="time [s]")
    return data.with_notes(note) if note else data


def _scans(path: Path) -> Iterator[tuple[ElementTree.Element, Groups]]:
    """Yield the spectra of an mzML file one by one, with the terms that they share."""
    with path.open("rb") as file:
        opened = gzip.open if file.read(2) == b"\x1f\x8b" else open
    announced, found = None, 0
    groups: Groups = {}
    with opened(path, "rb") as stream:
        for event, element in ElementTree.iterparse(stream, ("start", "end")):
            tag = element.tag.rpartition("}")[2]
            if event == "start" and tag == "spectrumList":
                announced = int(element.get("count", -1))
            if event == "end" and tag == "referenceableParamGroup":
                groups[element.get("id")] = _terms(element, groups)
            if event == "end" and tag == "spectrum":
                found += 1
                yield element, groups
                element.clear()  # or the whole file stays in memory
    if announced is None:
        raise ReadError(f"{path} has no list of spectra.")
    if announced != -1:
        check_held(path, announced, found, "spectra")


def _terms(element: ElementTree.Element, groups: Groups) -> dict[str, str]:
    """Return the values of the terms in an element; times have their unit."""
    terms: dict[str, str] = {}
    for child in element.iter():
        if child.tag.endswith("referenceableParamGroupRef"):
            terms |= groups.get(child.get("ref"), {})
        if child.tag.endswith("cvParam"):
            value, accession = child.get("value", ""), child.get("accession", "")
            if accession == TIME:
                value = f"{float(value):g} {'s' if child.get('unitAccession') == SECONDS else 'min'}"
            terms[accession] = value
    return terms


def _arrays(element: ElementTree.Element, groups: Groups, path: Path) -> tuple[NDArray, NDArray]:
    """Return masses and intensities of a spectrum."""
    name, length = element.get("id", "a spectrum"), int(element.get("defaultArrayLength", -1))
    found: dict[str, NDArray] = {}
    for part in (child for child in element.iter() if child.tag.endswith("}binaryDataArray")):
        terms = _terms(part, groups)
        quantity = next((key for key in (MZ, INTENSITY) if key in terms), None)
        if quantity is None:
            continue
        kind = next((TYPES[key] for key in TYPES if key in terms), None)
        if kind is None or not {PLAIN, ZLIB} & set(terms):
            raise ReadError(
                f"{path}: {name} has an unknown compression: save it with zlib or without compression."
            )
        text = next((child.text for child in part if child.tag.endswith("}binary")), None)
        content = base64.b64decode(text or "", validate=False)
        found[quantity] = np.frombuffer(zlib.decompress(content) if ZLIB in terms else content, kind)
    if set(found) != {MZ, INTENSITY} and length:
        raise ReadError(f"{path}: {name} has no masses or no intensities.")
    mz, y = (np.asarray(found.get(key, ()), dtype=float) for key in (MZ, INTENSITY))
    if len(mz) != len(y) or length not in (-1, len(y)):
        raise ReadError(
            f"{path}: {name} announces {length} points, but holds {len(mz)} and {len(y)}: it is damaged."
        )
    if not (np.isfinite(mz).all() and np.isfinite(y).all()):
        raise ReadError(f"{path}: {name} has missing or infinite values: it is damaged.")
    return mz, y


def _on_one_axis(spectra: list[tuple[Any, Any]]) -> tuple[NDArray, NDArray, str]:
    first = np.asarray(spectra[0][0], dtype=float)
    if all(len(mz) == len(first) and np.array_equal(mz, first) for mz, _ in spectra):
        return first, np.array([y for _, y in spectra], dtype=float), ""
    if _are_whole(spectra):
        return _at_whole_masses(spectra)
    low = min(float(np.min(mz)) for mz, _ in spectra if len(mz))
    places = [np.floor((np.asarray(mz, dtype=float) - low) / BIN_WIDTH) for mz, _ in spectra]
    used, Y = _summed(spectra, places)
    note = f"peaks were summed in bins of {BIN_WIDTH} m/z; {len(used)} bins are not empty."
    return low + BIN_WIDTH * (used + 0.5), Y, note


def _are_whole(spectra: list[tuple[Any, Any]]) -> bool:
    """Return whether masses are those of a quadrupole: given in steps of 0.05, and one for each m/z."""
    mz = np.concatenate([np.asarray(one, dtype=float) for one, _ in spectra])
    coarse = np.abs(mz * STEPS_OF_WHOLE - np.round(mz * STEPS_OF_WHOLE)) < 0.01
    gaps = np.concatenate([np.diff(np.asarray(one, dtype=float)) for one, _ in spectra])
    return bool(coarse.all() and len(gaps) and np.mean(gaps >= 0.5) >= 0.95)


def _at_whole_masses(spectra: list[tuple[Any, Any]]) -> tuple[NDArray, NDArray, str]:
    places = [np.floor(np.asarray(mz, dtype=float) + 1 - WHOLE_FROM) for mz, _ in spectra]
    used, Y = _summed(spectra, places)
    whole = all(np.array_equal(mz, place) for (mz, _), place in zip(spectra, places, strict=True))
    note = "masses were rounded to whole m/z, from -0.3 to +0.7: there is one peak for each."
    return used, Y, "" if whole else note


def _summed(spectra: list[tuple[Any, Any]], places: list[NDArray]) -> tuple[NDArray, NDArray]:
    """Return the places that have peaks, and the sum of intensities there, for each spectrum."""
    used = np.unique(np.concatenate(places))
    check_claim(8.0 * len(spectra) * len(used), None, f"{len(spectra)} spectra on {len(used)} bins")
    Y = np.zeros((len(spectra), len(used)))
    for row, where, (_, y) in zip(Y, places, spectra, strict=True):
        np.add.at(row, np.searchsorted(used, where), y)
    filled = Y.any(axis=0)
    return used[filled], Y[:, filled]


def _as_image(places: NDArray) -> tuple[NDArray, tuple[int, int] | None]:
    """Return the order of pixels row by row, and the shape of the image if none is missing."""
    order = np.lexsort((places[:, 0], places[:, 1]))
    corner = places.min(axis=0)
    columns, rows = (int(size) for size in places.max(axis=0) - corner + 1)
    whole = len(places) == rows * columns == len(np.unique(places, axis=0))
    return order, (rows, columns) if whole and rows > 1 and columns > 1 else None
