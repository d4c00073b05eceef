"""`ngmca separate`: read measurements, separate them, write the sources and a report."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca.cli.errors import one_line_errors
from ngmca.cli.options import (
    AsJson,
    Axis,
    Columns,
    Header,
    Library,
    Nucleus,
    Quiet,
    Range,
    Responses,
    Skip,
    Standards,
    Tolerance,
    Transpose,
    Which,
    flag,
)
from ngmca.cli.pipeline import perform, print_run
from ngmca.cli.settings import QUESTIONS, Settings, count_or_auto, from_file, number_or_word
from ngmca.engines import DEVICES
from ngmca.io import ReadError
from ngmca.saving import result_folder
from ngmca.task.methods import METHOD_NAMES, Soft
from ngmca.task.task import AUTOMATIC_STARTS, DOMAINS

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
        typer.Option(
            help=f"Algorithm: {', '.join(METHOD_NAMES)} (soft).", autocompletion=lambda: METHOD_NAMES
        ),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(help=f"Set signals below this many noise levels to 0 (default {Soft.tau:g})."),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Largest number of iterations (automatic).")
    ] = None,
    refinement: Annotated[
        float | None,
        typer.Option(
            help=f"Share of the iterations with the final --tau (default {Soft.refinement:g})."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random first guesses (0).")] = None,
    n_init: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"Number of first guesses to try ({AUTOMATIC_STARTS}; 1 for large data)."
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="Noise: its standard deviation, a file of them, or poisson for counts (estimated).",
            metavar="VALUE|poisson|FILE",
        ),
    ] = None,
    gain: Annotated[
        float | None, typer.Option(help="With --noise poisson: value of one event in the data (1).")
    ] = None,
    readout: Annotated[
        float | None,
        typer.Option(help="With --noise poisson: standard deviation of the readout noise (0)."),
    ] = None,
    robust: Annotated[
        bool | None,
        typer.Option("--robust/--no-robust", help="Ignore spikes that no source explains."),
    ] = None,
    known_sources: Annotated[
        str | None, typer.Option(help="Known spectra, for the first sources.", metavar="FILE")
    ] = None,
    known_mixing: Annotated[
        str | None, typer.Option(help="Known amounts, one row for each measurement.", metavar="FILE")
    ] = None,
    known_scale: Annotated[
        str | None, typer.Option(help="Whether the scale of --known-sources is fixed or free (fixed).")
    ] = None,
    closure: Annotated[
        str | None,
        typer.Option(help="Total of the amounts in each measurement.", metavar="TOTAL|FILE"),
    ] = None,
    profiles: Annotated[
        str | None,
        typer.Option(help="Amounts are unimodal, increasing or decreasing along the measurements."),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Fit a smooth background in each measurement.", metavar="polynomial|splines|FILE"
        ),
    ] = None,
    penalised: Annotated[
        str | None, typer.Option(help="Which factor is sparse: sources S, amounts A, or both (S).")
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Where sources are sparse: direct (channels), wavelet (smooth bands) or auto (auto).",
            autocompletion=lambda: DOMAINS,
        ),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Where to compute: cpu, or cuda for a GPU (cpu).", autocompletion=lambda: DEVICES
        ),
    ] = None,
    posterior: Annotated[
        bool | None,
        typer.Option(
            "--posterior/--no-posterior",
            help="Compute error bars by sampling. Later: `ngmca posterior OUT`.",
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="With --posterior: samples of each chain (automatic).")
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
    config: Annotated[Path | None, typer.Option(help="Take the options from a run.toml.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue a stopped run in this folder.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the sources in measurements; write them and a report to a folder."""
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
    settings, out, before = _settings(given, out, config, resume)
    run, place = perform(
        settings, out, force=force, resume=resume is not None, quiet=quiet or as_json, before=before
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
        free = name in ("data", "posterior", "samples", *QUESTIONS)
        if not free and getattr(wanted, name) != value:
            raise ReadError(
                f"a resumed run keeps its options: leave out {flag(name)}, or start again without "
                "--resume."
            )
