"""What a run answers besides its separation: how many sources, which substances, how much of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ngmca._support.arguments import check_number
from ngmca._support.messages import ArgumentError
from ngmca.answers.answers_of_run import Answers
from ngmca.answers.how_many.choose_rank import DEFAULT_FOLDS, choose_rank
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_much.quantify import quantify
from ngmca.answers.how_much.standards import check_standards, read_standards
from ngmca.answers.which.identify import identify
from ngmca.answers.which.library import Library, open_library
from ngmca.cli.console import as_bad_input, note, stderr
from ngmca.cli.settings import AUTO, Settings
from ngmca.constraints import Closure
from ngmca.io import Dataset, ReadError
from ngmca.result import Separation
from ngmca.saving.rank_search import UnfinishedSearch, fingerprint
from ngmca.saving.result_folder import SEARCH
from ngmca.task.driver import Prepared
from ngmca.task.task import Task


def opened(settings: Settings, data: Dataset) -> Library | None:
    """The library; what cannot be answered with these data and settings is refused now."""
    if settings.library is None and settings.tolerance is not None:
        raise ReadError("--tolerance is how far spectra may lie from those of --library: name one.")
    if settings.standards is not None and settings.responses is not None:
        raise ReadError("--standards and --responses each give a scale: leave out one of them.")
    if settings.standards is not None:
        known = read_standards(settings.standards, data.names)
        if settings.sources != AUTO:
            check_standards(known, settings.number)
    if settings.library is None:
        return None
    if data.axis is None:
        raise ReadError(
            "the data have no axis, and channels without positions cannot be compared with "
            f"--library {settings.library}: put the axis into the file, see --axis."
        )
    if settings.tolerance is not None:
        check_number(settings.tolerance, "tolerance", high=float(np.ptp(data.positions)) / 10)
    return open_library(settings.library, data.axis_unit, data.axis_name)


def counted(
    prepared: Prepared, data: Dataset, settings: Settings, work: Path, *, quiet: bool
) -> RankChoice | None:
    """Return how many sources there are, where that is asked for."""
    if settings.sources != AUTO:
        return None
    noise = prepared.task.noise
    options: dict[str, Any] = {
        "folds": DEFAULT_FOLDS,
        "entries": None,
        "seed": settings.seed,
        "noise": noise,
    }
    kept = UnfinishedSearch(work / SEARCH, fingerprint(data.Y, options), note)
    with as_bad_input():
        shown = not quiet and stderr().is_terminal
        choice = choose_rank(prepared.engine, kept=kept, progress=shown, **options)
    if not choice.rank:
        raise ReadError(
            f"no source was found: {choice.advice} Give a number, as -r 2, to separate anyway."
        )
    return choice


def totals_of(task: Task) -> Any:
    """Return the totals of a closure, or None."""
    return next((one.totals for one in task.constraints if isinstance(one, Closure)), None)


def answers(
    settings: Settings,
    separation: Separation,
    data: Dataset,
    before: Answers,
    library: Library | None,
    *,
    closure: Any = None,
    progress: bool = False,
) -> Answers:
    """All that was asked about a separation, and what is known before.

    It does not cost the separation if a question has no answer: that is among its warnings then.
    """
    found = before
    if library is not None:
        tolerance = settings.tolerance or 0.0
        with _refusals() as refused:
            matched = identify(separation, library, axis=data, tolerance=tolerance, progress=progress)
            found = replace(found, identification=matched)
        found = replace(found, refused=(*found.refused, *refused))
    scale: dict[str, Any] = {"standards": settings.standards, "responses": settings.responses}
    asked = any(scale.values())
    if asked or closure is not None:
        names = [name or None for name in found.names(len(separation.S))]
        scale = scale if asked else {"closure": closure}
        with _refusals() as refused:
            found = replace(found, amounts=quantify(separation, data=data, names=names, **scale))
        if asked:  # a closure says something of the separation first of all
            found = replace(found, refused=(*found.refused, *refused))
    return found


@contextmanager
def _refusals() -> Iterator[list[str]]:
    """Why a question has no answer, if it has none; warnings become notes."""
    refused: list[str] = []
    with as_bad_input():
        try:
            yield refused
        except (ValueError, TypeError) as error:
            refused.append(error.message if isinstance(error, ArgumentError) else str(error))
