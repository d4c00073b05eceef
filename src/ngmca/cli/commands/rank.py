"""`ngmca rank`: choose the number of sources."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ngmca._support.atomic_files import atomic_file, check_free, name_beside, write_atomically
from ngmca.answers.how_many.choose_rank import DEFAULT_FOLDS, choose_rank
from ngmca.answers.how_many.part_to_fit import MAX_RANK
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.cli.console import note, print_json, say, shows_progress
from ngmca.cli.errors import INTERRUPTED, as_bad_input, fail, one_line_errors
from ngmca.cli.option_files import noise_of
from ngmca.cli.options import AsJson, Data, takes
from ngmca.cli.settings import READING, Settings
from ngmca.io import ReadError, write_table
from ngmca.saving import large_results as large
from ngmca.saving.rank_search import UnfinishedSearch, fingerprint

EXAMPLES = """
[bold]Examples[/]

  ngmca rank spectra.csv

  ngmca rank spectra.csv --max-rank 12 -o ranks.csv -o ranks.png
"""
PICTURES = (".png", ".pdf", ".svg")


@one_line_errors
@takes("noise", "seed", *READING)
def rank(
    data: Data,
    *,
    max_rank: Annotated[
        int | None,
        typer.Option("--max-rank", min=1, help=f"Largest number of sources to try ({MAX_RANK})."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = DEFAULT_FOLDS,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "-o", "--out", help="File to write: a table (.csv) or a picture (.png, .pdf, .svg)."
        ),
    ] = None,
    entries: Annotated[
        int | None,
        typer.Option(min=100, help="Entries of large data to use (100,000, or a sixteenth of all)."),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Fits at the same time (all cores).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    given: dict[str, Any],
    as_json: AsJson = False,
) -> None:
    """Choose the number of sources, by three criteria that may disagree.

    With -o, a stopped run can be continued: give the same command again.
    """
    _check_out(out or [], force=force)
    settings = Settings(data=tuple(data), **given)
    seen = settings.read()
    large.refuse(seen, "`ngmca rank`", "try numbers with `ngmca separate -r`")
    for remark in () if as_json else seen.notes:
        note(remark)
    noise = noise_of(settings, seen)
    options: dict[str, Any] = {"folds": folds, "entries": entries, "seed": settings.seed, "noise": noise}
    kept = None
    if out:
        kept = UnfinishedSearch(name_beside(out[0], "rank"), fingerprint(seen.Y, options), note)
    shown = shows_progress(as_json)
    with as_bad_input(), _explained_stop(kept):
        choice = choose_rank(seen.Y, max_rank, threads=threads, kept=kept, progress=shown, **options)
    for path in out or []:
        _write(path, choice, force=force)
    if kept is not None:
        kept.path.unlink(missing_ok=True)
    if as_json:
        print_json(facts(choice))
    else:
        _show(choice)


def facts(choice: RankChoice) -> dict[str, Any]:
    """Return the choice as plain numbers."""
    return {
        "rank": choice.rank,
        "perhaps": list(choice.perhaps),
        "advice": choice.advice,
        "criteria": choice.criteria,
        "edge": choice.edge,
        "singular_values": choice.singular_values.tolist(),
        "fitted_shape": list(choice.fitted_shape),
        "table": {name: column.tolist() for name, column in choice.table()},
    }


def _check_out(out: list[Path], *, force: bool) -> None:
    for path in out:
        if path.suffix.lower() not in (".csv", *PICTURES):
            kinds = ", ".join(PICTURES)
            raise ReadError(f"-o {path}: give the name of a table (.csv) or of a picture ({kinds}).")
        check_free(path, force=force)


def _write(path: Path, choice: RankChoice, *, force: bool) -> None:
    """Write the table or the picture."""
    if path.suffix.lower() == ".csv":
        with atomic_file(path, replacing=force) as part:
            write_table(part, choice.table())
    else:
        kind = path.suffix.lower()[1:]
        try:
            figure = choice.plot()
        except ImportError as error:
            raise ReadError(str(error)) from error
        write_atomically(path, lambda file: figure.savefig(file, format=kind, dpi=150), replacing=force)


@contextmanager
def _explained_stop(kept: UnfinishedSearch | None) -> Iterator[None]:
    """Explain how to continue a stopped run."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is None or not kept.path.is_file():
            raise
        raise fail("stopped; give the same command again to continue from here.", INTERRUPTED) from None


def _show(choice: RankChoice) -> None:
    """Print the criteria for each number of sources, and the advice."""
    values, folds = choice.singular_values, len(choice.held_out)
    say("sources  prediction error  improved in  singular value  stability")
    for k, error in zip(choice.ranks.tolist(), choice.held_out.mean(axis=0), strict=True):
        line = f"{k:7d}  {error:16.4g}"
        if k:
            value = f"{values[k - 1]:.4g}" if k <= len(values) else ""
            value = value if k <= choice.criteria["singular_values"] else f"noise {value}"
            line += f"  {choice.better_folds[k]:6d} of {folds}  {value:>14}  {choice.stability[k]:9.2f}"
        say(line + ("  <-" if k == choice.rank else ""))
    numbers = "held-out entries {held_out}, singular values {singular_values}, stability {stability}"
    say(numbers.format(**choice.criteria))
    say(choice.advice)
