"""`ngmca rank`: choose the number of sources."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ngmca._support.atomic_files import atomic_file, check_free, write_atomically
from ngmca._support.messages import rendered
from ngmca.answers.how_many.choose_rank import choose_rank
from ngmca.answers.how_many.condensed_data import MAX_RANK
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.cli.console import note, print_json, say
from ngmca.cli.errors import as_bad_input, one_line_errors
from ngmca.cli.options import AsJson, Data, takes
from ngmca.constraints import baseline_of
from ngmca.io import ReadError, write_table
from ngmca.saving import large_results as large
from ngmca.settings.option_files import check_early, constraints_of, noise_of
from ngmca.settings.option_names import as_flag
from ngmca.settings.settings import READING, Settings

EXAMPLES = """
[bold]Examples[/]

  ngmca rank spectra.csv

  ngmca rank spectra.csv --max-rank 12 -o ranks.csv -o ranks.png
"""
PICTURES = (".png", ".pdf", ".svg")


@one_line_errors
@takes("shared", "noise", "baseline", "seed", *READING)
def rank(
    data: Data,
    *,
    max_rank: Annotated[
        int | None,
        typer.Option("--max-rank", min=1, help=f"Largest number of sources to try ({MAX_RANK})."),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "-o", "--out", help="File to write: a table (.csv) or a picture (.png, .pdf, .svg)."
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of threads (all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    given: dict[str, Any],
    as_json: AsJson = False,
) -> None:
    """Choose the number of sources, with a range, by criteria that may disagree."""
    _check_out(out or [], force=force)
    settings = Settings(data=tuple(data), **given)
    check_early(settings)
    seen = settings.read()
    large.refuse(seen, "`ngmca rank`", "try numbers with `ngmca separate -r`")
    for remark in () if as_json else seen.notes:
        note(remark)
    with as_bad_input():
        noise, baseline = noise_of(settings, seen), baseline_of(constraints_of(settings, seen))
        choice = choose_rank(
            seen, max_rank, noise=noise, baseline=baseline, seed=settings.seed, threads=threads
        )
    for path in out or []:
        _write(path, choice, force=force)
    if as_json:
        print_json(facts(choice))
    else:
        _show(choice)


def facts(choice: RankChoice) -> dict[str, Any]:
    """Return the choice as plain numbers."""
    return {
        "rank": choice.rank,
        "range": list(choice.range),
        "advice": rendered(choice.advice, as_flag),
        "criteria": choice.criteria,
        "left_out": choice.left_out,
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
        figure = choice.plot()
        write_atomically(path, lambda file: figure.savefig(file, format=kind, dpi=150), replacing=force)


def _show(choice: RankChoice) -> None:
    """Print the criteria for each number of sources, and the advice."""
    say("sources  over rotated  held-out error  explains  halves")
    for k in choice.ranks.tolist():
        ratio, share, again = (
            "" if np.isnan(values[k]) else f"{values[k]:.3g}"
            for values in (choice.directions, 100 * choice.explained, choice.stability)
        )
        share = f"{share} %" if share else ""
        line = f"{k:7d}  {ratio:>12}  {choice.held_out[k]:14.4g}  {share:>8}  {again:>6}"
        say(line.rstrip() + ("  <-" if k == choice.rank else ""))
    names = {"directions": "directions", "held_out": "held-out blocks", "halves": "halves"}
    numbers = [f"{names[name]} {choice.criteria.get(name, 'left out')}" for name in names]
    say(", ".join(numbers))
    say(choice.advice)
