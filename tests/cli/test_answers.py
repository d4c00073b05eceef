"""How many, which and how much on the command line: from files to files, and what is refused."""

import csv
import html
import json
import re

import numpy as np
import pytest
from command_line import FILES, run

import ngmca
from ngmca.saving.results import load_run

AXIS = np.linspace(9, 1, 300).round(6)


@pytest.fixture
def library(tmp_path, mixture):
    """Spectra of the three substances among seventeen others."""
    others = ngmca.simulate.spectra(m=2, n=300, r=17, lines=4, seed=9).S
    rows = {f"substance {i}": row for i, row in enumerate(np.vstack([mixture.S, others]))}
    ngmca.io.write_table(tmp_path / "library.csv", {"ppm": AXIS} | rows)
    return tmp_path / "library.csv"


@pytest.fixture
def standards(tmp_path, mixture):
    """Concentrations of the three substances in five of twelve measurements."""
    path = tmp_path / "standards.csv"
    lines = [f"tube {i},{','.join(f'{20 * one:.6g}' for one in mixture.A[i])}" for i in range(5)]
    heads = ",".join(f"substance {k} (mg/L)" for k in range(3))
    path.write_text(f"tube,{heads}\n" + "\n".join(lines) + "\n")
    return path


def columns(path):
    with path.open(newline="") as file:
        return {name: list(cells) for name, *cells in zip(*csv.reader(file), strict=True)}


@pytest.mark.draws
def test_names_and_amounts_from_files_to_files(tmp_path, table, library, standards, mixture):
    out = tmp_path / "out"
    told = run("separate", table, "-r", 3, "-o", out, "--library", library, "--standards", standards)
    assert sorted(path.name for path in out.iterdir()) == sorted(
        [*FILES, "identification.csv", "amounts.csv"]
    )
    found = load_run(out).answers
    assert sorted(found.names(3)) == ["substance 0", "substance 1", "substance 2"]
    matches = columns(out / "identification.csv")
    firsts = [name for name, rank in zip(matches["name"], matches["rank"], strict=True) if rank == "1"]
    assert firsts == found.names(3)
    amounts = columns(out / "amounts.csv")
    for k in range(3):  # whose source is which was found by name, and each has its own scale
        values = np.array(amounts[f"substance {k} (mg/L)"], dtype=float)
        np.testing.assert_allclose(values[5:], 20 * mixture.A[5:, k], rtol=0.15, atol=0.4)
    for name in firsts:
        assert re.search(rf"^Source \d is {name}", told.stdout, re.MULTILINE)
    assert "Amounts were calculated from 5 standards" in told.stdout
    page = (out / "report.html").read_text()
    opening = page[page.index("<h2>Summary") : page.index("<h2>Which")]
    assert [opening.find(f"<b>{name}</b>") > 0 for name in firsts] == [True] * 3
    assert opening.index("How many?") < opening.index("Which?") < opening.index("How much?")


@pytest.mark.draws
def test_how_little_of_a_substance_would_have_been_seen(tmp_path, out, library, monkeypatch):
    plan = "ngmca.answers.how_sure.detection_limit._Plan.finds"  # whose separations take long
    monkeypatch.setattr(plan, lambda self, step, seed: step >= 5)
    told = run("answer", out, "--library", library, "--detect", "Substance 7")
    limit = load_run(out).answers.detection
    assert limit.name == "Substance 7"
    assert limit.words in told.stdout
    assert "would have been seen" in limit.words
    assert limit.words in html.unescape((out / "report.html").read_text())
    told = run("answer", out, "--library", library, "--detect", "water", code=2)
    assert "has no spectrum named 'water'. It has substance 0," in told.stderr


@pytest.mark.draws
def test_the_number_of_sources_is_found_out(tmp_path, table):
    out = tmp_path / "out"
    told = run("separate", table, "-r", "auto", "-o", out, "--json")
    assert json.loads(told.stdout)["sources"] == 3
    choice = load_run(out).answers.rank
    assert choice.rank == 3
    assert columns(out / "rank.csv")["sources"] == [str(k) for k in choice.ranks]
    assert 'sources = "auto"' in (out / "run.toml").read_text()
    page = (out / "report.html").read_text()
    assert "<b>How many?</b> 3 sources" in page
    assert choice.advice in page
    again = tmp_path / "again"
    run("separate", "--config", out / "run.toml", "-o", again)
    assert (again / "sources.csv").read_bytes() == (out / "sources.csv").read_bytes()
    run("posterior", out, "--samples", 20)  # the number is not looked for again, and not lost
    assert load_run(out).answers.rank.advice == choice.advice
    assert "3 sources, chosen from the data" in (out / "report.html").read_text()


