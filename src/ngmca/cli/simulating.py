"""Commands that make data: `simulate`, and `demo`, which goes all the way."""

import shutil
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ngmca import folder as places
from ngmca import metrics
from ngmca import simulate as simulators
from ngmca.cli.console import as_bad_input, one_line_errors, say
from ngmca.cli.separating import perform
from ngmca.cli.settings import Settings
from ngmca.findings import findings, summary
from ngmca.io import ReadError, write_table

SIMULATE_EXAMPLES = """
[bold]Examples[/]

  ngmca simulate mixture.npz -r 5 --snr 15

  ngmca simulate spectra.npz --kind spectra -m 30 -n 2000
"""
DEMO_EXAMPLES = """
[bold]Example[/]

  ngmca demo -o demo
"""
KINDS = ("sparse", "spectra")


@one_line_errors
def simulate(
    out: Annotated[Path, typer.Argument(help="File to write: .npz with Y, A, S and noise.")],
    kind: Annotated[
        str, typer.Option(help="sparse or spectra.", autocompletion=lambda: KINDS)
    ] = "sparse",
    sources: Annotated[int, typer.Option("-r", "--sources", help="Number of sources.")] = 5,
    measurements: Annotated[int, typer.Option("-m", "--measurements")] = 40,
    samples: Annotated[int, typer.Option("-n", "--samples")] = 500,
    snr: Annotated[float, typer.Option(help="Signal-to-noise ratio in dB.")] = 20.0,
    seed: Annotated[int, typer.Option()] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a simulated mixture whose sources are known."""
    if kind not in KINDS:
        raise ReadError(f"--kind must be {' or '.join(KINDS)}, got {kind!r}.")
    if out.exists() and not force:
        raise FileExistsError(17, f"{out} exists; --force replaces it")
    with as_bad_input():
        sizes = {"m": measurements, "n": samples, "r": sources, "snr": snr, "seed": seed}
        mixture = getattr(simulators, kind)(**sizes)
    part = out.with_name(out.name + ".part")
    with part.open("wb") as file:
        np.savez(file, Y=mixture.Y, A=mixture.A, S=mixture.S, noise=mixture.noise)
    part.replace(out)
    say(f"{measurements} x {samples} mixture of {sources} sources at {mixture.snr:.1f} dB: {out}")


@one_line_errors
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder to write into.")] = Path("demo"),
    seed: Annotated[int, typer.Option()] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier demo.")] = False,
) -> None:
    """Simulate spectra, separate them, and show how well that went."""
    out = places.absolute(out)
    table, result = out / "mixture.csv", out / "result"
    if table.exists() and not force:
        raise FileExistsError(17, f"{table} exists; --force replaces it")
    out.mkdir(parents=True, exist_ok=True)
    mixture = simulators.spectra(m=24, n=1200, r=5, lines=7, width=3.0, snr=18, seed=seed)
    axis = np.linspace(9.5, 0.5, 1200).round(5)
    names = [f"tube {i + 1}" for i in range(len(mixture.Y))]
    write_table(table, {"ppm": axis} | dict(zip(names, mixture.Y, strict=True)))
    if result.exists() and force:
        places.check_replaceable(result, force=True)
        shutil.rmtree(result)
    say(f"simulated: {len(mixture.Y)} spectra of 5 substances in {table}")
    say(f"separating: ngmca separate {table} -r 5 -o {result}")
    run = perform(Settings(data=(str(table),), sources=5, seed=seed), result)
    for sentence in summary(run.separation, run.diagnostics):
        say(sentence)
    for found in findings(run.separation, run.diagnostics):
        say(f"! {found.title}. {found.text}")
    score = metrics.evaluate(mixture.S, run.separation.S)
    told = ", ".join(f"{value:.1f}" for value in score.sdr)
    say(f"against the true spectra: SDR {told} dB, mean {score.mean_sdr:.1f} dB")
    say(f"report: {result / 'report.html'}")
