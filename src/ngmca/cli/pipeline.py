"""From settings to a folder: read, separate, write, and tell what was found."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ngmca import rivals, sampling
from ngmca._support.arguments import check_rank
from ngmca._support.atomic_files import write_atomically
from ngmca._support.compile_notice import compile_notice
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms import METHODS
from ngmca.algorithms.compile_ahead import meanwhile
from ngmca.algorithms.on_card import check_on_card
from ngmca.algorithms.restarts import at_once, choose, workers_for
from ngmca.answers.how_many.choose_rank import MOST
from ngmca.answers.how_sure import diagnose
from ngmca.cli import loop
from ngmca.cli import option_files as beforehand
from ngmca.cli import run_answers as answering
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
    say,
    say_run,
    stderr,
)
from ngmca.cli.settings import ASKED, AUTO, Settings, changed, provenance, to_toml
from ngmca.engines import InMemory, OnGpu, open_data
from ngmca.io import Dataset, ReadError
from ngmca.result import Separation
from ngmca.saving import checkpoints, result_folder, results
from ngmca.saving import large_results as large
from ngmca.saving.answers_in_file import Answers
from ngmca.saving.folder_claim import Claim, claimed
from ngmca.separation import iterate
from ngmca.separation import separate as separate_whole
from ngmca.task.known import NOTHING

REPORT_BYTES, NUMBER_BYTES = 6e6, 50.0  # Plotly and the page; a number in result.nc and in a table
COMPILING = "compiling for the first time on this machine, about half a minute."


def perform(
    settings: Settings,
    out: Path,
    *,
    force: bool = False,
    resume: bool = False,
    quiet: bool = False,
    known: dict[str, Any] | None = None,
    found: results.Run | None = None,
) -> tuple[results.Run, Path]:
    """Read, separate and write; the run, and the folder that it is in: `out`, unless that was taken.

    What was `found` in the same data before is not looked for again.
    """
    compiling = compile_notice(lambda: note(COMPILING, quiet=quiet))
    with compiling, claimed(out, force=force, resume=resume) as claim, _told_what_is_kept(claim):
        if resume and claim.complete:
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
    found: results.Run | None,
    *,
    resume: bool,
    quiet: bool,
) -> results.Run:
    """Read and separate; the run, of which all but the report is then in the folder to work in."""
    data, record = _read(settings, quiet=quiet)
    other = changed(known or {}, record, besides=ASKED if resume else ())
    if other:
        has = "have" if other == "the data" else "has"
        if resume:
            raise ReadError(f"{other} {has} changed since the run began: begin anew, without --resume.")
        note(f"{other} {has} changed since that run.toml was written.", quiet=quiet)
    with as_bad_input():
        _check_large(data, settings, found)
        # what is found already is only looked at, and sampled: a card would not be heeded
        engine = opened(data, settings.device if found is None else "cpu")
        options = settings.options() | beforehand.options(settings, data, quiet=quiet)
        _check_options(engine, settings, options)
        library = answering.opened(settings, data)
        if found is not None:
            results.described(found.separation, data)
    claim.check_room(_size(data, settings))
    claim.begin(to_toml(settings, record), resume=resume)
    described = {"separate": settings.table(), "record": record}
    begun = time.monotonic()
    if found is None:
        noise = options.get("noise")
        settings, rank = answering.counted(engine, data, settings, noise, claim.work, quiet=quiet)
        separation, known_before = None, Answers(rank)
    else:
        separation, known_before = found.separation, replace(found.answers, refused=())
    separation = _separated(engine, settings, options, claim.work, separation, quiet=quiet)
    seen = _shown(claim.work, engine, replace(separation, parts=engine.parts), data, quiet=quiet)
    answers = answering.answers(
        settings, seen.separation, seen.data, known_before, library,
        closure=seen.of_each(options.get("closure")), progress=not quiet and stderr().is_terminal,
    )  # fmt: skip
    if found is not None and answers.refused:  # there is a result, which stays as it is
        raise ReadError(answers.refused[0])
    record["seconds"] = round(time.monotonic() - begun, 2)
    record |= {"iterations_done": separation.n_iter, "stopped": separation.stopped}
    record["starts"] = max(1, len(separation.restarts))
    if found is not None:  # how long it took to find
        record |= {"seconds": found.record.get("record", {}).get("seconds", record["seconds"])}
    diagnostics = diagnose(seen.engine, seen.separation)
    if seen.explained is not None:
        diagnostics = replace(diagnostics, explained=seen.explained)
        record["shown"] = seen.told
    run = results.Run(seen.separation, diagnostics, seen.data, described, answers)
    results.write(claim.work, run)
    return run


def _shown(
    work: Path, engine: InMemory, separation: Separation, data: Dataset, *, quiet: bool
) -> large.Shown:
    """What is told of a separation: all of it, or of large data a part, with A and S in files."""
    if engine.whole:
        return large.Shown(separation, data, engine)
    large.store(work, separation)
    seen = large.shown(engine, separation, data)
    note(seen.data.notes[-1], quiet=quiet)
    return seen


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
        if not claim.can_resume:
            raise
        told = f"stopped; what was found so far is kept{large.stored(claim.work)}. {onward}"
        raise fail(told, INTERRUPTED) from None
    except Exception as error:
        if claim.can_resume and not isinstance(error, ReadError):
            note(f"what was found so far is kept{large.stored(claim.work)}. {onward}")
        raise


def _read(settings: Settings, *, quiet: bool) -> tuple[Dataset, dict[str, Any]]:
    """The data, and where they and the program come from."""
    with meanwhile():
        data, record = settings.read(), provenance(settings)
    for remark in data.notes:
        note(remark, quiet=quiet)
    return data, record


def opened(data: Dataset, device: str = "cpu") -> InMemory:
    """The engine of the data, which knows which of its measurements are of which file."""
    # what was left where it is stays there, though there may be more memory by now
    engine = open_data(data.Y, device=device, lazily=large.is_large(data) or None)
    engine.parts = data.parts
    return engine


def _check_options(engine: InMemory, settings: Settings, options: dict[str, Any]) -> None:
    """Refuse what these data do not bear, before an earlier run makes room."""
    r = _most(settings, engine.shape)
    check_rank(r, engine.shape, warn=False)
    check_on_card(
        engine,
        settings.method,
        NOTHING,
        None,
        robust=settings.robust,
        posterior=settings.posterior,
        auto=settings.sources == AUTO,
    )
    if settings.method in METHODS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are told when it begins
            iterate(engine, r, **options)  # checks, and begins nothing


def _check_large(data: Dataset, settings: Settings, found: results.Run | None) -> None:
    """Refuse what needs all data at once where they are too large, before they are looked at."""
    if found is not None:
        large.refuse(data, "an addition to a result", "ask for it when you separate")
    if settings.sources == AUTO:
        large.refuse(data, "-r auto", "give a number of sources, as -r 4")
    for name in ("posterior", "robust"):
        if getattr(settings, name):
            large.refuse(data, FLAGS[name], "leave it out")
    if settings.method in rivals.METHODS:
        large.refuse(data, f"--method {settings.method}", f"take one of {', '.join(METHODS)}")


def _most(settings: Settings, shape: tuple[int, int]) -> int:
    """The number of sources, or the most that there may be found."""
    return min(MOST, *shape) if settings.sources == AUTO else settings.number


def _size(data: Dataset, settings: Settings) -> float:
    """About how many bytes the files of a result take at most, written twice."""
    sources = min(_most(settings, data.Y.shape), *data.Y.shape)
    each = (5 if settings.posterior else 1) + (2 if settings.starts(data.Y.shape) > 1 else 0)
    each += 8 if settings.standards or settings.responses or settings.library else 0
    if not large.is_large(data):
        return 2 * (REPORT_BYTES + NUMBER_BYTES * sources * sum(data.Y.shape) * each)
    shown = sources * sum(large.shape_shown(data.Y.shape)) * each
    whole = 8.0 * sources * sum(data.Y.shape)  # of A and S: in files, in a checkpoint and in its next
    return 2 * (REPORT_BYTES + NUMBER_BYTES * shown) + 3 * whole


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
        if engine.whole:
            results.save(kept, separation)  # before anything else is attempted
    if not separation.restarts and settings.starts(engine.shape) > 1:
        separation = _best_start(engine, settings, options, separation, quiet=quiet)
        results.save(kept, separation)
    if not settings.posterior or separation.posterior is not None:
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
    r = settings.number
    if settings.method in rivals.METHODS:  # rivals show no states: they run whole
        with as_bad_input():
            return separate_whole(engine, r, **options, n_init=settings.starts(engine.shape))
    so_far = checkpoints.load(work)
    with as_bad_input():
        states = iterate(engine, r, **options, resume=so_far.state)
        total = settings.algorithm.most
    with loop.progress(engine, total, so_far.done, show=not quiet) as show:
        found = loop.consume(states, so_far, work, total, show)
    if not engine.whole:
        checkpoints.save(work, so_far)  # what follows may fail: `SEPARATED` is for what fits in memory
    return found


def _best_start(
    engine: InMemory, settings: Settings, options: dict[str, Any], first: Separation, *, quiet: bool
) -> Separation:
    """The best of several starts, of which the first is known; a resumed run makes the others anew."""
    starts, r = settings.starts(engine.shape), settings.number
    if settings.method in rivals.METHODS:
        return first
    if isinstance(engine, OnGpu):  # all of them at once, where data are small
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of was told of the first
            return separate_whole(engine, r, **options, n_init=starts, progress=not quiet)
    total = settings.algorithm.most
    with loop.progress_of_starts(total, starts - 1, show=not quiet) as shown:

        def run(k: int, stopped: Callable[[], bool]) -> Separation:
            # of the same seed as the children of `ngmca.separate`, of which the first was the first
            seed = np.random.SeedSequence(settings.seed, n_children_spawned=k)
            states = iterate(engine, r, **options | {"seed": np.random.default_rng(seed)})
            return loop.run_through(shown(states), stopped)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of was told of the first
            runs = one_blas_thread(at_once)(run, range(1, starts), workers_for(engine, r))
    unit = engine.unit
    plain = engine.weights is None and beforehand.is_plain(
        {name: value for name, value in options.items() if name not in settings.options()}
    )
    best = choose(
        engine, [one.scaled(1 / unit) for one in (first, *runs)], settings.algorithm, plain=plain
    )
    return best.scaled(unit)


def _draw(folder: Path, run: results.Run) -> Exception | None:
    """Write the report of a run; what went wrong, which must not cost the result."""
    try:
        write_atomically(folder / result_folder.REPORT, _report(run))
    except Exception as error:
        return error
    return None


def _report(run: results.Run) -> str:
    from ngmca import report

    return report.html(run, in_flags)


def tell(run: results.Run, place: Path, *, quiet: bool, as_json: bool) -> None:
    """Print what was found and where it is, as sentences or as JSON."""
    if as_json:
        warned = [as_warning(finding) for finding in run.findings]
        told = {"out": str(place), "warnings": warned, **run.record["record"]}
        give_json(results.describe(run) | told)
        return
    say_run(run, quiet=quiet)
    part = run.record["record"].get("shown")
    report = f"report: {place / result_folder.REPORT}"
    say(f"{report}, which shows {part}" if part else report, quiet=quiet)
