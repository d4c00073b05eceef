"""Commands that look: `info` at data, `report` and `evaluate` at results."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from ngmca import folder as places
from ngmca import io, metrics, results
from ngmca.cli.console import give_json, note, one_line_errors, say, stdout
from ngmca.cli.settings import Settings
from ngmca.diagnostics import negative_share, noise_before, noise_edge, signal_to_noise, singular_values
from ngmca.findings import percent
from ngmca.io import Dataset, ReadError

INFO_EXAMPLES = """
[bold]Examples[/]

  ngmca info spectra.csv

  ngmca info cube.h5 --dataset /scan/data --json
"""
REPORT_EXAMPLES = """
[bold]Example[/]

  ngmca report result
"""
EVALUATE_EXAMPLES = """
[bold]Examples[/]

  ngmca evaluate result truth.npz

  ngmca evaluate result known_spectra.csv --json
"""


@one_line_errors
def info(
    data: Annotated[list[str], typer.Argument(help="Files or folders of measurements.")],
    transpose: Annotated[
        bool | None,
        typer.Option("--transpose/--no-transpose", help="Samples are in the rows (found out)."),
    ] = None,
    range_: Annotated[
        str | None, typer.Option("--range", help="Part of the axis, as 0.5:9.5.", metavar="LOW:HIGH")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which data, in a file that has several.")] = None,
    nucleus: Annotated[str | None, typer.Option(help="Which NMR experiments, as 1H.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Show what is in the data: shape, axis, noise, and how many sources might be in there."""
    settings = Settings(
        data=tuple(data), transpose=transpose, range=range_, dataset=dataset, nucleus=nucleus
    )
    seen = settings.read()
    facts = examine(seen)
    if as_json:
        give_json(facts)
        return
    for remark in seen.notes:
        note(remark)
    _show(seen, facts)


def examine(data: Dataset) -> dict[str, Any]:
    """What the data are, in plain numbers."""
    sigma = noise_before(data.Y)
    m, n = data.Y.shape
    values = singular_values(data.Y)
    edge = noise_edge(m, n, sigma)
    axis = data.positions
    return {
        "format": data.meta.get("format"),
        "measurements": m,
        "samples": n,
        "image_shape": data.image_shape,
        "axis": data.axis_label if data.axis is not None else None,
        "axis_from": float(axis[0]),
        "axis_to": float(axis[-1]),
        "smallest": float(data.Y.min()),
        "largest": float(data.Y.max()),
        "negative": negative_share(data.Y),
        "noise": sigma,
        "snr": signal_to_noise(data.Y, sigma),
        "singular_values": values.tolist(),
        "noise_edge": edge,
        "above_noise": int(np.count_nonzero(values > edge)),
        "notes": list(data.notes),
    }


def _show(data: Dataset, facts: dict[str, Any]) -> None:
    m, n = data.Y.shape
    image = (
        f", an image of {data.image_shape[0]} x {data.image_shape[1]} pixels" if data.image_shape else ""
    )
    say(f"{m} measurements x {n} samples ({facts['format'] or 'array'}){image}")
    ends = f"{facts['axis_from']:g} to {facts['axis_to']:g}"
    say(f"axis         {facts['axis'] + ', ' + ends if facts['axis'] else 'none: samples are numbered'}")
    if data.row_names:
        say(f"rows         {', '.join(data.row_names[:4])}{' ...' if m > 4 else ''}")
    say(
        f"values       {facts['smallest']:.4g} to {facts['largest']:.4g}, "
        f"{percent(facts['negative'])} negative"
    )
    ratio = f"{facts['snr']:.1f} dB" if np.isfinite(facts["snr"]) else "beyond measure"
    say(f"noise        about {facts['noise']:.3g}, signal to noise {ratio}")
    _bars(np.array(facts["singular_values"]), facts["noise_edge"])
    above, shown = facts["above_noise"], len(facts["singular_values"])
    more = "or more " if above == shown and shown < min(m, n) else ""
    say(
        f"{above} {more}singular values stand above the noise: at least as many sources, if it is white."
    )


def _bars(values: NDArray, edge: float) -> None:
    """Singular values as bars on a logarithmic scale, those above the noise in colour."""
    console = stdout()
    top = max(float(values.max(initial=0)), 1e-300)
    floor = max(min(float(values[values > 0].min(initial=top)), edge or top) / 2, top * 1e-6)
    width = 40
    console.print("singular values", markup=False)
    for i, value in enumerate(values, start=1):
        share = np.log(max(value, floor) / floor) / max(np.log(top / floor), 1e-12)
        bar = "█" * max(1, round(width * share))
        colour = "cyan" if value > edge else "bright_black"
        mark = "" if value > edge else "  noise"
        console.print(f"  {i:2d} [{colour}]{bar:<{width}}[/] {value:.3g}{mark}")


@one_line_errors
def report(
    out: Annotated[Path, typer.Argument(help="Folder of a result.")],
    to: Annotated[Path | None, typer.Option("--to", help="File to write (OUT/report.html).")] = None,
) -> None:
    """Draw the report of a result again."""
    from ngmca.report import html

    target = to or out / "report.html"
    places.write_whole(target, html(results.load_run(out)))
    say(f"report: {places.absolute(target)}")


@one_line_errors
def evaluate(
    result: Annotated[Path, typer.Argument(help="Folder of a result, or a table of sources.")],
    truth: Annotated[Path, typer.Argument(help="True sources: a table, or a file of `ngmca simulate`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare found sources with true ones: SDR, SIR and SAR of each, in dB."""
    found, true = _sources(result), _sources(truth)
    try:
        score = metrics.evaluate(true, found)
    except ValueError as error:
        raise ReadError(f"{result} and {truth} do not fit: {error}") from error
    columns = {"sdr": score.sdr, "sir": score.sir, "sar": score.sar}
    if as_json:
        give_json({key: value.tolist() for key, value in columns.items()} | {"mean_sdr": score.mean_sdr})
        return
    say("true source   found as      SDR      SIR      SAR   [dB]")
    for i, match in enumerate(score.order):
        values = "".join(f"{column[i]:9.1f}" for column in columns.values())
        say(f"{i + 1:11d}   {str(match + 1) if match >= 0 else '-':>8}{values}")
    say(f"{'mean':>11}   {'':>8}" + "".join(f"{np.mean(column):9.1f}" for column in columns.values()))


def _sources(path: Path) -> NDArray:
    """Sources (r, n) of a result, of a simulation, or of a table."""
    if (path / places.RESULT).is_file() or places.unfinished(places.absolute(path)).exists():
        return results.load(path).S
    if path.suffix == ".npz" and path.is_file():
        return io.read(path, dataset="S", transpose=False).Y
    return io.read(path).Y
