"""What was found, kept and brought back: one file of a separation, or the files of a run."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support.arguments import as_array
from ngmca._support.atomic_files import atomic_file
from ngmca.answers.how_sure import Defect, Diagnostics, Finding, defects, diagnose, findings, summary
from ngmca.io import Dataset, ReadError, read, write_table
from ngmca.io.axis_units import NO_AXIS, meaning
from ngmca.plotting.sources_plot import misfit
from ngmca.result import Background, Marginals, Others, Posterior, Separation
from ngmca.saving.answers_in_file import NONE, Answers
from ngmca.saving.result_file import read_result, write_result
from ngmca.saving.result_folder import BACKGROUND, OUTLIERS, RESULT

LARGEST = 2_000_000  # numbers in a table of backgrounds
DEFECTS = "defects"  # what they are called in the record of a run
Columns = list[tuple[str, Any]]  # of a table: names, and what is below them


@dataclass(frozen=True)
class Run:
    """A separation with what its axis, rows and parameters were: all that a report needs."""

    separation: Separation
    diagnostics: Diagnostics
    data: Dataset  # without its Y, which stays where it is
    record: dict[str, Any] = field(default_factory=dict)  # parameters, versions, hash of the input
    answers: Answers = NONE  # how many, which and how much, as far as that was asked

    @cached_property
    def defects(self) -> list[Defect]:
        """Spikes and the like in the data; a saved run has kept them, without the data."""
        if DEFECTS in self.record:
            return [Defect(**one) for one in self.record[DEFECTS]]
        return defects(_observed(self.data.Y, self.separation.outliers))

    @cached_property
    def findings(self) -> list[Finding]:
        """Warnings, those first that cost most, worded once for all who show them."""
        found = findings(self.separation, self.diagnostics, self.data, self.defects)
        return [*found, *self.answers.findings]

    @property
    def kept_record(self) -> dict[str, Any]:
        """What a file keeps besides numbers: parameters and the like, and the defects of the data."""
        found = [asdict(one) for one in self.defects]
        return self.record | {DEFECTS: found} if found else self.record

    @property
    def answers_told(self) -> list[tuple[str, str]]:
        """How many, which, how much, as questions and answers."""
        return self.answers.told(len(self.separation.S))

    @property
    def labels(self) -> list[str]:
        """What each source is called where it is drawn: its number, and its name if it has one."""
        return self.answers.labels(len(self.separation.S))

    @cached_property
    def summary(self) -> list[str]:
        """Plain sentences about what was found."""
        return summary(self.separation, self.diagnostics, self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Measurements and channels of all data, of which a large result shows a part."""
        m, n = self.data.meta.get("whole", (len(self.separation.A), self.separation.S.shape[1]))
        return int(m), int(n)


def _observed(Y: NDArray, outliers: NDArray | None) -> NDArray:
    """The data without outliers, which are known already."""
    if outliers is None or not len(outliers) or not Y.size:
        return Y
    Y = np.array(Y, dtype=np.result_type(Y, np.float32))
    Y[tuple(outliers.T)] = np.nan
    return Y


def save(
    path: str | os.PathLike[str],
    separation: Separation,
    data: Dataset | ArrayLike | None = None,
    **record: Any,
) -> Path:
    """Write a separation into one NetCDF file, whole or not at all, and return where it is.

    Parameters
    ----------
    path
        The file, usually named .nc. One that is there already is replaced.
    separation
        What `separate` returned.
    data
        What `ngmca.io.read` returned, or the array Y: its axis and names are kept and its residual is
        looked at, so that `ngmca report FILE` can draw it. Y itself stays where it is.
    record
        What else to keep; the report shows it among the parameters.
    """
    target, separation = Path(path), separation.in_memory()
    known = described(separation, data)
    kept: dict[str, Any] = {"separate": record} if record else {}
    if known.Y.size:
        run = Run(separation, diagnose(known.Y, separation), known, kept)
        write_result(target, separation, known, run.diagnostics, run.kept_record)
    else:
        write_result(target, separation, known, None, kept)
    return target


