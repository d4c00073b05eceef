"""What a run answers besides its separation: how many sources, which substances, how much of each."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ngmca.cli.console import as_bad_input, stderr
from ngmca.cli.counting import Unfinished, fingerprint
from ngmca.cli.settings import AUTO, Settings
from ngmca.data import InMemory
from ngmca.diagnosis.answers.how_many import RankChoice, choose_rank
from ngmca.diagnosis.answers.how_much import quantify
from ngmca.diagnosis.answers.library import Library, open_library
from ngmca.diagnosis.answers.standards import read_standards
from ngmca.diagnosis.answers.which import identify
from ngmca.io import Dataset, ReadError
from ngmca.result import Separation
from ngmca.saving.answers import Answers
from ngmca.saving.result_folder import SEARCH

FOLDS = 5


def opened(settings: Settings, data: Dataset) -> Library | None:
    """The library; it and standards that cannot be used with these data are refused now."""
    if settings.library is None and settings.tolerance is not None:
        raise ReadError("--tolerance is how far spectra may lie from those of --library: name one.")
    if settings.standards is not None and settings.responses is not None:
        raise ReadError("--standards and --responses each give a scale: leave out one of them.")
    if settings.standards is not None:
        read_standards(settings.standards, data.names)
    if settings.library is None:
        return None
    if data.axis is None:
        raise ReadError(
            "the data have no axis, and channels without positions cannot be compared with "
            f"--library {settings.library}: put the axis into the file, see --axis."
        )
    return open_library(settings.library, data.axis_unit, data.axis_name)


def counted(
    engine: InMemory, data: Dataset, settings: Settings, noise: Any, work: Path, *, quiet: bool
) -> tuple[Settings, RankChoice | None]:
    """The settings with a number of sources, and how it was chosen where it was to be found out."""
    if settings.sources != AUTO:
        return settings, None
    options: dict[str, Any] = {"folds": FOLDS, "entries": None, "seed": settings.seed, "noise": noise}
    kept = Unfinished(work / SEARCH, fingerprint(data.Y, options))
    with as_bad_input():
        shown = not quiet and stderr().is_terminal
        choice = choose_rank(engine, kept=kept, progress=shown, **options)
    if not choice.rank:
        raise ReadError(f"no source was found: {choice.advice} A number, as -r 2, separates anyway.")
    return replace(settings, sources=choice.rank), choice


def answers(
    settings: Settings,
    separation: Separation,
    data: Dataset,
    rank: RankChoice | None,
    library: Library | None,
    *,
    closure: Any = None,
) -> Answers:
    """All that was asked about a separation."""
    found = Answers(rank)
    with as_bad_input():
        if library is not None:
            tolerance = settings.tolerance or 0.0
            matched = identify(separation, library, axis=data, tolerance=tolerance)
            found = replace(found, identification=matched)
        scale: dict[str, Any] = {"standards": settings.standards, "responses": settings.responses}
        if not any(scale.values()):
            scale = {"closure": closure}
        if any(value is not None for value in scale.values()):
            names = found.names(len(separation.S))
            amounts = quantify(separation, data=data, names=[name or None for name in names], **scale)
            found = replace(found, amounts=amounts)
    return found
