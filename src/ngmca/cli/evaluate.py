"""`ngmca evaluate`: found sources beside true ones."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ngmca import io, metrics
from ngmca.cli.console import as_bad_input, give_json, note, one_line_errors, say
from ngmca.cli.settings import AsJson
from ngmca.io import Dataset, ReadError
from ngmca.io.units import NO_AXIS
from ngmca.saving import result_folder, results
from ngmca.saving.result_file import is_result

ENOUGH = 0.5  # of the shorter axis, that both must cover
ROUNDED = 0.01  # of a step, by which equal axes may differ
EXAMPLES = """
[bold]Examples[/]

  ngmca evaluate result truth.npz

  ngmca evaluate result known_spectra.csv --json
"""


@one_line_errors
def evaluate(
    result: Annotated[Path, typer.Argument(help="Folder or file of a result, or a table of sources.")],
    truth: Annotated[Path, typer.Argument(help="True sources: a table, or a file of `ngmca simulate`.")],
    as_json: AsJson = False,
) -> None:
    """Compare found sources with true ones: SDR, SIR and SAR of each, in dB.

    They are compared where they stand on the axis, if both have one: turned if they run in opposite
    directions, interpolated to the coarser axis where the axes differ.
    """
    found, true = _on_one_axis(result, _sources(result), truth, _sources(truth))
    _check_fit(result, found, truth, true)
    with as_bad_input():
        score = metrics.evaluate(true, found)
    columns = {"sdr": score.sdr, "sir": score.sir, "sar": score.sar}
    if as_json:
        give_json({key: value.tolist() for key, value in columns.items()} | {"mean_sdr": score.mean_sdr})
        return
    say("true source   found as      SDR      SIR      SAR   [dB]")
    for i, match in enumerate(score.order):
        values = "".join(f"{column[i]:9.1f}" for column in columns.values())
        say(f"{i + 1:11d}   {str(match + 1) if match >= 0 else '-':>8}{values}")
    say(f"{'mean':>11}   {'':>8}" + "".join(f"{np.mean(column):9.1f}" for column in columns.values()))


def _on_one_axis(result: Path, found: Dataset, truth: Path, true: Dataset) -> tuple[NDArray, NDArray]:
    """Found and true sources at the same channels, or an error that says why there are none."""
    if not _has_axis(found) or not _has_axis(true):
        for path, one, other in ((result, found, true), (truth, true, found)):
            if _has_axis(other) and not _has_axis(one):
                note(f"{path} has no axis: the sources are compared channel by channel.")
        return found.Y, true.Y
    X, here = _rising(found)
    Z, there = _rising(true)
    low, high = _overlap(f"{result} goes from {_ends(found)}, {truth} from {_ends(true)}", found, true)
    if _same(here, there):
        return X, Z
    inside = [axis[(axis >= low) & (axis <= high)] for axis in (here, there)]
    grid = min(inside, key=len)  # the coarser one
    note(f"the axes differ: compared at {len(grid)} channels from {low:g} to {high:g}.")
    return _at(grid, here, X), _at(grid, there, Z)


def _has_axis(data: Dataset) -> bool:
    """Whether it is known where the channels lie; a result has the numbers of channels if not."""
    return data.axis is not None and data.axis_name != NO_AXIS


def _rising(data: Dataset) -> tuple[NDArray, NDArray]:
    """The sources and their axis, from its lowest place on."""
    order = np.argsort(data.positions, kind="stable")
    return data.Y[:, order], data.positions[order]


def _at(grid: NDArray, axis: NDArray, S: NDArray) -> NDArray:
    """Sources at other places of the axis."""
    return np.stack([np.interp(grid, axis, row) for row in S])


def _overlap(told: str, *both: Dataset) -> tuple[float, float]:
    """The stretch that both axes cover: at least half of the shorter one, in the same unit."""
    units = {data.axis_unit for data in both} - {""}
    if len(units) > 1:
        raise ReadError(f"the axes have different units: {told}. Bring them to one first.")
    lows, highs = zip(*((data.positions.min(), data.positions.max()) for data in both), strict=True)
    low, high = max(lows), min(highs)
    shorter = min(high - low for low, high in zip(lows, highs, strict=True))
    if high <= low or high - low < ENOUGH * shorter:
        raise ReadError(f"the axes hardly meet: {told}. These are not the same channels.")
    return float(low), float(high)


def _ends(data: Dataset) -> str:
    return f"{data.positions[0]:g} to {data.positions[-1]:g} {data.axis_unit}".rstrip()


def _same(one: NDArray, other: NDArray) -> bool:
    """Whether two axes are the same up to what a table rounds away."""
    if len(one) != len(other):
        return False
    step = (one[-1] - one[0]) / max(len(one) - 1, 1)
    return bool(np.abs(one - other).max() <= ROUNDED * step)


def _check_fit(result: Path, found: NDArray, truth: Path, true: NDArray) -> None:
    """Refuse sources on other channels; say where there are fewer than there should be."""
    told = f"{result} has {len(found)} x {found.shape[1]}, {truth} {len(true)} x {true.shape[1]}"
    if found.shape[1] != true.shape[1]:
        raise ReadError(
            f"the sources do not fit, sources x channels: {told}. Both need the same channels, or an "
            "axis; is one of them transposed, or a mixing table?"
        )
    if len(found) < len(true):
        missed = len(true) - len(found)
        note(f"{told}: {missed} true sources have none to stand for them, which counts as -100 dB.")


def _sources(path: Path) -> Dataset:
    """Sources, as Y, with their axis: of a result, of a simulation, or of a table."""
    work = result_folder.unfinished(result_folder.absolute(path))
    whole = is_result(path) if path.is_file() else (path / result_folder.RESULT).is_file()
    if whole or work.exists():
        separation, data = results.load(path, with_data=True)
        return replace(data, Y=separation.S)
    if path.suffix == ".npz" and path.is_file():
        return io.read(path, dataset="S", transpose=False)
    return io.read(path)
