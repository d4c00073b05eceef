"""Commands that make data: `simulate`, and `demo`, which goes all the way."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

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

  ngmca simulate nmr.npz --kind nmr --snr 15

  ngmca simulate nmr.npz --kind nmr --compounds lactate,alanine,ethanol -m 8
"""
DEMO_EXAMPLES = """
[bold]Example[/]

  ngmca demo -o demo
"""
SIZES = {  # measurements, samples and sources of each kind
    "sparse": (40, 500, 5),
    "spectra": (40, 500, 5),
    "nmr": (15, 1200, None),
}


@one_line_errors
def simulate(
    out: Annotated[
        Path,
        typer.Argument(help="File to write: .npz with Y, A, S and noise, for nmr also names and ppm."),
    ],
    kind: Annotated[
        str, typer.Option(help="sparse, spectra or nmr.", autocompletion=lambda: list(SIZES))
    ] = "sparse",
    sources: Annotated[
        int | None, typer.Option("-r", "--sources", help="Number of sources: 5, for nmr 15.")
    ] = None,
    measurements: Annotated[
        int | None, typer.Option("-m", "--measurements", help="How many: 40, for nmr 15.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option("-n", "--samples", help="How many: 500, for nmr 1200.")
    ] = None,
    compounds: Annotated[
        str, typer.Option(help="For nmr: default, random, or names with commas between.")
    ] = "default",
    peaks: Annotated[
        Path | None, typer.Option(help="For nmr: a table of your own, compound, ppm, intensity.")
    ] = None,
    snr: Annotated[float, typer.Option(help="Signal-to-noise ratio in dB.")] = 20.0,
    seed: Annotated[int, typer.Option()] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a simulated mixture whose sources are known."""
    if kind not in SIZES:
        raise ReadError(f"--kind must be {' or '.join(SIZES)}, got {kind!r}.")
    if kind != "nmr" and (compounds != "default" or peaks):
        raise ReadError("--compounds and --peaks are for --kind nmr.")
    if out.exists() and not force:
        raise FileExistsError(17, f"{out} exists; --force replaces it")
    given = zip((measurements, samples, sources), SIZES[kind], strict=True)
    m, n, r = (usual if size is None else size for size, usual in given)
    with as_bad_input():
        options = {"m": m, "n": n, "r": r, "snr": snr, "seed": seed}
        options |= _nmr_options(compounds, peaks) if kind == "nmr" else {}
        mixture = getattr(simulators, kind)(**options)
    _write(out, mixture)
    told = f" ({', '.join(mixture.names)})" if mixture.names else ""
    say(f"{m} x {n} mixture of {len(mixture.S)} sources{told} at {mixture.snr:.1f} dB: {out}")


def _nmr_options(compounds: str, peaks: Path | None) -> dict[str, Any]:
    """What only `nmr` understands; a list of names is told from a word for a choice."""
    if peaks is not None and not peaks.is_file():
        raise ReadError(f"{peaks} does not exist.")
    if find_spec("nmrsim") is None and peaks is None:
        raise ReadError('nmrsim is not installed: pip install "ngmca[paper]".')
    if compounds in ("default", "random"):
        return {"compounds": compounds, "peaks": peaks}
    return {"compounds": [name.strip() for name in compounds.split(",")], "peaks": peaks}


def _write(out: Path, mixture: simulators.Mixture) -> None:
    """The mixture in a .npz file that appears when it is whole."""
    arrays: dict[str, Any] = {"Y": mixture.Y, "A": mixture.A, "S": mixture.S, "noise": mixture.noise}
    if mixture.names:
        arrays["names"] = np.array(mixture.names)
    if mixture.axis is not None:
        arrays[mixture.axis_name] = mixture.axis
    part = out.with_name(out.name + ".part")
    with part.open("wb") as file:
        np.savez(file, **arrays)
    part.replace(out)


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
