"""Maps of images: one value for each pixel, against the coordinates in the file."""

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ngmca.io import Dataset
from ngmca.report.plotly_style import compact, literal, small, style

MAX_PIXELS = 1 << 16  # of one map


def image(values: NDArray, data: Dataset, title: str = "", unit: str = "") -> go.Figure:
    """Return a map of one value for each pixel; large maps are averaged to the size of a screen."""
    shape = data.image_shape or (1, len(values))
    pixels = values.reshape(shape)
    (x, across), (y, down) = _coordinates(data, "x", 1), _coordinates(data, "y", 0)
    step = int(np.ceil(np.sqrt(pixels.size / MAX_PIXELS)))
    if step > 1:
        rows, columns = (size // step * step for size in shape)
        pixels = pixels[:rows, :columns].reshape(rows // step, step, columns // step, step).mean((1, 3))
        x, y = x[:columns].reshape(-1, step).mean(1), y[:rows].reshape(-1, step).mean(1)
    bar = {"thickness": 8, "len": 0.9, "tickfont": {"size": 9}, "nticks": 5, "xpad": 4}
    hover = f"{across} %{{x:.5g}}, {down} %{{y:.5g}}: %{{z:.3g}}{unit}<extra></extra>"
    figure = go.Figure(
        go.Heatmap(
            z=compact(pixels), x=x, y=y, colorscale="Viridis", hovertemplate=hover,
            colorbar=bar | {"ticksuffix": unit},
        )
    )  # fmt: skip
    style(figure, 290)
    figure.update_layout(margin={"l": 8, "r": 4, "t": 30, "b": 8}, title=small(title))
    ticks: dict[str, Any] = {"constrain": "domain", "showgrid": False, "nticks": 5}
    ticks |= {"tickfont": {"size": 9}, "title_font": {"size": 10}, "title_standoff": 4}
    figure.update_xaxes(title=across, **ticks)
    first_on_top = "reversed" if len(y) < 2 or y[-1] > y[0] else True
    figure.update_yaxes(title=down, autorange=first_on_top, scaleanchor="x", **ticks)
    return figure


def _coordinates(data: Dataset, name: str, direction: int) -> tuple[NDArray, str]:
    """Return positions and label of the columns (x) or rows (y) of the image; numbers if unknown."""
    shape = data.image_shape or (1, len(data.names))
    size, count = shape[direction], np.arange(shape[direction], dtype=float)
    plain = "column" if direction else "row"
    try:
        given = np.asarray(data.meta.get(name, ()), dtype=float)
    except (TypeError, ValueError):
        return count, plain
    if given.size == shape[0] * shape[1] and given.size != size:  # one for every pixel
        given = given.reshape(shape)[0] if direction else given.reshape(shape)[:, 0]
    steps = np.diff(given)
    if given.shape != (size,) or not ((steps > 0).all() or (steps < 0).all()):
        return count, plain
    unit = str(data.meta.get(f"{name}_unit", ""))
    return given, literal(f"{name} [{unit}]" if unit else name)
