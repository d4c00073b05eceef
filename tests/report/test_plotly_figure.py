"""Figures as plain data: panels, what browsers read, and that Plotly knows every part."""

import json
from base64 import b64decode

import numpy as np
import pytest
from plotly_figures import checked

from ngmca.report.plotly_figure import Figure, bar, heatmap, scatter


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.5, np.nan, -np.inf]),
        np.arange(6, dtype=">f4").reshape(2, 3)[:, ::2],
        np.array([-3, 200]),
        np.array([0, 70_000]),
        np.array([1.5]),
        np.array(2.5),
    ],
)
def test_arrays_come_back_from_base64(values):
    found = json.loads(Figure(scatter(x=values)).to_json())["data"][0]["x"]
    back = np.frombuffer(b64decode(found["bdata"]), "<" + found["dtype"])
    shape = tuple(int(size) for size in found.get("shape", str(back.size)).split(","))
    np.testing.assert_array_equal(back.reshape(shape), np.atleast_1d(values))
    assert found["dtype"] in ("f8", "f4", "i2", "i4", "u4")


def test_what_is_no_array_of_numbers_is_written_out():
    trace = scatter(
        x=np.array([], int), y=np.array([2**40]), text=np.array(["a"]), ids=[np.float32(2)], name=None
    )
    found = json.loads(Figure(trace | {"customdata": (np.nan, np.array([True]))}).to_json())["data"][0]
    assert found == {
        "type": "scatter", "x": [], "y": [2**40], "text": ["a"], "ids": [2.0],
        "customdata": [None, [True]],
    }  # fmt: skip


def test_parts_of_the_layout_are_changed_and_others_stay():
    figure = Figure(bar(x=[1], y=[2]))
    figure.update(margin={"l": 5, "t": 3}, height=100, title=None)
    figure.update(margin={"t": 4}, title="words")
    figure.update_x(title={"font": {"size": 10}})
    figure.update_x(title="below", range=[0, 1])
    layout = checked(figure).layout
    assert (layout.margin.l, layout.margin.t, figure.height) == (5, 4, 100)
    assert layout.title.text == "words"
    assert (layout.xaxis.title.text, layout.xaxis.title.font.size) == ("below", 10)


@pytest.mark.parametrize("given", [{"rows": (3, 1)}, {"columns": (3, 1)}])
def test_panels_share_the_figure_in_order(given):
    figure = Figure(gap=0.2, **given)
    figure.add(scatter(x=[0], y=[0]), panel=0)
    figure.add(heatmap(z=np.ones((2, 2))), panel=1)
    figure.update_y(1, visible=False)
    figure.horizontal(7, {"width": 1}, panel=1)
    figure.vertical(8, {"width": 1})
    figure.stretch(1, 2, "red")
    figure.annotate(text="here", x=1, y=1)
    found = checked(figure)
    first, second = found.data
    assert (first.xaxis, first.yaxis, second.xaxis, second.yaxis) == ("x", "y", "x2", "y2")
    layout, rows = found.layout, "rows" in given
    whole, split = ("xaxis", "yaxis") if rows else ("yaxis", "xaxis")
    large, little = (layout[split + number].domain for number in ("", "2"))
    assert layout[whole].domain == layout[whole + "2"].domain == (0, 1)
    np.testing.assert_allclose([*large, *little], [0.4, 1, 0, 0.2] if rows else [0, 0.6, 0.8, 1])
    assert (layout.xaxis.matches, layout.xaxis.showticklabels) == (
        ("x2", False) if rows else (None, None)
    )
    assert (layout.yaxis.visible, layout.yaxis2.visible) == (None, False)
    across, *others = layout.shapes
    assert (across.xref, across.yref, across.y0, across.y1) == ("x2 domain", "y2", 7, 7)
    assert [(one.xref, one.yref) for one in others] == [("x", "y domain"), ("x2", "y2 domain")] * 2
    assert not layout.annotations[0].showarrow


def test_a_part_that_plotly_does_not_know_is_found():
    for figure in (Figure(scatter(colour="red")), Figure(scatter(mode="line"))):
        with pytest.raises(ValueError, match="Invalid"):
            checked(figure)
