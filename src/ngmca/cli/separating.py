"""`ngmca separate`: from a file to a folder with sources, weights and a report."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ngmca import baselines, results, sampling
from ngmca import folder as places
from ngmca.cli import running
from ngmca.cli.console import (
    INTERRUPTED,
    as_bad_input,
    fail,
    give_json,
    note,
    one_line_errors,
    say,
    stderr,
)
from ngmca.cli.settings import Settings, from_file, provenance, to_toml
from ngmca.diagnostics import diagnose
from ngmca.findings import findings, percent, summary
from ngmca.inputs import check_choice
from ngmca.io import Dataset, ReadError
from ngmca.records import METHODS, Options, Separation, State
from ngmca.separation import check_sampling, iterate
from ngmca.separation import separate as ngmca_separate

ALL_METHODS = (*METHODS, *baselines.METHODS)
EXAMPLES = """
[bold]Examples[/]

  ngmca separate spectra.csv -r 4 -o result

  ngmca separate nmr_folder -r 5 -o result --nucleus 1H --range 0.5:9.5

  ngmca separate cube.h5 --dataset /scan/data -r 6 -o result --tau 2

  ngmca separate spectra.csv -r 4 -o result --posterior

  ngmca separate --config result/run.toml -o again

  ngmca separate --resume result

Formats: .npy .npz .csv .tsv .txt (.gz), .mat, HDF5, Zarr, NetCDF.

With `pip install 'ngmca\\[io]'` also Bruker, Varian, NMRPipe, JCAMP-DX, ENVI, imzML, rosettasciio's.