@overload
def load(path: str | os.PathLike[str], *, with_data: Literal[False] = False) -> Separation: ...


@overload
def load(path: str | os.PathLike[str], *, with_data: Literal[True]) -> tuple[Separation, Dataset]: ...


def load(
    path: str | os.PathLike[str], *, with_data: bool = False
) -> Separation | tuple[Separation, Dataset]:
    """The separation in a file of `save`, or in the folder of a run of `ngmca separate`.

    With `with_data` also what is known about its data: a `Dataset` with axis, names, shape of the image
    and notes, but without the measurements (its Y has no columns).
    """
    separation, data, *_ = read_result(Path(path))
    return (separation, data) if with_data else separation


def load_run(path: str | os.PathLike[str]) -> Run:
    """All that a run left in a folder, or `save` in a file."""
    separation, data, diagnostics, record, answers = read_result(Path(path))
    if diagnostics is None:
        raise ReadError(f"{path} was saved without its data: nothing is known about what was left over.")
    return Run(separation, diagnostics, data, record, answers)


def write(folder: Path, run: Run) -> None:
    """Write the result and the tables of a run into a folder."""
    write_result(
        folder / RESULT, run.separation, run.data, run.diagnostics, run.kept_record, run.answers
    )
    _write_tables(folder, run)
    for name, columns in run.answers.tables.items():
        _write_table(folder / name, columns)


def described(separation: Separation, data: Any) -> Dataset:
    """What is known about the data (no columns in Y where they are not given), if it fits."""
    m, n = len(separation.A), separation.S.shape[1]
    if data is None:
        return Dataset(Y=np.zeros((m, 0)), axis=np.arange(n, dtype=float))
    given = as_dataset(data)
    shape = (len(given.Y), len(given.positions)) if given.Y.ndim == 2 else given.Y.shape
    if shape != (m, n):
        raise ValueError(misfit(shape, (m, n)))
    return given


def as_dataset(data: Any) -> Dataset:
    """A Dataset of itself, of a DataFrame or DataArray with its axis and names, or of an array."""
    if isinstance(data, Dataset):
        return data
    if hasattr(data, "dims"):  # xarray
        return read(data)
    if not hasattr(data, "columns"):
        return Dataset(Y=as_array(data, "data"))
    try:
        axis = None if _counts(data.columns) else np.asarray(data.columns, dtype=float)
    except (TypeError, ValueError):
        axis = None  # names
    names = () if _counts(data.index) else tuple(str(name) for name in data.index)
    title = str(data.columns.name or NO_AXIS)
    quantity, unit = meaning(title) or (title, "")
    return Dataset(np.asarray(data, dtype=float), axis, quantity, unit, names)


def _counts(index: Any) -> bool:
    """Whether an index only counts from 0 on, as pandas does unasked."""
    return index.dtype.kind == "i" and list(index) == list(range(len(index)))


def _write_tables(folder: Path, run: Run) -> None:
    separation, data = run.separation, run.data
    names = source_names(len(separation.S))
    columns: Columns = [(data.axis_label, data.positions), *zip(names, separation.S, strict=True)]
    posterior = separation.posterior
    if posterior is not None:
        columns += _bars(names, posterior, posterior.S, lambda values: values)
    columns += _range(names, separation.others, "S", lambda values: values)
    _write_table(folder / "sources.csv", columns)
    rows: Columns = [("measurement", list(data.names))]
    if data.image_shape:
        place = np.indices(data.image_shape).reshape(2, -1)
        rows = [("row", place[0]), ("column", place[1])]
    rows += zip(names, separation.A.T, strict=True)
    rows += zip([f"{name} %" for name in names], 100 * separation.shares.T, strict=True)
    if posterior is not None:
        rows += _bars(names, posterior, posterior.A, lambda values: values.T)
    rows += _range(names, separation.others, "A", lambda values: values.T)
    _write_table(folder / "mixing.csv", rows)
    if separation.background is not None:
        _write_table(folder / BACKGROUND, _background(separation.background, data))
    if separation.outliers is not None and len(separation.outliers):
        _write_table(folder / OUTLIERS, outliers(run))


