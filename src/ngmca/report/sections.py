"""All sections of the report in their order, and those about the separation itself."""

import math
from collections.abc import Callable
from html import escape

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import Option, rendered
from ngmca.answers.how_sure import agreement
from ngmca.answers.how_sure.ambiguity_words import noise_widths, plus_minus
from ngmca.answers.run import Run
from ngmca.answers.wording import percent
from ngmca.report import figures, quality_figures
from ngmca.report import mixing_figures as weights
from ngmca.report.answer_sections import how_many, how_much, numbered, overview, which
from ngmca.report.html_page import Section, paragraph, table
from ngmca.report.mixing_figures import image
from ngmca.report.peaks import peaks
from ngmca.report.plotly_figure import Figure
from ngmca.report.plotly_style import MAX_POINTS, MAX_ROWS, colour


def sections(run: Run, show: Callable[[Option], str] = str) -> list[Section]:
    """Return all sections in their order; `show` writes the arguments that texts mention."""
    return [
        overview(run, show),
        *how_many(run, show),
        *which(run, show),
        *how_much(run, show),
        sources(run),
        *background(run),
        composition(run),
        mixing(run),
        fits(run),
        *outliers(run),
        residual(run),
        convergence(run, show),
        details(run),
    ]


def sources(run: Run) -> Section:
    """Return the sources, and a table of their strongest peaks."""
    text = (
        "Each source has its own scale. The number behind its name is its share of the energy of all "
        "sources. Drag to zoom, double-click to reset."
    )
    if run.separation.S.shape[1] > MAX_POINTS:
        text += " Long lines are drawn by their extremes; {} has every channel.".format(
            _table(run, "sources")
        )
    if agreement(run.separation) is not None:
        text += (
            " The column 'other starts' compares each source with its counterpart in other starts that "
            "fit equally well, and shows the least similar one: the ratio of the common part to the "
            "difference, in dB."
        )
    text += _about_other_starts(run) + _about_error_bars(run) + _about_ambiguity(run)
    if run.separation.ambiguity is not None:
        text += (
            " The columns 'noise' and 'other mixtures' are half the width of a band over the source, "
            "root mean square. The column 'contribution' is the range of the norm of a source in the "
            "data over that of the whole signal."
        )
    if len(run.techniques) > 1:
        text += " Each technique has a column of figures, on its own axis and in its own unit."
    plots = tuple(figures.sources(one) for one in run.techniques)
    body = paragraph(text) + _source_table(run)
    return Section("sources", "Sources", body, plots, _columns(run, 1))


def _columns(run: Run, usual: int) -> int:
    """Return how many figures stand side by side: one for each technique, if there are several."""
    return min(len(run.techniques), 3) if len(run.techniques) > 1 else usual


def _table(run: Run, name: str) -> str:
    """Return the name of a table, or that of the first of several techniques."""
    return f"{name}_1.csv (and so on)" if len(run.techniques) > 1 else f"{name}.csv"


def _source_table(run: Run) -> str:
    S, alike = run.separation.answer[1], agreement(run.separation)
    axes = [(one.separation.answer[1], one.data) for one in run.techniques]
    rows = []
    head, sure = _uncertainty_cells(run)
    for i in range(min(len(S), MAX_ROWS)):
        found = (peaks(data.positions, spectra[i]) for spectra, data in axes)
        places = "<td>".join(", ".join(f"{place:.4g}" for place in some) or "none" for some in found)
        other = ""
        if alike is not None:  # above 40 dB no difference is visible
            other = "<td>the same" if alike[i] > 40 else f"<td>{alike[i]:.0f} dB"
        rows.append(
            f"{numbered(i)}<td>{percent(float(run.diagnostics.share[i]))}"
            f"<td>{percent(float(np.mean(run.separation.S[i] > 0)))}{other}{sure[i]}<td>{places}"
        )
    other = ("" if alike is None else "<th>other starts") + head
    labels = [f"{one.technique and one.technique + ': '}{one.data.axis_label}" for one in run.techniques]
    peaks_at = "".join(f"<th>highest peaks at {escape(label)}" for label in labels)
    return table(f"<th>source<th>share of energy<th>not 0{other}{peaks_at}", rows)


