"""`ngmca separate`: from a file to a folder with sources, weights and a report."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ngmca import rivals, sampling
from ngmca._support.arguments import check_rank
from ngmca._support.first_use import telling
from ngmca.algorithms import DEFAULTS, DOMAINS, METHODS
from ngmca.algorithms.restarts import choose
from ngmca.algorithms.warming import meanwhile
from ngmca.cli import given as beforehand
from ngmca.cli import loop
from ngmca.cli.console import (
    FAILED,
    FLAGS,
    INTERRUPTED,
    as_bad_input,
    as_warning,
    fail,
    give_json,
    in_flags,
    note,
    one_line_errors,
    say,
    say_run,
    stderr,
)
from ngmca.cli.settings import (
    STARTS,
    AsJson,
    Axis,
    Columns,
    Header,
    Nucleus,
    Range,
    Settings,
    Skip,
    Transpose,
    Which,
    changed,
    from_file,
    number_or_word,
    provenance,
    to_toml,
)
from ngmca.data import InMemory, open_data
from ngmca.diagnosis import diagnose
from ngmca.io import Dataset, ReadError
from ngmca.result import Separation
from ngmca.saving import checkpoints, result_folder, results
from ngmca.saving.claim import Claim, claimed
from ngmca.saving.whole_files import write_whole
from ngmca.separation import check_method, check_sampling, iterate
from ngmca.separation import separate as separate_whole

ALL_METHODS = (*METHODS, *rivals.METHODS)
REPORT_BYTES, NUMBER_BYTES = 6e6, 50.0  # Plotly and the page; a number in result.nc and in a table
COMPILING = "compiling for the first time on this machine, about half a minute."
FREE = ("data", "posterior", "samples")  # what a resumed run may be given anew: no change to iterations
EXAMPLES = """
[bold]Examples[/]

  ngmca separate spectra.csv -r 4 -o result

  ngmca separate nmr_folder -r 5 -o result --nucleus 1H --range 0.5:9.5

  ngmca separate cube.h5 --dataset /scan/data -r 6 -o result --tau 2

  ngmca separate spectra.csv -r 4 -o result --posterior

  ngmca separate --config result/run.toml -o again

  ngmca separate --resume result

Formats: .npy .npz .csv .tsv .txt (.gz), .mat, HDF5, Zarr, NetCDF, SPC, PerkinElmer, Princeton, mzML.

With `pip install 'ngmca\\[io]'` also Excel, LibreOffice, Bruker, Varian, NMRPipe, JCAMP-DX, OPUS, Omnic,
ENVI, imzML, and what rosettasciio reads. A folder of spectra is read as one table.
"""


@one_line_errors
def separate(
    data: Annotated[list[str] | None, typer.Argument(help="Files or folders of measurements.")] = None,
    sources: Annotated[int | None, typer.Option("-r", "--sources", help="Number of sources.")] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Folder for the result.")] = None,
    method: Annotated[
        str | None,
        typer.Option(help=f"Algorithm: {', '.join(ALL_METHODS)}.", autocompletion=lambda: ALL_METHODS),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(help=f"Final threshold in units of the noise ({DEFAULTS.tau:g})."),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Number of iterations (as many as it takes).")
    ] = None,
    refinement: Annotated[
        float | None,
        typer.Option(help=f"Share of the iterations at the final threshold ({DEFAULTS.refinement:g})."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first guess (0).")] = None,
    n_init: Annotated[
        int | None,
        typer.Option(
            min=1, help=f"First guesses to try; the best is kept ({STARTS}; 1 where data are large)."
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
        typer.Option("--robust/--no-robust", help="Give no weight to spikes that no source explains."),
    ] = None,
    known_sources: Annotated[
        str | None, typer.Option(help="Spectra of the first sources, that are known.", metavar="FILE")
    ] = None,
    known_mixing: Annotated[
        str | None, typer.Option(help="Known weights: a row a measurement.", metavar="FILE")
    ] = None,
    known_scale: Annotated[
        str | None, typer.Option(help="Whether known spectra have their scale: fixed or free (fixed).")
    ] = None,
    closure: Annotated[
        str | None,
        typer.Option(help="What the weights of a measurement sum up to.", metavar="TOTAL|FILE"),
    ] = None,
    profiles: Annotated[
        str | None, typer.Option(help="Shape of weights: unimodal, increasing or decreasing.")
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
    posterior: Annotated[
        bool | None,
        typer.Option(
            "--posterior/--no-posterior", help="Sample for error bars; later: `ngmca posterior OUT`."
        ),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of each chain of --posterior (as many as it takes).")
    ] = None,
    transpose: Transpose = None,
    range_: Range = None,
    dataset: Which = None,
    nucleus: Nucleus = None,
    axis: Axis = None,
    header: Header = None,
    skip: Skip = None,
    columns: Columns = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a run.toml.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a run that was stopped.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the sources in measurements, and write them with a report into a folder."""
    given: dict[str, Any] = {
        "data": tuple(data) if data else None, "sources": sources, "method": method, "tau": tau,
        "iterations": iterations, "refinement": refinement, "seed": seed,
        "noise": number_or_word(noise), "gain": gain, "readout": readout, "robust": robust,
        "known_sources": known_sources, "known_mixing": known_mixing, "known_scale": known_scale,
        "closure": number_or_word(closure), "profiles": profiles, "baseline": baseline,
        "penalised": penalised,
        "n_init": n_init, "domain": domain, "posterior": posterior, "samples": samples,
        "transpose": transpose, "range": range_, "dataset": dataset,
        "nucleus": nucleus, "axis": axis, "header": header, "skip": skip, "columns": columns,
    }  # fmt: skip
    settings, out, known = _gather(given, out, config, resume)
    run, place = perform(
        settings, out, force=force, resume=resume is not None, quiet=quiet or as_json, known=known
    )
    tell(run, place, quiet=quiet, as_json=as_json)


