"""Figures that Plotly draws in a browser, as the plain data that it reads.

Plotly's own Python classes check every part of a figure, which takes longer than everything else in a
report. Here tests let them check all figures instead.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Trace = dict[str, Any]  # of a figure

TYPES = ("f4", "f8", "i1", "i2", "i4", "u1", "u2", "u4")  # of arrays that Plotly reads in base64


def scatter(**parts: Any) -> Trace:
    """Return a line, or markers."""
    return {"type": "scatter", **parts}


def bar(**parts: Any) -> Trace:
    """Return bars."""
    return {"type": "bar", **parts}


def heatmap(**parts: Any) -> Trace:
    """Return a matrix in colours."""
    return {"type": "heatmap", **parts}


class Figure:
    """Traces in one or several panels, and their layout. Parts that are None are left out.

    Parameters
    ----------
    *traces : dict
        What is drawn in the first panel.
    rows : sequence of float
        Heights of panels below each other, which share the horizontal axis, up to a factor.
    columns : sequence of float
        Widths of panels beside each other, of a figure with one row.
    gap : float
        Room between panels, as a share of the figure.

    Attributes
    ----------
    data : list of dict
        All traces.
    layout : dict
        Everything else.
    panels : int
        Number of panels.
    """

    def __init__(
        self,
        *traces: Trace,
        rows: Sequence[float] = (1,),
        columns: Sequence[float] = (1,),
        gap: float = 0.0,
    ) -> None:
        self.data: list[Trace] = list(traces)
        self.layout: dict[str, Any] = {}
        self.panels = len(rows) * len(columns)
        if self.panels == 1:
            return
        places = product(_parts(rows[::-1], gap)[::-1], _parts(columns, gap))  # from the top
        for i, (across, beside) in enumerate(places):
            here, is_last = _number(i), i == len(rows) - 1 or len(rows) == 1
            shared = {} if is_last else {"matches": f"x{self.panels}", "showticklabels": False}
            self.layout[f"xaxis{here}"] = {"anchor": f"y{here}", "domain": beside} | shared
            self.layout[f"yaxis{here}"] = {"anchor": f"x{here}", "domain": across}

    def add(self, trace: Trace, panel: int = 0) -> None:
        """Draw a trace in a panel."""
        place = {f"{axis}axis": axis + _number(panel) for axis in "xy"} if self.panels > 1 else {}
        self.data.append(trace | place)

    def update(self, **layout: Any) -> None:
        """Change parts of the layout, and leave other entries of these parts as they are."""
        _merge(self.layout, layout)

    def update_x(self, panel: int | None = None, **parts: Any) -> None:
        """Change the horizontal axis of a panel, or of all of them."""
        self._update_axes("x", panel, parts)

    def update_y(self, panel: int | None = None, **parts: Any) -> None:
        """Change the vertical axis of a panel, or of all of them."""
        self._update_axes("y", panel, parts)

    def _update_axes(self, axis: str, panel: int | None, parts: dict[str, Any]) -> None:
        for i in range(self.panels) if panel is None else (panel,):
            _merge(self.layout.setdefault(f"{axis}axis{_number(i)}", {}), parts)

    def annotate(self, **parts: Any) -> None:
        """Write a text."""
        self.layout.setdefault("annotations", []).append({"showarrow": False, **parts})

    def horizontal(self, y: float, line: dict[str, Any], panel: int = 0) -> None:
        """Draw a line across a panel."""
        self._shape("line", panel, x0=0, x1=1, across="x", y0=y, y1=y, line=line)

    def vertical(self, x: float, line: dict[str, Any]) -> None:
        """Draw a line through all panels."""
        for i in range(self.panels):
            self._shape("line", i, x0=x, x1=x, y0=0, y1=1, across="y", line=line)

    def stretch(self, low: float, high: float, colour: str) -> None:
        """Shade all panels between two places of the horizontal axis."""
        for i in range(self.panels):
            given = {"fillcolor": colour, "line": {"width": 0}}
            self._shape("rect", i, x0=low, x1=high, y0=0, y1=1, across="y", **given)

    def _shape(self, kind: str, panel: int, *, across: str, **parts: Any) -> None:
        """Add a shape, whose coordinates along the axis `across` are shares of the panel."""
        place = {
            f"{axis}ref": axis + _number(panel) + " domain" * (axis == across) for axis in ("x", "y")
        }
        self.layout.setdefault("shapes", []).append({"type": kind} | place | parts)

    @property
    def height(self) -> int:
        """The height in pixels."""
        return int(self.layout["height"])

    def to_json(self) -> str:
        """Return the figure in JSON, with arrays in base64."""
        found = {"data": self.data, "layout": self.layout}
        return json.dumps(_plain(found), separators=(",", ":"), allow_nan=False)


def _number(panel: int) -> str:
    """Return the number of a panel in the names of its axes; the first has none."""
    return str(panel + 1) if panel else ""


def _parts(sizes: Sequence[float], gap: float) -> list[list[float]]:
    """Return beginning and end of each of several parts of a side."""
    share = (1 - gap * (len(sizes) - 1)) / sum(sizes)
    ends = np.cumsum(np.multiply(sizes, share)) + gap * np.arange(len(sizes))
    return [[float(end - size * share), float(end)] for size, end in zip(sizes, ends, strict=True)]


def _merge(into: dict[str, Any], parts: dict[str, Any]) -> None:
    """Put parts in place of those of the same name; dicts are merged, and text is that of a title."""
    for name, value in parts.items():
        if name == "title" and isinstance(value, str):
            value = {"text": value}
        if isinstance(value, dict):
            _merge(into.setdefault(name, {}), value)
        elif value is not None:
            into[name] = value


def _plain(value: Any) -> Any:
    """Return what JSON can hold: arrays as Plotly reads them, and None for what is no number."""
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if one is not None}
    if isinstance(value, np.ndarray):
        return _encoded(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _encoded(values: NDArray) -> Any:
    """Return an array of numbers in base64, integers in as few bytes as they need."""
    if values.dtype.kind in "iu" and values.size:
        least, most = np.min_scalar_type(values.min()), np.min_scalar_type(values.max())
        values = values.astype(np.promote_types(least, most))
    kind = values.dtype.str[1:]
    if kind not in TYPES or not values.size:
        return _plain(values.tolist())
    content = np.ascontiguousarray(values, dtype=f"<{kind}")
    found = {"dtype": kind, "bdata": b64encode(content.tobytes()).decode()}
    return found | ({"shape": ", ".join(map(str, values.shape))} if values.ndim > 1 else {})
