"""`ngmca rerun`: the same answer from the same data, or what differs."""

import json
import shutil

import pytest
from command_line import run

import ngmca
from ngmca.report.html_page import record_in

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_result_is_repeated_to_the_bit(out):
    told = run("rerun", out).stdout
    assert "The answer is the same to the bit." in told
    again = out.with_name("out-again")
    assert ngmca.load(again).checksum == ngmca.load(out).checksum
    assert "exists; --force replaces it" in run("rerun", out, code=2).stderr


@pytest.mark.draws
def test_a_report_alone_is_enough(tmp_path, table):
    run(
        "separate",
        table,
        "-r",
        2,
        "-o",
        tmp_path / "out",
        "--iterations",
        20,
        "--seed",
        3,
        "--n-init",
        1,
    )
    told = json.loads(run("rerun", tmp_path / "out" / "report.html", "--json").stdout)
    assert told["out"] == str(tmp_path / "out-again")  # not inside the result
    page = tmp_path / "elsewhere" / "seen.html"
    page.parent.mkdir()
    shutil.copy(tmp_path / "out" / "report.html", page)
    shutil.rmtree(tmp_path / "out")
    told = json.loads(run("rerun", page, "--json").stdout)
    assert told["same"] is True
    assert told["versions"] == {}
    text = page.read_text()
    kept = json.loads(record_in(text))
    assert kept["separate"]["seed"] == 3
    # a page of another answer, as from another machine
    page.write_text(text.replace(kept["answer"], "0" * 64).replace(kept["record"]["numpy"], "1.2.3"))
    told = run("rerun", page, "--force", code=1).stdout
    assert "The answer differs." in told
    assert "numpy was 1.2.3, and is" in told


def test_data_that_were_moved_or_changed(out, table, tmp_path):
    moved = table.rename(tmp_path / "moved.csv")
    assert "Say where they are now: ngmca rerun" in run("rerun", out, code=2).stderr
    assert "same to the bit" in run("rerun", out, moved).stdout
    moved.write_text(moved.read_text().replace("1", "2", 1))
    assert "the data have changed" in run("rerun", out, moved, "--force", code=2).stderr


def test_what_differs_is_told(out):
    record = out / "run.toml"
    record.write_text(record.read_text().replace("seed = 4", "seed = 5"))
    told = run("rerun", out, code=1).stdout
    assert "The answer differs." in told
    assert "S differs by at most" in told
    assert "mean SDR of" in told


def test_other_pages_are_refused(tmp_path):
    (tmp_path / "page.html").write_text("<html>")
    assert "is not a report" in run("rerun", tmp_path / "page.html", code=2).stderr
    assert "does not exist" in run("rerun", tmp_path / "none", code=2).stderr


@pytest.mark.draws
def test_a_report_of_python_says_why_not(tmp_path):
    Y = ngmca.simulate.sparse(6, 50, 2, snr=20, seed=0).Y
    found = ngmca.separate(Y, 2, n_init=1)
    page = ngmca.report.write(tmp_path / "report.html", found, Y, note="</script><b>")
    assert "was written in Python" in run("rerun", page, code=2).stderr
    assert json.loads(record_in(page.read_text()))["separate"] == {"note": "</script><b>"}
