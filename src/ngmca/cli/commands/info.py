"""`ngmca info`: shape, axis, noise and singular values of data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.how_many.singular_values import spectrum
from ngmca.answers.how_sure import negative_share, signal_to_noise
from ngmca.answers.wording import percent
from ngmca.cli.console import note, print_json, say, short_line, stdout
from ngmca.cli.errors import as_bad_input, one_line_errors
from ngmca.cli.options import AsJson, Data, takes
from ngmca.engines import open_data
from ngmca.io import Dataset
from ngmca.saving.large_results import is_large
from ngmca.settings.settings import READING, Settings

EXAMPLES = """
[bold]Examples[/]

  ngmca info spectra.csv

  ngmca info cube.h5 --dataset /scan/data --json
"""


@one_line_errors
@takes(*READING)
def info(data: Data, given: dict[str, Any], as_json: AsJson = False) -> None:
    """Show the shape, axis and noise of data, and how many sources they may have."""
    settings = Settings(data=tuple(data), **given)
    seen = settings.read()
    with as_bad_input():
        facts = examine(seen)
    if as_json:
        print_json(facts)
        return
    for remark in seen.notes:
        note(remark)
    _show(seen, facts)


def examine(data: Dataset) -> dict[str, Any]:
    """Return the facts about data, as plain numbers."""
    facts = _shape_and_axis(data)
    if is_large(data):
        why = (
            "values, noise and singular values are left out: they need all data in memory. "
            "`ngmca separate` does not."
        )
        return facts | {"type": str(data.Y.dtype), "left_out": why, "notes": list(data.notes)}
    engine = open_data(data.Y)
    seen = spectrum(engine)
    return facts | {
        "smallest": float(np.nanmin(data.Y)),
        "largest": float(np.nanmax(data.Y)),
        "missing": 0.0 if engine.weights is None else float(np.mean(engine.weights == 0)),
        "negative": negative_share(engine),
        "noise": seen.noise,
        "snr": signal_to_noise(engine, seen.noise),
        "singular_values": seen.values.tolist(),
        "noise_edge": seen.edge,
        "above_noise": seen.above,
        "notes": list(data.notes),
    }


def _shape_and_axis(data: Dataset) -> dict[str, Any]:
    """Return the facts that need no values."""
    (m, n), axis = data.Y.shape, data.axis
    return {
        "format": data.meta.get("format"),
        "measurements": m,
        "channels": n,
        "image_shape": data.image_shape,
        "axis": data.axis_label if axis is not None else None,
        "axis_from": 0.0 if axis is None else float(axis[0]),
        "axis_to": n - 1.0 if axis is None else float(axis[-1]),
    }


def _show(data: Dataset, facts: dict[str, Any]) -> None:
    m, n = data.Y.shape
    pixels = " x ".join(map(str, data.image_shape or ()))
    image = f", an image of {pixels} pixels" if pixels else ""
    kind = ", ".join([facts["format"] or "array", *([facts["type"]] if "type" in facts else [])])
    say(f"{m} measurement{'s' * (m != 1)} x {n} channel{'s' * (n != 1)} ({kind}){image}")
    ends = f"{facts['axis_from']:g} to {facts['axis_to']:g}"
    axis = f"{short_line(facts['axis'])}, {ends}" if facts["axis"] else "none: channels are numbered"
    say(f"axis         {axis}")
    if data.row_axis is not None:
        low, high = float(data.row_axis.min()), float(data.row_axis.max())
        say(f"rows         {short_line(data.row_label)}, {low:g} to {high:g}")
    elif data.row_names:
        say(f"rows         {short_line(', '.join(data.row_names[:4]))}{' ...' if m > 4 else ''}")
    if "left_out" in facts:
        say(facts["left_out"])
        return
    values = f"{facts['smallest']:.4g} to {facts['largest']:.4g}"
    say(f"values       {values}, {percent(facts['negative'])} negative")
    if facts["missing"]:
        say(f"missing      {percent(facts['missing'])} of the entries")
    ratio = f"{facts['snr']:.1f} dB" if np.isfinite(facts["snr"]) else "infinite"
    say(f"noise        about {facts['noise']:.3g} before any separation, signal to noise {ratio}")
    _bars(np.array(facts["singular_values"]), facts["noise_edge"])
    above, shown = facts["above_noise"], len(facts["singular_values"])
    more = "or more " if above == shown and shown < min(m, n) else ""
    what = "singular value is" if above == 1 and not more else "singular values are"
    say(
        f"{above} {more}{what} above the noise: the data have at least as many sources, if the noise is "
        "equal and independent in all channels."
    )


def _bars(values: NDArray, edge: float) -> None:
    """Print singular values as bars on a logarithmic scale, those above the noise in colour."""
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
