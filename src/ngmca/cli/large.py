"""Results that are too large for a page and for tables: all in two files, and a part to look at."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.data import InMemory
from ngmca.io import Dataset
from ngmca.result import Separation
from ngmca.saving.result_folder import FACTORS
from ngmca.saving.whole_files import write_whole

MEASUREMENTS, CHANNELS = 1 << 16, 1 << 14  # that are shown at most


def shown(
    folder: Path, engine: InMemory, separation: Separation, data: Dataset
) -> tuple[Separation, Dataset, InMemory]:
    """Write A and S into a folder, and return what is to be shown: evenly chosen parts of everything.

    Of an image it is every so many of its rows and columns, so that it still is one.
    """
    for name, factor in zip(FACTORS, (separation.A, separation.S), strict=True):
        write_whole(folder / name, partial(_stream, factor))
    rows, shape = _rows(data.image_shape, engine.shape[0])
    columns = np.arange(0, engine.shape[1], -(-engine.shape[1] // CHANNELS))
    part = engine.part(rows, columns)
    (m, n), files = engine.shape, " and ".join(FACTORS)
    told = f"{len(rows):,} of {m:,} measurements and {len(columns):,} of {n:,} channels"
    note = f"the report and the tables show {told}; all of A and S is in {files}."
    less = replace(
        separation,
        A=np.ascontiguousarray(separation.A[rows]),
        S=np.ascontiguousarray(separation.S[:, columns]),
        noise=separation.noise[rows],
    )
    Y = part.rows(slice(None)) * part.dtype.type(part.unit)
    seen = replace(
        data,
        Y=Y,
        axis=data.positions[columns],
        row_names=tuple(str(i + 1) for i in rows),
        image_shape=shape,
    )
    return less, replace(seen, meta=_thinned(data, rows)).noted(note), part


def _stream(factor: NDArray, file: Any) -> None:
    """Write an array in the .npy format, some rows at a time."""
    header = {"descr": np.lib.format.dtype_to_descr(factor.dtype), "fortran_order": False}
    np.lib.format.write_array_header_1_0(file, header | {"shape": factor.shape})
    step = max(1, (1 << 22) // max(factor.shape[1], 1))
    for i in range(0, len(factor), step):
        file.write(np.ascontiguousarray(factor[i : i + step]).tobytes())


def _rows(image: tuple[int, int] | None, m: int) -> tuple[NDArray, tuple[int, int] | None]:
    """Which measurements are shown, and the shape of the image that they make."""
    if image is None:
        return np.arange(0, m, -(-m // MEASUREMENTS)), None
    step = int(np.ceil(np.sqrt(m / MEASUREMENTS)))
    down, across = np.arange(0, image[0], step), np.arange(0, image[1], step)
    return (down[:, None] * image[1] + across).ravel(), (len(down), len(across))


def _thinned(data: Dataset, rows: NDArray) -> dict[str, Any]:
    """What else is known of the data, without what there is one of for each measurement."""
    return {key: value for key, value in data.meta.items() if np.size(value) != data.Y.shape[0]} | {
        "shown": f"{len(rows)} of {data.Y.shape[0]} measurements"
    }
