"""Data that are too large for the memory: A and S whole in two files, and a part of all to look at."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import write_atomically
from ngmca.engines import Engine, everything
from ngmca.engines.opening import is_sliceable
from ngmca.io import Dataset, ReadError
from ngmca.result import Background, Others, Separation
from ngmca.saving.result_folder import FACTORS

MEASUREMENTS, CHANNELS = 1 << 16, 1 << 14  # that are shown at most
ENTRIES = 1 << 26  # of the data, half a GB, that are looked at for that
PIECE = 1 << 22  # numbers that are written at once


@dataclass(frozen=True)
class Shown:
    """What answers, report and tables are made of: all, or evenly chosen parts of everything."""

    separation: Separation
    data: Dataset
    engine: Engine
    rows: NDArray | None = None  # measurements that are shown; None: all
    told: str = ""  # how much is shown, where it is a part
    explained: float | None = None  # share of the energy of all data, where a part is shown

    def of_each(self, value: Any) -> Any:
        """What is shown of a value, if there is one of it for each measurement."""
        return value if self.rows is None or np.ndim(value) == 0 else np.asarray(value)[self.rows]


def is_large(data: Dataset) -> bool:
    """Whether the data stay where they are, and are read in blocks."""
    return is_sliceable(data.Y)


def refuse(data: Dataset, what: str, instead: str) -> None:
    """Refuse what needs all data at once where they are read in blocks; `instead` is what to do."""
    if is_large(data):
        raise ReadError(
            f"{what} needs all data in memory at once, and {data.meta['path']} is too large for that: "
            f"{instead}, or cut out a part of the file first."
        )


def shape_shown(shape: tuple[int, int]) -> tuple[int, int]:
    """How many measurements and channels of large data are shown at most."""
    return min(shape[0], MEASUREMENTS), min(shape[1], CHANNELS)


def store(folder: Path, separation: Separation) -> None:
    """Write all of A and S into a folder, before anything else is attempted."""
    for name, factor in zip(FACTORS, (separation.A, separation.S), strict=True):
        write_atomically(folder / name, partial(_stream, factor))


def stored(folder: Path) -> str:
    """Where all of A and S is, in words; empty where it is not."""
    if not all((folder / name).is_file() for name in FACTORS):
        return ""
    return f"; all of A and S is in {' and '.join(str(folder / name) for name in FACTORS)}"


def shown(engine: Engine, separation: Separation, data: Dataset) -> Shown:
    """Evenly chosen parts of everything.

    Of an image it is every so many of its rows and columns, so that it still is one.
    """
    (m, n), files = engine.shape, " and ".join(FACTORS)
    columns = np.arange(0, n, -(-n // CHANNELS))
    rows, image = _rows(data.image_shape, m, min(MEASUREMENTS, max(1, ENTRIES // len(columns))))
    part = engine.part(rows, columns)
    told = f"{len(rows):,} of {m:,} measurements and {len(columns):,} of {n:,} channels"
    seen = replace(
        data,
        Y=everything(part) * part.dtype.type(part.unit),
        axis=columns.astype(float) if data.axis is None else data.axis[columns],
        row_names=tuple(str(i + 1) for i in rows),
        image_shape=image,
        meta=_thinned(data) | {"whole": [m, n]},
    ).noted(f"the report and the tables show {told}; all of A and S is in {files}.")
    less, explained = _less(separation, rows, columns), _explained(engine, separation)
    return Shown(less, seen, part, rows, told, explained)


def _less(separation: Separation, rows: NDArray, columns: NDArray) -> Separation:
    """Some of the measurements and channels of a separation."""
    others, background = separation.others, separation.background
    if others is not None:
        others = Others(
            others.count,
            *(S[:, columns] for S in (others.S_low, others.S_high)),
            *(A[rows] for A in (others.A_low, others.A_high)),
        )
    if background is not None:
        background = Background(background.weights[rows], background.basis[:, columns])
    return replace(
        separation,
        A=np.ascontiguousarray(separation.A[rows]),
        S=np.ascontiguousarray(separation.S[:, columns]),
        noise=separation.noise[rows],
        others=others,
        background=background,
    )


def _explained(engine: Engine, separation: Separation) -> float:
    """1 - |Y - A S|^2 / |Y|^2 over all data, in one pass; a background is a part of A S here."""
    A, S, background, left = separation.A, separation.S, separation.background, 0.0
    for (rows, columns), Y in engine.blocks():
        rest = Y - A[rows] @ (S[:, columns] / engine.unit)
        if background is not None:
            rest -= (background.weights[rows] / engine.unit) @ background.basis[:, columns]
        left += float(np.einsum("ij,ij->", rest, rest, dtype=np.float64))
    return 1 - left / engine.energy if engine.energy > 0 else 0.0


def _stream(factor: NDArray, file: Any) -> None:
    """Write an array in the .npy format, some rows, or a part of one, at a time."""
    header = {"descr": np.lib.format.dtype_to_descr(factor.dtype), "fortran_order": False}
    np.lib.format.write_array_header_1_0(file, header | {"shape": factor.shape})
    m, n = factor.shape
    step = max(1, PIECE // n)
    for i in range(0, m, step):
        for j in range(0, n, PIECE):
            file.write(factor[i : i + step, j : j + PIECE].tobytes())


def _rows(image: tuple[int, int] | None, m: int, most: int) -> tuple[NDArray, tuple[int, int] | None]:
    """Which measurements are shown, at most about so many, and the shape of the image that they make."""
    if image is None:
        return np.arange(0, m, -(-m // most)), None
    step = int(np.ceil(np.sqrt(m / most)))
    down, across = np.arange(0, image[0], step), np.arange(0, image[1], step)
    return (down[:, None] * image[1] + across).ravel(), (len(down), len(across))


def _thinned(data: Dataset) -> dict[str, Any]:
    """What else is known of the data, without what there is one of for each measurement."""
    return {key: value for key, value in data.meta.items() if np.size(value) != data.Y.shape[0]}
