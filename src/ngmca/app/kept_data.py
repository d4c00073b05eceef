"""Data that a second process has read, as files that the server maps instead of loading them."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import rendered
from ngmca.io import Dataset
from ngmca.settings.option_names import as_flag

MAX_NUMBERS = 50_000_000  # of larger data only some measurements are kept
FACTS = "facts.json"


def keep(folder: Path, data: Dataset, **facts: Any) -> None:
    """Write the data, or some measurements of large data, and facts about them, at once."""
    part = folder.with_name(f"{folder.name}.ngmca-{os.getpid()}.part")
    part.mkdir()
    m, n = data.Y.shape
    rows = np.unique(np.linspace(0, m - 1, min(m, max(1, MAX_NUMBERS // n))).astype(int))
    Y = np.lib.format.open_memmap(part / "Y.npy", "w+", np.float32, (len(rows), n))
    for k, i in enumerate(rows):
        Y[k] = data.Y[i]
    Y.flush()
    np.save(part / "rows.npy", rows)
    np.save(part / "axis.npy", data.positions)
    if data.row_axis is not None:
        np.save(part / "row_axis.npy", data.row_axis)
    plain = {key: one for key, one in data.meta.items() if isinstance(one, str | int | float)}
    for key in ("x", "y", "parts"):
        if key in data.meta:
            plain[key] = np.asarray(data.meta[key], dtype=object).tolist()
    known = {
        "measurements": m, "channels": n, "has_axis": data.axis is not None,
        "axis_name": data.axis_name, "axis_unit": data.axis_unit, "row_label": data.row_label,
        "image_shape": data.image_shape, "meta": plain, "row_names": list(data.row_names),
        "notes": [rendered(note, as_flag) for note in data.notes],
    }  # fmt: skip
    (part / FACTS).write_text(json.dumps(known | facts, default=str), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def facts_of(folder: Path) -> dict[str, Any] | None:
    """Return the facts about kept data, or None while there are none."""
    try:
        found: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found


def kept(folder: Path) -> tuple[Dataset, NDArray]:
    """Return the kept measurements, mapped from their file, and the number of each."""
    facts = facts_of(folder) or {}
    row_axis, shape = folder / "row_axis.npy", facts["image_shape"]
    data = Dataset(
        np.load(folder / "Y.npy", mmap_mode="r"),
        np.load(folder / "axis.npy") if facts["has_axis"] else None,
        facts["axis_name"],
        facts["axis_unit"],
        tuple(facts["row_names"]),
        None if shape is None else (shape[0], shape[1]),
        facts["meta"],
        row_axis=np.load(row_axis) if row_axis.is_file() else None,
        row_label=facts["row_label"],
    )
    return data, np.load(folder / "rows.npy")
