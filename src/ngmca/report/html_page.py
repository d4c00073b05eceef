"""The page around the sections: one file that contains Plotly and its style."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib import metadata, resources

from plotly.offline import get_plotlyjs

from ngmca.report.section import Section

PARTS = resources.files("ngmca.report")  # where the style and the script of the page are


def render(title: str, sections: Sequence[Section]) -> str:
    """Return the report of a run."""
    links = "".join(f"<a href='#{s.anchor}'>{escape(s.heading)}</a>" for s in sections)
    header = f"<p>Sparse non-negative source separation</p><nav>{links}</nav>"
    scripts = (get_plotlyjs(), PARTS.joinpath("page.js").read_text(encoding="utf-8"))
    return page(title, header, "".join(map(_section, sections)), scripts=scripts)


def page(
    title: str, header: str, main: str, *, style: str = "", scripts: tuple[str, str] | None = None
) -> str:
    """Return a whole page; the first of the scripts runs before the content, the second after it."""
    first, last = (f"<script>{script}</script>" for script in scripts or ("", ""))
    style = PARTS.joinpath("page.css").read_text(encoding="utf-8") + style
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8>{policy(*scripts or ())}"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        "<link rel=icon href='data:,'>"  # otherwise browsers ask for one
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
    plots = "".join(
        f"<div class=plot style='min-height:{plot.layout.height}px'>"
        f"<script type='application/json'>{_json(plot.to_json())}</script></div>"
        for plot in section.plots
    )
    grid = f"<div class='grid{kind}'>{plots}</div>" if plots else ""
    heading, content = f"<h2>{escape(section.heading)}</h2>", f"{section.body}{grid}"
    if section.folded:
        heading, content = "", f"<details><summary>{heading}</summary>{content}</details>"
    return f"<section id={section.anchor}>{heading}{content}</section>"


def _json(text: str) -> str:
    """Return JSON that cannot end its script element early, whatever names the data have."""
    return text.replace("<", "\\u003c")
