"""A run from its settings to a folder: read, separate, answer questions, write, print."""

import os
import shlex
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ngmca import rules
from ngmca._support.atomic_files import write_atomically
from ngmca._support.compiled import compile_notice
from ngmca._support.messages import ArgumentError, Option, message, option, rendered
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.compile_ahead import in_processes, meanwhile
from ngmca.answers.how_many.condensed_data import MAX_RANK
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.answers.how_sure import diagnose
from ngmca.answers.how_sure.next_step import next_step
from ngmca.answers.run import Answers, Run
from ngmca.cli import run_answers
from ngmca.cli.console import as_warning, note, print_json, say, say_run, shows_progress
from ngmca.cli.errors import FAILED, INTERRUPTED, as_bad_input, fail
from ngmca.cli.progress_file import ProgressFile
from ngmca.cli.progress_lines import progress_lines
from ngmca.cli.watchers import KeepFirst, StopOnInterrupt, terminal_progress
from ngmca.constraints import Baseline
from ngmca.engines import Engine, open_data
from ngmca.io import Dataset, ReadError
from ngmca.result import Separation
from ngmca.rotations.rotational_ambiguity import ambiguity, check_number
from ngmca.saving import large_results as large
from ngmca.saving import result_folder, results
from ngmca.saving.checksummed_files import load_interim, save_interim
from ngmca.saving.folder_claim import Claim, claimed
from ngmca.settings.option_files import check_early, task_of
from ngmca.settings.option_names import as_flag, setting_of
from ngmca.settings.run_file import changed_input, provenance, to_toml
from ngmca.settings.settings import AUTO, QUESTIONS, Settings
from ngmca.task.automatic_baseline import with_baseline
from ngmca.task.checkpoints import Checkpoint
from ngmca.task.driver import Prepared, StoppedRunError
from ngmca.task.methods import Rival
from ngmca.task.problem import features_of_data
from ngmca.task.task import Task

REPORT_BYTES = 6e6  # of Plotly and the page
BYTES_PER_NUMBER = 50.0  # in result.nc and in a table


def perform(
    settings: Settings,
    out: Path,
    *,
    force: bool = False,
    resume: bool = False,
    quiet: bool = False,
    before: dict[str, Any] | None = None,
    found: Run | None = None,
    progress: Path | None = None,
) -> tuple[Run, Path]:
    """Read, separate and write; return the run and its folder.

    Parameters
    ----------
    settings : Settings
        What to do.
    out : Path
        The folder for the result. If another program creates it meanwhile, a free name is used.
    force : bool
        Whether to replace an earlier result.
    resume : bool
        Whether to continue a stopped run.
    quiet : bool
        Whether to print errors only.
    before : dict, optional
        The record of an earlier run with these settings; a note says if its input has changed.
    found : Run, optional
        The result of an earlier run with the same data, to which only missing parts are added.
    progress : Path, optional
        A file that always says how far the run is, as JSON.
    """
    told = ProgressFile(progress)
    check_early(settings)
    text = "compiling for the first time on this machine, which takes about 10 seconds."

    @cache
    def compiles() -> None:
        note(text, quiet=quiet)
        told.compiles()

    compiling = compile_notice(compiles)
    with (
        compiling,
        claimed(out, force=force, resume=resume) as claim,
        _explained_stops(claim),
        in_processes(compiles),
        progress_lines(lambda: told.line, show=not quiet and not shows_progress(quiet)),
    ):
        if resume and claim.complete:
            run, error = results.load_run(claim.work / result_folder.RESULT), None
        else:
            run = _run(claim, settings, before or {}, found, told, resume=resume, quiet=quiet)
            told.stage("drawing the report")
            error = _draw(claim.work, run)
        place = claim.finish()
    if place != out:
        note(f"another program created {out} meanwhile, so the result is in {place}.")
    for earlier in result_folder.replaced(out):
        note(f"{earlier} is left of a run that was killed: remove it if you do not need it.")
    if error is not None:
        text = f"the result is in {place}, but its report could not be drawn: {error!r}"
        raise fail(f"{text}. `ngmca report {place}` tries again.", FAILED)
    return run, place


