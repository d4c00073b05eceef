"""Readers of processed NMR spectra, with nmrglue: Bruker, Varian/Agilent and NMRPipe."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import option
from ngmca.io.axis_units import NO_AXIS, SHIFT
from ngmca.io.combine import combine
from ngmca.io.dataset import Dataset, real_numbers
from ngmca.io.read_error import ReadError, check_held, damaged, printable, require

PROCESS_FIRST = (
    "Fourier-transform and phase it first (TopSpin, VnmrJ, NMRPipe, nmrglue), then save the spectrum."
)
PIPE_MARK = 2.345  # in the header of every NMRPipe file
PIPE_HEADER_BYTES = 2048
IS_SPECTRUM = 0x2  # bit of the status word in the header of a Varian file


def is_bruker(folder: Path) -> bool:
    """Return whether a folder is an experiment, its processed data, or a collection of experiments."""
    return bool(_experiments(folder))


def read_bruker(path: Path, *, nucleus: str | None = None, **_: Any) -> Dataset:
    """Read one row for each experiment in a folder, or for each row of a pseudo-2D experiment.

    The path may also be a file of the experiment.
    """
    path = path.parent if path.is_file() else path
    ng = require("nmrglue", "Bruker data")
    experiments = _experiments(path)
    processed = [folder for folder in experiments if _processed(folder)]
    if not processed:
        raise ReadError(f"{path} holds only a free induction decay (fid or ser). {PROCESS_FIRST}")
    chosen = _of_one_nucleus(processed, nucleus, path)
    parts = [_read_processed(ng, folder) for folder in chosen]
    data = combine(parts, [folder.name for folder in chosen])
    left = len(experiments) - len(processed)
    notes = [f"{left} experiments without processed data were left out."] if left else []
    for folder in [] if experiments == [path] else sorted(one.parent for one in path.glob("*/pdata")):
        if not (folder / "acqus").is_file():
            notes.append(f"left out: {printable(folder.name)} has pdata, but no acqus.")
    return data.with_notes(*notes)


def read_varian(path: Path, **_: Any) -> Dataset:
    """Read the spectra that VnmrJ keeps in datdir beside procpar; raw data are an error."""
    path = path.parent if path.is_file() else path
    ng = require("nmrglue", "Varian/Agilent data")
    found = [path / "datdir" / name for name in ("phasefile", "data")]
    file = next((candidate for candidate in found if candidate.is_file()), path / "fid")
    if not file.is_file():
        raise ReadError(f"{path} has a procpar file, but neither a spectrum nor a fid beside it.")
    with damaged(f"{file} is not a complete Varian file"):
        header, values = _quietly(ng.varian.read_fid, str(file), as_2d=True)
    if not int(header["status"]) & IS_SPECTRUM:
        raise ReadError(f"{file} is a free induction decay. {PROCESS_FIRST}")
    parameters = _quietly(ng.varian.read_procpar, str(path / "procpar"))
    n = values.shape[1]
    axis, name, unit = _varian_axis(parameters, n)
    return Dataset(real_numbers(np.real(values), str(file)), axis, name, unit)


def read_pipe(path: Path, **_: Any) -> Dataset:
    """Read the rows of an NMRPipe file whose direct dimension is Fourier-transformed."""
    ng = require("nmrglue", "NMRPipe data")
    with damaged(f"{path} is not a complete NMRPipe file"):
        header, values = _quietly(ng.pipe.read, str(path))
        announced = PIPE_HEADER_BYTES + 4 * int(np.prod(ng.pipe.find_shape(header)))
    if abs(float(header["FDFLTORDER"]) - PIPE_MARK) > 1e-3:
        raise ReadError(f"{path} is not an NMRPipe file: its header does not have the mark {PIPE_MARK}.")
    if not header["FDF2FTFLAG"]:
        raise ReadError(f"{path} is a free induction decay. {PROCESS_FIRST}")
    check_held(path, announced, path.stat().st_size, "bytes")
    if values.ndim > 2:
        raise ReadError(f"{path} has {values.ndim} dimensions: rows of spectra are required.")
    axis = np.asarray(ng.pipe.make_uc(header, values).ppm_scale(), dtype=float)
    return Dataset(np.atleast_2d(real_numbers(np.real(values), str(path))), axis, *SHIFT)


def _experiments(path: Path) -> list[Path]:
    """Return folders of experiments (with acqus), sorted by number."""
    if (path / "procs").is_file():  # the user points to pdata/1
        return [path]
    if any((path / name).exists() for name in ("acqus", "pdata", "ser")):
        return [path]
    inside = [child for child in path.iterdir() if child.is_dir() and (child / "acqus").is_file()]
    return sorted(inside, key=lambda child: (not child.name.isdigit(), child.name.zfill(9)))


def _processed(experiment: Path) -> Path | None:
    """Return the folder with the spectrum of an experiment, the lowest processing number first."""
    candidates = [experiment] if (experiment / "procs").is_file() else []
    if (experiment / "pdata").is_dir():
        candidates += sorted((experiment / "pdata").iterdir())
    return next((c for c in candidates if (c / "1r").is_file() or (c / "2rr").is_file()), None)


def _of_one_nucleus(experiments: list[Path], nucleus: str | None, path: Path) -> list[Path]:
    groups: dict[str, list[Path]] = {}
    for folder in experiments:
        groups.setdefault(_nucleus(folder), []).append(folder)
    if nucleus is None and len(groups) == 1:
        return experiments
    kinds = ", ".join(f"{kind} ({len(members)})" for kind, members in sorted(groups.items()))
    if nucleus is None:
        words = "{} holds experiments of several nuclei: {}. Choose one with {}."
        raise ReadError(words, path, kinds, option("nucleus"))
    if nucleus not in groups:
        raise ReadError(
            "{} has no experiment for {}: it has {}.", path, option("nucleus", nucleus), kinds
        )
    return groups[nucleus]


def _nucleus(experiment: Path) -> str:
    for folder in (experiment, experiment.parent.parent):
        acqus = folder / "acqus"
        if acqus.is_file():
            for line in acqus.read_text(errors="replace").splitlines():
                if line.startswith("##$NUC1="):
                    return line.split("=", 1)[1].strip(" <>")
    return "unknown"


def _read_processed(ng: Any, experiment: Path) -> Dataset:
    folder = _processed(experiment) or experiment
    acquisition = folder.parent.parent
    for file in (folder / "procs", folder / "proc2s", acquisition / "acqus", acquisition / "acqu2s"):
        # nmrglue would search for a missing end for ever
        if file.is_file() and b"##END=" not in file.read_bytes():
            raise ReadError(f"{file} does not end with ##END=: it is truncated or damaged.")
    with damaged(f"{folder} is not a complete Bruker spectrum"):
        header, values = _quietly(ng.bruker.read_pdata, str(folder))
        direct = header["procs"]
        width = direct["SW_p"] / direct["SF"]
        offset, size = float(direct["OFFSET"]), int(direct["SI"])
        rows = 1 if (folder / "1r").is_file() else int(header["proc2s"]["SI"])
    if values.shape[-1] != size or values.size != size * rows:
        raise ReadError(f"{folder} announces {rows} x {size} points, but holds {values.size}.")
    axis = offset - np.arange(size) * width / size
    return Dataset(np.atleast_2d(values).astype(float), axis, *SHIFT)


def _varian_axis(parameters: Any, n: int) -> tuple[NDArray | None, str, str]:
    """Return the axis of n points from the spectral width and the reference in a procpar file."""
    try:
        width, frequency, position, reference = (
            float(parameters[key]["values"][0]) for key in ("sw", "reffrq", "rfl", "rfp")
        )
    except (KeyError, IndexError, ValueError):
        return None, NO_AXIS, ""
    hertz = width - np.arange(n) * width / n - position + reference
    return hertz / frequency, *SHIFT


def _quietly(function: Any, *args: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)
