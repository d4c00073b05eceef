"""The one change that helps most: it is tried, and named if the same checks say that it is better."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, Message, Option, message, option
from ngmca._support.threads import one_blas_thread
from ngmca.answers.alignment import align, shifts_of
from ngmca.answers.how_sure.defect_words import places_of
from ngmca.answers.how_sure.defects import Defect
from ngmca.answers.how_sure.defects import defects as defects_of
from ngmca.answers.how_sure.diagnostics import Diagnostics, diagnose
from ngmca.answers.how_sure.doubtful_sources import supported
from ngmca.answers.how_sure.findings import findings
from ngmca.answers.missing_entries import with_gaps
from ngmca.answers.wording import GRADES, Finding, counted
from ngmca.constraints import Baseline, baseline_of, found_baseline
from ngmca.engines import Engine, everything, open_data, without, without_outliers
from ngmca.io import Dataset
from ngmca.result import Separation
from ngmca.task.driver import Prepared
from ngmca.task.methods import Rival
from ngmca.task.task import Task

MAX_ENTRIES = 2e6  # of data on which other settings are tried
MAX_TRIES = 3
MUCH_LARGER = 1.1  # times the residual: another result with more does not fit as well
CLEARLY_SMALLER = 0.9  # of the structure or the residual, to call another result better


@dataclass(frozen=True)
class Change:
    """Another task or a part of the data, how the user asks for it, and what it does in words."""

    task: Task
    asked: Option | str
    does: str
    rows: NDArray | None = None
    columns: NDArray | None = None
    entries: NDArray | None = None
    transposed: bool = False
    aligned: Engine | None = None

    def applied(self, engine: Engine) -> Engine:
        """Return the data to separate."""
        if self.aligned is not None:
            return self.aligned
        if self.transposed:
            return engine.transposed()
        if self.entries is not None:
            return without(engine, self.entries)
        if self.rows is None and self.columns is None:
            return engine
        rows, columns = (slice(None) if one is None else one for one in (self.rows, self.columns))
        return engine.part(rows, columns)


def next_step(
    task: Task,
    engine: Engine,
    separation: Separation,
    diagnostics: Diagnostics,
    defects: Sequence[Defect],
    *,
    data: Dataset | None = None,
    chosen: bool = False,
) -> Message | None:
    """Return the change that helps most, with what it gained when it was tried; None if none helps.

    The names of measurements come from `data`. If the number of sources was `chosen` from the data, no
    other number is tried.
    """
    m, n = engine.shape
    small = m * n <= MAX_ENTRIES and engine.place == "memory" and not isinstance(task.method, Rival)
    found = findings(separation, diagnostics, None, defects)
    if not small or not found:
        return None
    here, kinds = _score(found, diagnostics), {one.kind for one in found}
    changes = [*_changes_of_data(task, engine, data, defects, kinds)]
    if not changes:
        changes = [*_aligned(task, engine, data, kinds)]
        changes += _changes_of_task(task, engine, diagnostics, kinds)
        changes += _changes_of_entries(task, engine, data, defects, kinds)
    best: tuple[tuple[float, ...], Message] | None = None
    for change in [one for one in changes if not chosen or one.task.r == task.r][:MAX_TRIES]:
        tried = _tried(change, engine)
        if tried is None or _residual(tried[0]) > MUCH_LARGER * _residual(diagnostics):
            continue
        if _is_better(tried[1], here) and (best is None or tried[1] < best[0]):
            best = tried[1], _words(change, diagnostics, tried[0])
    return None if best is None else best[1]


def _changes_of_data(
    task: Task, engine: Engine, data: Dataset | None, defects: Sequence[Defect], kinds: set[str]
) -> Iterator[Change]:
    """Yield the data without numbers of another kind; nothing else helps before that."""
    m, n = engine.shape
    if _tied(task, engine):
        return
    if "transposed" in kinds:
        words = "exchanges measurements and channels"
        yield Change(task, option("transpose", True), words, transposed=True)
    wrong = sorted({one.measurement for one in defects if one.kind == "axis"})
    if "axis" in kinds and 0 < len(wrong) < m:
        asked, kept = f"Leave out {places_of(data, wrong)}", np.delete(np.arange(m), wrong)
        yield Change(task, asked, "is an axis" if len(wrong) == 1 else "are axes", rows=kept)
    odd = sorted({one.channel for one in defects if one.kind == "column"})
    if odd and "column" in kinds:
        named = " and ".join("the first channel" if j == 0 else "the last channel" for j in odd)
        kept = np.delete(np.arange(n), odd)
        words = "is unlike its neighbour" if len(odd) == 1 else "are unlike their neighbours"
        yield Change(task, f"Leave out {named}", words, columns=kept)


def _tied(task: Task, engine: Engine) -> bool:
    """Whether a setting belongs to the data as they are; a background that was found does not."""
    known = any(not (isinstance(one, Baseline) and one.found) for one in task.constraints)
    several = len(engine.parts) > 1 or bool(engine.techniques)
    return known or several or task.noise is not None or bool(task.sample_shape)


def _changes_of_task(
    task: Task, engine: Engine, diagnostics: Diagnostics, kinds: set[str]
) -> Iterator[Change]:
    """Yield other settings that may help against what was found, the most promising first."""
    r = task.r
    wanted: list[tuple[dict[str, Any], Option, str]] = []
    smooth = kinds & {"baseline", "structure"} and "negative" not in kinds
    if smooth and baseline_of(task.constraints) is None:
        words = "fits a smooth background together with the sources"
        better = found_baseline(engine, r) or Baseline("splines")
        known = (*task.constraints, better)
        wanted.append(({"constraints": known}, option("Baseline", better.kind), words))
    if "growing" in kinds and task.noise is None and _looks_counted(engine):
        words = "gives each count the weight of its noise"
        wanted.append(({"noise": "poisson"}, option("noise", "poisson"), words))
    if "spike" in kinds and not task.robust:
        wanted.append(({"robust": True}, option("robust", True), "gives spikes no weight"))
    fewer = min(supported(diagnostics), r - 1)
    if kinds & {"many", "noise", "empty", "copy", "overfit"} and fewer >= 1:
        wanted.append(({"r": fewer}, option("r", fewer), f"fits {counted(fewer, 'source')}"))
    if "structure" in kinds and r + 1 < min(engine.shape):
        wanted.append(({"r": r + 1}, option("r", r + 1), f"fits {counted(r + 1, 'source')}"))
    for changed, asked, words in wanted:
        with suppress(ArgumentError):  # it does not go with the other options
            yield Change(replace(task, **changed), asked, words)


def _aligned(task: Task, engine: Engine, data: Dataset | None, kinds: set[str]) -> Iterator[Change]:
    """Yield aligned measurements, if their lines moved along the axis."""
    before = None if data is None else shifts_of(data)
    seen = kinds & {"shift", "structure", "growing"}  # what shifts leave is large where lines are high
    if not seen or before is not None or _tied(task, engine):
        return
    known = Dataset(with_gaps(engine, slice(None))) if data is None else data
    with suppress(ArgumentError):  # too few measurements, or no spectra
        found = align(known, task.r)
        if found.shifts.any():
            words = "moves measurements back along the axis"
            yield Change(task, option("ngmca.align", True), words, aligned=open_data(found.data))


def _changes_of_entries(
    task: Task, engine: Engine, data: Dataset | None, defects: Sequence[Defect], kinds: set[str]
) -> Iterator[Change]:
    """Yield the data without copies of measurements, without spikes, and without saturated entries."""
    copies = sorted({one.measurement for one in defects if one.kind == "copy"})
    if "copied" in kinds and not _tied(task, engine):
        asked = f"Leave out {places_of(data, copies)}"
        kept = np.delete(np.arange(engine.shape[0]), copies)
        yield Change(task, asked, "is a copy" if len(copies) == 1 else "are copies", rows=kept)
    for kind, named in (("spike", "spikes"), ("saturated", "saturated entries")):
        if kind not in kinds:
            continue
        Y, wrong = everything(engine), np.zeros(engine.shape, dtype=bool)
        for one in defects:
            if one.kind == kind == "spike":
                wrong[one.measurement, one.channel] = True
            elif one.kind == kind:
                wrong[one.measurement] = Y[one.measurement] == Y.max()
        does = "do not count then"
        with suppress(ArgumentError):
            yield Change(task, f"Leave the {named} of the data empty", does, entries=wrong)


def _looks_counted(engine: Engine) -> bool:
    """Return whether the data are whole numbers of at least 0."""
    Y = everything(engine) * engine.unit
    return bool((Y >= 0).all() and (np.rint(Y) == Y).all())


@one_blas_thread
def _tried(change: Change, engine: Engine) -> tuple[Diagnostics, tuple[float, ...]] | None:
    """Return diagnostics and score of a task with one start; None if it cannot be done."""
    task = replace(change.task, n_init=1, posterior=None, start=None)
    engine = change.applied(engine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            separation = Prepared(task, engine).find()
        except ArgumentError:
            return None
        diagnostics = diagnose(engine, separation)
        left = defects_of(without_outliers(engine, separation.outliers))
        found = findings(separation, diagnostics, None, left)
    return diagnostics, _score(found, diagnostics)


def _score(found: list[Finding], diagnostics: Diagnostics) -> tuple[float, ...]:
    """Return how bad a result is: red warnings, then amber ones, then structure of the residual."""
    counts = [sum(one.grade == grade for one in found) for grade in GRADES[:2]]
    return (*counts, float(np.nan_to_num(diagnostics.structure, nan=1.0)))


def _is_better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Return whether a score has fewer warnings, or as many and clearly less structure."""
    return one[:2] < other[:2] or (one[:2] == other[:2] and one[2] < CLEARLY_SMALLER * other[2])


def _residual(diagnostics: Diagnostics) -> float:
    return float(np.sqrt(np.mean(diagnostics.row_rms**2)))


def _words(change: Change, before: Diagnostics, after: Diagnostics) -> Message:
    """Return the change and what it gained."""
    first, then = _residual(before), _residual(after)
    gains = []
    if then < CLEARLY_SMALLER * first:
        gains.append(f"it lowers the residual from {first:.3g} to {then:.3g}")
    if after.structure < CLEARLY_SMALLER * before.structure:
        gains.append(
            f"the structure of the residual falls from {before.structure:.2g} to "
            f"{after.structure:.2g} times that of noise"
        )
    gained = " and ".join(gains) or f"it fits as well (residual {then:.3g}) with fewer warnings"
    return message("{}, which {}. Tried: {}.", change.asked, change.does, gained)