def test_no_source_at_all_is_said(tmp_path):
    noise = np.random.default_rng(0).normal(size=(12, 200))
    np.save(tmp_path / "noise.npy", noise)
    told = run("separate", tmp_path / "noise.npy", "-r", "auto", "-o", tmp_path / "out", code=2)
    assert "no source was found" in told.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-r", "few"], "-r few is not a number of sources"),
        (["-r", 3, "--tolerance", 0.1], "--tolerance needs a --library: name one"),
        (["-r", 3, "--detect", "x"], "--detect needs a --library: name one"),
        (["-r", 3, "--library", "nowhere"], "--library nowhere: this file does not exist"),
        (["-r", 3, "--standards", "nowhere.csv"], "--standards nowhere.csv: this file does not exist"),
        (["-r", 3, "--standards", "{strange}"], "tube 99"),
        (
            ["-r", 3, "--standards", "{strange}", "--responses", "{strange}"],
            "cannot be combined with --responses: .* Leave out one",
        ),
        (["-r", 3, "--library", "{metres}"], "library has no spectrum that can be compared"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_is_computed(
    tmp_path, table, monkeypatch, options, words
):
    strange = tmp_path / "strange.csv"
    strange.write_text("tube,a (mg/L)\ntube 99,3\ntube 1,4\n")
    metres = tmp_path / "metres.csv"
    ngmca.io.write_table(metres, {"wavelength [nm]": np.linspace(400, 700, 300), "x": AXIS, "y": AXIS})
    monkeypatch.setattr("ngmca.cli.pipeline._separated", lambda *_, **__: pytest.fail("too late"))
    given = [str(one).format(strange=strange, metres=metres) for one in options]
    told = run("separate", table, "-o", tmp_path / "out", *given, code=2)
    assert re.search(words, " ".join(told.output.split())), told.output
    assert not (tmp_path / "out").exists()


def test_data_without_an_axis_have_no_library(tmp_path, library, mixture):
    np.save(tmp_path / "bare.npy", mixture.Y)
    told = run(
        "separate", tmp_path / "bare.npy", "-r", 3, "-o", tmp_path / "out", "--library", library, code=2
    )
    assert "no axis" in told.output


def test_a_library_may_come_when_a_run_goes_on(tmp_path, table, library, monkeypatch):
    out = tmp_path / "out"

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("ngmca.cli.run_answers.answers", stop)
        run("separate", table, "-r", 3, "-o", out, code=130)
    run("separate", "--resume", out, "--library", library)
    assert all(load_run(out).answers.names(3))


def test_answers_may_come_later(tmp_path, table, library, standards, out):
    run("posterior", out, "--samples", 20)
    before = load_run(out)
    run("answer", out, "--library", library, "--standards", standards)
    after = load_run(out)
    assert all(after.answers.names(3))
    assert after.answers.amounts.units == ("mg/L",) * 3
    np.testing.assert_array_equal(after.separation.S, before.separation.S)
    np.testing.assert_array_equal(after.separation.posterior.S.sd, before.separation.posterior.S.sd)
    once = tmp_path / "once"
    run("separate", "--config", out / "run.toml", "-o", once)
    assert (once / "amounts.csv").read_bytes() == (out / "amounts.csv").read_bytes()
    assert "there is no question" in run("answer", out, code=2).output
    table.write_text(table.read_text() + "9.9" + ",1" * 12 + "\n")
    assert "have changed" in run("answer", out, "--library", library, code=2).output


def test_a_question_without_an_answer_does_not_cost_the_result(tmp_path, table, mixture, library):
    alike = tmp_path / "alike.csv"  # the same in all standards: nobody can tell which source it is
    alike.write_text("tube,alpha (mg/L)\n" + "".join(f"tube {i},3\n" for i in range(3)))
    out = tmp_path / "out"
    told = run("separate", table, "-r", 3, "-o", out, "--standards", alike)
    assert "A question has no answer" in told.stdout
    found = load_run(out)
    assert found.answers.amounts is None
    assert len(found.answers.refused) == 1
    before = (out / "result.nc").read_bytes()
    assert "it is not clear which source" in run("answer", out, "--standards", alike, code=2).stderr
    assert (out / "result.nc").read_bytes() == before
    run("answer", out, "--library", library)  # nor does it stand in the way of another question
    assert all(load_run(out).answers.names(3))


def test_scripts_get_the_answers(tmp_path, table, library, standards):
    out = tmp_path / "out"
    given = ("-r", "auto", "--library", library, "--standards", standards, "--json")
    told = json.loads(run("separate", table, "-o", out, *given).stdout)["answers"]
    assert told["rank"]["rank"] == 3
    assert sorted(told["identification"]["claims"]) == ["substance 0", "substance 1", "substance 2"]
    assert told["amounts"]["units"] == ["mg/L"] * 3


def test_what_was_answered_with_a_file_that_is_gone_stays(tmp_path, table, library, standards, out):
    run("answer", out, "--library", library)
    library.unlink()
    told = run("answer", out, "--standards", standards)
    assert "does not exist any more: its earlier answers are kept" in told.stderr
    found = load_run(out).answers
    assert all(found.names(3))
    assert found.amounts is not None
    run("posterior", out, "--samples", 20)
    assert all(load_run(out).answers.names(3))


def test_one_scale_takes_the_place_of_another(tmp_path, table, standards, mixture, out):
    pure = tmp_path / "pure.csv"
    rows = {f"substance {i}": row for i, row in enumerate(mixture.S)}
    ngmca.io.write_table(pure, {"ppm": AXIS} | rows)
    run("answer", out, "--responses", pure)
    assert "response" in load_run(out).answers.amounts.how
    run("answer", out, "--standards", standards)
    assert "standards" in load_run(out).answers.amounts.how
