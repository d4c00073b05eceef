"""Results of data that do not fit into memory: A and S complete in two files, and a part to show."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import write_atomically
from ngmca.engines import Engine, everything
from ngmca.engines.opening import is_sliceable
from ngmca.io import Dataset, ReadError
from ngmca.result import Others, Separation
from ngmca.saving.result_folder import FACTORS

MAX_SHOWN_MEASUREMENTS, MAX_SHOWN_CHANNELS = 1 << 16, 1 << 14
MAX_SHOWN_ENTRIES = 1 << 26  # of the data: half a GB
NUMBERS_PER_WRITE = 1 << 22


@dataclass(frozen=True)
class Shown:
    """The part of a result that answers, report and tables show: all, or an even selection.

    Attributes
    ----------
    separation : Separation
        The shown part of the separation.
    data : Dataset
        The shown part of the data.
    engine : Engine
        Answers questions about the shown part of the data.
    rows : NDArray or None
        Measurements that are shown; None means all.
    told : str
        How much is shown, in words; empty if all is shown.
    explained : float or None
        Share of the energy of all data, if only a part is shown.
    """

    separation: Separation
    data: Dataset
    engine: Engine
    rows: NDArray | None = None
    told: str = ""
    explained: float | None = None

    def of_each(self, value: Any) -> Any:
        """Return the shown part of a value that has one entry for each measurement."""
        return value if self.rows is None or np.ndim(value) == 0 else np.asarray(value)[self.rows]


def is_large(data: Dataset) -> bool:
    """Return whether the data stay on disk and are read in blocks."""
    return is_sliceable(data.Y)


def refuse(data: Dataset, what: str, instead: str) -> None:
    """Raise an error, which says what to do instead, if data are read in blocks but needed at once."""
    if is_large(data):
        raise ReadError(
            f"{what} needs all data in memory at once, and {data.meta['path']} is too large for that: "
            f"{instead}, or cut out a part of the file first."
        )


def shape_shown(shape: tuple[int, int]) -> tuple[int, int]:
    """Return how many measurements and channels of large data are shown at most."""
    return min(shape[0], MAX_SHOWN_MEASUREMENTS), min(shape[1], MAX_SHOWN_CHANNELS)


def store(folder: Path, separation: Separation) -> None:
    """Write all of A and S into a folder."""
    for name, factor in zip(FACTORS, (separation.A, separation.S), strict=True):
        write_atomically(folder / name, partial(_write_npy, factor))


def stored(folder: Path) -> str:
    """Return a text that says where all of A and S is; empty if it is not in the folder."""
    if not all((folder / name).is_file() for name in FACTORS):
        return ""
    return f"; all of A and S is in {' and '.join(str(folder / name) for name in FACTORS)}"


def shown(engine: Engine, separation: Separation, data: Dataset) -> Shown:
    """Return an even selection of measurements and channels; an image stays an image."""
    (m, n), files = engine.shape, " and ".join(FACTORS)
    columns = np.arange(0, n, -(-n // MAX_SHOWN_CHANNELS))
    most = min(MAX_SHOWN_MEASUREMENTS, max(1, MAX_SHOWN_ENTRIES // len(columns)))
    rows, image = _rows(data.image_shape, m, most)
    part = engine.part(rows, columns)
    told = f"{len(rows):,} of {m:,} measurements and {len(columns):,} of {n:,} channels"
    part_of_data = replace(
        data,
        Y=everything(part) * part.dtype.type(part.unit),
        axis=columns.astype(float) if data.axis is None else data.axis[columns],
        row_names=tuple(str(i + 1) for i in rows),
        row_axis=None if data.row_axis is None else data.row_axis[rows],
        image_shape=image,
        # without entries that have one value for each measurement
        meta={k: v for k, v in data.meta.items() if np.size(v) != m} | {"whole": [m, n]},
    ).with_notes(f"the report and the tables show {told}; all of A and S is in {files}.")
    part_of_separation = _selection(separation, rows, columns)
    return Shown(part_of_separation, part_of_data, part, rows, told, _explained(engine, separation))


def _selection(separation: Separation, rows: NDArray, columns: NDArray) -> Separation:
    """Return some of the measurements and channels of a separation."""
    others, background = separation.others, separation.background
    if others is not None:
        others = Others(
            others.count,
            *(S[:, columns] for S in (others.S_low, others.S_high)),
            *(A[rows] for A in (others.A_low, others.A_high)),
        )
    if background is not None:
        background = replace(
            background, weights=background.weights[rows], basis=background.basis[:, columns]
        )
    return replace(
        separation,
        A=np.ascontiguousarray(separation.A[rows]),
        S=np.ascontiguousarray(separation.S[:, columns]),
        noise=separation.noise[rows],
        others=others,
        ambiguity=None if separation.ambiguity is None else separation.ambiguity.part(rows, columns),
        background=background,
    )


def _explained(engine: Engine, separation: Separation) -> float:
    """Return 1 - |Y - A S - background|^2 / |Y|^2 over all data, in one pass."""
    A, S, background, left = separation.A, separation.S, separation.background, 0.0
    for (rows, columns), Y in engine.blocks():
        rest = Y - A[rows] @ (S[:, columns] / engine.unit)
        if background is not None:
            rest -= (background.weights[rows] / engine.unit) @ background.basis[:, columns]
        left += float(np.einsum("ij,ij->", rest, rest, dtype=np.float64))
    return 1 - left / engine.energy if engine.energy > 0 else 0.0


def _write_npy(factor: NDArray, file: BinaryIO) -> None:
    """Write an array in the .npy format, in pieces."""
    header = {"descr": np.lib.format.dtype_to_descr(factor.dtype), "fortran_order": False}
    np.lib.format.write_array_header_1_0(file, header | {"shape": factor.shape})
    m, n = factor.shape
    step = max(1, NUMBERS_PER_WRITE // n)
    for i in range(0, m, step):
        for j in range(0, n, NUMBERS_PER_WRITE):
            file.write(factor[i : i + step, j : j + NUMBERS_PER_WRITE].tobytes())


def _rows(image: tuple[int, int] | None, m: int, most: int) -> tuple[NDArray, tuple[int, int] | None]:
    """Return the shown measurements, about `most`, and the shape of the image they make, if any."""
    if image is None:
        return np.arange(0, m, -(-m // most)), None
    step = int(np.ceil(np.sqrt(m / most)))
    down, across = np.arange(0, image[0], step), np.arange(0, image[1], step)
    return (down[:, None] * image[1] + across).ravel(), (len(down), len(across))