def _run(
    claim: Claim,
    settings: Settings,
    before: dict[str, Any],
    found: Run | None,
    told: ProgressFile,
    *,
    resume: bool,
    quiet: bool,
) -> Run:
    """Read, separate and write all files except the report to the work folder; return the run."""
    told.stage("reading")
    data, record = _read(settings, quiet=quiet)
    told.axis = data.positions
    _check_input(before, record, resume=resume, quiet=quiet)
    with as_bad_input():
        if found is not None:
            large.refuse(data, "an addition to a result", "give these options to `ngmca separate`")
            results.described(found.separation, data)
        library = run_answers.opened_library(settings, data)
        # an earlier result is only sampled and described, which the GPU does not support
        task, prepared = _prepared(data, settings, found)
    claim.check_room(_size(data, settings, prepared))
    claim.begin(to_toml(settings, record), resume=resume)
    described = {"separate": settings.table(), "record": record}
    begun = time.monotonic()
    if found is None:
        if settings.sources == AUTO:
            told.stage("counting the sources")
        prepared, rank = _with_number(task, prepared, settings)
        separation, answered = None, Answers(rank)
    else:
        separation, answered = found.separation, replace(found.answers, refused=())
    separation = _separated(prepared, claim.work, separation, told, quiet=quiet)
    if settings.ambiguity and separation.ambiguity is None:
        told.stage("looking for other mixtures that fit")
        separation = _with_ambiguity(separation, data, prepared, quiet=quiet)
    told.stage("checking the result")
    seen = _shown(claim.work, prepared.engine, separation, data, quiet=quiet)
    answers = run_answers.answers(
        settings, seen.separation, seen.data, answered, library,
        closure=seen.of_each(run_answers.totals_of(prepared.task)), progress=shows_progress(quiet),
    )  # fmt: skip
    if found is not None and answers.refused:  # the earlier result stays as it is
        raise ReadError(answers.refused[0])
    record["seconds"] = round(time.monotonic() - begun, 2)
    record |= {"iterations_done": separation.n_iter, "stopped": separation.stopped}
    record["starts"] = max(1, len(separation.restarts))
    if found is not None:
        record |= {"seconds": found.record.get("record", {}).get("seconds", record["seconds"])}
    diagnostics = diagnose(seen.engine, seen.separation)
    if seen.explained is not None:
        diagnostics = replace(diagnostics, explained=seen.explained)
        record["shown"] = seen.told
    run = Run(seen.separation, diagnostics, seen.data, described, answers)
    told.stage("trying whether another setting is better")
    run = _with_next_step(run, prepared, seen.engine, claim.folder, quiet=quiet)
    results.write(claim.work, run)
    return run


def _with_next_step(run: Run, prepared: Prepared, engine: Engine, folder: Path, *, quiet: bool) -> Run:
    """Return the run with the change that helps most, if the verdict is not green."""
    if run.verdict.colour == "green" or engine is not prepared.engine:
        return run
    if shows_progress(quiet):
        note("the result has warnings: trying whether another setting is better.")
    step = next_step(
        prepared.task, engine, run.separation, run.diagnostics, run.defects,
        data=run.data, chosen=run.answers.rank is not None,
    )  # fmt: skip
    if step is None:
        return run
    told: dict[str, Any] = {"next_step": rendered(step, as_flag)}
    change = step.parts[0]
    if isinstance(change, Option):
        changes = [change]
        if change.name == "ngmca.align" and run.answers.rank is not None:  # which needs the number
            changes.append(option("r", prepared.task.r))
        told["next_command"] = _command(folder, " ".join(map(as_flag, changes)))
        told["next_change"] = {setting_of(one.name): one.value for one in changes}
    return replace(run, record=run.record | told)


def _command(folder: Path, change: str) -> str:
    """Return the command line that repeats the run of a folder with one change."""
    here = Path(os.path.relpath(folder))
    short = folder if len(here.parts) > len(folder.parts) or ".." in here.parts else here
    words = ["--config", str(short / result_folder.RECORD), *change.split(), "-o", f"{short}-next"]
    return shlex.join(["ngmca", "separate", *words])


