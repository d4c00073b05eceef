"""Commands that run the paper's experiments: `ngmca paper list | run | all | show | report`."""

from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import filter as matching
from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca._support.atomic_files import occupied, write_atomically
from ngmca._support.extras import load_extra
from ngmca._support.threads import available
from ngmca.cli.console import note, say, stderr, stdout
from ngmca.cli.errors import FAILED, INTERRUPTED, as_bad_input, fail, one_line_errors
from ngmca.io import ReadError

RUN_EXAMPLES = """
[bold]Examples[/]

  ngmca paper run noise_a10r15 --sims 4

  ngmca paper run r_a80n00 tab:conditioning --full
"""
ALL_EXAMPLES = """
[bold]Examples[/]

  ngmca paper all --quick

  ngmca paper all --sims 12 -o paper
"""

app = typer.Typer(
    name="paper", no_args_is_help=True, help="Run the paper's experiments and check its claims."
)

Out = Annotated[Path, typer.Option("-o", "--out", help="Folder for tables, figures and report.")]
Sims = Annotated[int | None, typer.Option(min=2, help="Number of simulations for each value (12).")]
Quick = Annotated[bool, typer.Option("--quick", help="Run 3 simulations at 3 values only.")]
Full = Annotated[bool, typer.Option("--full", help="Run as many simulations as the paper.")]
Workers = Annotated[int | None, typer.Option(min=1, help="Number of processes (all cores).")]
DEFAULT_FOLDER = Path("paper")
MAX_COMPARISONS = 4  # that are printed against a claim
HOW_TO_CONTINUE = "give the same command again to continue from here."


@app.command("list")
@one_line_errors
def list_(out: Out = DEFAULT_FOLDER) -> None:
    """List the experiments, and how many of their simulations are done."""
    _check_packages()
    from rich.table import Column, Table

    from ngmca.paper import EXPERIMENTS, load

    shown = Table(Column("label", no_wrap=True), "what", "done", "paper", "claims", box=None)
    for experiment in EXPERIMENTS.values():
        result = load(experiment, out / "tables")
        wanted = experiment.study.sims if experiment.study else None
        row = experiment.label, experiment.title, result.done, str(wanted or "one example")
        shown.add_row(*row, str(len(experiment.claims)))
    stdout().print(shown)


@app.command("run", epilog=RUN_EXAMPLES)
@one_line_errors
def run(
    labels: Annotated[list[str], typer.Argument(help="Labels, as `ngmca paper list` shows them.")],
    out: Out = DEFAULT_FOLDER,
    sims: Sims = None,
    quick: Quick = False,
    full: Full = False,
    workers: Workers = None,
) -> None:
    """Run some experiments: write tables and figures, and print the verdicts on their claims.

    Simulations that are already in the folder are not run again, so a stopped run can be continued.
    """
    _perform(labels, out, _size(sims, quick, full), workers)
    for experiment in _experiments(labels):
        _print_claims(experiment.label, out)


@app.command("all", epilog=ALL_EXAMPLES)
@one_line_errors
def all_(
    out: Out = DEFAULT_FOLDER,
    sims: Sims = None,
    quick: Quick = False,
    full: Full = False,
    workers: Workers = None,
) -> None:
    """Run all experiments and write the report. A stopped run can be continued."""
    _check_packages()
    from ngmca.paper import EXPERIMENTS

    _perform(list(EXPERIMENTS), out, _size(sims, quick, full), workers)
    report(out)


@app.command("show")
@one_line_errors
def show(
    labels: Annotated[list[str], typer.Argument(help="Labels, as `ngmca paper list` shows them.")],
    out: Out = DEFAULT_FOLDER,
) -> None:
    """Show the settings and claims of experiments, with the verdicts of those that were run."""
    _check_packages()
    for experiment in _experiments(labels):
        _print_claims(experiment.label, out, settings=True)


@app.command("report")
@one_line_errors
def report(out: Out = DEFAULT_FOLDER) -> None:
    """Draw all figures from the tables; write one page with figures, claims and verdicts."""
    _check_packages()
    from ngmca.paper import EXPERIMENTS, load
    from ngmca.paper.page import render
    from ngmca.paper.standing import BEYOND, SEQUEL

    _check_folder(out)
    results = [load(experiment, out / "tables") for experiment in EXPERIMENTS.values()]
    if not any(result.ready for result in results):
        raise ReadError(f"{out} has no results yet: run `ngmca paper all -o {out}` first.")
    for result in results:
        if result.ready:
            result.draw(out / "figures")
        else:
            note(f"{result.experiment.label} has not been run.")
    page = out / "report.html"
    write_atomically(page, render(results, out / "figures"))
    labels = {"beyond it": BEYOND, "of its sequel": SEQUEL}
    for what in ("of the paper", *labels):
        own = [
            result
            for result in results
            if (result.experiment.label in labels.get(what, BEYOND | SEQUEL)) == (what in labels)
        ]
        verdicts = [result.judge(claim).verdict for result in own for claim in result.experiment.claims]
        count = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(sorted(verdicts)))
        say(f"{len(verdicts)} claims {what}: {count}")
    say(f"report: {page.absolute()}")


