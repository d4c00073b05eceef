"""Which techniques are joined: their names, and which of their measurements belong together."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError
from ngmca.io.dataset import Dataset
from ngmca.io.technique import Technique


def own_names(parts: Sequence[Dataset]) -> list[str]:
    """Return the names of the files, or numbers; names of folders are added where files share one."""
    paths = [Path(str(part.meta["path"])) if part.meta.get("path") else None for part in parts]
    names = [f"technique {i}" if path is None else path.stem for i, path in enumerate(paths, 1)]
    if len(set(names)) == len(names):
        return names
    whole = ["" if path is None else str(path.absolute().with_suffix("")) for path in paths]
    if None in paths or len(set(whole)) < len(whole):
        return [f"{name} {i}" for i, name in enumerate(names, 1)]
    common = os.path.commonpath(whole)
    return [os.path.relpath(one, common) for one in whole]


def matched(parts: Sequence[Dataset]) -> tuple[tuple[str, ...], list[NDArray], list[str]]:
    """Return names of all measurements, their rows in each technique (-1: missing), and a note."""
    named = all(len(set(part.row_names)) == len(part.Y) for part in parts)
    union = tuple(dict.fromkeys(name for part in parts for name in part.row_names))
    sizes = [len(part.Y) for part in parts]
    if named and len(union) < sum(sizes):
        places = [{name: i for i, name in enumerate(part.row_names)} for part in parts]
        rows = [np.array([place.get(name, -1) for name in union]) for place in places]
        gone = [
            f"{part.meta['technique']} has no measurement {', '.join(_some(union, where < 0))}."
            for part, where in zip(parts, rows, strict=True)
            if (where < 0).any()
        ]
        return union, rows, gone
    if len(set(sizes)) > 1:
        raise ArgumentError(
            "the techniques have {} measurements, and {}. Give the same name to the same measurement in "
            "all of them, or add rows of NaN where one is missing.",
            " and ".join(map(str, sizes)),
            "no two have the same name" if named else "not all of them have different names",
        )
    names = next((part.row_names for part in parts if part.row_names), ())
    several = {part.row_names for part in parts if part.row_names}
    note = "the names of the measurements differ: they are matched by their number."
    return names, [np.arange(sizes[0])] * len(parts), [note] if len(several) > 1 else []


def _some(names: Sequence[str], which: NDArray) -> list[str]:
    """Return some of the names, at most five."""
    found = [names[i] for i in np.flatnonzero(which).tolist()]
    return [*found[:5], "..."] if len(found) > 5 else found


def joined_facts(parts: Sequence[Dataset], techniques: Sequence[Technique]) -> dict[str, Any]:
    """Return the facts about joined data: coordinates of pixels are those of the first technique."""
    first = parts[0].meta
    meta: dict[str, Any] = {
        name: first[name] for name in ("x", "y", "x_unit", "y_unit") if name in first
    }
    if all(part.meta.get("path") for part in parts):
        folders = [Path(str(part.meta["path"])).absolute().parent for part in parts]
        meta["path"] = os.path.commonpath(folders)
    return meta | {"techniques": [asdict(one) for one in techniques]}


def row_coordinates(parts: Sequence[Dataset], rows: Sequence[NDArray]) -> tuple[NDArray | None, str]:
    """Return coordinates of the measurements and their label, from a technique that has all of them."""
    for part, where in zip(parts, rows, strict=True):
        if part.row_axis is not None and (where >= 0).all():
            return part.row_axis[where], part.row_label
    return None, ""