def _read(settings: Settings, *, quiet: bool) -> tuple[Dataset, dict[str, Any]]:
    """Return the data, and a record of where they and the program come from."""
    with meanwhile():
        data, record = settings.read(), provenance(settings)
    for remark in data.notes:
        note(remark, quiet=quiet)
    return data, record


def _check_input(before: dict[str, Any], record: dict[str, Any], *, resume: bool, quiet: bool) -> None:
    """Print a note if an input has changed since an earlier record; raise an error in a resumed run."""
    other = changed_input(before, record, besides=QUESTIONS if resume else ())
    if other is None:
        return
    has = "have" if other == "the data" else "has"
    if resume:
        raise ArgumentError(
            "{} {} changed since the run began. Start again, without --resume.", other, has
        )
    note(message("{} {} changed since that run.toml was written.", other, has), quiet=quiet)


def _prepared(data: Dataset, settings: Settings, found: Run | None) -> tuple[Task, Prepared]:
    """Return the task, and checked with its data; with -r auto for the largest number of sources.

    The automatic baseline of an earlier result is that of its separation.
    """
    if found is not None:
        settings = replace(settings, device="cpu")
    engine = open_data(data, device=settings.device, lazily=large.is_large(data) or None)
    task = task_of(settings, data)
    if found is not None:
        kind = found.separation.background.found if found.separation.background else ""
        baseline = Baseline(kind, found=True) if kind else None
        task = replace(task, constraints=with_baseline(task.constraints, baseline))
    if settings.ambiguity:
        asked = rules.written(["ambiguity"])
        rules.check(task.features | features_of_data(engine) | asked)
        check_number(task.r if settings.sources != AUTO else 1, engine.shape)
    if settings.sources != AUTO:
        return task, one_blas_thread(Prepared)(task, engine)
    features = task.features | features_of_data(engine)
    rules.check(features | {"auto rank": option("r", AUTO)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # shown once the number is known
        most = replace(
            task, r=min(MAX_RANK, *engine.shape), constraints=with_baseline(task.constraints, None)
        )
        return task, one_blas_thread(Prepared)(most, engine)


def _with_number(
    task: Task, prepared: Prepared, settings: Settings
) -> tuple[Prepared, RankChoice | None]:
    """Return the task with its number of sources, and with -r auto how it was chosen."""
    if settings.sources != AUTO:
        return prepared, None
    task, choice = run_answers.counted(task, prepared.engine)
    with as_bad_input():
        return one_blas_thread(Prepared)(task, prepared.engine), choice


def _separated(
    prepared: Prepared, work: Path, found: Separation | None, told: ProgressFile, *, quiet: bool
) -> Separation:
    """Return the separation, with error bars if asked for, continued from an earlier run."""
    kept = work / result_folder.SEPARATED
    first = load_interim(kept) if found is None and kept.is_file() else None
    if first is not None and (first.restarts or prepared.starts == 1):
        found = first  # all starts were done
    if found is None:
        found = _found(prepared, work, first, told, quiet=quiet)
        if prepared.engine.whole or found.restarts:
            save_interim(kept, found)  # before anything else can fail
    if prepared.task.posterior is None or found.posterior is not None:
        return found
    told.stage("sampling error bars")
    with as_bad_input(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of the chains are among the findings
        return prepared.with_error_bars(found, progress=shows_progress(quiet))


def _with_ambiguity(
    separation: Separation, data: Dataset, prepared: Prepared, *, quiet: bool
) -> Separation:
    """Return the separation with the range of other mixtures that fit as well."""
    known, shown = prepared.task.constraints, shows_progress(quiet)
    with as_bad_input():
        found = ambiguity(data, separation, constraints=known, progress=shown)
    return replace(separation, ambiguity=found)


def _found(
    prepared: Prepared, work: Path, first: Separation | None, told: ProgressFile, *, quiet: bool
) -> Separation:
    """Run the task, from its checkpoint if there is one; a stopped run leaves a checkpoint."""
    told.separates(prepared)
    if isinstance(prepared.task.method, Rival):
        with as_bad_input():
            return one_blas_thread(prepared.find)()
    path = work / result_folder.CHECKPOINT
    checkpoint = None
    if not prepared.in_batches:
        checkpoint = Checkpoint(path, minutes=0.5, resume=path.is_file())
    several = prepared.engine.whole and prepared.starts > 1
    keep = [KeepFirst(work / result_folder.SEPARATED)] if several else []
    with StopOnInterrupt() as stop, terminal_progress(prepared, show=not quiet) as shown:
        return one_blas_thread(prepared.find)(
            watchers=[stop, *keep, *shown, told], checkpoint=checkpoint, first=first
        )


def _shown(
    work: Path, engine: Engine, separation: Separation, data: Dataset, *, quiet: bool
) -> large.Shown:
    """Return what the report shows: all, or a part of large data; then all of A and S go to files."""
    if engine.whole:
        return large.Shown(separation, data, engine)
    large.store(work, separation)
    seen = large.shown(engine, separation, data)
    note(seen.data.notes[-1], quiet=quiet)
    return seen


@contextmanager
def _explained_stops(claim: Claim) -> Iterator[None]:
    """Explain how to continue a run that ends early."""
    onward = f"Continue with: ngmca separate --resume {claim.folder}"
    if claim.force and claim.folder.exists():  # the earlier result is replaced at the end
        onward += " --force"
    try:
        yield
    except StoppedRunError as stop:
        raise fail(f"{stop}; nothing is lost. {onward}", INTERRUPTED) from None
    except KeyboardInterrupt:
        if not claim.can_resume:
            raise
        text = f"stopped; the result so far is kept{large.stored(claim.work)}. {onward}"
        raise fail(text, INTERRUPTED) from None
    except Exception as error:
        if claim.can_resume and not isinstance(error, ReadError | ArgumentError):
            note(f"the result so far is kept{large.stored(claim.work)}. {onward}")
        raise


def _size(data: Dataset, settings: Settings, prepared: Prepared) -> float:
    """Return about how many bytes the files of a result need at most, written twice."""
    sources = min(prepared.task.r, *data.Y.shape)
    each = (5 if settings.posterior else 1) + (2 if prepared.starts > 1 else 0)
    each += 2 if settings.ambiguity else 0
    each += 8 if settings.standards or settings.responses or settings.library else 0
    if not large.is_large(data):
        return 2 * (REPORT_BYTES + BYTES_PER_NUMBER * sources * sum(data.Y.shape) * each)
    shown = sources * sum(large.shape_shown(data.Y.shape)) * each
    whole = 8.0 * sources * sum(data.Y.shape)  # of A and S: in files, in a checkpoint and in its next
    return 2 * (REPORT_BYTES + BYTES_PER_NUMBER * shown) + 3 * whole


def _draw(folder: Path, run: Run) -> Exception | None:
    """Write the report of a run; return an error, which must not cost the result."""
    try:
        from ngmca import report  # Plotly takes a second to load

        write_atomically(folder / result_folder.REPORT, report.html(run, as_flag))
    except Exception as error:
        return error
    return None


def print_run(run: Run, place: Path, *, quiet: bool, as_json: bool) -> None:
    """Print a result and its folder, as sentences or as JSON."""
    if as_json:
        warnings_of_run = [as_warning(finding) for finding in run.findings]
        verdict = {
            name: getattr(run.verdict, name) for name in ("colour", "text", "next_step", "command")
        }
        facts = {"out": str(place), "verdict": verdict, "warnings": warnings_of_run}
        facts |= run.record["record"]
        print_json(results.describe(run) | facts)
        return
    say_run(run, quiet=quiet)
    part = run.record["record"].get("shown")
    report = f"report: {place / result_folder.REPORT}"
    say(f"{report}, which shows {part}" if part else report, quiet=quiet)
