"""`ngmca report`."""

import pytest
from command_line import run

import ngmca

pytestmark = pytest.mark.draws


def test_report_is_drawn_again_from_the_result_alone(out, table):
    table.unlink()
    first = (out / "report.html").read_text()
    (out / "report.html").unlink()
    run("report", out)
    assert (out / "report.html").read_text() == first


def test_sources_get_names_in_report_and_tables(out):
    before = ngmca.load(out)
    run("report", out, "--name", "2=1,2-ethanediol <b>", "--name", "1= glucose ")
    heads = (out / "sources.csv").read_text().splitlines()[0]
    assert "glucose" in heads
    assert "1,2-ethanediol <b>" in heads
    assert "source 1" not in heads
    assert "glucose share (%)" in (out / "mixing.csv").read_text()
    page = (out / "report.html").read_text()
    assert "source 1: glucose" in page
    assert "1,2-ethanediol <b>" not in page
    assert (ngmca.load(out).S == before.S).all()
    run("report", out, "--name", "2=")  # taken away again
    assert "source 2" in (out / "sources.csv").read_text()
    assert "glucose" in (out / "sources.csv").read_text()


@pytest.mark.parametrize(
    ("name", "words"),
    [("9=a", "no source 9"), ("glucose", "the number of a source"), ("1=" + "a" * 61, "at most 60")],
)
def test_wrong_names_are_explained(out, name, words):
    assert words in " ".join(run("report", out, "--name", name, code=2).stderr.split())


def test_two_sources_need_two_names(out):
    told = run("report", out, "--name", "1=a", "--name", "2=a", code=2).stderr
    assert "two sources have the name 'a'" in " ".join(told.split())


def test_report_of_a_saved_file(tmp_path, mixture):
    found = ngmca.separate(mixture.Y, 3, method=ngmca.Soft(n_iter=5), n_init=1)
    ngmca.save(tmp_path / "a.nc", found, mixture.Y, note="by hand")
    assert str(tmp_path / "a.html") in run("report", tmp_path / "a.nc").stdout
    assert "by hand" in (tmp_path / "a.html").read_text()
    ngmca.save(tmp_path / "b.nc", found)
    assert "saved without its data" in run("report", tmp_path / "b.nc", code=2).stderr


def test_report_of_an_unfinished_run_says_how_to_go_on(tmp_path):
    (tmp_path / "out.ngmca-unfinished").mkdir()
    told = run("report", tmp_path / "out", code=2).stderr
    assert f"Continue it with: ngmca separate --resume {tmp_path / 'out'}" in told


def test_a_report_replaces_reports_alone_unless_it_is_told_to(out, tmp_path):
    run("report", out)
    run("report", out, "--to", tmp_path / "mine.html")
    run("report", out, "--to", tmp_path / "mine.html")
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("years of work")
    assert "--force replaces it" in run("report", out, "--to", thesis, code=2).stderr
    assert thesis.read_text() == "years of work"
    run("report", out, "--to", thesis, "--force")
    for name in ("result.nc", "run.toml", "sources.csv"):
        before = (out / name).read_bytes()
        told = run("report", out, "--to", out / name, "--force", code=2).stderr
        assert "is a part of the result" in told
        assert (out / name).read_bytes() == before


def test_a_page_of_the_user_beside_a_saved_file_is_kept(tmp_path, mixture):
    ngmca.save(
        tmp_path / "a.nc", ngmca.separate(mixture.Y, 3, method=ngmca.Soft(n_iter=5), n_init=1), mixture.Y
    )
    (tmp_path / "a.html").write_text("mine")
    run("report", tmp_path / "a.nc", code=2)
    assert (tmp_path / "a.html").read_text() == "mine"
