"""One section of the report."""

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go


@dataclass(frozen=True)
class Section:
    """A heading with text and figures below it.

    Attributes
    ----------
    anchor : str
        Its name in links.
    heading : str
        The heading as plain text.
    body : str
        Text in HTML.
    plots : tuple of plotly.graph_objects.Figure
        Figures below the text.
    columns : int
        How many figures stand side by side: 1, 2 or 3.
    folded : bool
        Whether only the heading is shown until a reader opens the section.
    """

    anchor: str
    heading: str
    body: str = ""
    plots: tuple[go.Figure, ...] = ()
    columns: int = 1
    folded: bool = False


def paragraph(text: str) -> str:
    """Return a plain text as a paragraph of HTML."""
    return f"<p>{escape(text, quote=False)}</p>"


def table(head: str, rows: list[str], kind: str = "") -> str:
    """Return a table from the cells of its head and of its rows, in HTML without closing tags."""
    lines = "".join(f"<tr>{row}" for row in ([head] if head else []) + rows)
    return f"<div class=wide><table{f' class={kind}' if kind else ''}>{lines}</table></div>"