def _uncertainty_cells(run: Run) -> tuple[str, list[str]]:
    """Return head and cells: what noise and other mixtures change in each source, and contributions."""
    noise, found = noise_widths(run.separation), run.separation.ambiguity
    head, cells = "", [""] * len(run.separation.S)
    if noise is not None:
        head += "<th>error bars"
        cells = [f"<td>{plus_minus(width)}" for width in noise]
    if found is not None:
        head += "<th>other mixtures<th>contribution"
        other = found.relative(run.separation.S)
        cells = [
            f"{cell}<td>{plus_minus(width)}<td>{percent(low)} to {percent(high)}"
            for cell, width, low, high in zip(cells, other, found.lowest, found.highest, strict=True)
        ]
    return head, cells


def _about_other_starts(run: Run) -> str:
    """Return what the dotted lines are, if there are any."""
    others = run.separation.others
    if others is None:
        return ""
    starts = "another start that fits" if others.count == 1 else f"{others.count} starts that fit"
    return (
        f" Dotted lines are the lowest and the highest values of the source in {starts} equally well, "
        f"scaled to the same norm; {_table(run, 'sources')} and mixing.csv have them too."
    )


def _about_ambiguity(run: Run) -> str:
    """Return what the orange bands are, if there are any."""
    if run.separation.ambiguity is None:
        return ""
    return (
        " The orange band is what the data allow: other mixtures of the sources fit as well, and "
        "none of their entries is negative (rotational ambiguity). In each of them a source has the "
        "same norm, unless its scale is known. The tables have its ends in the columns named allowed."
    )


def _about_error_bars(run: Run) -> str:
    """Return what the error bars are, or why there are none."""
    posterior = run.separation.posterior
    if posterior is None:
        return ""
    if posterior.refuted:
        return " There are no error bars: the result contradicts their model (see the warning above)."
    care = " (see the warning above)" if posterior.warnings else ""
    if posterior.around_answer:
        return f" Dark bands and bars are 90 % intervals around the answer{care}."
    return (
        " The answer is the mean of the posterior, which no threshold has reduced. The tables have it "
        "in the columns named mean, beside the separation that the sampling started from. Dark bands "
        f"and bars are 90 % intervals{care}."
    )


def background(run: Run) -> list[Section]:
    """Return the backgrounds of the measurements, if they were fitted."""
    if run.separation.background is None:
        return []
    text = (
        "The background is the smooth part of a measurement that belongs to no source, such as "
        "fluorescence or an offset. The figures of sources and weights do not contain it. "
        f"{_table(run, 'background')} has it. The data cannot tell a smooth part of a spectrum from the "
        "background, so the background takes it: the feet of broad bands are a convention here."
    )
    plots = tuple(plot for one in run.techniques for plot in figures.background(one))
    return [Section("background", "Background", paragraph(text), plots, _columns(run, 1))]


def outliers(run: Run) -> list[Section]:
    """Return the outliers, if there are any."""
    count = 0 if run.separation.outliers is None else len(run.separation.outliers)
    if not count:
        return []
    many = "1 entry is" if count == 1 else f"{count} entries are"
    text = (
        f"{many} far beyond the noise, and no source explains {'it' if count == 1 else 'them'}. "
        f"{'It' if count == 1 else 'They'} had no weight in the fit. outliers.csv has all of them."
    )
    body = paragraph(text) + figures.outlier_table(run)
    return [Section("outliers", "Outliers", body)]


def composition(run: Run) -> Section:
    """Return the share of each source in each measurement: maps for images, otherwise bars."""
    place = "pixel" if run.data.image_shape else "measurement"
    text = paragraph(
        f"The share of each source in the signal of a {place}, summed over all channels. Shares add up "
        "to 100 % and can be compared between sources. They are not concentrations. mixing.csv has them "
        "too."
    )
    if run.data.image_shape:
        plots = _maps(run, 100 * run.separation.shares, "source {}", " %")
        return Section("shares", "Composition", text, plots, 3)
    return Section("shares", "Composition", text + weights.by_file(run), (weights.shares(run),))


