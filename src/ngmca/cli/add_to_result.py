"""What is added to a result that is there already, to its own data and with its own settings."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ngmca.answers.run import Run
from ngmca.cli.console import INTERRUPTED, fail, note
from ngmca.cli.pipeline import perform, tell
from ngmca.cli.settings import ASKED_FILES, Settings, changed, from_file, provenance
from ngmca.io import ReadError
from ngmca.saving import result_folder
from ngmca.saving.results import load_run


def found_in(out: Path, instead: str) -> tuple[Run, Settings, dict[str, Any]]:
    """What a run found, its settings, and the record of its input; `instead` is for a single file."""
    if result_folder.find(out) == out:
        raise ReadError(f"{out} is a file, and not the folder of a run of `ngmca separate`. {instead}")
    settings, record = from_file(out / result_folder.RECORD)
    return load_run(out), settings, record


def check_not_stopped(out: Path) -> None:
    """Refuse to discard what a stopped run would go on from."""
    if result_folder.can_resume(result_folder.unfinished(result_folder.absolute(out))):
        raise ReadError(
            f"a run for {out} was stopped: `ngmca separate --resume {out} --force` goes on with it, "
            "--force discards it."
        )


def check_data(out: Path, settings: Settings, known: dict[str, Any], command: str) -> None:
    """Refuse data that are not there, or not those of the result."""
    for one in settings.data:
        if not Path(one).exists():
            raise ReadError(
                f"the data of {out} are not there any more: {one} does not exist. Say where they are "
                f"now: ngmca {command} {out} DATA"
            )
    there = settings.without(*ASKED_FILES)  # which may be others, or gone
    other = changed({"sha256": "", **known}, provenance(there))
    if other and other != "the data":
        raise ReadError(f"{other} has changed since {out} was made with it: separate anew.")
    if other:
        raise ReadError(
            f"the data have changed since {out} was made of them (their hash is not that of its "
            f"{result_folder.RECORD}): separate them anew with `ngmca separate`."
        )


def add(
    out: Path,
    settings: Settings,
    found: Run,
    *,
    asked: Collection[str] = (),
    quiet: bool,
    as_json: bool,
) -> None:
    """Write the result once more, with what the settings ask for besides, and tell it.

    What was `asked` is asked now; other questions of the settings were answered before.
    """
    before = {"library": found.answers.identification}
    for name in ASKED_FILES:
        path = getattr(settings, name)
        if path is None or name in asked:
            continue
        if not Path(path).exists():
            note(f"{name}={path} is not there any more: what was answered with it stays.", quiet=quiet)
        elif before.get(name, found.answers.amounts) is not None:
            continue
        settings = settings.without(name)
    if not found.separation.restarts:
        settings = settings.changed(n_init=1)  # or an older result would be compared with other starts
    try:
        run, place = perform(
            settings, result_folder.absolute(out), force=True, quiet=quiet or as_json, found=found
        )
    except KeyboardInterrupt:
        raise fail(f"stopped; {out} is as it was.", INTERRUPTED) from None
    tell(run, place, quiet=quiet, as_json=as_json)
