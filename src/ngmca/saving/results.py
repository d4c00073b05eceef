"""Save and load results: one file of a separation, or the files of a run."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from ngmca._support.atomic_files import atomic_file
from ngmca.answers.alignment import shifts_of
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Run
from ngmca.engines import joined
from ngmca.io import Dataset, ReadError, write_table
from ngmca.plotting.sources_plot import fitting_dataset
from ngmca.result import Ambiguity, Background, Marginals, Others, Posterior, Rates, Separation
from ngmca.saving.result_file import read_result, write_result
from ngmca.saving.result_folder import (
    ANSWERS,
    BACKGROUND,
    OUTLIERS,
    RATES,
    RESULT,
    SOURCES,
    tables_of,
)

MAX_NUMBERS_IN_BACKGROUND_TABLE = 2_000_000
Columns = list[tuple[str, Any]]  # of a table: name and values of each


def save(
    path: str | os.PathLike[str],
    separation: Separation,
    data: Dataset | ArrayLike | None = None,
    **record: Any,
) -> Path:
    """Write a separation to one NetCDF file, atomically.

    Parameters
    ----------
    path : str or path-like
        The file, usually with the suffix .nc. An existing file is replaced.
    separation : Separation
        What `separate` returned.
    data : Dataset, DataFrame, DataArray or array, optional
        The data that were separated. The file keeps their axis and names and a summary of the residual,
        so that `ngmca report FILE` can draw them. Y itself is not stored.
    **record
        Anything else to keep; the report shows it among the parameters.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ValueError
        If the shape of `data` does not fit the separation.
    OSError
        If the file cannot be written; an existing file is then unchanged.

    See Also
    --------
    load : Read the separation back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import ngmca
    >>> Y = ngmca.simulate.sparse(6, 50, 2, snr=20, seed=0).Y
    >>> found = ngmca.separate(Y, 2)
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = ngmca.save(Path(folder.name) / "mixture.nc", found, Y, instrument="400 MHz")
    >>> bool((ngmca.load(file).S == found.S).all())
    True
    >>> folder.cleanup()
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
    """Read a separation that `save` or the command `ngmca separate` wrote.

    Parameters
    ----------
    path : str or path-like
        The file of `save`, or the folder of `ngmca separate`.
    with_data : bool
        Whether to return also what is known about the data.

    Returns
    -------
    Separation
        The same numbers, to the bit.
    Dataset
        With `with_data`: axis, names, shape of the image and notes of the data, without the
        measurements (its Y has no columns).

    Raises
    ------
    ngmca.io.ReadError
        If there is no result at `path`, or it is unfinished or damaged.

    See Also
    --------
    save : Write a separation.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import ngmca
    >>> Y = ngmca.simulate.sparse(6, 50, 2, snr=20, seed=0).Y
    >>> found = ngmca.separate(Y, 2)
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = ngmca.save(Path(folder.name) / "mixture.nc", found, Y)
    >>> ngmca.load(file)  # doctest: +ELLIPSIS
    Separation: 2 sources in 6 x 50 data, settled after ... iterations
    >>> separation, data = ngmca.load(file, with_data=True)
    >>> data.positions.shape
    (50,)
    >>> folder.cleanup()
    """
    separation, data, *_ = read_result(Path(path))
    return (separation, data) if with_data else separation


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read everything in the folder of a run, or in a file of `save`."""
    separation, data, diagnostics, record, answers = read_result(Path(path))
    if diagnostics is None:
        raise ReadError(
            f"{path} was saved without its data, so its residual is not known: save it with its data."
        )
    return Run(separation, diagnostics, data, record, answers)


def write(folder: Path, run: Run) -> None:
    """Write the result and the tables of a run into a folder."""
    write_result(
        folder / RESULT, run.separation, run.data, run.diagnostics, run.kept_record, run.answers
    )
    _write_tables(folder, run)
    answers = run.answers
    for name, answer in zip(
        ANSWERS, (answers.rank, answers.identification, answers.amounts), strict=True
    ):
        if answer is not None:
            _write_table(folder / name, answer.table())


def described(separation: Separation, data: Any) -> Dataset:
    """Return the data as a Dataset, without columns in Y if there are none; raise an error on misfit."""
    m, n = len(separation.A), separation.S.shape[1]
    several = separation.joined if len(separation.joined) > 1 else ()
    if several and isinstance(data, list | tuple | Mapping):
        data = joined(data, units=[one.unit for one in several])[0]
    known = Dataset(np.zeros((m, 0)), np.arange(n, dtype=float))
    known = known if data is None else fitting_dataset(data, m, n)
    if several and not known.techniques:
        known = replace(known, meta=known.meta | {"techniques": [asdict(one) for one in several]})
    return known


def _write_tables(folder: Path, run: Run) -> None:
    for part, name in zip(run.techniques, tables_of(SOURCES, len(run.techniques)), strict=True):
        _write_table(folder / name, _sources(part))
    for part, name in zip(run.techniques, tables_of(BACKGROUND, len(run.techniques)), strict=True):
        if part.separation.background is not None:
            _write_table(folder / name, _background(part.separation.background, part.data))
    _write_table(folder / "mixing.csv", _mixing(run))
    if run.separation.outliers is not None and len(run.separation.outliers):
        _write_table(folder / OUTLIERS, outliers(run))
    if run.separation.rates is not None:
        _write_table(folder / RATES, _rate_constants(run.separation.rates))


def _rate_constants(rates: Rates) -> Columns:
    """Return the rate constant of each step, with its standard deviation and 90 % interval."""
    return [
        *(
            ("step", list(rates.names)),
            ("rate constant", rates.values),
            ("standard deviation", rates.sd),
        ),
        *(("lower 90 %", rates.low), ("upper 90 %", rates.high)),
    ]


def _sources(run: Run) -> Columns:
    """Return the axis and the sources of one technique, with their error bars and ranges."""
    separation, data = run.separation, run.data
    names, posterior = run.source_names, separation.posterior
    columns: Columns = [(data.axis_label, data.positions), *zip(names, separation.S, strict=True)]
    if posterior is not None:
        columns += _bars(names, posterior, posterior.S, lambda values: values)
    columns += _range(names, separation.others, "S", lambda values: values)
    return columns + _range(names, separation.ambiguity, "S", lambda values: values, "allowed ")


def _mixing(run: Run) -> Columns:
    """Return the names of the measurements, the mixing and shares, with error bars and ranges."""
    separation, data = run.separation, run.data
    names, posterior = run.source_names, separation.posterior
    rows: Columns = [("measurement", list(data.names))]
    if data.image_shape:
        place = np.indices(data.image_shape).reshape(2, -1)
        rows = [("row", place[0]), ("column", place[1])]
    if data.row_axis is not None:
        rows.append((data.row_label, data.row_axis))
    shifts = shifts_of(data)
    rows += [] if shifts is None else [("shift (channels)", np.array(shifts))]
    rows += zip(names, separation.A.T, strict=True)
    rows += zip([f"{name} share (%)" for name in names], 100 * separation.shares.T, strict=True)
    if posterior is not None:
        rows += _bars(names, posterior, posterior.A, lambda values: values.T)
    rows += _range(names, separation.others, "A", lambda values: values.T)
    return rows + _range(names, separation.ambiguity, "A", lambda values: values.T, "allowed ")


def _background(background: Background, data: Dataset) -> Columns:
    """Return the axis and the background of each measurement; of very many, its basis functions."""
    columns: Columns = [(data.axis_label, data.positions)]
    if len(background.weights) * len(data.positions) <= MAX_NUMBERS_IN_BACKGROUND_TABLE:
        return [*columns, *zip(data.names, background.values, strict=True)]
    return [*columns, *((f"part {i + 1}", row) for i, row in enumerate(background.basis))]


def outliers(run: Run) -> Columns:
    """Return the measurement, the position on the axis and the value of every outlier."""
    if len(run.techniques) > 1:
        return _outliers_by_technique(run)
    found, data = run.separation.outliers, run.data
    if found is None:
        return []
    names = [data.names[i] for i in found[:, 0]]
    places = data.positions[found[:, 1]]
    return [("measurement", names), (data.axis_label, places), ("value", run.diagnostics.outlying)]


def _outliers_by_technique(run: Run) -> Columns:
    """Return the same with the name of the technique of every outlier."""
    tables = [(part.technique, outliers(part)) for part in run.techniques]
    names = ["measurement", "technique", "position", "value"]
    rows = [
        (measurement, name, place, value)
        for name, table in tables
        for measurement, place, value in zip(*(values for _, values in table), strict=True)
    ]
    return [(name, [row[k] for row in rows]) for k, name in enumerate(names)]


def _write_table(path: Path, columns: Columns) -> None:
    with atomic_file(path) as part:
        write_table(part, columns)


def _bars(
    names: list[str], posterior: Posterior, found: Marginals, by_source: Callable[[Any], Any]
) -> Columns:
    """Return columns with the mean, the ends of the 90 % interval, and the probability of not being 0.

    The model of bands has no mean: the separation is the answer. A refuted model has no interval.
    """
    mean = None if posterior.around_answer else found.mean
    low, high = (None, None) if posterior.refuted else found.interval(0.9)
    parts = {"mean": mean, "lower 90 %": low, "upper 90 %": high, "active": found.active}
    present = {key: by_source(part) for key, part in parts.items() if part is not None}
    return [(f"{name} {key}", part[i]) for i, name in enumerate(names) for key, part in present.items()]


def _range(
    names: list[str],
    others: Others | Ambiguity | None,
    which: str,
    by_source: Callable[[Any], Any],
    word: str = "",
) -> Columns:
    """Return columns with the lowest and highest of equally good answers, for sources that differ."""
    if others is None:
        return []
    low, high = (by_source(getattr(others, f"{which}_{end}")) for end in ("low", "high"))
    parts = {f"{word}lowest": low, f"{word}highest": high}
    apart = [(i, name) for i, name in enumerate(names) if (low[i] < high[i]).any()]
    return [(f"{name} {end}", part[i]) for i, name in apart for end, part in parts.items()]


def describe(run: Run) -> dict[str, Any]:
    """Return the numbers of a run, for scripts."""
    s, d = run.separation, run.diagnostics
    plain = {key: value for key, value in asdict(d).items() if isinstance(value, float)}
    return {
        "sources": len(s.S),
        "measurements": run.shape[0],
        "channels": run.shape[1],
        "iterations": s.n_iter,
        "stopped": s.stopped,
        "violation": s.violation,
        "domain": s.domain.name,
        "domain_why": s.domain.why,
        "noise": float(np.median(s.noise)),
        "share": d.share.tolist(),
        "outliers": 0 if s.outliers is None else len(s.outliers),
        **({"techniques": [asdict(one) for one in s.joined]} if s.joined else {}),
        **({} if (shifts := shifts_of(run.data)) is None else {"shifts": shifts}),
        **plain,
        **({"answers": run.answers.facts} if run.answers.facts else {}),
        **({} if s.posterior is None else {"posterior": _sampling(s.posterior)}),
        **({} if s.rates is None else {"rates": s.rates.summary}),
        **({} if s.ambiguity is None else {"ambiguity": _allowed(s.ambiguity)}),
    }


def _allowed(ambiguity: Ambiguity) -> dict[str, Any]:
    """Return the range of the contributions, for scripts."""
    parts = {name: getattr(ambiguity, name).tolist() for name in ("lowest", "found", "highest")}
    return parts | {"level": ambiguity.level, "converged": bool(ambiguity.converged.all())}


def _sampling(posterior: Posterior) -> dict[str, Any]:
    """Return the numbers about the chains, for scripts."""
    names = ("model", "refuted", "n_chains", "n_samples", "burn", "settled", "error")
    worst = max(float(np.max(values)) for values in posterior.rhat.values())
    return {name: getattr(posterior, name) for name in names} | {"worst_rhat": worst}