def _perform(labels: Sequence[str], out: Path, size: Any, workers: int | None) -> None:
    """Run the missing simulations, then draw the figures."""
    from ngmca.paper import load
    from ngmca.paper.runner import Clock, plan
    from ngmca.paper.runner import run as run_tasks
    from ngmca.paper.standing import sources

    _check_folder(out)
    experiments = _experiments(labels)
    tables = out / "tables"
    with as_bad_input():
        tasks = plan(sources(experiments), tables, size)
    if tasks:
        note(f"{len(tasks)} runs of methods on {workers or available()} cores, tables in {tables}")
    else:
        note(f"all simulations are done: the tables are in {tables}")
    clock = Clock(tasks)
    try:
        with as_bad_input(), _bar(len(tasks), clock) as after:
            failures = run_tasks(tasks, tables, workers=workers, after=after)
    except KeyboardInterrupt:
        raise fail(f"stopped; {HOW_TO_CONTINUE}", INTERRUPTED) from None
    except BrokenExecutor:
        text = "a process was killed, perhaps for lack of memory. Use fewer --workers, and"
        raise fail(f"{text} {HOW_TO_CONTINUE}", FAILED) from None
    for failure in failures:
        note(f"failed: {failure}")
    if failures:
        raise fail(f"{len(failures)} of {len(tasks)} runs failed; {HOW_TO_CONTINUE}", FAILED)
    for experiment in experiments:
        load(experiment, tables).draw(out / "figures")


def _check_folder(out: Path) -> None:
    """Raise an error if a folder has files of others, which figures could replace."""
    from ngmca.paper.tables import LOCK

    notes = (out / "tables").glob("*.json")
    if (
        (out / "tables" / LOCK).exists()
        or any(notes)
        or not any(path.is_file() for path in out.rglob("*"))
    ):
        return
    raise occupied(f"{out} has files that `ngmca paper` did not write: choose another folder with -o")


@contextmanager
def _bar(total: int, clock: Any) -> Iterator[Any]:
    """Yield the function that advances a progress bar with the time that is left."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=stderr()) as bar:
        shown = bar.add_task("simulating", total=total, left="")

        def after(task: Any, seconds: float) -> None:
            clock.finished(task, seconds)
            left = clock.remaining()
            text = "" if left is None else f"about {_duration(left)} left"
            bar.update(shown, advance=1, left=text, description=task.source.name)

        yield after


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_claims(label: str, out: Path, *, settings: bool = False) -> None:
    """Print the claims of an experiment and their verdicts."""
    from ngmca.paper import EXPERIMENTS, load
    from ngmca.paper.claims import FAILS, HOLDS, UNDECIDED
    from ngmca.paper.standing import file_name, full

    experiment = EXPERIMENTS[label]
    result = load(experiment, out / "tables")
    say(f"{label}: {experiment.title}")
    if experiment.study and settings:
        say(f"  data: {experiment.study.data}")
        say(f"  {experiment.study.varies}: {', '.join(f'{x:g}' for x in experiment.study.values)}")
        say(f"  methods: {', '.join(experiment.study.methods)}")
        say(f"  simulations: {result.done} ({full(experiment)})")
        _show_means(result)
    for claim in experiment.claims:
        finding = result.judge(claim)
        say(f"  [{finding.verdict}] {claim.text}")
        against = [item for item in finding.evidence if item.verdict not in (HOLDS, UNDECIDED)]
        against = against or [item for item in finding.evidence if item.verdict == UNDECIDED]
        for item in against[:MAX_COMPARISONS] if finding.verdict != HOLDS else []:
            say(f"      {item.what}: {item.mean:.3g} ({item.low:.3g} to {item.high:.3g})")
        if claim.why and finding.verdict in (FAILS, UNDECIDED):
            say(f"      {claim.why}")
        if len(against) > MAX_COMPARISONS and finding.verdict != HOLDS:
            say(f"      and {len(against) - MAX_COMPARISONS} more: `ngmca paper report` has all of them")
    if result.ready:
        say(f"  figure: {out / 'figures' / file_name(label)}.png")


def _show_means(result: Any) -> None:
    """Print mean SDR for every value and method."""
    from rich.table import Table

    means = result.means()
    if means is None:
        return
    shown = Table(result.varies, *means.columns, box=None, title="mean SDR_S (dB)", title_justify="left")
    for value, row in means.iterrows():
        shown.add_row(f"{value:g}", *(f"{sdr:.2f}" for sdr in row))
    stdout().print(shown)


def _size(sims: int | None, quick: bool, full: bool) -> Any:
    _check_packages()
    from ngmca.paper import Size

    if (sims is not None) + quick + full > 1:
        raise ReadError("--sims, --quick and --full cannot be combined: give one of them.")
    if quick:
        return Size.quick()
    return Size(None) if full else Size(12 if sims is None else sims)


def _experiments(labels: Sequence[str]) -> list[Any]:
    from ngmca.paper import EXPERIMENTS

    names = [label.removeprefix("fig:") for label in labels]
    names = [name for label in names for name in matching(EXPERIMENTS, label) or [label]]
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        near = get_close_matches(unknown[0], EXPERIMENTS, n=1)
        hint = f" Do you mean {near[0]}?" if near else ""
        raise ReadError(
            f"there is no experiment {', '.join(unknown)}. `ngmca paper list` shows the labels.{hint}"
        )
    return [EXPERIMENTS[name] for name in dict.fromkeys(names)]


def _check_packages() -> None:
    for name in ("nmrsim", "matplotlib", "pandas"):
        load_extra(name, "an experiment")
