"""The summary at the top of the report, and the sections about the answers."""

import math
from collections.abc import Callable
from html import escape

import numpy as np

from ngmca._support.messages import Option, rendered
from ngmca.answers.how_much.amounts import Amounts, with_unit
from ngmca.answers.run import Run
from ngmca.answers.which.identification import Identification
from ngmca.answers.wording import percent
from ngmca.engines import in_own_units
from ngmca.report.answer_figures import amounts_of, criteria, matches
from ngmca.report.html_page import Section, paragraph, table
from ngmca.report.peaks import peaks
from ngmca.report.plotly_style import MAX_ROWS, colour


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
    body = f"{_verdict(run)}{opening(run, show)}{_warnings(run, show)}<div class=tiles>{tiles}</div>"
    return Section("summary", "Summary", body)


def opening(run: Run, show: Callable[[Option], str] = str) -> str:
    """Return the answers to how many, which and how much, and a table of all sources, in HTML."""
    answers = "".join(
        f"<p><b>{escape(question)}</b> {escape(rendered(text, show), quote=False)}</p>"
        for question, text in run.answer_sentences
    )
    return answers + source_answers(run)


def _verdict(run: Run) -> str:
    """Return the verdict in its colour, with the next step."""
    kind = {"green": "good", "amber": "warn", "red": "bad"}[run.verdict.colour]
    title = {"green": "All checks passed", "amber": "Usable with care", "red": "Do not use"}
    text = run.verdict.text.partition(": ")[2]
    step = run.verdict.next_step
    step = f"<p><b>Next step:</b> {escape(step, quote=False)}</p>" if step else ""
    command = run.verdict.command
    step += f"<pre>{escape(command, quote=False)}</pre>" if command else ""
    return (
        f"<div class='note {kind}' data-verdict='{run.verdict.colour}'>"
        f"<b>{title[run.verdict.colour]}:</b> {escape(text, quote=False)}{step}</div>"
    )


def _warnings(run: Run, show: Callable[[Option], str]) -> str:
    kinds = {"red": "bad", "amber": "warn", "note": ""}
    return "".join(
        f"<div class='note {kinds[f.grade]}' data-kind='{escape(f.kind)}'>"
        f"<b>{escape(f.title)}.</b> {escape(rendered(f.text, show), quote=False)}</div>"
        for f in run.findings
    )


def _signal_to_noise(run: Run) -> str:
    """Return the energy of the fit over that of the noise, in dB."""
    A, (S, unit) = run.separation.A, in_own_units(run.separation.S)  # squares must not overflow
    power = float(np.vdot(A.T @ A, S @ S.T)) / (len(A) * S.shape[1])
    noise = float(np.mean((run.diagnostics.sigma / unit) ** 2))
    return f"{10 * math.log10(power / noise):.1f} dB" if power > 0 and noise > 0 else "none"


def source_answers(run: Run) -> str:
    """Return a table with the substance, or the highest peaks, and the amount of each source."""
    count = min(len(run.separation.S), MAX_ROWS)
    if any(run.answers.substances(len(run.separation.S))) or run.answers.identification is not None:
        named, head = [_substance(run, i) for i in range(count)], "substance<th>similarity<th>by chance"
    else:
        S, x = run.separation.answer[1], run.data.positions
        named = [f"<td>{', '.join(f'{one:.4g}' for one in peaks(x, S[i])) or '-'}" for i in range(count)]
        head = f"highest peaks at {escape(run.data.axis_label)}"
    rows = [numbered(i) + named[i] + _amount(run, i) for i in range(count)]
    return table(f"<th>source<th>{head}<th>amount: median<th>range", rows)


def numbered(i: int) -> str:
    """Return the first cell of the row of source i: its colour and number."""
    return f"<th><i style='background:{colour(i)}'></i>{i + 1}"


def _substance(run: Run, i: int) -> str:
    """Return the cells with the substance of a source, by the library or by the standards."""
    found, known = run.answers.identification, run.answers.substances(len(run.separation.S))[i]
    best = found.matches[i][0] if found is not None and found.matches[i] else None
    if best is None or (known and not best.confident):
        name = f"<b>{escape(known)}</b>, by standards" if known else "-"
        return f"<td>{name}<td>-<td>-" if found is not None else f"<td>{name}"
    name = f"<b>{escape(best.name)}</b>" if best.confident else f"uncertain: {escape(best.name)}?"
    return f"<td>{name}<td>{best.similarity:.2f}<td>{best.chance:.2g}"


def _amount(run: Run, i: int) -> str:
    """Return the cells with the median and the range of the amounts, or of shares of the signal."""
    amounts = run.answers.amounts
    values, unit = 100 * run.separation.shares[:, i], "% of the signal"
    if amounts is not None and i in amounts.sources:
        j = amounts.sources.index(i)
        values, unit = amounts.values[:, j], amounts.units[j]
    if not np.isfinite(values).any():
        return "<td>-<td>-"
    low, middle, high = np.nanquantile(values, (0, 0.5, 1))
    return (
        f"<td>{escape(with_unit(middle, unit))}<td>{low:.3g} to {escape(with_unit(float(high), unit))}"
    )


