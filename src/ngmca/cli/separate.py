"""`ngmca separate`: from a file to a folder with sources, weights and a report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca.cli.console import FLAGS, one_line_errors
from ngmca.cli.pipeline import perform, tell
from ngmca.cli.settings import (
    ASKED,
    AsJson,
    Axis,
    Columns,
    Header,
    Library,
    Nucleus,
    Range,
    Responses,
    Settings,
    Skip,
    Standards,
    Tolerance,
    Transpose,
    Which,
    count_or_auto,
    from_file,
    number_or_word,
)
from ngmca.engines import DEVICES
from ngmca.io import ReadError
from ngmca.saving import result_folder
from ngmca.task.methods import METHOD_NAMES, Soft
from ngmca.task.task import AUTOMATIC_STARTS, DOMAINS

# What a resumed run may be given anew: no change to iterations.
FREE = ("data", "posterior", "samples", *ASKED)
EXAMPLES = """
[bold]Examples[/]

  ngmca separate spectra.csv -r 4 -o result

  ngmca separate nmr_folder -r 5 -o result --nucleus 1H --range 0.5:9.5

  ngmca separate cube.h5 --dataset /scan/data -r 6 -o result --tau 2

  ngmca separate spectra.csv -r 4 -o result --posterior

  ngmca separate spectra.csv -r auto -o result --library reference_spectra --standards standards.csv

  ngmca separate --config result/run.toml -o again

  ngmca separate --resume result

Formats: .npy .npz .csv .tsv .txt (.gz), .mat, HDF5, Zarr, NetCDF, SPC, PerkinElmer, Princeton, mzML.

With `pip install 'ngmca\\[io]'` also Excel, LibreOffice, Bruker, Varian, NMRPipe, JCAMP-DX, OPUS, Omnic,
ENVI, imzML, and what rosettasciio reads. A folder of spectra is read as one table.
"""


@one_line_errors
def separate(
    data: Annotated[list[str] | None, typer.Argument(help="Files or folders of measurements.")] = None,
    sources: Annotated[
        str | None,
        typer.Option(
            "-r", "--sources", help="Number of sources, or auto to choose it.", metavar="NUMBER|auto"
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the result.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help=f"Algorithm: {', '.join(METHOD_NAMES)}.", autocompletion=lambda: METHOD_NAMES),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(help=f"Final threshold in units of the noise ({Soft.tau:g})."),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Largest number of iterations (automatic).")
    ] = None,
    refinement: Annotated[
        float | None,
        typer.Option(help=f"Share of the iterations at the final threshold ({Soft.refinement:g})."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first guess (0).")] = None,
    n_init: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"First guesses; the best is kept ({AUTOMATIC_STARTS}; 1 for large data)."
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="Standard deviation of the noise (estimated), poisson for counts, or a file of levels.",
            metavar="VALUE|poisson|FILE",
        ),
    ] = None,
    gain: Annotated[
        float | None, typer.Option(help="Value of the data for one event, of --noise poisson (1).")
    ] = None,
    readout: Annotated[
        float | None,
        typer.Option(help="Noise where there is no signal, of --noise poisson (0)."),
    ] = None,
    robust: Annotated[
        bool | None,
        typer.Option("--robust/--no-robust", help="Ignore spikes that no source explains."),
    ] = None,
    known_sources: Annotated[
        str | None, typer.Option(help="Known spectra of the first sources.", metavar="FILE")
    ] = None,
    known_mixing: Annotated[
        str | None, typer.Option(help="Known amounts: one row for each measurement.", metavar="FILE")
    ] = None,
    known_scale: Annotated[
        str | None, typer.Option(help="Scale of known spectra: fixed or free (fixed).")
    ] = None,
    closure: Annotated[
        str | None,
        typer.Option(help="Sum of the amounts in each measurement.", metavar="TOTAL|FILE"),
    ] = None,
    profiles: Annotated[
        str | None,
        typer.Option(
            help="Shape of amounts along the measurements: unimodal, increasing or decreasing."
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="A smooth background in each measurement.", metavar="polynomial|splines|FILE"),
    ] = None,
    penalised: Annotated[str | None, typer.Option(help="What is sparse: S, A or both (S).")] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Where sources are sparse: direct (channels), wavelet (lines, bands), or auto.",
            autocompletion=lambda: DOMAINS,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Where to compute: cpu, or cuda (a GPU).", autocompletion=lambda: DEVICES),
    ] = None,
    posterior: Annotated[
        bool | None,
        typer.Option(
            "--posterior/--no-posterior", help="Sample for error bars; later: `ngmca posterior OUT`."
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of each chain of --posterior (automatic).")
    ] = None,
    library: Library = None,
    tolerance: Tolerance = None,
    standards: Standards = None,
    responses: Responses = None,
    transpose: Transpose = None,
    range_: Range = None,
    dataset: Which = None,
    nucleus: Nucleus = None,
    axis: Axis = None,
    header: Header = None,
    skip: Skip = None,
    columns: Columns = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a run.toml.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue a run that was stopped.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the sources in measurements, and write them with a report into a folder."""
    given: dict[str, Any] = {
        "data": tuple(data) if data else None, "sources": count_or_auto(sources), "method": method,
        "tau": tau, "iterations": iterations, "refinement": refinement, "seed": seed,
        "noise": number_or_word(noise), "gain": gain, "readout": readout, "robust": robust,
        "known_sources": known_sources, "known_mixing": known_mixing, "known_scale": known_scale,
        "closure": number_or_word(closure), "profiles": profiles, "baseline": baseline,
        "penalised": penalised,
        "n_init": n_init, "domain": domain, "device": device, "posterior": posterior, "samples": samples,
        "library": library, "tolerance": tolerance, "standards": standards, "responses": responses,
        "transpose": transpose, "range": range_, "dataset": dataset,
        "nucleus": nucleus, "axis": axis, "header": header, "skip": skip, "columns": columns,
    }  # fmt: skip
    settings, out, known = _gather(given, out, config, resume)
    run, place = perform(
        settings, out, force=force, resume=resume is not None, quiet=quiet or as_json, known=known
    )
    tell(run, place, quiet=quiet, as_json=as_json)


