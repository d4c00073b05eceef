"""What a run leaves in its folder, written and read back: tables, result.nc, run.toml, report."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ngmca.diagnostics import Diagnostics
from ngmca.folder import FILES, RESULT, find
from ngmca.io import Dataset, ReadError, write_table
from ngmca.posterior_file import PACKED, from_variables, to_variables
from ngmca.records import History, Restart, Separation
from ngmca.uncertainty import Marginals, Posterior

COMPRESSED = {name: {"zlib": True, "complevel": 1} for name in ("A", "S", "picked", *PACKED)}


@dataclass(frozen=True)
class Run:
    """A separation with what its axis, rows and parameters were: all that a report needs."""

    separation: Separation
    diagnostics: Diagnostics
    data: Dataset  # without its Y, which stays where it is
    record: dict[str, Any] = field(default_factory=dict)  # parameters, versions, hash of the input


def load(folder: str | os.PathLike[str]) -> Separation:
    """The separation that a run left in a folder."""
    return load_run(folder).separation


def load_run(folder: str | os.PathLike[str]) -> Run:
    """All that a run left in a folder."""
    import xarray as xr

    path = find(Path(folder))
    try:
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            return _from_xarray(stored.load())
    except (OSError, KeyError, ValueError) as error:
        raise ReadError(f"{path} is not a whole result of ngmca: {error}.") from error


def write(folder: Path, run: Run, *, report: str, record: str) -> None:
    """Write all files of a run into an existing folder and push them to the disk."""
    _write_tables(folder, run)
    stored = _to_xarray(run)
    packed = {name: how for name, how in COMPRESSED.items() if name in stored}
    stored.to_netcdf(folder / RESULT, engine="h5netcdf", encoding=packed)
    (folder / "run.toml").write_text(record, encoding="utf-8")
    (folder / "report.html").write_text(report, encoding="utf-8")
    for name in FILES:
        with (folder / name).open("rb+") as file:
            os.fsync(file.fileno())


def _write_tables(folder: Path, run: Run) -> None:
    separation, data = run.separation, run.data
    names = source_names(len(separation.S))
    columns: dict[str, Any] = {data.axis_label: data.positions}
    columns |= dict(zip(names, separation.S, strict=True))
    posterior = separation.posterior
    if posterior is not None:
        columns |= _bars(names, posterior.S, lambda values: values)
    write_table(folder / "sources.csv", columns)
    rows: dict[str, Any] = {"measurement": list(data.names)}
    if data.image_shape:
        place = np.indices(data.image_shape).reshape(2, -1)
        rows = {"row": place[0], "column": place[1]}
    rows |= dict(zip(names, separation.A.T, strict=True))
    if posterior is not None:
        rows |= _bars(names, posterior.A, lambda values: values.T)
    write_table(folder / "mixing.csv", rows)


def _bars(names: list[str], found: Marginals, by_source: Callable[[Any], Any]) -> dict[str, Any]:
    """Columns with the mean, the ends of the 90 % interval, and the probability not to be 0."""
    low, high = found.interval(0.9)
    parts = {"mean": found.mean, "5 %": low, "95 %": high, "active": found.active}
    present = {key: by_source(part) for key, part in parts.items() if part is not None}
    return {f"{name} {key}": part[i] for i, name in enumerate(names) for key, part in present.items()}


def source_names(r: int) -> list[str]:
    """source 1, source 2, ..."""
    return [f"source {i + 1}" for i in range(r)]


def _to_xarray(run: Run) -> Any:
    """All of a run as one xarray Dataset."""
    import xarray as xr

    s, d, data = run.separation, run.diagnostics, run.data
    variables: dict[str, Any] = {
        "A": (("measurement", "source"), s.A),
        "S": (("source", "sample"), s.S),
        "threshold": ("source", s.lam),
        "noise": ("measurement", s.noise),
        "history_cost": ("iteration", s.history.cost),
        "history_threshold": (("iteration", "source"), s.history.threshold),
        "history_active": ("iteration", s.history.active),
        "history_violation": ("iteration", s.history.violation),
        "restart_cost": ("restart", [restart.cost for restart in s.restarts]),
        "restart_agreement": ("restart", [restart.agreement for restart in s.restarts]),
    }
    for part in fields(d):
        variables[f"diagnostics_{part.name}"] = _variable(part.name, getattr(d, part.name))
    variables["picked"] = (("pick", "sample"), d.picked)
    variables.pop("diagnostics_picked")
    if s.posterior is not None:
        variables |= to_variables(s.posterior)
    axis = ("sample", data.positions, {"long_name": data.axis_name, "units": data.axis_unit})
    coordinates = {"axis": axis, "name": ("measurement", list(data.names))}
    attributes = {
        "ngmca": 1,  # version of this layout
        "n_iter": s.n_iter,
        "stopped": s.stopped,
        "violation": s.violation,
        "has_names": int(bool(data.row_names)),
        "image_shape": list(data.image_shape or ()),
        "meta": json.dumps(data.meta, default=str),
        "notes": json.dumps(data.notes),
        "record": json.dumps(run.record, default=str),
    }
    return xr.Dataset(variables, coordinates, attributes)


DIMENSIONS = {
    "sigma": "measurement",
    "row_rms": "measurement",
    "column_rms": "sample",
    "share": "source",
    "picks": "pick",
    "histogram": "bin",
    "singular": "rank",
}


def _variable(name: str, value: Any) -> Any:
    return ((), value) if name not in DIMENSIONS else (DIMENSIONS[name], value)


def _from_xarray(stored: Any) -> Run:
    """The run that `_to_xarray` stored."""
    if "ngmca" not in stored.attrs:
        raise ValueError("it was not written by ngmca")
    values = {str(name): variable.values for name, variable in stored.variables.items()}
    attributes = stored.attrs
    found: dict[str, Any] = {"picked": values["picked"]}
    for part in fields(Diagnostics):
        if part.name != "picked":
            value = values[f"diagnostics_{part.name}"]
            found[part.name] = value if part.name in DIMENSIONS else float(value)
    shape = tuple(int(size) for size in np.atleast_1d(attributes["image_shape"]))
    data = Dataset(
        Y=np.zeros((len(values["A"]), 0)),
        axis=values["axis"],
        axis_name=str(stored["axis"].attrs.get("long_name", "sample")),
        axis_unit=str(stored["axis"].attrs.get("units", "")),
        row_names=tuple(str(name) for name in values["name"]) if attributes["has_names"] else (),
        image_shape=(shape[0], shape[1]) if len(shape) == 2 else None,
        meta=json.loads(attributes["meta"]),
        notes=tuple(json.loads(attributes["notes"])),
    )
    return Run(
        _separation(values, attributes), Diagnostics(**found), data, json.loads(attributes["record"])
    )


def _separation(values: dict[str, Any], attributes: Any) -> Separation:
    costs = zip(values["restart_cost"], values["restart_agreement"], strict=True)
    return Separation(
        A=values["A"],
        S=values["S"],
        lam=values["threshold"],
        noise=values["noise"],
        n_iter=int(attributes["n_iter"]),
        stopped=str(attributes["stopped"]),
        violation=float(attributes["violation"]),
        history=History(*(values[f"history_{part.name}"] for part in fields(History))),
        restarts=tuple(Restart(float(cost), float(agreement)) for cost, agreement in costs),
        posterior=from_variables(values),
    )


def describe(run: Run) -> dict[str, Any]:
    """The figures of a run as plain numbers, for scripts."""
    s, d = run.separation, run.diagnostics
    plain = {key: value for key, value in asdict(d).items() if isinstance(value, float)}
    return {
        "sources": len(s.S),
        "measurements": len(s.A),
        "samples": s.S.shape[1],
        "iterations": s.n_iter,
        "stopped": s.stopped,
        "violation": s.violation,
        "noise": float(np.median(s.noise)),
        "share": d.share.tolist(),
        **plain,
        **({} if s.posterior is None else {"posterior": _sampling(s.posterior)}),
    }


def _sampling(posterior: Posterior) -> dict[str, Any]:
    """How the chains went."""
    names = ("n_chains", "n_samples", "burn", "settled", "error")
    worst = max(float(np.max(values)) for values in posterior.rhat.values())
    return {name: getattr(posterior, name) for name in names} | {"worst_rhat": worst}
