"""Additions to an existing result, with its own data and settings."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ngmca._support.messages import ArgumentError, message, option
from ngmca.answers.run import Run
from ngmca.cli.console import note
from ngmca.cli.errors import INTERRUPTED, fail
from ngmca.cli.pipeline import perform, print_run
from ngmca.io import ReadError
from ngmca.saving import result_folder
from ngmca.saving.results import load_run
from ngmca.settings.run_file import changed_input, from_file, provenance
from ngmca.settings.settings import QUESTION_FILES, Settings


def found_in(out: Path, instead: str) -> tuple[Run, Settings, dict[str, Any]]:
    """Return a run, its settings and its record; `instead` says what to do with a single file."""
    if result_folder.find(out) == out:
        raise ReadError(f"{out} is a file, not the folder of a result of `ngmca separate`. {instead}")
    settings, record = from_file(out / result_folder.RECORD)
    return load_run(out), settings, record


def check_not_stopped(out: Path) -> None:
    """Raise an error if a stopped run for the folder would be discarded."""
    if result_folder.can_resume(result_folder.unfinished(result_folder.absolute(out))):
        raise ReadError(
            f"there is a stopped run for {out}. Continue it with `ngmca separate --resume {out} "
            "--force`, or discard it with --force."
        )


def check_data(out: Path, settings: Settings, record: dict[str, Any], command: str) -> None:
    """Raise an error if the data of a result are missing or have changed."""
    for one in settings.data:
        if not Path(one).exists():
            raise ReadError(
                f"the data of {out} are missing: {one} does not exist. Say where they are now: ngmca "
                f"{command} {out} DATA"
            )
    there = settings.without(*QUESTION_FILES)  # which may be other files, or missing
    other = changed_input({"sha256": "", **record}, provenance(there))
    if other is not None and other != "the data":
        raise ArgumentError("{} has changed since {} was made. Run `ngmca separate` again.", other, out)
    if other is not None:
        raise ReadError(
            f"the data have changed since {out} was made (their hash is not that in its "
            f"{result_folder.RECORD}). Run `ngmca separate` again."
        )


def add(
    out: Path, settings: Settings, found: Run, *, asked: Collection[str] = (), quiet: bool, as_json: bool
) -> None:
    """Write the result again with the additions that the settings ask for, and print it.

    `asked` names the new questions; others in the settings were answered before.
    """
    before = {"library": found.answers.identification}
    for name in QUESTION_FILES:
        path = getattr(settings, name)
        if path is None or name in asked:
            continue
        if not Path(path).exists():
            words = message(
                "{} does not exist any more: its earlier answers are kept.", option(name, path)
            )
            note(words, quiet=quiet)
        elif before.get(name, found.answers.amounts) is not None:
            continue
        settings = settings.without(name)
    if not found.separation.restarts:
        settings = settings.changed(n_init=1)  # a result of one start is not compared with others
    try:
        run, place = perform(
            settings, result_folder.absolute(out), force=True, quiet=quiet or as_json, found=found
        )
    except KeyboardInterrupt:
        raise fail(f"stopped; {out} has not changed.", INTERRUPTED) from None
    print_run(run, place, quiet=quiet, as_json=as_json)
