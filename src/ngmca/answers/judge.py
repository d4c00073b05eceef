"""Judge a result: whether it can be used, why not, and what would help."""

from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from ngmca._support.messages import Option
from ngmca.answers.how_sure import diagnose
from ngmca.answers.how_sure.next_step import next_step
from ngmca.answers.how_sure.verdict import Verdict
from ngmca.answers.missing_entries import with_gaps
from ngmca.answers.run import Run
from ngmca.constraints import Baseline
from ngmca.engines import open_data
from ngmca.io import Dataset
from ngmca.plotting.sources_plot import wrong_shape
from ngmca.result import Separation
from ngmca.task.task import Task


def judge(
    data: Any, separation: Separation, *, task: Task | None = None, mask: ArrayLike | None = None
) -> Verdict:
    """Return whether a separation can be used, and what would help if it cannot.

    The residual is compared with noise, the number of sources with what the data support, and the data
    are searched for a smooth background, shifts, spikes, copies and other defects. If something is
    wrong, a few other settings are tried, and the best one is named if the same checks find it better.

    Parameters
    ----------
    data : array-like of shape (m, n), Dataset, DataFrame or DataArray
        The data of the separation. Entries that are NaN, or masked in a masked array, are missing.
    separation : Separation
        The result of `ngmca.separate`.
    task : Task or None
        How it was separated. Other settings are tried beside it. None stands for the default settings.
    mask : array-like of shape (m, n) or None
        As in `ngmca.separate`.

    Returns
    -------
    Verdict
        Its colour, green, amber or red, the reasons, and the next step.

    Raises
    ------
    ValueError
        If the data have another shape than those of the separation.
    TypeError
        If `separation` is no `Separation`.

    Examples
    --------
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=30, n=300, r=3, snr=30, seed=0)
    >>> verdict = ngmca.judge(mixture.Y, ngmca.separate(mixture.Y, 3))
    >>> verdict.colour
    'green'
    >>> verdict = ngmca.judge(mixture.Y, ngmca.separate(mixture.Y, 2))
    >>> verdict.colour != "green"
    True
    >>> verdict.command
    'ngmca.separate(Y, 3)'
    """
    if not isinstance(separation, Separation):
        raise TypeError(
            f"judge needs the Separation of ngmca.separate, got {type(separation).__name__}. Other "
            "methods are an argument of it, as in ngmca.separate(Y, r, method='hals')."
        )
    engine = open_data(data, mask=mask)
    shape = (len(separation.A), separation.S.shape[1])
    if engine.shape != shape:
        raise wrong_shape(engine.shape, shape)
    whole = isinstance(data, Dataset) and mask is None
    known = data if whole else Dataset(with_gaps(engine, slice(None)))
    run = Run(separation, diagnose(engine, separation), known)
    found = run.verdict
    if found.colour == "green":
        return found
    asked = _default_task(separation) if task is None else task
    step = next_step(asked, engine, separation, run.diagnostics, run.defects, data=known)
    if step is None:
        return found
    line = _line(step.parts[0], len(separation.S)) if task is None else None
    return replace(found, next_step=str(step), command=line)


def _line(change: object, r: int) -> str | None:
    """Return a change of the default settings as a line of Python; None if it is one of the data."""
    if not isinstance(change, Option):
        return None
    if change.name == "r":
        return f"ngmca.separate(Y, {change.value})"
    if change.name == "ngmca.align":
        return f"ngmca.separate(ngmca.align(Y, {r}).data, {r})"
    if change.name == "transpose":
        return f"ngmca.separate(Y.T, {r})"
    known = f"constraints=[ngmca.{change}]" if change.name == "Baseline" else str(change)
    return f"ngmca.separate(Y, {r}, {known})"


def _default_task(separation: Separation) -> Task:
    """Return the task with all defaults that has the background of a separation."""
    found = separation.background
    known = () if found is None else (Baseline(found.basis),)
    return Task(len(separation.S), constraints=known)