def _gather(
    given: dict[str, Any], out: Path | None, config: Path | None, resume: Path | None
) -> tuple[Settings, Path, dict[str, Any]]:
    """Settings from all sides, the folder, and the record of the run before, if there was one."""
    if resume is not None:
        out, config = _resumed(resume, out)
    begun, record = from_file(config) if config is not None else (Settings(), {})
    settings = begun.changed(**given)
    if resume is not None:
        _check_unchanged(begun, settings)
    if not settings.data:
        raise ReadError("no data were given: name a file or folder. See `ngmca separate --help`.")
    if settings.sources is None:
        raise ReadError("the number of sources is missing: -r 4, or -r auto to have it found out.")
    if out is None:
        raise ReadError("the folder for the result is missing: -o FOLDER.")
    return settings, result_folder.absolute(out), record


def _resumed(resume: Path, out: Path | None) -> tuple[Path, Path]:
    """The folder of a run that was stopped, and the file with its settings."""
    if out is not None and result_folder.absolute(out) != result_folder.absolute(resume):
        raise ReadError(f"--resume {resume} goes on in {resume}: leave out -o {out}.")
    config = result_folder.unfinished(result_folder.absolute(resume)) / result_folder.RECORD
    if not config.is_file():
        raise ReadError(f"{resume} has no run that was stopped: there is nothing to go on with.")
    return resume, config


def _check_unchanged(begun: Settings, wanted: Settings) -> None:
    """Refuse to go on with a run in another way than it was begun."""
    for name, value in vars(begun).items():
        if name not in FREE and getattr(wanted, name) != value:
            flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
            raise ReadError(f"--resume goes on as the run was begun: leave out {flag}, or begin anew.")