def tell(run: results.Run, place: Path, *, quiet: bool, as_json: bool) -> None:
    """Print what was found and where it is, as sentences or as JSON."""
    if as_json:
        warned = [as_warning(finding) for finding in run.findings]
        told = {"out": str(place), "warnings": warned, **run.record["record"]}
        give_json(results.describe(run) | told)
    else:
        say_run(run, quiet=quiet)
        say(f"report: {place / result_folder.REPORT}", quiet=quiet)


def perform(
    settings: Settings,
    out: Path,
    *,
    force: bool = False,
    resume: bool = False,
    quiet: bool = False,
    known: dict[str, Any] | None = None,
    found: Separation | None = None,
) -> tuple[results.Run, Path]:
    """Read, separate and write; the run, and the folder that it is in: `out`, unless that was taken.

    What was `found` in the same data before is not looked for again.
    """
    compiling = telling(lambda: note(COMPILING, quiet=quiet))
    with compiling, claimed(out, force=force, resume=resume) as claim, _told_what_is_kept(claim):
        if resume and claim.whole:
            run = results.load_run(claim.work / result_folder.RESULT)
            undrawn = None
        else:
            run = _run(claim, settings, known, found, resume=resume, quiet=quiet)
            undrawn = _draw(claim.work, run)
        place = claim.finish()
    if place != out:
        note(f"{out} came into being meanwhile and is left alone: the result is in {place}.")
    for earlier in result_folder.replaced(out):
        note(f"a run was killed while it replaced {earlier}: remove that when you do not need it.")
    if undrawn is not None:
        told = f"the result is in {place}, but its report could not be drawn: {undrawn!r}"
        raise fail(f"{told}. `ngmca report {place}` tries it again.", FAILED)
    return run, place


def _run(
    claim: Claim,
    settings: Settings,
    known: dict[str, Any] | None,
    found: Separation | None,
    *,
    resume: bool,
    quiet: bool,
) -> results.Run:
    """Read and separate; the run, of which all but the report is then in the folder to work in."""
    data, record = _read(settings, quiet=quiet)
    other = changed(known or {}, record)
    if other:
        has = "have" if other == "the data" else "has"
        if resume:
            raise ReadError(f"{other} {has} changed since the run began: begin anew, without --resume.")
        note(f"{other} {has} changed since that run.toml was written.", quiet=quiet)
    with as_bad_input():
        engine = opened(data)
        options = settings.options() | beforehand.options(settings, data, quiet=quiet)
        _check_options(engine, settings, options)
        if found is not None:
            results.described(found, data)
    claim.check_room(_size(data, settings))
    claim.begin(to_toml(settings, record), resume=resume)
    begun = time.monotonic()
    separation = _separated(engine, settings, options, claim.work, found, quiet=quiet)
    separation = replace(separation, parts=engine.parts)
    record["seconds"] = round(time.monotonic() - begun, 2)
    record |= {"iterations_done": separation.n_iter, "stopped": separation.stopped}
    record["starts"] = max(1, len(separation.restarts))
    described = {"separate": settings.table(), "record": record}
    run = results.Run(separation, diagnose(engine, separation), data, described)
    results.write(claim.work, run)
    return run


def opened(data: Dataset) -> InMemory:
    """The engine of the data, which knows which of its measurements are of which file."""
    engine = open_data(data.Y)
    engine.parts = data.parts
    return engine


def _check_options(engine: InMemory, settings: Settings, options: dict[str, Any]) -> None:
    """Refuse what these data do not bear, before an earlier run makes room."""
    check_rank(settings.sources, engine.shape, warn=False)
    if settings.method in METHODS:
        iterate(engine, settings.sources or 0, **options)  # checks, and begins nothing


def _size(data: Dataset, settings: Settings) -> float:
    """About how many bytes the files of a result take at most, written twice."""
    sources = min(settings.sources or 0, *data.Y.shape)  # more are refused
    numbers = sources * sum(data.Y.shape) * (5 if settings.posterior else 1)
    return 2 * (REPORT_BYTES + NUMBER_BYTES * numbers)


