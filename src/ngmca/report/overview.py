"""The summary at the top of the report: key numbers, answers, warnings, and sentences."""

import math
from collections.abc import Callable
from html import escape

import numpy as np

from ngmca._support.messages import Option, rendered
from ngmca.answers.how_sure import leftover_share
from ngmca.answers.run import Run
from ngmca.answers.wording import percent
from ngmca.engines import in_own_units
from ngmca.report.answer_sections import source_answers
from ngmca.report.html_page import Section, paragraph


def overview(run: Run, show: Callable[[Option], str] = str) -> Section:
    """Return the summary; `show` writes the arguments that texts mention."""
    s, d = run.separation, run.diagnostics
    numbers = [
        (str(len(s.S)), "sources"),
        (percent(d.explained), "explained"),
        (f"{float(np.median(d.sigma)):.3g}", "noise level"),
        (_signal_to_noise(run), "signal to noise"),
        (f"{len(s.A)} x {s.S.shape[1]}", "measurements x channels"),
    ]
    tiles = "".join(
        f"<div class=tile><b>{escape(a)}</b><span>{escape(b)}</span></div>" for a, b in numbers
    )
    sentences = "".join(paragraph(rendered(sentence, show)) for sentence in run.summary)
    body = (
        f"<div class=tiles>{tiles}</div>{opening(run, show)}{_warnings(run, show)}"
        f"<div class=more>{sentences}</div>"
    )
    return Section("summary", "Summary", body)


def opening(run: Run, show: Callable[[Option], str] = str) -> str:
    """Return the answers to how many, which and how much, and a table of all sources, in HTML."""
    answers = "".join(
        f"<p><b>{escape(question)}</b> {escape(rendered(text, show), quote=False)}</p>"
        for question, text in run.answer_sentences
    )
    return answers + source_answers(run)


def _warnings(run: Run, show: Callable[[Option], str]) -> str:
    if not run.findings:
        beyond = leftover_share(run.diagnostics)
        residual = "the residual looks like noise"
        if beyond:
            residual = f"structure in the residual has only {percent(beyond)} of the energy of the data"
        return (
            "<div class='note good'><b>No problems found.</b> No source is a copy of another, empty or "
            f"noise, and {residual}.</div>"
        )
    return "".join(
        f"<div class='note warn' data-kind='{escape(f.kind)}'>"
        f"<b>{escape(f.title)}.</b> {escape(rendered(f.text, show), quote=False)}</div>"
        for f in run.findings
    )


def _signal_to_noise(run: Run) -> str:
    """Return the energy of the fit over that of the noise, in dB."""
    A, (S, unit) = run.separation.A, in_own_units(run.separation.S)  # squares must not overflow
    power = float(np.vdot(A.T @ A, S @ S.T)) / (len(A) * S.shape[1])
    noise = float(np.mean((run.diagnostics.sigma / unit) ** 2))
    return f"{10 * math.log10(power / noise):.1f} dB" if power > 0 and noise > 0 else "none"
