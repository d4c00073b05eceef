"""`separate` and `iterate`: from measurements to sources."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ngmca import rules
from ngmca._support.arguments import as_array, check_choice
from ngmca._support.messages import ArgumentError, option
from ngmca._support.seeds import Seed
from ngmca._support.threads import one_blas_thread
from ngmca.constraints import Constraint, Kinetics, as_constraints
from ngmca.engines import is_engine, joined, open_data, returned
from ngmca.engines.opening import is_dask, is_several, is_sliceable
from ngmca.io import Dataset
from ngmca.io.row_coordinates import times_of
from ngmca.result import Separation, State
from ngmca.result.large_sources import check_target, scratch_beside, stored
from ngmca.task import driver
from ngmca.task.checkpoints import Checkpoint, as_checkpoint
from ngmca.task.methods import Method, Rival
from ngmca.task.task import (
    AUTOMATIC_BASELINE,
    Factors,
    NoiseModel,
    Sampling,
    Task,
    as_task,
)

SHARED = ("sources", "mixing")


@one_blas_thread
def separate(
    data: Any,
    r: int,
    *,
    method: str | Method = "soft",
    domain: str = "auto",
    sample_shape: tuple[int, int] | None = None,
    noise: NoiseModel = None,
    mask: ArrayLike | None = None,
    robust: bool = False,
    constraints: Iterable[Constraint] = AUTOMATIC_BASELINE,
    start: Factors | tuple[ArrayLike, ArrayLike] | None = None,
    n_init: int | str = "auto",
    posterior: bool | Sampling = False,
    seed: Seed = 0,
    threads: int | None = None,
    device: str = "cpu",
    progress: bool = False,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    out: Any = None,
    shared: str = "sources",
) -> Separation:
    """Find r non-negative sparse sources S and their mixing A in noisy measurements Y ~ A S.

    Parameters
    ----------
    data : (m, n) array, Dataset, DataFrame or DataArray
        Measurements x channels. Negative entries are normal: they are noise. NaN and masked entries
        are missing. A list of such matrices with the same channels is several data sets with common
        sources: the rows of A follow each other, and `Separation.parts` says which belong to which.
        See `shared` for matrices with the same measurements.
        Arrays that can be sliced (memory maps, HDF5, Zarr) are read in blocks where they are large;
        Dask arrays stay on their workers.
    r : int
        Number of sources.
    method : str or method
        `Soft`, `Hard`, `Naive` or `Anls`, or a `Rival` of `ngmca.rivals`, with its options; its name
        ("soft", "hard", "naive", "anls", "hals", ...) stands for the method with its defaults.
    domain : {"auto", "direct", "wavelet"}
        Where the sources of `Soft` are sparse: in single channels, as in the paper ("direct"), or in a
        wavelet basis, which suits lines and bands ("wavelet"). "auto" looks at the sources that the
        first finds, and continues with the second where that suits them better. `Separation.domain`
        says what was used and why.
    sample_shape : (int, int), optional
        Height and width, where sources are images of height x width pixels.
    noise : float, array, "poisson" or Counts, optional
        Standard deviation of the noise, if it is known: of all entries, of each measurement (m,), of
        each channel (n,) (where m equals n, pass (1, n)), or of each entry (m, n). The fit is weighted
        by it. "poisson" is for counts, whose variance is the signal; `ngmca.Counts` has a gain and a
        read-out noise. By default it is estimated, one level for each measurement.
    mask : (m, n) array of bool, optional
        True where an entry is missing, in addition to NaN and masked entries.
    robust : bool
        Give no weight to spikes: single entries far above the noise that no source explains, such as
        cosmic rays. `Separation.outliers` lists them.
    constraints : list of constraints
        What is known beforehand: `Closure`, `Unimodal`, `Monotonic`, `KnownSources`, `KnownMixing`,
        `ZeroSources`, `ZeroMixing`, `Baseline`. By default, ``[Baseline("auto")]``, a smooth background
        is fitted if the data show one; an empty list switches that off. `Separation.background` is the
        background, or None.
    start : (A, S), optional
        A first guess, as a pair or as an object with these attributes. By default it is drawn.
    n_init : int or "auto"
        Number of first guesses. The one with the lowest penalised cost is kept; `Separation.restarts`
        says how far the answers differ, and `Separation.others` where answers that fit as well lie.
        "auto" is 5 where m * n * r is at most 1,000,000, and 1 otherwise.
    posterior : bool or Sampling
        Sample error bars: `Separation.posterior` is what `ngmca.posterior` returns.
    seed : int, SeedSequence, Generator or None
        The same integer or sequence gives the same answer, to the bit, on the same machine. None draws
        a new seed, and a generator advances with every call.
    threads : int, optional
        Threads for blocks of large data, or for the starts of small ones; all cores by default. The
        answer does not depend on it.
    device : {"cpu", "cuda"}
        Where to compute: "cuda" is a GPU, through CuPy. With a CuPy array as data, A and S are CuPy
        arrays too.
    progress : bool
        Show a progress bar.
    checkpoint : path or Checkpoint, optional
        A file for the state of the run, from which it can be resumed.
    out : path or array, optional
        Where S goes when it is too large for the memory: a Zarr store that is created, or an array
        (r, n) that can be written to. The data are then read in blocks.
    shared : {"sources", "mixing"}
        What several data sets have in common. With "mixing", `data` is a list or dict of techniques,
        such as infrared and Raman, that measured the same samples on different axes: they have one A.
        Each counts by its noise, which is estimated, or given as a list in `noise`; `mask` is a list
        too. `join_techniques` says how measurements are matched. `Separation.techniques` holds the
        sources of each technique.

    Returns
    -------
    Separation
        The sources, their mixing, certificates and history.

    Raises
    ------
    ArgumentError
        If an argument has a wrong value, or two cannot be combined; a `ValueError`.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=30, n=100, r=3, snr=20, seed=0)
    >>> found = ngmca.separate(x.Y, 3)
    >>> found.A.shape, found.S.shape
    ((30, 3), (3, 100))
    >>> bool(ngmca.evaluate(x.S, found.S).mean_sdr > 15)
    True
    """
    check_choice(shared, "shared", SHARED)
    constraints = _with_times(constraints, data)
    if shared == "mixing":
        if out is not None:
            rules.check(rules.written(["techniques", "out"]))
        data, noise, mask = *joined(data, noise, mask), None
    task = Task(
        *(r, method, domain, sample_shape, noise, robust, constraints),  # type: ignore[arg-type]
        *(start, n_init, posterior, seed, device),  # type: ignore[arg-type]
    )
    kept = as_checkpoint(checkpoint)
    _check_doors(task, kept, mask, threads, out)
    if out is not None and not is_dask(data):  # they are read in blocks then
        rules.check(task.features | {"disk": option("out")})
    scratch = None
    if out is not None:
        scratch, data = scratch_beside(out), _sliceable(data)
    engine = open_data(data, mask=mask, threads=threads, scratch=scratch, device=device)
    if out is not None:
        check_target(out, (r, engine.shape[1]), engine.dtype)
    prepared = driver.Prepared(task, engine)
    with driver.shown_progress(progress) as watchers:
        found = prepared.find(threads=threads, watchers=watchers, checkpoint=kept)
    found = returned(engine, found)
    if out is not None:
        found = found.with_sources(stored(out, found.S))
    return prepared.with_error_bars(found, threads=threads, progress=progress)


def iterate(
    data: Any, task: Task | int, *, mask: ArrayLike | None = None, threads: int | None = None
) -> Iterator[State]:
    """Yield every state of a run, the last of which `separate` with one start would return.

    Parameters
    ----------
    data : (m, n) array, Dataset, DataFrame or DataArray
        Measurements x channels, as in `separate`.
    task : Task or int
        What to do, or the number of sources with all defaults.
    mask, threads
        As in `separate`.

    Yields
    ------
    State
        One for each iteration.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=30, n=100, r=3, snr=20, seed=0)
    >>> for state in ngmca.iterate(x.Y, 3):
    ...     last = state
    >>> last.S.shape
    (3, 100)
    """
    asked = as_task(task)
    if isinstance(asked.method, Rival):
        raise ArgumentError("{} has no states: use separate.", option("method", asked.method.name))
    _check_doors(asked, None, mask, threads, None)
    engine = one_blas_thread(open_data)(data, mask=mask, threads=threads, device=asked.device)
    return one_blas_thread(driver.Prepared)(asked, engine).states()


def _check_doors(
    task: Task, checkpoint: Checkpoint | None, mask: object, threads: object, out: Any
) -> None:
    """Check what is asked besides the task, before data are opened."""
    asked = {"checkpoint": checkpoint, "mask": mask, "threads": threads, "out": out}
    given = [name for name, value in asked.items() if value is not None]
    rules.check(task.features | rules.written(given))
    path = None if checkpoint is None else checkpoint.path
    if (
        path is not None
        and isinstance(out, str | PathLike)
        and Path(path).resolve() == Path(out).resolve()
    ):
        raise ArgumentError(
            "{} and {} are both {}: give them different names.", option("checkpoint"), option("out"), out
        )


def _with_times(constraints: Iterable[Constraint], data: Any) -> tuple[Constraint, ...]:
    """Return the constraints, kinetics without times with those of the data set."""
    found, times = as_constraints(constraints), times_of(data) if isinstance(data, Dataset) else None
    return tuple(
        replace(one, times=times) if isinstance(one, Kinetics) and one.times is None else one
        for one in found
    )


def _sliceable(data: Any) -> Any:
    """Return data that can be read in blocks."""
    data = getattr(data, "Y", data) if not is_engine(data) else data
    if is_engine(data) or hasattr(data, "__array_interface__") or is_dask(data):
        return data
    if is_sliceable(data):
        return data
    if is_several(data):
        rules.check(rules.written(["out", "several"]))
    return as_array(data, "data")
