"""`ngmca posterior`: error bars for a result that is there already."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca import sampling
from ngmca.cli.console import INTERRUPTED, as_bad_input, fail, one_line_errors
from ngmca.cli.separate import perform, tell
from ngmca.cli.settings import AsJson, Settings, changed, from_file, provenance
from ngmca.io import ReadError
from ngmca.result import Separation
from ngmca.saving import result_folder
from ngmca.saving.results import load
from ngmca.separation import check_sampling

EXAMPLES = """
[bold]Examples[/]

  ngmca posterior result

  ngmca posterior result moved/spectra.csv

  ngmca posterior result --samples 1000 --force
"""


@one_line_errors
def posterior(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    data: Annotated[
        list[str] | None, typer.Argument(help="Where its data are now, if they were moved.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of each chain (as many as it takes).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace error bars, and discard a run that was stopped.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Sample error bars for a result, without separating again, and draw its report again."""
    found, begun, known = _found(out)
    settings = begun.changed(data=tuple(data) if data else None, samples=samples, posterior=True)
    if not found.restarts:
        settings = settings.changed(n_init=1)  # or an older result would be compared with other starts
    with as_bad_input():
        check_sampling(settings.method)
        sampling.check_known(settings.known, bands=found.domain.name == "wavelet")
    _check_free(out, found, force=force)
    _check_data(out, settings, known)
    try:
        run, place = perform(
            settings, result_folder.absolute(out), force=True, quiet=quiet or as_json, found=found
        )
    except KeyboardInterrupt:
        raise fail(f"stopped; {out} is as it was.", INTERRUPTED) from None
    tell(run, place, quiet=quiet, as_json=as_json)


def _found(out: Path) -> tuple[Separation, Settings, dict[str, Any]]:
    """What a run found, its settings, and the record of its input."""
    if result_folder.find(out) == out:
        raise ReadError(
            f"{out} is a file, and error bars are put into the folder of a run of `ngmca separate`. In "
            "Python, ngmca.posterior(Y, ngmca.load(FILE)) samples them."
        )
    settings, record = from_file(out / result_folder.RECORD)
    return load(out), settings, record


def _check_free(out: Path, found: Separation, *, force: bool) -> None:
    """Refuse to sample once more unasked, and to discard what a stopped run would go on from."""
    if force:
        return
    if found.posterior is not None:
        raise ReadError(f"{out} has error bars already: --force samples them again.")
    if result_folder.kept(result_folder.unfinished(result_folder.absolute(out))):
        raise ReadError(
            f"a run for {out} was stopped: `ngmca separate --resume {out} --force` goes on with it, "
            "--force discards it."
        )


def _check_data(out: Path, settings: Settings, known: dict[str, Any]) -> None:
    """Refuse data that are not there, or not those of the result."""
    for one in settings.data:
        if not Path(one).exists():
            raise ReadError(
                f"the data of {out} are not there any more: {one} does not exist. Say where they are "
                f"now: ngmca posterior {out} DATA"
            )
    other = changed({"sha256": "", **known}, provenance(settings))
    if other and other != "the data":
        raise ReadError(f"{other} has changed since {out} was made with it: separate anew.")
    if other:
        raise ReadError(
            f"the data have changed since {out} was made of them (their hash is not that of its "
            f"{result_folder.RECORD}): separate them anew with `ngmca separate --posterior`."
        )