def mixing(run: Run) -> Section:
    """Return the columns of A: maps for images, with their spread, otherwise bars."""
    A = run.separation.answer[0]
    place = "pixel" if run.data.image_shape else "measurement"
    text = f"The weight of each source in every {place}. {weights.scale_of_weights(run)}"
    posterior = weights.shown_posterior(run)
    if not run.data.image_shape:
        text += _about_error_bars(run)
        text += _about_ambiguity(run)
        return Section("mixing", "Mixing weights", paragraph(text), (weights.weights(run),))
    plots = _maps(run, A, "source {}")
    if posterior is not None:
        text += " The maps of the spread show the standard deviation of every pixel."
        plots += _maps(run, posterior.A.sd, "source {}, spread")
    return Section("mixing", "Mixing maps", paragraph(text), plots, 3)


def _maps(run: Run, columns: NDArray, title: str, unit: str = "") -> tuple[Figure, ...]:
    """Return one map for each source."""
    return tuple(
        image(column, run.data, f"<b style='color:{colour(i)}'>{title.format(i + 1)}</b>", unit)
        for i, column in enumerate(columns.T)
    )


def fits(run: Run) -> Section:
    """Return a few measurements with their fit, from the best to the worst explained."""
    text = (
        "Some measurements, from the best to the worst explained one. Dotted lines are twice the noise "
        "level."
    )
    picks = range(len(run.diagnostics.picks))
    plots = tuple(figures.fit(one, pick) for pick in picks for one in run.techniques)
    return Section("fits", "Measurements and their fit", paragraph(text), plots, _columns(run, 2))


def residual(run: Run) -> Section:
    """Return the residual, and whether it looks like noise."""
    d = run.diagnostics
    text = (
        f"The residual is the difference between data and fit. {percent(d.outside)} of its entries are "
        "larger than 6 standard deviations of the noise. Neighbouring channels have a correlation of "
        f"{d.autocorrelation:.2f} (0 for white noise)."
    )
    plots = [
        quality_figures.histogram(run),
        *(quality_figures.along_axis(one) for one in run.techniques),
        quality_figures.per_measurement(run),
    ]
    if len(d.singular):
        plots.insert(1, quality_figures.structure(run))
    return Section("residual", "Residual", paragraph(text), tuple(plots), 2)


def convergence(run: Run, show: Callable[[Option], str] = str) -> Section:
    """Return how the sources were calculated, and the course of the iterations."""
    words = "".join(paragraph(rendered(sentence, show)) for sentence in run.summary)
    violation, measure = run.separation.violation, "relative KKT violation"
    text = "The threshold falls to the noise level while sources and weights are estimated in turn."
    if run.separation.domain.name == "wavelet":
        text += (
            " Then the sources are estimated again in a wavelet basis. There the thresholds are those "
            "of wavelet coefficients, and clear coefficients are not reduced."
        )
        measure = "duality gap over the objective"
    if not math.isnan(violation):
        text += f" The sources are optimal to {violation:.1e} ({measure})."
    plots = tuple(quality_figures.convergence_figures(run))
    body = words + paragraph(text)
    return Section("convergence", "How it was calculated", body, plots, 2, folded=True)


def details(run: Run) -> Section:
    """Return parameters, versions and notes: what is needed to repeat the run."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in run.data.notes[:20])
    body = f"<p>Notes from reading the data:</p><ul>{notes}</ul>" if notes else ""
    rows = [
        (key, value)
        for group in run.record.values()
        for key, value in (group.items() if isinstance(group, dict) else ())
    ]
    rows += [(key, value) for key, value in run.data.meta.items() if isinstance(value, str) and value]
    if rows:
        cells = [f"<th>{escape(str(key))}<td>{escape(_plain(value))}" for key, value in rows]
        body += table("", cells, "details")
    return Section("details", "This run", body or paragraph("No parameters were recorded."))


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
