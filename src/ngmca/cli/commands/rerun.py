"""`ngmca rerun`: repeat the run of a result or of a report, and compare."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ngmca import metrics
from ngmca.cli.add_to_result import check_data, found_in
from ngmca.cli.console import print_json, say
from ngmca.cli.errors import FAILED, one_line_errors
from ngmca.cli.options import AsJson, MovedData, Quiet
from ngmca.cli.pipeline import perform
from ngmca.io import ReadError
from ngmca.result import Separation
from ngmca.saving import result_folder
from ngmca.settings.run_file import from_tables
from ngmca.settings.settings import Settings

EXAMPLES = """
[bold]Examples[/]

  ngmca rerun result

  ngmca rerun report.html -o again

  ngmca rerun report.html moved/spectra.csv
"""
PLACES = ("ngmca", "numpy", "scipy", "numba", "python", "platform")


@one_line_errors
def rerun(
    result: Annotated[Path, typer.Argument(help="Folder of a result, or its report.html.")],
    data: MovedData = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Folder for the new result (RESULT-again).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Repeat a run with the same data and options, and say whether the answer is the same to the bit.

    The data are compared by their checksum. The exit code is 1 if the answer differs.
    """
    before, settings, record, checksum = _earlier(result)
    settings = settings.changed(data=tuple(data) if data else None)
    check_data(result, settings, record, "rerun")
    place = _beside(result) if out is None else result_folder.absolute(out)
    run, place = perform(settings, place, force=force, quiet=True)
    now = run.record["record"]
    same = run.separation.checksum == checksum
    changed = {name: (record.get(name), now[name]) for name in PLACES if record.get(name) != now[name]}
    told = [] if same or before is None else _differences(before, run.separation)
    if as_json:
        print_json({"same": same, "out": str(place), "differences": told, "versions": changed})
    else:
        _show(same, told, changed, place, quiet=quiet)
    if not same:
        raise typer.Exit(FAILED)


def _beside(result: Path) -> Path:
    """Return the folder for the new result: beside the folder of the old one, or beside its report."""
    place = result_folder.absolute(result)
    if place.is_file() and (place.parent / result_folder.RECORD).is_file():
        place = place.parent
    return place.with_name(f"{place.stem if place.is_file() else place.name}-again")


def _earlier(result: Path) -> tuple[Separation | None, Settings, dict[str, Any], str]:
    """Return the separation if the result has it, its settings, its record, and its checksum."""
    if result.is_dir() or not result.is_file():
        run, settings, record = found_in(result, "")
        return run.separation, settings, record, run.separation.checksum
    from ngmca.report.html_page import record_in

    try:
        content = json.loads(record_in(result.read_text(encoding="utf-8")))
        checksum = content["answer"]
    except (ValueError, KeyError, TypeError) as error:
        raise ReadError(
            f"{result} is not a report of this version of ngmca: give the folder of a result, or its "
            "report.html."
        ) from error
    if not content["separate"].get("data"):
        raise ReadError(
            f"{result} was written in Python, and does not say which files its data came from: only "
            "reports of `ngmca separate` can be repeated."
        )
    folder = Path(content["record"].get("folder", result.parent))
    return None, *from_tables(content, result, folder), checksum


def _differences(before: Separation, now: Separation) -> list[str]:
    """Return sentences about what differs."""
    if before.S.shape != now.S.shape or before.A.shape != now.A.shape:
        sizes = (f"{len(one.S)} sources in {len(one.A)} x {one.S.shape[1]}" for one in (before, now))
        return ["{} before, {} now.".format(*sizes)]
    told = []
    for name, one, other in (("A", before.A, now.A), ("S", before.S, now.S)):
        largest = float(np.abs(one - other).max(initial=0))
        size = float(np.abs(one).max(initial=0)) or 1.0
        told.append(f"{name} differs by at most {largest / size:.2g} of its largest entry.")
    score = metrics.evaluate(before.S, now.S).mean_sdr
    told.append(f"As estimates of the earlier sources, the new ones have a mean SDR of {score:.1f} dB.")
    if (before.posterior is None) != (now.posterior is None):
        told.append("Only one of the two has error bars.")
    return told


def _show(same: bool, told: list[str], changed: dict[str, Any], place: Path, *, quiet: bool) -> None:
    """Print the comparison."""
    if same:
        say("The answer is the same to the bit.", quiet=quiet)
    else:
        say("The answer differs.", quiet=quiet)
    for sentence in told:
        say(sentence, quiet=quiet)
    for name, (one, other) in changed.items():
        say(f"{name} was {one}, and is {other}.", quiet=quiet)
    if not same and not changed:
        say("All versions are the same: the machine or its settings may differ.", quiet=quiet)
    say(f"new result: {place}", quiet=quiet)
