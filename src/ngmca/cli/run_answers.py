"""Answers to questions about a run: how many sources, which substances, how much of each."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngmca._support.arguments import check_number
from ngmca._support.messages import ArgumentError
from ngmca.answers.how_many.choose_rank import with_counted_sources
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_much.quantify import quantify
from ngmca.answers.how_much.standards import check_standards, read_standards
from ngmca.answers.how_sure.detection_limit import detection_limit
from ngmca.answers.run import Answers
from ngmca.answers.which.identify import identify
from ngmca.answers.which.library import Library, on_axis, open_library
from ngmca.cli.errors import as_bad_input
from ngmca.constraints import Closure
from ngmca.engines import Engine
from ngmca.io import Dataset, ReadError
from ngmca.result import Separation
from ngmca.settings.settings import AUTO, Settings
from ngmca.task.task import Task


def opened_library(settings: Settings, data: Dataset) -> Library | None:
    """Return the library, if there is one; raise an error if a question cannot be answered."""
    for name in ("tolerance", "detect"):
        if settings.library is None and getattr(settings, name) is not None:
            raise ReadError(f"--{name} needs a --library: name one.")
    if settings.standards is not None and settings.responses is not None:
        raise ReadError(
            "--standards cannot be combined with --responses: each sets the scale of the amounts. Leave "
            "out one of them."
        )
    if settings.standards is not None:
        at = None if data.row_axis is None else (data.row_axis, data.row_label)
        known = read_standards(settings.standards, data.names, coordinates=at)
        if settings.sources != AUTO:
            check_standards(known, settings.number)
    if settings.library is None:
        return None
    if data.axis is None:
        raise ReadError(
            f"the data have no axis, so they cannot be compared with --library {settings.library}. Put "
            "the axis into the file; see --axis."
        )
    if settings.tolerance is not None:
        check_number(settings.tolerance, "tolerance", high=float(np.ptp(data.positions)) / 10)
    return open_library(settings.library, data.axis_unit, data.axis_name)


def counted(task: Task, engine: Engine) -> tuple[Task, RankChoice]:
    """Return a task with the number of sources that its data show, and how it was chosen."""
    with as_bad_input():
        task, choice = with_counted_sources(task, engine)
    if not choice.rank:
        raise ReadError(
            f"no source was found: {choice.advice} To separate anyway, give a number, as -r 2."
        )
    return task, choice


def totals_of(task: Task) -> ArrayLike | Sequence[ArrayLike] | None:
    """Return the totals of a closure, or None."""
    return next((one.totals for one in task.constraints if isinstance(one, Closure)), None)


def answers(
    settings: Settings,
    separation: Separation,
    data: Dataset,
    before: Answers,
    library: Library | None,
    *,
    closure: ArrayLike | Sequence[ArrayLike] | None = None,
    progress: bool = False,
) -> Answers:
    """Return the answers to all questions, added to those from before.

    A question without an answer becomes a warning of the result.
    """
    found = before
    if library is not None:
        tolerance = settings.tolerance or 0.0
        with _refusals() as refused:
            matched = identify(separation, library, axis=data, tolerance=tolerance, progress=progress)
            found = replace(found, identification=matched)
        found = replace(found, refused=(*found.refused, *refused))
        if settings.detect is not None:
            with _refusals() as refused:
                spectrum = on_axis(library, settings.detect, data.positions)
                limit = detection_limit(
                    data, separation, spectrum, name=settings.detect, progress=progress
                )
                found = replace(found, detection=limit)
            found = replace(found, refused=(*found.refused, *refused))
    scale: dict[str, Any] = {"standards": settings.standards, "responses": settings.responses}
    asked = any(scale.values())
    if asked or closure is not None:
        names = [name or None for name in found.names(len(separation.S))]
        scale = scale if asked else {"closure": closure}
        with _refusals() as refused:
            found = replace(found, amounts=quantify(separation, data=data, names=names, **scale))
        if asked:  # a closure is not a question, so it needs no answer
            found = replace(found, refused=(*found.refused, *refused))
    return found


@contextmanager
def _refusals() -> Iterator[list[str]]:
    """Collect the reasons why questions have no answer; warnings become notes."""
    refused: list[str] = []
    with as_bad_input():
        try:
            yield refused
        except (ValueError, TypeError) as error:
            refused.append(error.message if isinstance(error, ArgumentError) else str(error))