A folder of spectra is read as one table.
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
    tau: Annotated[float | None, typer.Option(help="Final threshold in units of the noise (1).")] = None,
    iterations: Annotated[
        int | None, typer.Option(help="Number of iterations (as many as it takes).")
    ] = None,
    refinement: Annotated[
        float | None, typer.Option(help="Share of the iterations at the final threshold (0.2).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first guess (0).")] = None,
    noise: Annotated[
        float | None, typer.Option(help="Standard deviation of the noise (estimated).")
    ] = None,
    posterior: Annotated[
        bool | None,
        typer.Option("--posterior/--no-posterior", help="Sample for error bars and better sources."),
    ] = None,
    transpose: Annotated[
        bool | None,
        typer.Option("--transpose/--no-transpose", help="Samples are in the rows (found out)."),
    ] = None,
    range_: Annotated[
        str | None, typer.Option("--range", help="Part of the axis, as 0.5:9.5.", metavar="LOW:HIGH")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which data, in a file that has several.")] = None,
    nucleus: Annotated[str | None, typer.Option(help="Which NMR experiments, as 1H.")] = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a run.toml.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a run that was stopped.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing result.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Find the sources in measurements, and write them with a report into a folder."""
    given: dict[str, Any] = {
        "data": tuple(data) if data else None, "sources": sources, "method": method, "tau": tau,
        "iterations": iterations, "refinement": refinement, "seed": seed, "noise": noise,
        "posterior": posterior, "transpose": transpose, "range": range_, "dataset": dataset,
        "nucleus": nucleus,
    }  # fmt: skip
    settings, out, known = _gather(given, out, config, resume)
    run = perform(
        settings, out, force=force, resume=resume is not None, quiet=quiet or as_json, known=known
    )
    if as_json:
        warned = [vars(found) for found in findings(run.separation, run.diagnostics)]
        give_json(results.describe(run) | {"out": str(out), "warnings": warned, **run.record["record"]})
    else:
        _tell(run, out, quiet=quiet)


def perform(
    settings: Settings,
    out: Path,
    *,
    force: bool = False,
    resume: bool = False,
    quiet: bool = False,
    known: str | None = None,
) -> results.Run:
    """Read, separate and write; the run that is then in `out`."""
    places.check_replaceable(out, force=force)
    data = settings.read()
    for remark in data.notes:
        note(remark, quiet=quiet)
    record = provenance(settings)
    if known not in (None, record["sha256"]):
        note("the data have changed since that run.toml was written.", quiet=quiet)
    begun = time.monotonic()
    with places.claimed(out, force=force, resume=resume) as work:
        try:
            (work / "run.toml").write_text(to_toml(settings, record), encoding="utf-8")
            separation = running.load_finished(work) or _separate(settings, data, work, quiet=quiet)
            if settings.posterior:
                running.save_finished(separation, work)
                separation = _sampled(separation, settings, data, quiet=quiet)
            record["seconds"] = round(time.monotonic() - begun, 2)
            record |= {"iterations_done": separation.n_iter, "stopped": separation.stopped}
            run = _finished(separation, data, settings, record)
            _write(run, settings, work)
            places.finish(work, out)
        except running.InterruptedRunError as stop:
            raise fail(
                f"{stop}; nothing is lost. Go on with: ngmca separate --resume {out}", INTERRUPTED
            ) from None
        except BaseException as error:
            _clean(work)
            if isinstance(error, KeyboardInterrupt) and work.exists():
                raise fail(
                    f"stopped; what was found so far is kept. Go on with: ngmca separate --resume {out}",
                    INTERRUPTED,
                ) from None
            raise
    return run


def _gather(
    given: dict[str, Any], out: Path | None, config: Path | None, resume: Path | None
) -> tuple[Settings, Path, str | None]:
    """Settings from all sides, the folder, and the hash that the input had before, if known."""
    if resume is not None:
        if out is not None and places.absolute(out) != places.absolute(resume):
            raise ReadError(f"--resume {resume} goes on in {resume}: leave out -o {out}.")
        out = resume
        config = places.unfinished(places.absolute(resume)) / "run.toml"
        if not config.is_file():
            raise ReadError(f"{resume} has no run that was stopped: there is nothing to go on with.")
    settings, record = from_file(config) if config is not None else (Settings(), {})
    settings = settings.changed(**given)
    if not settings.data:
        raise ReadError("no data were given: name a file or folder. See `ngmca separate --help`.")
    if settings.sources is None:
        raise ReadError("the number of sources is missing: -r 4. `ngmca info DATA` helps to choose it.")
    if out is None:
        raise ReadError("the folder for the result is missing: -o FOLDER.")
    return settings, places.absolute(out), record.get("sha256")


def _separate(settings: Settings, data: Dataset, work: Path, *, quiet: bool) -> Separation:
    options, recorder = settings.options(), running.Recorder()
    with as_bad_input():
        check_choice(settings.method, "method", ALL_METHODS)
        if settings.posterior:
            check_sampling(settings.method)
    if settings.method in baselines.METHODS:  # rivals show no states: they run whole
        with as_bad_input():
            return ngmca_separate(data.Y, settings.sources or 0, **options)
    checkpoint = running.load_checkpoint(work)
    if checkpoint is not None:
        options, recorder = running.remaining(options, checkpoint), checkpoint.recorder
    with as_bad_input():
        states = iterate(data.Y, settings.sources or 0, **options)
    total = recorder.before + Options(n_iter=options["n_iter"]).schedule.n_iter
    with _progress(data, total, recorder.before, show=not quiet) as show:
        return running.consume(states, recorder, work, total, show)


def _sampled(separation: Separation, settings: Settings, data: Dataset, *, quiet: bool) -> Separation:
    """The same with its posterior; what the chains warn of is among the findings."""
    with as_bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = not quiet and stderr().is_terminal
        found = sampling.posterior(
            data.Y, separation, noise=settings.noise, seed=settings.seed, progress=shown
        )
    return replace(separation, posterior=found)


def _finished(
    separation: Separation, data: Dataset, settings: Settings, record: dict[str, Any]
) -> results.Run:
    table = {key: value for key, value in vars(settings).items() if value is not None}
    return results.Run(
        separation, diagnose(data.Y, separation), data, {"separate": table, "record": record}
    )


def _write(run: results.Run, settings: Settings, work: Path) -> None:
    from ngmca import report  # Plotly takes a second to load: not before it is needed

    text = to_toml(settings, run.record["record"])
    results.write(work, run, report=report.html(run), record=text)


def _clean(work: Path) -> None:
    """Take away what an error left, except a checkpoint to resume from."""
    kept = (places.MARKER, places.CHECKPOINT, "run.toml")
    if not work.exists():
        return
    if not (work / places.CHECKPOINT).is_file():
        places.clear(work, keep=())
        work.rmdir()
    else:
        places.clear(work, keep=kept)


@contextmanager
def _progress(
    data: Dataset, total: int, before: int, *, show: bool
) -> Iterator[Callable[[State], None]]:
    """A function to call with every state: it draws iterations, time left, threshold and residual."""
    console = stderr()
    if not show or not console.is_terminal:
        yield lambda state: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    energy = float(np.linalg.norm(data.Y))
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("separating", total=total, completed=before, told="")

        def draw(state: State) -> None:
            residual = np.sqrt(2 * state.cost) / energy if energy > 0 else 0.0
            told = f"threshold {np.max(state.lam):.3g}  residual {percent(float(residual))}"
            bar.update(task, completed=before + state.k, told=told)

        yield draw


def _tell(run: results.Run, out: Path, *, quiet: bool) -> None:
    """The summary of a run in the terminal."""
    for sentence in summary(run.separation, run.diagnostics):
        say(sentence, quiet=quiet)
    for found in findings(run.separation, run.diagnostics):
        say(f"! {found.title}. {found.text}", quiet=quiet)
    say(f"report: {out / 'report.html'}", quiet=quiet)
