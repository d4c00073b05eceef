"""`ngmca evaluate`: compare sources with the true ones."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ngmca import metrics
from ngmca.cli.console import note, print_json, say
from ngmca.cli.errors import as_bad_input, one_line_errors
from ngmca.cli.options import AsJson
from ngmca.io import Dataset, ReadError
from ngmca.io.combine import axis_range, has_axis, interpolate, overlap, rising, same_axis
from ngmca.saving.sources_in_file import sources_in

EXAMPLES = """
[bold]Examples[/]

  ngmca evaluate result truth.npz

  ngmca evaluate result known_spectra.csv --json
"""


@one_line_errors
def evaluate(
    result: Annotated[Path, typer.Argument(help="A result (folder or file), or a table of sources.")],
    truth: Annotated[
        Path, typer.Argument(help="The true sources: a table, or a file of `ngmca simulate`.")
    ],
    as_json: AsJson = False,
) -> None:
    """Compare sources with the true ones: SDR, SIR and SAR of each, in dB.

    If both have an axis, they are compared at the same positions: reversed if the axes run in opposite
    directions, and interpolated to the coarser axis if they differ.
    """
    found, true = _on_one_axis(result, sources_in(result), truth, sources_in(truth))
    _check_fit(result, found, truth, true)
    with as_bad_input():
        score = metrics.evaluate(true, found)
    columns = {"sdr": score.sdr, "sir": score.sir, "sar": score.sar}
    if as_json:
        print_json(
            {key: value.tolist() for key, value in columns.items()} | {"mean_sdr": score.mean_sdr}
        )
        return
    say("true source   found as      SDR      SIR      SAR   [dB]")
    for i, match in enumerate(score.order):
        values = "".join(f"{column[i]:9.1f}" for column in columns.values())
        say(f"{i + 1:11d}   {str(match + 1) if match >= 0 else '-':>8}{values}")
    say(f"{'mean':>11}   {'':>8}" + "".join(f"{np.mean(column):9.1f}" for column in columns.values()))


def _on_one_axis(result: Path, found: Dataset, truth: Path, true: Dataset) -> tuple[NDArray, NDArray]:
    """Return both sets of sources at the same channels; raise an error if there are none."""
    if not has_axis(found) or not has_axis(true):
        for path, one, other in ((result, found, true), (truth, true, found)):
            if has_axis(other) and not has_axis(one):
                note(f"{path} has no axis: the sources are compared channel by channel.")
        return found.Y, true.Y
    X, here = rising(found)
    Z, there = rising(true)
    words = f"{result} goes from {axis_range(found)}, {truth} from {axis_range(true)}"
    low, high = overlap(words, found, true)
    if same_axis(here, there):
        return X, Z
    inside = [axis[(axis >= low) & (axis <= high)] for axis in (here, there)]
    grid = min(inside, key=len)  # the coarser one
    note(f"the axes differ: compared at {len(grid)} channels from {low:g} to {high:g}.")
    return interpolate(grid, here, X), interpolate(grid, there, Z)


def _check_fit(result: Path, found: NDArray, truth: Path, true: NDArray) -> None:
    """Raise an error if the channels differ; print a note if there are fewer sources than true ones."""
    sizes = f"{result} has {len(found)} x {found.shape[1]}, {truth} {len(true)} x {true.shape[1]}"
    if found.shape[1] != true.shape[1]:
        raise ReadError(
            f"the channels differ (sources x channels): {sizes}. Both need the same channels, or an "
            "axis. Is one of them transposed, or a table of amounts?"
        )
    if len(found) < len(true):
        missed = len(true) - len(found)
        note(f"{sizes}: {missed} true sources have no partner, which counts as -100 dB.")
