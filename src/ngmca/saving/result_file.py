"""A result as one NetCDF file, and back."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.restarts import equally_good
from ngmca.answers.how_sure import Diagnostics
from ngmca.answers.how_sure.diagnostics import energy_shares
from ngmca.io import Dataset, ReadError
from ngmca.io.dataset import shown, told
from ngmca.result import Background, Domain, History, Others, Restart, Separation
from ngmca.saving import answers_in_file as asked
from ngmca.saving.answers_in_file import Answers
from ngmca.saving.checksummed_files import is_written_by_ngmca, read_netcdf, write_netcdf
from ngmca.saving.posterior_in_file import PACKED, from_variables, to_variables
from ngmca.saving.result_folder import find

OTHERS = {  # what equally good answers are kept as
    "S_low": ("source", "sample"),
    "S_high": ("source", "sample"),
    "A_low": ("measurement", "source"),
    "A_high": ("measurement", "source"),
}
LARGE = ("A", "S", "picked", *PACKED, *(f"others_{name}" for name in OTHERS))
COMPRESSED = {name: {"zlib": True, "complevel": 1} for name in LARGE}
FACTORS = ("A", "S")
DIMENSIONS = {  # of the diagnostics that are not single numbers
    "sigma": ("measurement",),
    "row_rms": ("measurement",),
    "column_rms": ("sample",),
    "share": ("source",),
    "picks": ("pick",),
    "picked": ("pick", "sample"),
    "histogram": ("bin",),
    "singular": ("rank",),
    "outlying": ("outlier",),
}
LATER: dict[str, Any] = {"missing": 0.0, "outlying": np.zeros(0)}  # what older files do not have


def write_result(
    path: Path,
    separation: Separation,
    data: Dataset,
    diagnostics: Diagnostics | None,
    record: dict[str, Any],
    answers: Answers = asked.NONE,
) -> None:
    """Write all of a result as one NetCDF file."""
    import xarray as xr

    variables = _separated(separation) | _diagnosed(diagnostics) | asked.to_variables(answers)
    about = {"long_name": shown(data.axis_name), "units": shown(data.axis_unit)}
    coordinates = {
        "axis": ("sample", data.positions, about),
        "name": ("measurement", [shown(name) for name in data.names]),  # HDF5 takes no NUL, for one
    }
    attributes = {
        "ngmca": 1,  # version of this layout
        "n_iter": separation.n_iter,
        "stopped": separation.stopped,
        "violation": separation.violation,
        "domain": json.dumps(asdict(separation.domain)),
        "parts": json.dumps(_ends(separation)),
        "fortran": json.dumps([name for name in FACTORS if _is_fortran(getattr(separation, name))]),
        "has_names": int(bool(data.row_names)),
        "image_shape": list(data.image_shape or ()),
        "meta": json.dumps(data.meta, default=str),
        "notes": json.dumps(data.notes),
        "record": json.dumps(record, default=str),
    }
    packed = {name: how for name, how in COMPRESSED.items() if name in variables}
    write_netcdf(path, xr.Dataset(variables, coordinates, attributes), packed)


def _separated(s: Separation) -> dict[str, Any]:
    """The variables of a separation: dimensions and values."""
    found: dict[str, Any] = {
        "A": (("measurement", "source"), s.A),
        "S": (("source", "sample"), s.S),
        "threshold": ("source", s.lam),
        "noise": ("measurement", s.noise),
        "restart_cost": ("restart", [restart.cost for restart in s.restarts]),
        "restart_agreement": ("restart", [restart.agreement for restart in s.restarts]),
    }
    found["restart_equal"] = ("restart", np.array([int(restart.equal) for restart in s.restarts], int))
    if s.restarts and all(restart.sources for restart in s.restarts):
        found["restart_sources"] = (("restart", "source"), [restart.sources for restart in s.restarts])
    if s.others is not None:
        found["others_count"] = ((), s.others.count)
        for name, dimensions in OTHERS.items():
            found[f"others_{name}"] = (dimensions, getattr(s.others, name))
    if s.background is not None:
        found["background_weights"] = (("measurement", "smooth"), s.background.weights)
        found["background_basis"] = (("smooth", "sample"), s.background.basis)
    if s.outliers is not None:
        found["outliers"] = (("outlier", "place"), s.outliers.astype(np.int64))
    for part in fields(History):
        across = ("iteration", "source") if part.name == "threshold" else ("iteration",)
        found[f"history_{part.name}"] = (across, getattr(s.history, part.name))
    return found if s.posterior is None else found | to_variables(s.posterior)


def _diagnosed(diagnostics: Diagnostics | None) -> dict[str, Any]:
    """The variables of the diagnostics; all but the single numbers have dimensions."""
    if diagnostics is None:
        return {}
    return {
        _stored_name(part.name): (DIMENSIONS.get(part.name, ()), getattr(diagnostics, part.name))
        for part in fields(diagnostics)
    }


def _stored_name(name: str) -> str:
    """What a number of the diagnostics is called in the file."""
    return name if name == "picked" else f"diagnostics_{name}"


def is_result(file: Path) -> bool:
    """Whether a file was written by `write_result`, by what it says about itself."""
    with file.open("rb") as opened:
        if opened.read(4) != b"\x89HDF":
            return False
    try:
        return is_written_by_ngmca(file)
    except ReadError:
        return False


def read_result(path: Path) -> tuple[Separation, Dataset, Diagnostics | None, dict[str, Any], Answers]:
    """What `write_result` wrote."""
    file = find(path)
    try:
        stored = read_netcdf(file)
        values, attributes = stored["values"], stored["attributes"]
        if "ngmca" not in attributes:
            raise ValueError("it was not written by ngmca")
        return (
            _to_separation(values, attributes),
            _to_dataset(values, attributes, stored["axis"]),
            _to_diagnostics(values),
            json.loads(attributes["record"]),
            asked.from_variables(values),
        )
    except Exception as error:  # a damaged file makes xarray and HDF5 raise what comes
        raise ReadError(f"{file} is not a whole result of ngmca: {told(error)}.") from error


def _ends(separation: Separation) -> list[int]:
    """Where the measurements of each of several data sets end; empty where there is one."""
    return [] if len(separation.parts) == 1 else [int(part.stop) for part in separation.parts]


def _to_parts(ends: list[int]) -> tuple[slice, ...]:
    starts = [0, *ends[:-1]]
    return tuple(slice(*pair) for pair in zip(starts, ends, strict=True)) if ends else (slice(None),)


def _is_fortran(array: NDArray) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _to_separation(values: dict[str, Any], attributes: Any) -> Separation:
    # in memory as they were: sums in another order differ in the last digit
    for name in json.loads(attributes.get("fortran", "[]")):
        values[name] = np.asfortranarray(values[name])
    unknown = {"mixing_violation": np.full(len(values["history_cost"]), np.nan)}  # in older files
    history: dict[str, Any] = {
        part.name: values.get(f"history_{part.name}", unknown.get(part.name)) for part in fields(History)
    }
    return Separation(
        A=values["A"],
        S=values["S"],
        lam=values["threshold"],
        noise=values["noise"],
        n_iter=int(attributes["n_iter"]),
        stopped=str(attributes["stopped"]),
        violation=float(attributes["violation"]),
        history=History(**history),
        restarts=_to_restarts(values),
        posterior=from_variables(values),
        domain=Domain(**json.loads(attributes.get("domain", '{"name": "direct"}'))),
        background=Background(values["background_weights"], values["background_basis"])
        if "background_weights" in values
        else None,
        outliers=values.get("outliers"),
        parts=_to_parts(json.loads(attributes.get("parts", "[]"))),
        others=_to_others(values),
    )


def _to_restarts(values: dict[str, Any]) -> tuple[Restart, ...]:
    costs = values["restart_cost"]
    columns = (
        costs,
        values["restart_agreement"],
        values.get("restart_sources", [()] * len(costs)),  # older files lack these, and what is equal
        values.get("restart_equal", equally_good(costs)),
    )
    return tuple(
        Restart(float(cost), float(agreement), tuple(map(float, sources)), bool(equal))
        for cost, agreement, sources, equal in zip(*columns, strict=True)
    )


def _to_others(values: dict[str, Any]) -> Others | None:
    if "others_count" not in values:
        return None
    parts: dict[str, Any] = {name: values[f"others_{name}"] for name in OTHERS}
    return Others(int(values["others_count"]), **parts)


def _to_dataset(values: dict[str, Any], attributes: Any, axis: Any) -> Dataset:
    shape = tuple(int(size) for size in np.atleast_1d(attributes["image_shape"]))
    return Dataset(
        Y=np.zeros((len(values["A"]), 0)),
        axis=values["axis"],
        axis_name=str(axis.get("long_name", "sample")),
        axis_unit=str(axis.get("units", "")),
        row_names=tuple(str(name) for name in values["name"]) if attributes["has_names"] else (),
        image_shape=(shape[0], shape[1]) if len(shape) == 2 else None,
        meta=json.loads(attributes["meta"]),
        notes=tuple(json.loads(attributes["notes"])),
    )


def _to_diagnostics(values: dict[str, Any]) -> Diagnostics | None:
    if "picked" not in values:
        return None
    found: dict[str, Any] = {
        part.name: values.get(_stored_name(part.name), LATER.get(part.name))
        for part in fields(Diagnostics)
    }
    found["share"] = energy_shares(values["A"], values["S"])  # older files hold shares of the sum
    plain: dict[str, Any] = {
        name: value if name in DIMENSIONS else float(value) for name, value in found.items()
    }
    return Diagnostics(**plain)
