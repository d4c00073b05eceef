"""The page of the report: its sections, and one file that contains Plotly and its style."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import metadata, resources

from plotly.offline import get_plotlyjs

from ngmca.report.plotly_figure import Figure


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
    plots : tuple of Figure
        Figures below the text.
    columns : int
        How many figures stand side by side: 1, 2 or 3.
    folded : bool
        Whether only the heading is shown until a reader opens the section.
    """

    anchor: str
    heading: str
    body: str = ""
    plots: tuple[Figure, ...] = ()
    columns: int = 1
    folded: bool = False


def paragraph(text: str) -> str:
    """Return a plain text as a paragraph of HTML."""
    return f"<p>{escape(text, quote=False)}</p>"


def table(head: str, rows: list[str], kind: str = "") -> str:
    """Return a table from the cells of its head and of its rows, in HTML without closing tags."""
    lines = "".join(f"<tr>{row}" for row in ([head] if head else []) + rows)
    return f"<div class=wide><table{f' class={kind}' if kind else ''}>{lines}</table></div>"


def unbroken(body: str) -> str:
    """Return HTML in which no line ends after the hyphens of an option, such as --baseline."""
    return OPTION.sub(r"<span class=option>\g<0></span>", body)


OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*(?![^<]*>)")  # not inside a tag
LESS = "\\u003c"  # "<" in JSON
RECORD = "<script type='application/json' id='run'>"  # before what is needed to repeat the run
PARTS = resources.files("ngmca.report")  # where the style and the script of the page are


def render(title: str, sections: Sequence[Section], record: str = "{}") -> str:
    """Return the report of a run; `record` is JSON that programs read from the page."""
    links = "".join(f"<a href='#{s.anchor}'>{escape(s.heading)}</a>" for s in sections)
    header = f"<p>Sparse non-negative source separation</p><nav>{links}</nav>"
    scripts = (get_plotlyjs(), PARTS.joinpath("page.js").read_text(encoding="utf-8"))
    kept = f"{RECORD}{record.replace('<', LESS)}</script>"
    return page(title, header, "".join(map(_section, sections)) + kept, scripts=scripts)


def record_in(text: str) -> str:
    """Return the record in a report, "" if it has none."""
    return text.rpartition(RECORD)[2].partition("</script>")[0] if RECORD in text else ""


def page(
    title: str,
    header: str,
    main: str,
    *,
    style: str = "",
    scripts: tuple[str, str] | None = None,
    refresh: float = 0,
) -> str:
    """Return a whole page; the first of the scripts runs before the content, the second after it.

    A browser loads the page again every `refresh` seconds, unless that is 0.
    """
    again = f"<meta http-equiv=refresh content={refresh:g}>" if refresh else ""
    first, last = (f"<script>{script}</script>" for script in scripts or ("", ""))
    style = PARTS.joinpath("page.css").read_text(encoding="utf-8") + style
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8>{policy(*scripts or ())}"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        f"<link rel=icon href='data:,'>{again}"  # without an icon browsers ask for one
        f"<title>{escape(title)} · ngmca</title><style>\n{style}</style>"
        f"{first if scripts else ''}</head><body>"
        f"<header><h1>{escape(title)}</h1>{header}</header><main>{main}"
        f"<footer>ngmca {metadata.version('ngmca')}</footer></main>"
        f"{last if scripts else ''}</body></html>\n"
    )


def policy(*scripts: str) -> str:
    """Return the tag that allows these scripts only, and no request to any other place.

    All styles are allowed: Plotly writes its own, and they cannot load anything.
    """
    hashes = (b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in hashes) or "'none'"
    rules = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv=Content-Security-Policy content="{rules}">'


def _section(section: Section) -> str:
    kind = {1: "", 2: " two", 3: " three"}[section.columns]
    # "<" of a name could end the script element early
    plots = "".join(
        f"<div class=plot style='min-height:{plot.height}px'>"
        f"<script type='application/json'>{plot.to_json().replace('<', LESS)}</script></div>"
        for plot in section.plots
    )
    grid = f"<div class='grid{kind}'>{plots}</div>" if plots else ""
    heading, content = f"<h2>{escape(section.heading)}</h2>", f"{unbroken(section.body)}{grid}"
    if section.folded:
        heading, content = "", f"<details><summary>{heading}</summary>{content}</details>"
    return f"<section id={section.anchor}>{heading}{content}</section>"
