"""`ngmca evaluate`: found sources beside true ones."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from ngmca import io, metrics
from ngmca.cli.console import as_bad_input, give_json, note, one_line_errors, say
from ngmca.cli.settings import AsJson
from ngmca.io import ReadError
from ngmca.saving import result_folder, results
from ngmca.saving.result_file import is_result

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
    """Compare found sources with true ones: SDR, SIR and SAR of each, in dB."""
    found, true = _sources(result), _sources(truth)
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


def _check_fit(result: Path, found: NDArray, truth: Path, true: NDArray) -> None:
    """Refuse sources on other channels; say where there are fewer than there should be."""
    told = f"{result} has {len(found)} x {found.shape[1]}, {truth} {len(true)} x {true.shape[1]}"
    if found.shape[1] != true.shape[1]:
        raise ReadError(
            f"the sources do not fit, sources x channels: {told}. Both need the same channels; is one "
            "of them transposed, or a mixing table?"
        )
    if len(found) < len(true):
        missed = len(true) - len(found)
        note(f"{told}: {missed} true sources have none to stand for them, which counts as -100 dB.")


def _sources(path: Path) -> NDArray:
    """Sources (r, n) of a result, of a simulation, or of a table."""
    if path.is_file() and is_result(path):
        return results.load(path).S
    folder = result_folder.absolute(path)
    if (path / result_folder.RESULT).is_file() or result_folder.unfinished(folder).exists():
        return results.load(path).S
    if path.suffix == ".npz" and path.is_file():
        return io.read(path, dataset="S", transpose=False).Y
    return io.read(path).Y
