"""The sections of the report, from the summary to the parameters: each is a small function."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ngmca.answers.how_sure import agreement, leftover_share, peaks, percent
from ngmca.engines import in_own_units
from ngmca.report import answer_sections as answers
from ngmca.report import background_and_spikes as apart
from ngmca.report import figures
from ngmca.report import mixing_figures as weights
from ngmca.report import plotly_style as drawing
from ngmca.report.maps import image
from ngmca.saving.results import Run

SHOWN_SOURCES = 60  # more rows of a table than this help nobody
SAME = 40.0  # dB from which on two sources differ by less than a line's width


@dataclass(frozen=True)
class Section:
    """A heading, text in HTML, and figures below it; `columns` is how many fit side by side.

    A folded one shows its heading until it is asked for more.
    """

    anchor: str
    heading: str
    body: str = ""
    plots: tuple[go.Figure, ...] = ()
    columns: int = 1
    folded: bool = False


def sections(run: Run, words: Callable[[str], str] = str) -> list[Section]:
    """All that is to be shown, in order; `words` puts warnings into those of the reader."""
    return [
        overview(run, words),
        *how_many(run),
        *which(run),
        *how_much(run),
        sources(run),
        *background(run),
        made_of(run),
        mixing(run),
        fits(run),
        *outliers(run),
        residual(run),
        convergence(run),
        details(run),
    ]


def overview(run: Run, words: Callable[[str], str] = str) -> Section:
    """What was found in plain words, and the warnings."""
    s, d = run.separation, run.diagnostics
    noise = float(np.median(d.sigma))
    tiles = [
        (str(len(s.S)), "sources"),
        (percent(d.explained), "explained"),
        (f"{noise:.3g}", "noise"),
        (_snr(run), "signal to noise"),
        (f"{len(s.A)} x {s.S.shape[1]}", "measurements x channels"),
    ]
    drawn = "".join(
        f"<div class=tile><b>{escape(a)}</b><span>{escape(b)}</span></div>" for a, b in tiles
    )
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in run.summary)
    told = f"<div class=more>{told}</div>"
    body = f"<div class=tiles>{drawn}</div>{answers.opening(run)}{_warnings(run, words)}{told}"
    return Section("summary", "Summary", body)


def how_many(run: Run) -> list[Section]:
    """Why there are as many sources, if that was found out."""
    choice = run.answers.rank
    if choice is None:
        return []
    text = (
        f"{choice.advice} With the right number, entries that were held out are predicted best, "
        "further singular values are no larger than those of noise, and all sources come again from "
        "other measurements; the three may disagree. rank.csv has the figures."
    )
    return [Section("rank", "How many", f"<p>{escape(text)}</p>", answers.witnesses(run), 3)]


def which(run: Run) -> list[Section]:
    """What the sources are like in the library, if there was one."""
    found = run.answers.identification
    if found is None:
        return []
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in found.words)
    text = f"<p>{escape(found.chance_told)} identification.csv has the table.</p>"
    table = f"<details><summary>the best matches of each</summary>{answers.match_table(found)}</details>"
    return [Section("which", "Which", told + text + table, answers.matches(run), 2)]


def how_much(run: Run) -> list[Section]:
    """Amounts of the substances, if there was anything to tell their scale by."""
    amounts = run.answers.amounts
    if amounts is None:
        return []
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in amounts.words)
    text = (
        f"<p>In brackets the {100 * amounts.level:.3g} % interval; ! is above all standards, where the "
        "line was not checked. amounts.csv has all measurements.</p>"
    )
    table = f"<details><summary>in words</summary>{told}</details>{answers.substance_table(amounts)}"
    body = f"<p>{escape(amounts.words[0])}</p>{table}{text}{answers.amount_table(amounts)}"
    return [Section("amounts", "How much", body, answers.calibrations(amounts), 3)]


def sources(run: Run) -> Section:
    """The sources, and a table of their strongest peaks."""
    thinned = run.separation.S.shape[1] > drawing.LONGEST
    text = (
        "Each source on its own scale, with its share of the energy of all sources. Drag to zoom, "
        "double-click to see all again."
    )
    if thinned:
        text += " Lines are drawn by their extremes; sources.csv has every channel."
    if agreement(run.separation) is not None:
        text += (
            " Other starts: how alike the source is in answers that fit equally well, the least alike "
            "of them, as the ratio of what is common to what differs."
        )
    text += _others_told(run) + _bars_told(run)
    return Section("sources", "Sources", f"<p>{text}</p>{_source_table(run)}", (figures.sources(run),))


def _others_told(run: Run) -> str:
    """What the range of equally good answers is, where it is drawn."""
    others = run.separation.others
    if others is None:
        return ""
    starts = "of another start that fits" if others.count == 1 else f"of {others.count} starts that fit"
    return (
        f" Between dotted lines: where the source lies in answers {starts} equally well, brought "
        "to the same norm; sources.csv and mixing.csv have the lowest and the highest."
    )


def background(run: Run) -> list[Section]:
    """The smooth part of each measurement that belongs to no source, if it was looked for."""
    if run.separation.background is None:
        return []
    text = (
        "The smooth part of measurements that belongs to no source, as fluorescence or an offset. It is "
        "in no figure of sources or weights; background.csv has it."
    )
    return [Section("background", "Background", f"<p>{text}</p>", apart.background(run))]


def outliers(run: Run) -> list[Section]:
    """Entries that were given no weight, if there are any."""
    count = 0 if run.separation.outliers is None else len(run.separation.outliers)
    if not count:
        return []
    text = (
        f"{count} {'entry is' if count == 1 else 'entries are'} far beyond the noise, and no source "
        f"explains {'it: it has' if count == 1 else 'them: they have'} no weight. See outliers.csv."
    )
    return [Section("outliers", "Outliers", f"<p>{text}</p>{apart.outlier_table(run)}")]


def made_of(run: Run) -> Section:
    """What each measurement consists of, in percent: maps for images, else bars."""
    text = (
        "The part of each source in the signal of a {}, the sum over all channels: these can be "
        "compared between sources, and add up to 100 %. mixing.csv has them too."
    )
    if not run.data.image_shape:
        plots: tuple[go.Figure, ...] = (weights.shares(run),)
        body = f"<p>{text.format('measurement')}</p>{weights.by_file(run)}"
        return Section("shares", "What is in it", body, plots)
    plots = _maps(run, 100 * run.separation.shares, "source {}", " %")
    return Section("shares", "What is in it", f"<p>{text.format('pixel')}</p>", plots, 3)


def mixing(run: Run) -> Section:
    """The columns of A, of norm 1: maps for images, with their spread, else bars."""
    A = run.separation.answer[0]
    text = f"How much of each source is in every {{}}. {weights.scale_told(run)}"
    posterior = weights.shown_posterior(run)
    if not run.data.image_shape:
        bars = _bars_told(run) if len(A) <= weights.BARS else ""
        plots: tuple[go.Figure, ...] = (weights.weights(run),)
        return Section("mixing", "Mixing weights", f"<p>{text.format('measurement')}{bars}</p>", plots)
    plots = _maps(run, A, "source {}")
    if posterior is not None:
        text += " The maps of the spread have the posterior's standard deviation of every pixel."
        plots += _maps(run, posterior.A.sd, "source {}, spread")
    return Section("mixing", "Mixing maps", f"<p>{text.format('pixel')}</p>", plots, 3)


def _maps(run: Run, columns: NDArray, title: str, unit: str = "") -> tuple[go.Figure, ...]:
    """One map a source."""
    return tuple(
        image(column, run.data, f"<b style='color:{drawing.colour(i)}'>{title.format(i + 1)}</b>", unit)
        for i, column in enumerate(columns.T)
    )


def _bars_told(run: Run) -> str:
    """What is drawn where there are error bars: which answer, and how sure it is; or why none."""
    posterior = run.separation.posterior
    if posterior is None:
        return ""
    if posterior.refuted:
        return " There are no error bars: what was found contradicts the model behind them (see above)."
    care = ", to be read with the warning above." if posterior.warnings else "."
    if posterior.model == "bands":
        return f" Dark: the 90 % interval around the answer, where the truth should lie{care}"
    return (
        " The answer is the mean of the posterior, which no threshold has shrunk; the tables have it as "
        "the columns named mean, beside the separation it began with. Dark: the 90 % interval, where "
        f"the truth should lie{care}"
    )


def fits(run: Run) -> Section:
    """A few measurements with their fit, from the best to the worst explained."""
    d = run.diagnostics
    text = "From the best to the worst explained measurement. Dotted lines are twice the noise."
    plots = tuple(figures.fit(run, pick) for pick in range(len(d.picks)))
    return Section("fits", "Measurements and their fit", f"<p>{text}</p>", plots, 2)


def residual(run: Run) -> Section:
    """What is left over, and whether it looks like noise."""
    d = run.diagnostics
    text = (
        f"{percent(d.outside)} of the residual lies beyond 6 standard deviations of the noise. "
        "Neighbouring channels of the residual are correlated by "
        f"{d.autocorrelation:.2f} (0 for white noise)."
    )
    plots = [figures.histogram(run), figures.along_axis(run), figures.per_measurement(run)]
    if len(d.singular):
        plots.insert(1, figures.structure(run))
    return Section("residual", "Residual", f"<p>{text}</p>", tuple(plots), 2)


def convergence(run: Run) -> Section:
    """How the iterations went."""
    violation, domain = run.separation.violation, run.separation.domain
    text = "The threshold falls to the noise while sources and weights are estimated in turn."
    measure = "relative KKT"
    if domain.name == "wavelet":
        text += (
            " Then the sources are estimated as lines and bands: thresholds are those of wavelet "
            "coefficients, and a coefficient that is clearly there is not shrunk."
        )
        measure = "duality gap over the objective"
    if not math.isnan(violation):
        text += f" The sources are optimal to {violation:.1e} ({measure})."
    plots = tuple(figures.convergence(run))
    return Section("convergence", "Convergence", f"<p>{text}</p>", plots, 2, folded=True)


def details(run: Run) -> Section:
    """Parameters, versions and notes: what is needed to repeat the run."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in run.data.notes[:20])
    body = f"<p>While reading:</p><ul>{notes}</ul>" if notes else ""
    rows = [
        (key, value)
        for group in run.record.values()
        for key, value in (group.items() if isinstance(group, dict) else ())
    ]
    rows += [(key, value) for key, value in run.data.meta.items() if isinstance(value, str) and value]
    if rows:
        lines = "".join(f"<tr><th>{escape(str(k))}<td>{escape(_plain(v))}" for k, v in rows)
        body += f"<div class=wide><table class=details>{lines}</table></div>"
    return Section("details", "This run", body or "<p>No parameters were recorded.</p>")