def match_table(found: Identification) -> str:
    """Return a table with the best matches of every source."""
    rows = []
    for i, best in enumerate(found.matches[:MAX_ROWS]):
        for k, match in enumerate(best):
            confident = "confident" if match.confident else ""
            inverted = ", inverted" if match.inverted else ""
            rows.append(
                f"{numbered(i) if k == 0 else '<th>'}<td>{k + 1}<td>{escape(match.name)}{inverted}"
                f"<td>{match.similarity:.3f}<td>{match.shift:.4g}<td>{match.chance:.2g}<td>{confident}"
            )
    return table(
        "<th>source<th>match<th>substance<th>similarity<th>shift<th>by chance<th>confidence", rows
    )


def substance_table(amounts: Amounts) -> str:
    """Return a table with the errors of standards and the limit of detection of each substance."""
    rows, m = [], len(amounts.values)
    for j, (name, unit) in enumerate(zip(amounts.substances, amounts.units, strict=True)):
        error, part = amounts.leave_one_out[j], amounts.leave_one_out_relative[j]
        shown_error = (
            f"{escape(with_unit(error, unit))} ({percent(part)})" if np.isfinite(error) else "-"
        )
        limit = amounts.detection[j]
        shown_limit = escape(with_unit(limit, unit)) if np.isfinite(limit) else "-"
        source = amounts.sources[j]
        mark = "" if source is None else f"<i style='background:{colour(source)}'></i>"
        rows.append(
            f"<th>{mark}{escape(name)}<td>{escape(amounts.by[j])}<td>{shown_error}<td>{shown_limit}"
            f"<td>{int(amounts.below[:, j].sum())} of {m}<td>{int(amounts.outside[:, j].sum())} of {m}"
        )
    head = "<th>substance<th>calculated from<th>leave-one-out error of standards<th>limit of detection"
    return table(f"{head}<th>below the limit<th>outside the standards", rows)


def amount_table(amounts: Amounts) -> str:
    """Return a folded table with the amounts and intervals of each measurement."""
    head = "<th>measurement" + "".join(
        f"<th>{escape(name)}{escape(f', {unit}' if unit else '')}"
        for name, unit in zip(amounts.substances, amounts.units, strict=True)
    )
    rows = [
        f"<th>{escape(str(name))}"
        + "".join(_cell(amounts, i, j) for j in range(len(amounts.substances)))
        for i, name in enumerate(amounts.measurements[:MAX_ROWS])
    ]
    return f"<details><summary>amounts in each measurement</summary>{table(head, rows)}</details>"


def _cell(amounts: Amounts, i: int, j: int) -> str:
    value, low, high = amounts.values[i, j], amounts.low[i, j], amounts.high[i, j]
    if np.isnan(value):
        return "<td>not observed"
    text = f"{value:.3g}" + (f" ({low:.3g} to {high:.3g})" if np.isfinite(low) else "")
    if np.isfinite(amounts.known[i, j]):
        return f"<td>{text} standard, {amounts.known[i, j]:.3g}"
    if amounts.below[i, j]:
        return f"<td>{text} &lt; limit"
    return f"<td>{text}{' !' if amounts.outside[i, j] else ''}"


def how_many(run: Run, show: Callable[[Option], str] = str) -> list[Section]:
    """Return the section about the number of sources, if it was chosen from the data."""
    choice = run.answers.rank
    if choice is None:
        return []
    text = (
        f"{rendered(choice.advice, show)} Up to the right number, singular values are larger than those "
        "of residuals whose rows are rotated at random, and every source lowers the error of held-out "
        "blocks by a fifth. At the right number, all sources come again from halves of the data. The "
        "criteria can disagree: compare the sources for the numbers around the choice. rank.csv has the "
        "numbers."
    )
    return [Section("rank", "How many", paragraph(text), tuple(criteria(choice, run.data)), 3)]


def which(run: Run, show: Callable[[Option], str] = str) -> list[Section]:
    """Return the section about the best matches in the library, if there was one."""
    found = run.answers.identification
    if found is None:
        return []
    sentences = "".join(paragraph(rendered(sentence, show)) for sentence in found.words)
    meaning = paragraph(f"{found.chance_meaning} identification.csv has the table.")
    table = f"<details><summary>best matches of each source</summary>{match_table(found)}</details>"
    return [Section("which", "Which", sentences + meaning + table, tuple(matches(run)), 2)]


def how_much(run: Run, show: Callable[[Option], str] = str) -> list[Section]:
    """Return the section about amounts, if anything gave a scale."""
    amounts = run.answers.amounts
    if amounts is None:
        return []
    first, *others = [paragraph(rendered(sentence, show)) for sentence in amounts.words]
    legend = paragraph(
        f"In the figures, circles are the standards, and the dotted line is the limit of detection. In "
        f"the table, brackets hold the {100 * amounts.level:.3g} % interval, and ! marks an amount "
        "outside the standards, where the calibration was not checked. amounts.csv has all measurements."
    )
    details = (
        f"<details><summary>all results in words</summary>{''.join(others)}</details>" if others else ""
    )
    body = f"{first}{details}{substance_table(amounts)}{legend}{amount_table(amounts)}"
    return [Section("amounts", "How much", body, tuple(amounts_of(amounts)))]
