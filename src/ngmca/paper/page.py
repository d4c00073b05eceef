"""The report: one page with every figure, its settings, its claims and the numbers behind them."""

import base64
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from ngmca.paper.claims import FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Evidence, Finding
from ngmca.paper.methods import METHODS
from ngmca.paper.standing import BEYOND, SEQUEL, Result, file_name, full
from ngmca.report.html_page import page

Claims = Sequence[tuple[Claim, Finding]]
CHIPS = {HOLDS: ("yes", "✓"), FAILS: ("no", "✗"), UNDECIDED: ("open", "?"), NOT_RUN: ("open", "·")}


def render(results: Sequence[Result], figures: Path) -> str:
    """Return the page with its figures."""
    judged = [(one, [(claim, one.judge(claim)) for claim in one.experiment.claims]) for one in results]
    parts = [_overview(judged), *(_section(result, claims, figures) for result, claims in judged)]
    title = "The experiments of “Sparse and Non-negative BSS for Noisy Data”"
    header = "<p>Every figure and table of the paper, run anew, and its claims checked</p>"
    style = resources.files("ngmca.paper").joinpath("page.css").read_text(encoding="utf-8")
    return page(title, header, "".join(parts), style=style)


def _overview(judged: Sequence[tuple[Result, Claims]]) -> str:
    ours, later = (
        [item for item in judged if item[0].experiment.label in labels] for labels in (BEYOND, SEQUEL)
    )
    theirs = [item for item in judged if item not in ours and item not in later]
    return (
        f"<section id=overview><h2>Claims of the paper</h2>{_counted(theirs)}"
        "<p>Methods are compared on the same data, simulation by simulation; intervals (95 %) belong to "
        "mean differences. A claim about all comparisons holds when each interval is on its side of the "
        "limit. It does not hold when one is on the other side, widened such that all of them hold "
        "together with 95 % confidence. Otherwise it is undecided at this number of simulations.</p>"
        f"{_listed(theirs)}</section>"
        f"<section id=beyond><h2>Beyond the paper</h2>{_counted(ours)}{_listed(ours)}</section>"
        f"<section id=sequel><h2>Its sequel</h2>{_counted(later)}{_listed(later)}</section>"
    )


def _counted(judged: Sequence[tuple[Result, Claims]]) -> str:
    count = Counter(finding.verdict for _, claims in judged for _, finding in claims)
    tiles = (("claims", count.total()), *((marked, count[marked]) for marked in CHIPS if count[marked]))
    shown = "".join(
        f"<div class=tile><b>{number}</b><span>{name}</span></div>" for name, number in tiles
    )
    return f"<div class=tiles>{shown}</div>"


def _listed(judged: Sequence[tuple[Result, Claims]]) -> str:
    rows = "".join(
        f"<tr><td><a href='#{file_name(result.experiment.label)}'>{escape(result.experiment.label)}</a>"
        f"</td><td>{_marked(claim.text)}</td><td>{_chip(finding.verdict)}</td></tr>"
        for result, claims in judged
        for claim, finding in claims
    )
    return f"<div class=wide><table class=overview>{rows}</table></div>"


def _section(result: Result, claims: Claims, figures: Path) -> str:
    experiment = result.experiment
    anchor = file_name(experiment.label)
    body = f"<img alt='{escape(experiment.title)}' src='{_picture(figures / f'{anchor}.png')}'>"
    if not result.ready:
        body = "<p class='note warn'>Not run yet.</p>"
    marked = "".join(_claim(claim, finding) for claim, finding in claims)
    remark = f"<p>{_marked(experiment.remark)}</p>" if experiment.remark else ""
    return (
        f"<section id={anchor}><h2>{escape(experiment.label)}: {_marked(experiment.title)}</h2>"
        f"{body}{remark}{_settings(result)}{marked}</section>"
    )


def _settings(result: Result) -> str:
    study = result.experiment.study
    if study is None:
        return ""
    methods = "".join(
        f"<tr><td>{_marked(METHODS[name].label)}</td><td>{escape(METHODS[name].settings)}</td></tr>"
        for name in study.methods
    )
    return (
        f"<details><summary>settings and means of {result.done} simulations ({full(result.experiment)})"
        "</summary>"
        f"<p>Data: <code>ngmca.simulate.{escape(study.data)}</code>; simulation k has seed k.</p>"
        f"<div class=wide><table>{methods}</table></div>{_means(result)}</details>"
    )


def _means(result: Result) -> str:
    means = result.means()
    if means is None:
        return ""
    heads = "".join(f"<th>{_marked(METHODS[str(name)].label)}</th>" for name in means.columns)
    rows = "".join(
        f"<tr><td>{value:g}</td>" + "".join(f"<td class=number>{sdr:.2f}</td>" for sdr in row) + "</tr>"
        for value, row in means.iterrows()
    )
    return (
        "<p>Mean SDR<sub>S</sub> in dB:</p>"
        f"<div class=wide><table><tr><th>{escape(result.varies)}</th>{heads}</tr>{rows}</table></div>"
    )


def _claim(claim: Claim, finding: Finding) -> str:
    why = f"<p class=why>{_marked(claim.why)}</p>" if claim.why else ""
    rows = "".join(map(_evidence, finding.evidence))
    numbers = (
        "<details><summary>numbers</summary><div class=wide><table><tr><th>comparison<th>mean"
        f"<th>interval<th>limit<th>simulations<th></tr>{rows}</table></div></details>"
        if rows
        else ""
    )
    return (
        f"<div class=claim><p>{_chip(finding.verdict)} {_marked(claim.text)}</p>"
        f"<p><small>{escape(claim.place)}</small></p>{why}{numbers}</div>"
    )


def _evidence(item: Evidence) -> str:
    bounds = [f"> {item.above:g}"] * (item.above > -float("inf"))
    bounds += [f"< {item.below:g}"] * (item.below < float("inf"))
    return (
        f"<tr><td>{escape(item.what)}</td><td class=number>{item.mean:.4g}</td>"
        f"<td class=number>{item.low:.4g} to {item.high:.4g}</td><td>{escape(', '.join(bounds))}</td>"
        f"<td class=number>{item.n}</td><td>{_chip(item.verdict)}</td></tr>"
    )


def _chip(verdict: str) -> str:
    kind, sign = CHIPS[verdict]
    return f"<span class='chip {kind}'>{sign} {verdict}</span>"


def _picture(path: Path) -> str:
    if not path.exists():
        return ""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _marked(text: str) -> str:
    """Return a text as HTML, with a superscript in nGMCA^S."""
    marked = escape(text)
    for name in ("naive", "S", "H"):
        marked = marked.replace(f"nGMCA^{name}", f"nGMCA<sup>{name}</sup>")
    return marked
