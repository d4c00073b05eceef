"""A result as one NetCDF file, and back."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from ngmca.answers.how_sure import Diagnostics
from ngmca.answers.run import NO_ANSWERS, Answers
from ngmca.io import Dataset, ReadError
from ngmca.io.read_error import printable, reason
from ngmca.io.technique import Technique
from ngmca.result import Ambiguity, Background, Domain, History, Others, Rates, Restart, Separation
from ngmca.saving import variables_in_file as in_file
from ngmca.saving.netcdf_files import is_written_by_ngmca, read_netcdf, write_netcdf
from ngmca.saving.result_folder import find

OTHERS = {  # variables of other answers that fit as well
    "S_low": ("source", "sample"),
    "S_high": ("source", "sample"),
    "A_low": ("measurement", "source"),
    "A_high": ("measurement", "source"),
}
AMBIGUITY: dict[str, tuple[str, ...]] = OTHERS | {  # variables of what the data allow
    "lowest": ("source",),
    "found": ("source",),
    "highest": ("source",),
    "T": ("end", "source", "row", "column"),
    "deviance": ("end", "source"),
    "converged": ("end", "source"),
    "limit": (),
    "level": (),
    "variance_growth": (),
}
COMPRESSED = (
    *("A", "S", "picked", *in_file.COMPRESSED),
    *(f"{what}_{name}" for what in ("others", "ambiguity") for name in OTHERS),
)
DIMENSIONS = {  # of the diagnostics that are arrays
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


def write_result(
    path: Path,
    separation: Separation,
    data: Dataset,
    diagnostics: Diagnostics | None,
    record: dict[str, Any],
    answers: Answers = NO_ANSWERS,
) -> None:
    """Write a result as one NetCDF file, atomically."""
    variables = (
        _separation_variables(separation)
        | _diagnostics_variables(diagnostics)
        | in_file.answers_to_variables(answers)
    )
    axis_attributes = {"long_name": printable(data.axis_name), "units": printable(data.axis_unit)}
    coordinates = {
        "axis": ("sample", data.positions, axis_attributes),
        "name": ("measurement", [printable(name) for name in data.names]),  # HDF5 accepts no NUL
    }
    if data.row_axis is not None:
        label = {"long_name": printable(data.row_label)}
        coordinates["row_axis"] = ("measurement", data.row_axis, label)
    parts = separation.parts
    attributes = {
        "ngmca": 1,  # version of this layout
        "n_iter": separation.n_iter,
        "stopped": separation.stopped,
        "noise_model": separation.noise_model,
        "violation": separation.violation,
        "domain": json.dumps(asdict(separation.domain)),
        "background_found": "" if separation.background is None else separation.background.found,
        "rates": json.dumps(None if separation.rates is None else separation.rates.facts),
        # where the measurements of each data set end, if there are several
        "parts": json.dumps([int(part.stop) for part in parts] if len(parts) > 1 else []),
        "techniques": json.dumps([asdict(one) for one in separation.joined]),
        "fortran": json.dumps([name for name in ("A", "S") if getattr(separation, name).flags.fnc]),
        "has_names": int(bool(data.row_names)),
        "row_label": printable(data.row_label),
        "image_shape": list(data.image_shape or ()),
        "meta": json.dumps(data.meta, default=str),
        "notes": json.dumps(data.notes),
        "record": json.dumps(record, default=str),
    }
    write_netcdf(path, variables, coordinates, attributes, COMPRESSED)


def _separation_variables(s: Separation) -> dict[str, Any]:
    """Return the variables of a separation, each with dimensions and values."""
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
    if s.ambiguity is not None:
        for name, axes in AMBIGUITY.items():
            found[f"ambiguity_{name}"] = (axes, np.asarray(getattr(s.ambiguity, name)))
    if s.background is not None:
        found["background_weights"] = (("measurement", "smooth"), s.background.weights)
        found["background_basis"] = (("smooth", "sample"), s.background.basis)
    if s.outliers is not None:
        found["outliers"] = (("outlier", "place"), s.outliers.astype(np.int64))
    for part in fields(History):
        across = ("iteration", "source") if part.name == "threshold" else ("iteration",)
        found[f"history_{part.name}"] = (across, getattr(s.history, part.name))
    return found if s.posterior is None else found | in_file.to_variables(s.posterior)


def _diagnostics_variables(diagnostics: Diagnostics | None) -> dict[str, Any]:
    """Return the variables of the diagnostics, each with dimensions and values."""
    if diagnostics is None:
        return {}
    return {
        _stored_name(part.name): (DIMENSIONS.get(part.name, ()), getattr(diagnostics, part.name))
        for part in fields(diagnostics)
    }


def _stored_name(name: str) -> str:
    """Return the name of a variable of the diagnostics in the file."""
    return name if name == "picked" else f"diagnostics_{name}"


def is_result(file: Path) -> bool:
    """Return whether a file says that `write_result` wrote it."""
    with file.open("rb") as opened:
        if opened.read(4) != b"\x89HDF":
            return False
    try:
        return is_written_by_ngmca(file)
    except ReadError:
        return False


def read_result(path: Path) -> tuple[Separation, Dataset, Diagnostics | None, dict[str, Any], Answers]:
    """Read what `write_result` wrote: separation, data without Y, diagnostics, record and answers."""
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
            in_file.answers_from_variables(values),
        )
    except Exception as error:  # HDF5 raises errors of many kinds for damaged files
        raise ReadError(f"{file} is not a complete result of ngmca: {reason(error)}.") from error


def _to_parts(ends: list[int]) -> tuple[slice, ...]:
    starts = [0, *ends[:-1]]
    return tuple(slice(*pair) for pair in zip(starts, ends, strict=True)) if ends else (slice(None),)


def _to_separation(values: dict[str, Any], attributes: Any) -> Separation:
    # the same order in memory: sums in another order differ in the last digit
    for name in json.loads(attributes["fortran"]):
        values[name] = np.asfortranarray(values[name])
    history: dict[str, Any] = {part.name: values[f"history_{part.name}"] for part in fields(History)}
    rates = json.loads(attributes["rates"])
    return Separation(
        A=values["A"],
        S=values["S"],
        lam=values["threshold"],
        noise=values["noise"],
        n_iter=int(attributes["n_iter"]),
        stopped=str(attributes["stopped"]),
        noise_model=str(attributes["noise_model"]),
        violation=float(attributes["violation"]),
        history=History(**history),
        restarts=_to_restarts(values),
        posterior=in_file.from_variables(values),
        domain=Domain(**json.loads(attributes["domain"])),
        background=_to_background(values, attributes),
        outliers=values.get("outliers"),
        parts=_to_parts(json.loads(attributes["parts"])),
        others=_to_others(values),
        ambiguity=_to_ambiguity(values),
        joined=tuple(Technique(**one) for one in json.loads(attributes["techniques"])),
        rates=None if rates is None else Rates.from_facts(rates),
    )


def _to_background(values: dict[str, Any], attributes: Any) -> Background | None:
    if "background_weights" not in values:
        return None
    found = str(attributes["background_found"])
    return Background(values["background_weights"], values["background_basis"], found)


def _to_restarts(values: dict[str, Any]) -> tuple[Restart, ...]:
    costs = values["restart_cost"]
    columns = (
        costs,
        values["restart_agreement"],
        values.get("restart_sources", [()] * len(costs)),
        values["restart_equal"],
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


def _to_ambiguity(values: dict[str, Any]) -> Ambiguity | None:
    if "ambiguity_limit" not in values:
        return None
    parts: dict[str, Any] = {name: values[f"ambiguity_{name}"] for name in AMBIGUITY}
    parts |= {name: float(parts[name]) for name, dimensions in AMBIGUITY.items() if not dimensions}
    return Ambiguity(**parts | {"converged": parts["converged"].astype(bool)})


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
        row_axis=values.get("row_axis"),
        row_label=str(attributes["row_label"]),
    )


def _to_diagnostics(values: dict[str, Any]) -> Diagnostics | None:
    if "picked" not in values:
        return None
    found: dict[str, Any] = {part.name: values[_stored_name(part.name)] for part in fields(Diagnostics)}
    plain: dict[str, Any] = {
        name: value if name in DIMENSIONS else float(value) for name, value in found.items()
    }
    return Diagnostics(**plain)