def _source_table(run: Run) -> str:
    S, x, alike = run.separation.answer[1], run.data.positions, agreement(run.separation)
    rows = []
    for i, row in enumerate(S[:SHOWN_SOURCES]):
        places = ", ".join(f"{place:.4g}" for place in peaks(x, row)) or "none"
        other = "" if alike is None else f"<td>{_decibels(float(alike[i]))}"
        rows.append(
            f"<tr><th><i style='background:{drawing.colour(i)}'></i>{i + 1}"
            f"<td>{percent(float(run.diagnostics.share[i]))}"
            f"<td>{percent(float(np.mean(run.separation.S[i] > 0)))}{other}<td>{places}"
        )
    other = "" if alike is None else "<th>other starts"
    head = f"<tr><th>source<th>share of energy<th>not 0{other}"
    head += f"<th>highest peaks at {escape(run.data.axis_label)}"
    return f"<div class=wide><table>{head}{''.join(rows)}</table></div>"


def _decibels(value: float) -> str:
    """How alike a source is in equally good answers."""
    return "the same" if value > SAME else f"{value:.0f} dB"


def _warnings(run: Run, words: Callable[[str], str]) -> str:
    if not run.findings:
        beyond = leftover_share(run.diagnostics)
        left = f"what is left over beyond noise has {percent(beyond)} of the energy of the data"
        return (
            "<div class='note good'><b>Nothing looks wrong.</b> No source is a copy, empty or noise, "
            f"and {left if beyond else 'the residual looks like noise'}.</div>"
        )
    return "".join(
        f"<div class='note warn' data-kind='{escape(f.kind)}'>"
        f"<b>{escape(f.title)}.</b> {escape(words(f.text))}</div>"
        for f in run.findings
    )


def _snr(run: Run) -> str:
    """Energy of the fit over that of the noise, in dB."""
    A, (S, unit) = run.separation.A, in_own_units(run.separation.S)  # whose squares do not overflow
    power = float(np.vdot(A.T @ A, S @ S.T)) / (len(A) * S.shape[1])
    noise = float(np.mean((run.diagnostics.sigma / unit) ** 2))
    return f"{10 * math.log10(power / noise):.1f} dB" if power > 0 and noise > 0 else "none"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
