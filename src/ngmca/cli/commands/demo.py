"""`ngmca demo`: simulate spectra, separate them, and compare the result with the truth."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ngmca import metrics
from ngmca import simulate as simulators
from ngmca._support.atomic_files import atomic_file, check_free, occupied
from ngmca.cli.console import say, say_run
from ngmca.cli.errors import one_line_errors
from ngmca.cli.pipeline import perform
from ngmca.io import write_table
from ngmca.saving import result_folder
from ngmca.saving.folder_claim import check_replaceable
from ngmca.settings.settings import Settings

EXAMPLES = """
[bold]Example[/]

  ngmca demo -o demo
"""
SUBSTANCES = 5
FIRST_LINE = "ppm,tube 1,tube 2,"  # of the table, begins so


@one_line_errors
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write into.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the result of an earlier demo.")
    ] = False,
) -> None:
    """Simulate spectra, separate them, and compare the sources with the true ones."""
    out = result_folder.absolute(out)
    table, result = out / "mixture.csv", out / "result"
    out.mkdir(parents=True, exist_ok=True)
    _check_table(table, force=force)
    check_replaceable(result, force=force)  # before the table is written
    mixture = simulators.spectra(m=24, n=1200, r=SUBSTANCES, lines=7, width=3.0, snr=18, seed=seed)
    _write(table, mixture)
    say(f"simulated: {len(mixture.Y)} spectra of {SUBSTANCES} substances in {table}")
    say(f"separating: ngmca separate {table} -r {SUBSTANCES} -o {result}")
    settings = Settings(data=(str(table),), sources=SUBSTANCES, seed=seed)
    run, result = perform(settings, result, force=force)
    say_run(run)
    score = metrics.evaluate(mixture.S, run.separation.S)
    values = ", ".join(f"{value:.1f}" for value in score.sdr)
    say(f"compared with the true spectra: SDR {values} dB, mean {score.mean_sdr:.1f} dB")
    say(f"report: {result / result_folder.REPORT}")


def _check_table(table: Path, *, force: bool) -> None:
    """Raise an error if a table would be replaced without force, or was not written by a demo."""
    check_free(table, force=force)
    if table.exists():
        with table.open("rb") as file:
            if not file.readline().startswith(FIRST_LINE.encode()):
                raise occupied(f"{table} was not written by `ngmca demo`; choose another folder")


def _write(table: Path, mixture: simulators.Mixture) -> None:
    """Write the mixture as a table, with an axis in ppm."""
    axis = np.linspace(9.5, 0.5, mixture.Y.shape[1]).round(5)
    rows = {f"tube {i + 1}": row for i, row in enumerate(mixture.Y)}
    with atomic_file(table) as part:
        write_table(part, {"ppm": axis} | rows)
