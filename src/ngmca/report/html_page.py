"""The page around the sections: one file that contains Plotly and its style."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence
from html import escape
from importlib import metadata

from plotly.offline import get_plotlyjs

from ngmca.report.section import Section

STYLE = """
:root{--ink:#1d2733;--soft:#5c6875;--line:#dde3e8;--back:#f4f6f8;--blue:#0072B2}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);
 font:15px/1.5 system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
header{background:#12263a;color:#fff;padding:22px max(16px,calc(50vw - 600px)) 12px}
header h1{margin:0 0 2px;font-size:24px;font-weight:600;overflow-wrap:anywhere}
header p{margin:0;color:#b9c7d6}
nav{display:flex;flex-wrap:wrap;gap:4px 16px;margin-top:10px}
nav a{color:#cfe3f5;text-decoration:none;font-size:14px;padding:2px 0}
nav a:hover{text-decoration:underline}
main{max-width:1232px;margin:0 auto;padding:12px 16px 40px}
section{background:#fff;border:1px solid var(--line);border-radius:8px;padding:14px 18px;margin:14px 0}
h2{font-size:18px;margin:0 0 6px}
p{margin:4px 0}
summary{cursor:pointer}
summary h2{display:inline}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:10px;margin:8px 0 12px}
.tile{border:1px solid var(--line);border-radius:6px;padding:8px 12px}
.tile b{display:block;font-size:20px;font-weight:600}
.tile span{color:var(--soft);font-size:13px}
.note{border-left:4px solid;border-radius:4px;padding:8px 12px;margin:10px 0 0}
.warn{border-color:#c77700;background:#fff6e8}
.good{border-color:#2a8f5b;background:#eef8f2}
.more{margin-top:12px}
.grid{display:grid;gap:8px 16px}
.grid>div{min-width:0}
.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr))}
.three{grid-template-columns:repeat(auto-fill,minmax(min(100%,270px),1fr))}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:14px;margin:8px 0}
th,td{text-align:left;padding:3px 14px 3px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:500}
th,td{white-space:nowrap}
th i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:8px}
.details td{white-space:normal;overflow-wrap:anywhere;
 font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
footer{color:var(--soft);font-size:13px;padding:0 2px}
@media(max-width:600px){section{padding:12px 10px}main{padding:6px 8px 30px}.tile b{font-size:18px}
 header h1{font-size:19px}}
"""

# Two buttons: save the picture, and reset the zoom. More would cover the titles of narrow figures. The
# button that sends a figure to Plotly's servers is removed: data must not leave the computer.
DRAW = """
const plots=[...document.querySelectorAll('.plot')];
const settings={responsive:true,displaylogo:false,showSendToCloud:false,plotlyServerURL:'',
 modeBarButtonsToRemove:['select2d','lasso2d','autoScale2d','zoom2d','pan2d','zoomIn2d','zoomOut2d']};
function draw(box){
 const figure=JSON.parse(box.querySelector('script').textContent);
 return Plotly.newPlot(box,figure.data,figure.layout,settings);
}
function next(i){
 if(i===plots.length){document.body.dataset.drawn=i;return}
 const folded=plots[i].closest('details:not([open])');
 (folded?Promise.resolve():draw(plots[i])).then(()=>setTimeout(next,0,i+1));
}
for(const fold of document.querySelectorAll('details'))fold.addEventListener('toggle',()=>{
 for(const box of fold.querySelectorAll('.plot:not(.js-plotly-plot)'))if(fold.open)draw(box);
});
next(0);
"""


def render(title: str, sections: Sequence[Section]) -> str:
    """Return the whole page."""
    plotly = get_plotlyjs()
    links = "".join(f"<a href='#{s.anchor}'>{escape(s.heading)}</a>" for s in sections)
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8>{policy(plotly, DRAW)}"
        "<meta name=viewport content='width=device-width,initial-scale=1'>"
        "<link rel=icon href='data:,'>"  # otherwise browsers ask for one
        f"<title>{escape(title)} · ngmca</title><style>{STYLE}</style>"
        f"<script>{plotly}</script></head><body>"
        f"<header><h1>{escape(title)}</h1><p>Sparse non-negative source separation</p>"
        f"<nav>{links}</nav></header><main>{''.join(map(_section, sections))}"
        f"<footer>ngmca {metadata.version('ngmca')}</footer></main>"
        f"<script>{DRAW}</script></body></html>\n"
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
