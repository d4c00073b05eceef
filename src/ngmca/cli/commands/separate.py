"""`ngmca separate`: read measurements, separate them, write the sources and a report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca.cli.errors import one_line_errors
from ngmca.cli.options import AsJson, Quiet, takes
from ngmca.cli.pipeline import perform, print_run
from ngmca.io import ReadError, detect
from ngmca.saving import result_folder
from ngmca.settings.option_names import flag
from ngmca.settings.run_file import from_file
from ngmca.settings.settings import QUESTIONS, Settings

EXAMPLES = f"""
[bold]Examples[/]

  ngmca separate spectra.csv -r 4 -o result

  ngmca separate nmr_folder -r 5 -o result --nucleus 1H --range 0.5:9.5

  ngmca separate cube.h5 --dataset /scan/data -r 6 -o result --tau 2

  ngmca separate spectra.csv -r 4 -o result --posterior

  ngmca separate spectra.csv -r auto -o result --library reference_spectra --standards standards.csv

  ngmca separate --config result/run.toml -o again

  ngmca separate --resume result

Formats: {detect.in_words(detect.PLAIN_READERS)}.

With `pip install 'ngmca\\[io]'` also {detect.in_words(detect.READERS_OF_EXTRA)}.

With `pip install 'ngmca\\[microscopes]'` also {detect.in_words(detect.READERS_OF_MICROSCOPES)}.

A folder of spectra is read as one table.
"""


@one_line_errors
@takes()
def separate(
    data: Annotated[list[str] | None, typer.Argument(help="Files or folders of measurements.")] = None,
    *,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the result.")] = None,
    given: dict[str, Any],
    config: Annotated[Path | None, typer.Option(help="Take the options from a run.toml.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue a stopped run in this folder.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    progress: Annotated[
        Path | None, typer.Option(help="File that says how far the run is, as JSON, while it runs.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the sources in measurements; write them and a report to a folder."""
    given |= {"data": tuple(data)} if data else {}
    settings, out, before = _settings(given, out, config, resume)
    run, place = perform(
        settings,
        out,
        force=force,
        resume=resume is not None,
        quiet=quiet or as_json,
        before=before,
        progress=progress,
    )
    print_run(run, place, quiet=quiet, as_json=as_json)


def _settings(
    given: dict[str, Any], out: Path | None, config: Path | None, resume: Path | None
) -> tuple[Settings, Path, dict[str, Any]]:
    """Return the settings, the folder, and the record of the run in `config`, if there is one."""
    if resume is not None:
        out, config = resume, _settings_of_stopped_run(resume, out)
    stored, record = from_file(config) if config is not None else (Settings(), {})
    settings = stored.changed(**given)
    if resume is not None:
        _check_same(stored, settings)
    if not settings.data:
        raise ReadError("no data were given: name a file or folder. See `ngmca separate --help`.")
    if settings.sources is None:
        raise ReadError("the number of sources is missing: give it, as -r 4, or -r auto to choose it.")
    if out is None:
        raise ReadError("the folder for the result is missing: give -o FOLDER.")
    return settings, result_folder.absolute(out), record


def _settings_of_stopped_run(resume: Path, out: Path | None) -> Path:
    """Return the file with the settings of a stopped run."""
    if out is not None and result_folder.absolute(out) != result_folder.absolute(resume):
        raise ReadError(f"--resume {resume} writes to {resume}: leave out -o {out}.")
    config = result_folder.unfinished(result_folder.absolute(resume)) / result_folder.RECORD
    if not config.is_file():
        raise ReadError(
            f"there is no stopped run for {resume}: nothing to continue. Leave out --resume."
        )
    return config


def _check_same(stored: Settings, wanted: Settings) -> None:
    """Raise an error if a resumed run is given other settings, except those after the iterations."""
    for name, value in vars(stored).items():
        free = name in ("data", "posterior", "samples", "ambiguity", *QUESTIONS)
        if not free and getattr(wanted, name) != value:
            raise ReadError(
                f"a resumed run keeps its options: leave out {flag(name)}, or start again without "
                "--resume."
            )
