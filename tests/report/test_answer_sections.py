"""The answers in the report: what it opens with, and what is drawn below."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from plotly_figures import checked

import ngmca
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Answers, Run
from ngmca.io import Dataset
from ngmca.report import answer_figures, html, mixing_figures
from ngmca.report.answer_sections import amount_table, opening
from ngmca.report.sections import sections

NAMES = ("<b>one</b>", "two & 2", "three")


@pytest.fixture(scope="module")
def run():
    mixture = ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1)
    data = Dataset(mixture.Y, np.linspace(1, 9, 300), "shift", "ppm")
    found = ngmca.separate(mixture.Y, 3, method=ngmca.Soft(n_iter=100), n_init=1)
    others = ngmca.simulate.spectra(m=2, n=300, r=17, lines=4, seed=9).S
    library = {name: (data.axis, row) for name, row in zip(NAMES, mixture.S, strict=True)}
    library |= {f"other {i}": (data.axis, row) for i, row in enumerate(others)}
    known = dict(zip(NAMES, 20 * mixture.A[:5].T, strict=True))
    table = {"measurement": range(1, 6)} | {f"{name} (g/L)": row for name, row in known.items()}
    named = ngmca.identify(found, library, axis=data)
    asked = Answers(
        ngmca.choose_rank(mixture.Y, 5, seed=0),
        named,
        ngmca.quantify(found, table, data=data, names=named.claims),
    )
    return Run(found, diagnose(mixture.Y, found), data, {}, asked)


def test_the_report_opens_with_the_answers(run):
    first, *later = sections(run)
    questions = ("How many?", "Which?", "How much?", "How sure?")
    order = [first.body.index(word) for word in ("data-verdict", *questions)]
    assert order == sorted(order)
    assert "3 sources, chosen from the data." in first.body
    assert "iterations" not in first.body
    assert run.answers.rank.advice in later[0].body
    assert "&lt;b&gt;one&lt;/b&gt;" in first.body  # a name is no markup
    assert "<b>one</b>" not in html(run).replace("&lt;b&gt;one&lt;/b&gt;", "")
    assert [one.anchor for one in later[:3]] == ["rank", "which", "amounts"]
    assert len([checked(plot) for section in later for plot in section.plots]) > 25


def test_how_sure_says_what_was_not_looked_at(run):
    sure = str(dict(run.answer_sentences)["How sure?"])
    assert "Error bars were not asked for" in sure
    assert "Other mixtures that fit as well were not searched for" in sure
    found = replace(run.separation, ambiguity=ngmca.ambiguity(run.data.Y, run.separation))
    sure = str(dict(replace(run, separation=found).answer_sentences)["How sure?"])
    assert re.search(r" Other mixtures fit as well and change a source by up to .*%\.$", sure)


def test_amounts_with_a_known_scale_are_not_called_relative(run):
    bare = replace(run, answers=Answers())
    assert "relative" in dict(bare.answer_sentences)["How much?"]
    amounts = np.full((12, 3), np.nan)
    amounts[:2] = 20 * run.separation.A[:2]
    known = [ngmca.KnownMixing(amounts)]
    found = ngmca.separate(run.data.Y, 3, constraints=known, method=ngmca.Soft(n_iter=100), n_init=1)
    told = dict(replace(bare, separation=found).answer_sentences)["How much?"]
    assert told.startswith("Amounts have the unit of what was known beforehand")
    known = [ngmca.KnownMixing(20 * run.separation.A[:, :1])]
    found = ngmca.separate(run.data.Y, 3, constraints=known, method=ngmca.Soft(n_iter=100), n_init=1)
    told = dict(replace(bare, separation=found).answer_sentences)["How much?"]
    assert str(told).startswith(
        "Amounts of source 1 have the unit of what was known beforehand. Other amounts are relative"
    )
    silent = replace(found, A=found.A * [1, 2, 0])
    told = dict(replace(bare, separation=silent).answer_sentences)["How much?"]
    assert told.startswith("Amounts have the unit of what was known beforehand")


def test_amounts_stand_beside_the_source_that_they_are_of(run):
    amounts = run.answers.amounts
    pattern = r"<tr><th><i[^>]*></i>(\d)<td><b>(.*?)</b>.*?<td>([\d.e+-]+) g/L"
    rows = re.findall(pattern, opening(run))
    assert len(rows) == 3
    for number, name, middle in rows:
        j = amounts.sources.index(int(number) - 1)
        assert unescape(name) == amounts.substances[j]
        assert float(middle) == pytest.approx(np.median(amounts.values[:, j]), rel=0.01)


def test_each_source_is_drawn_above_its_reference(run):
    found = run.answers.identification
    figures = list(answer_figures.matches(run))
    assert len(figures) == 3
    for figure, row, reference in zip(figures, run.separation.S, found.references, strict=True):
        figure = checked(figure)
        np.testing.assert_allclose(figure.data[0].y, row, rtol=1e-6)
        np.testing.assert_allclose(figure.data[1].y, reference, rtol=1e-5, atol=1e-6)
        assert figure.data[0].yaxis != figure.data[1].yaxis


def test_amounts_are_drawn_with_intervals_beside_standards_that_the_others_predict(run):
    amounts = run.answers.amounts
    for j, figure in enumerate(answer_figures.amounts_of(amounts)):
        drawn, circles, diagonal, points = checked(figure).data
        np.testing.assert_allclose(drawn.y, amounts.values[:, j])
        np.testing.assert_allclose(drawn.y + drawn.error_y.array, amounts.high[:, j])
        np.testing.assert_array_equal(circles.y, amounts.known[:, j])
        np.testing.assert_array_equal(points.x, amounts.known[:5, j])
        np.testing.assert_allclose(points.y, points.x, rtol=0.1, atol=0.05)
        assert diagonal.x == diagonal.y
    hours = np.arange(12) / 4
    timed = replace(amounts, row_axis=hours, row_label="time [h]")
    figure = checked(next(answer_figures.amounts_of(timed)))
    np.testing.assert_array_equal(figure.data[0].x, hours)
    assert figure.layout.xaxis.title.text == "time [h]"


def test_weights_and_shares_are_drawn_over_time_if_it_does_not_go_back(run):
    hours = np.arange(12) / 4
    timed = replace(run, data=replace(run.data, row_axis=hours, row_label="time [h]"))
    for figure in (mixing_figures.weights(timed), mixing_figures.shares(timed)):
        np.testing.assert_array_equal(checked(figure).data[0].x, hours)
    back = replace(run, data=replace(run.data, row_axis=hours % 1, row_label="time [h]"))
    np.testing.assert_array_equal(checked(mixing_figures.weights(back)).data[0].x, np.arange(1, 13))


def test_without_answers_it_is_said_what_is_not_known(run):
    bare = replace(run, answers=Answers())
    anchors = [one.anchor for one in sections(bare)]
    assert not {"rank", "which", "amounts"} & set(anchors)
    text = opening(bare)
    assert "as requested" in text
    assert "no reference library" in text
    assert "relative" in text
    assert text.count("% of the signal") == 6


def test_doubts_are_warnings(run):
    far = replace(run.answers.amounts, warnings=("it is far off",))
    doubtful = replace(run, answers=replace(run.answers, amounts=far))
    assert "it is far off" in [one.text for one in doubtful.findings]
    assert "it is far off" in sections(doubtful)[0].body


def test_intervals_and_remarks_of_each_measurement(run):
    amounts = run.answers.amounts
    below, outside = np.zeros_like(amounts.below), np.zeros_like(amounts.outside)
    below[7, 1], outside[8, 2] = True, True
    table = amount_table(replace(amounts, below=below, outside=outside))
    lines = table.split("<tr>")[2:]
    assert "standard" in lines[0]
    assert "&lt; limit" in lines[7]
    assert lines[8].endswith(" !")
    assert f"({amounts.low[7, 0]:.3g} to {amounts.high[7, 0]:.3g})" in lines[7]