def _background(background: Background, data: Dataset) -> Columns:
    """The axis, and the background of each measurement; of very many the smooth parts of them."""
    columns: Columns = [(data.axis_label, data.positions)]
    if len(background.weights) * len(data.positions) <= LARGEST:
        return [*columns, *zip(data.names, background.values, strict=True)]
    return [*columns, *((f"part {i + 1}", row) for i, row in enumerate(background.basis))]


def outliers(run: Run) -> Columns:
    """Measurement, place on the axis and value of every outlier."""
    found, data = run.separation.outliers, run.data
    if found is None:
        return []
    names = [data.names[i] for i in found[:, 0]]
    places = data.positions[found[:, 1]]
    return [("measurement", names), (data.axis_label, places), ("value", run.diagnostics.outlying)]


def _write_table(path: Path, columns: Columns) -> None:
    with atomic_file(path) as part:
        write_table(part, columns)


def _bars(
    names: list[str], posterior: Posterior, found: Marginals, by_source: Callable[[Any], Any]
) -> Columns:
    """Columns with the mean, the ends of the 90 % interval, and the probability not to be 0.

    No mean for lines and bands, where the separation is the answer. No interval where the model is
    refuted.
    """
    mean = None if posterior.model == "bands" else found.mean
    low, high = (None, None) if posterior.refuted else found.interval(0.9)
    parts = {"mean": mean, "5 %": low, "95 %": high, "active": found.active}
    present = {key: by_source(part) for key, part in parts.items() if part is not None}
    return [(f"{name} {key}", part[i]) for i, name in enumerate(names) for key, part in present.items()]


def _range(
    names: list[str], others: Others | None, which: str, by_source: Callable[[Any], Any]
) -> Columns:
    """Columns with the lowest and the highest of equally good answers, of sources that differ there."""
    if others is None:
        return []
    low, high = (by_source(getattr(others, f"{which}_{end}")) for end in ("low", "high"))
    parts = {"lowest": low, "highest": high}
    apart = [(i, name) for i, name in enumerate(names) if (low[i] < high[i]).any()]
    return [(f"{name} {end}", part[i]) for i, name in apart for end, part in parts.items()]


def source_names(r: int) -> list[str]:
    """source 1, source 2, ..."""
    return [f"source {i + 1}" for i in range(r)]


def describe(run: Run) -> dict[str, Any]:
    """The figures of a run as plain numbers, for scripts."""
    s, d = run.separation, run.diagnostics
    plain = {key: value for key, value in asdict(d).items() if isinstance(value, float)}
    return {
        "sources": len(s.S),
        "measurements": run.shape[0],
        "channels": run.shape[1],
        "samples": run.shape[1],  # their name in 0.1.0
        "iterations": s.n_iter,
        "stopped": s.stopped,
        "violation": s.violation,
        "domain": s.domain.name,
        "domain_why": s.domain.why,
        "noise": float(np.median(s.noise)),
        "share": d.share.tolist(),
        "outliers": 0 if s.outliers is None else len(s.outliers),
        **plain,
        **({"answers": run.answers.facts} if run.answers.facts else {}),
        **({} if s.posterior is None else {"posterior": _sampling(s.posterior)}),
    }


def _sampling(posterior: Posterior) -> dict[str, Any]:
    """How the chains went."""
    names = ("model", "refuted", "n_chains", "n_samples", "burn", "settled", "error")
    worst = max(float(np.max(values)) for values in posterior.rhat.values())
    return {name: getattr(posterior, name) for name in names} | {"worst_rhat": worst}