def _draw(folder: Path, run: results.Run) -> Exception | None:
    """Write the report of a run; what went wrong, which must not cost the result."""
    try:
        write_whole(folder / result_folder.REPORT, _report(run))
    except Exception as error:
        return error
    return None


@contextmanager
def _told_what_is_kept(claim: Claim) -> Iterator[None]:
    """Ends of a run before its time, told with the way to go on where there is one."""
    onward = f"Go on with: ngmca separate --resume {claim.folder}"
    if claim.force and claim.folder.exists():  # what is there is replaced at the end
        onward += " --force"
    try:
        yield
    except loop.StoppedRunError as stop:
        raise fail(f"{stop}; nothing is lost. {onward}", INTERRUPTED) from None
    except KeyboardInterrupt:
        if not claim.kept:
            raise
        raise fail(f"stopped; what was found so far is kept. {onward}", INTERRUPTED) from None
    except Exception as error:
        if claim.kept and not isinstance(error, ReadError):
            note(f"what was found so far is kept. {onward}")
        raise


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
        raise ReadError("the number of sources is missing: -r 4. `ngmca info DATA` helps to choose it.")
    if out is None:
        raise ReadError("the folder for the result is missing: -o FOLDER.")
    with as_bad_input():
        check_method(settings.method)
        if settings.posterior:
            check_sampling(settings.method)
            sampling.check_known(settings.known, bands=settings.domain == "wavelet")
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


def _read(settings: Settings, *, quiet: bool) -> tuple[Dataset, dict[str, Any]]:
    """The data, and where they and the program come from."""
    with meanwhile():
        data, record = settings.read(), provenance(settings)
    for remark in data.notes:
        note(remark, quiet=quiet)
    return data, record


def _separated(
    engine: InMemory,
    settings: Settings,
    options: dict[str, Any],
    work: Path,
    found: Separation | None,
    *,
    quiet: bool,
) -> Separation:
    """The separation, with its posterior if asked for, from where an earlier run came to."""
    kept = work / result_folder.SEPARATED
    if found is not None:
        separation = found
    elif kept.is_file():
        separation = results.load(kept)
    else:
        separation = _iterated(engine, settings, options, work, quiet=quiet)
        results.save(kept, separation)  # before anything else is attempted
    if not separation.restarts and settings.starts(engine.shape) > 1:
        separation = _best_start(engine, settings, options, separation, quiet=quiet)
        results.save(kept, separation)
    if not settings.posterior:
        return separation
    with as_bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the chains warn of is among the findings
        shown = not quiet and stderr().is_terminal
        posterior = sampling.posterior(
            engine, separation, seed=settings.seed, progress=shown,
            n_samples=settings.samples or "auto",
            **{name: value for name, value in options.items() if name in beforehand.SAMPLED},
        )  # fmt: skip
    return replace(separation, posterior=posterior)


def _iterated(
    engine: InMemory, settings: Settings, options: dict[str, Any], work: Path, *, quiet: bool
) -> Separation:
    """The separation, from the checkpoint in the folder, if there is one."""
    r = settings.sources or 0
    if settings.method in rivals.METHODS:  # rivals show no states: they run whole
        with as_bad_input():
            return separate_whole(engine, r, **options, n_init=settings.starts(engine.shape))
    so_far = checkpoints.load(work)
    with as_bad_input():
        states = iterate(engine, r, **options, resume=so_far.state)
        total = settings.algorithm.most
    with loop.progress(engine, total, so_far.done, show=not quiet) as show:
        return loop.consume(states, so_far, work, total, show)


def _best_start(
    engine: InMemory, settings: Settings, options: dict[str, Any], first: Separation, *, quiet: bool
) -> Separation:
    """The best of several starts, of which the first is known; a resumed run makes the others anew."""
    starts, r = settings.starts(engine.shape), settings.sources or 0
    if settings.method in rivals.METHODS:
        return first
    rng = np.random.default_rng(settings.seed)
    rng.spawn(1)  # of the first; the next ones are those of `ngmca.separate`
    runs = [first]
    for k in range(1, starts):
        states = iterate(engine, r, **options | {"seed": rng})
        total, told = settings.algorithm.most, f"start {k + 1} of {starts}  "
        with loop.progress(engine, total, 0, show=not quiet, told=told) as show:
            runs.append(loop.run_through(states, show))
    unit = engine.unit
    plain = engine.weights is None and beforehand.is_plain(
        {name: value for name, value in options.items() if name not in settings.options()}
    )
    best = choose(engine, [run.scaled(1 / unit) for run in runs], settings.algorithm, plain=plain)
    return best.scaled(unit)


def _report(run: results.Run) -> str:
    from ngmca import report  # Plotly takes a second to load: not before it is needed

    return report.html(run, in_flags)
