"""`ngmca simulate`: write a simulated mixture with known sources."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ngmca import simulate as simulators
from ngmca._support.atomic_files import check_free, write_atomically
from ngmca.cli.console import note, say
from ngmca.cli.errors import as_bad_input, one_line_errors
from ngmca.io import ReadError, read

EXAMPLES = """
[bold]Examples[/]

  ngmca simulate mixture.npz -r 5 --snr 15

  ngmca simulate spectra.npz --kind spectra -m 30 -n 2000

  ngmca simulate infrared.npz --kind bands -r 4 --snr 25

  ngmca simulate mine.npz --kind library --spectra pure_substances -r 3

  ngmca simulate nmr.npz --kind nmr --snr 15

  ngmca simulate nmr.npz --kind nmr --compounds lactate,alanine,ethanol -m 8
"""
SIZES = {  # measurements, channels and sources of each kind
    "sparse": (40, 500, 5),
    "spectra": (40, 500, 5),
    "bands": (40, 1024, 5),
    "library": (40, 1024, 5),
    "nmr": (15, 1200, None),
}


@one_line_errors
def simulate(
    out: Annotated[
        Path,
        typer.Argument(
            help="File to write: .npz with Y, A, S and noise, and names and axis if there are any."
        ),
    ],
    kind: Annotated[
        str,
        typer.Option(
            help="Kind of spectra: sparse, spectra, bands (infrared, Raman), library (your own) or nmr.",
            autocompletion=lambda: list(SIZES),
        ),
    ] = "sparse",
    sources: Annotated[
        int | None, typer.Option("-r", "--sources", help="Number of sources (5; nmr 15).")
    ] = None,
    measurements: Annotated[
        int | None, typer.Option("-m", "--measurements", help="Number of measurements (40; nmr 15).")
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option("-n", "--channels", help="Number of channels (500; bands 1024, nmr 1200)."),
    ] = None,
    compounds: Annotated[
        str, typer.Option(help="With --kind nmr: default, random, or names separated by commas.")
    ] = "default",
    peaks: Annotated[
        Path | None,
        typer.Option(help="With --kind nmr: your own table with columns compound, ppm and intensity."),
    ] = None,
    spectra: Annotated[
        Path | None,
        typer.Option(help="With --kind library: a folder or file of spectra of pure substances."),
    ] = None,
    snr: Annotated[float, typer.Option(help="Signal-to-noise ratio in dB.")] = 20.0,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a simulated mixture with known sources."""
    if kind not in SIZES:
        raise ReadError(f"--kind must be {' or '.join(SIZES)}, got {kind!r}.")
    if kind != "nmr" and (compounds != "default" or peaks):
        raise ReadError("--compounds and --peaks need --kind nmr: give that too, or leave them out.")
    if (kind == "library") != (spectra is not None):
        raise ReadError("--kind library needs --spectra FOLDER, and no other kind has it.")
    check_free(out, force=force)
    given = zip((measurements, channels, sources), SIZES[kind], strict=True)
    m, n, r = (usual if size is None else size for size, usual in given)
    options = {"m": m, "n": n, "r": r, "snr": snr, "seed": seed}
    if kind == "nmr":
        options |= _nmr_options(compounds, peaks)
    mixture = _mixture(kind, options) if spectra is None else _of_library(spectra, options)
    write_atomically(out, lambda file: np.savez(file, **_arrays(mixture)), replacing=force)
    names = f" ({', '.join(mixture.names)})" if mixture.names else ""
    say(f"{m} x {n} mixture of {len(mixture.S)} sources{names} at {mixture.snr:.1f} dB: {out}")


def _mixture(kind: str, options: dict[str, Any]) -> simulators.Mixture:
    with as_bad_input():
        mixture: simulators.Mixture = getattr(simulators, kind)(**options)
        return mixture


def _of_library(path: Path, options: dict[str, Any]) -> simulators.Mixture:
    """Return a mixture of spectra in a folder; its axis has a name that `ngmca.io.read` recognises."""
    data = read(path)
    for remark in data.notes:
        if remark.startswith("left out"):
            note(remark)
    mixture = _mixture("library", options | {"spectra": data})
    return replace(mixture, axis_name=(data.axis_unit or data.axis_name).replace("/", ""))


def _nmr_options(compounds: str, peaks: Path | None) -> dict[str, Any]:
    """Return the options of `ngmca.simulate.nmr`."""
    if peaks is not None and not peaks.is_file():
        raise ReadError(f"{peaks} does not exist.")
    if compounds in ("default", "random"):
        return {"compounds": compounds, "peaks": peaks}
    return {"compounds": [name.strip() for name in compounds.split(",")], "peaks": peaks}


def _arrays(mixture: simulators.Mixture) -> dict[str, Any]:
    """Return the arrays of a .npz file."""
    arrays: dict[str, Any] = {"Y": mixture.Y, "A": mixture.A, "S": mixture.S, "noise": mixture.noise}
    if mixture.names:
        arrays["names"] = np.array(mixture.names)
    if mixture.axis is not None:
        arrays[mixture.axis_name] = mixture.axis
    return arrays
