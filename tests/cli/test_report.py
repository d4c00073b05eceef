"""`ngmca report`."""

from command_line import run

import ngmca


def test_report_is_drawn_again_from_the_result_alone(out, table):
    table.unlink()
    first = (out / "report.html").read_text()
    (out / "report.html").unlink()
    run("report", out)
    assert (out / "report.html").read_text() == first


def test_report_of_a_saved_file(tmp_path, mixture):
    found = ngmca.separate(mixture.Y, 3, n_iter=5, seed=0)
    ngmca.save(tmp_path / "a.nc", found, mixture.Y, note="by hand")
    assert str(tmp_path / "a.html") in run("report", tmp_path / "a.nc").stdout
    assert "by hand" in (tmp_path / "a.html").read_text()
    ngmca.save(tmp_path / "b.nc", found)
    assert "saved without its data" in run("report", tmp_path / "b.nc", code=2).stderr


def test_report_of_an_unfinished_run_says_how_to_go_on(tmp_path):
    (tmp_path / "out.ngmca-unfinished").mkdir()
    told = run("report", tmp_path / "out", code=2).stderr
    assert f"Go on with `ngmca separate --resume {tmp_path / 'out'}`" in told
