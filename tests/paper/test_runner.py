"""Running experiments: parallel, resumable after a kill, tables, pictures, and the report."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import paper_measures
import pytest
from command_line import run as run_command
from typer.testing import CliRunner

import ngmca
from ngmca import evaluate, separate, simulate
from ngmca.cli import app
from ngmca.engines import by_residual, open_data
from ngmca.paper import EXPERIMENTS, Size, Study, runner
from ngmca.paper.runner import Clock, Task, plan, run
from ngmca.paper.standing import load
from ngmca.paper.tables import StudyTable, TableError, locked

TINY = Study(
    "tiny", "sparse", {"m": 12, "n": 30, "snr": 20}, "r", (2, 3), ("soft", "als"), tau=1.0, sims=5
)


def command(*arguments, code=0):
    result = CliRunner().invoke(app, ["paper", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def rows(folder):
    """The table without times, in the order of its keys."""
    table = StudyTable(folder, TINY).read().drop(columns="seconds")
    return table.sort_values(["r", "sim", "method"]).reset_index(drop=True)


@pytest.fixture
def in_one_process(monkeypatch):
    monkeypatch.setattr(runner, "ProcessPoolExecutor", paper_measures.one_thread)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runner, "ProcessPoolExecutor", paper_measures.one_thread)
        run(plan([TINY], folder, Size(3)), folder, workers=1)
    return folder


def test_every_row_is_what_the_library_gives(tables):
    table = rows(tables)
    assert len(table) == 2 * 3 * 2
    data = simulate.sparse(m=12, n=30, snr=20, r=3, seed=2)
    Y = by_residual(open_data(data.Y, threads=1))  # noise as the paper has it
    found = separate(Y, 3, method=ngmca.Soft(n_iter=500, solver="fista"), seed=2, n_init=1)
    row = table[(table["r"] == 3) & (table["sim"] == 2) & (table["method"] == "soft")].iloc[0]
    assert row["sdr"] == pytest.approx(evaluate(data.S, found.S).mean_sdr, rel=1e-5)


def test_what_is_done_is_not_run_again(tables):
    assert plan([TINY], tables, Size(3)) == []
    more = plan([TINY], tables, Size(4))
    assert {task.key[1] for task in more} == {3}
    assert len(more) == 4


@pytest.mark.usefixtures("in_one_process")
def test_a_torn_line_is_run_again(tables, tmp_path):
    copied(tables, tmp_path)
    table = tmp_path / "tiny.csv"
    table.write_bytes(table.read_bytes()[:-9])
    tasks = plan([TINY], tmp_path, Size(3))
    run(tasks, tmp_path, workers=1)
    pd.testing.assert_frame_equal(rows(tmp_path), rows(tables))


def copied(tables, folder):
    for path in tables.glob("tiny.*"):
        (folder / path.name).write_bytes(path.read_bytes())


@pytest.mark.parametrize("change", ["data", "measure", "methods", "gone"])
def test_a_table_of_other_settings_is_not_mixed_with_ours(tables, tmp_path, change):
    copied(tables, tmp_path)
    note = tmp_path / "tiny.json"
    told = json.loads(note.read_text())
    if change == "methods":
        told["methods"]["soft"] = "7 iterations"
    elif change == "gone":
        told = {}
    else:
        told[change] = "others"
    note.write_text(json.dumps(told))
    with pytest.raises(TableError, match="started with other settings"):
        plan([TINY], tmp_path, Size(3))  # even where nothing is left to run


@pytest.mark.usefixtures("in_one_process")
def test_a_method_may_be_added_to_a_table(tables, tmp_path):
    copied(tables, tmp_path)
    more = replace(TINY, methods=("soft", "als", "naive"))
    tasks = plan([more], tmp_path, Size(3))
    assert {task.key[2] for task in tasks} == {"naive"}
    assert run(tasks, tmp_path, workers=1) == []
    assert plan([TINY], tmp_path, Size(3)) == plan([more], tmp_path, Size(3)) == []


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    with locked(tmp_path), pytest.raises(TableError, match="another run is writing"):
        run(plan([TINY], tmp_path, Size(2)), tmp_path)


def test_a_row_that_is_there_twice_counts_once(tables, tmp_path):
    copied(tables, tmp_path)
    path = tmp_path / "tiny.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    assert len(rows(tmp_path)) == len(rows(tables))


@pytest.mark.parametrize("content", ["r,sim\n1,2\n", "r,sim,method,seconds\na,b,c,d\n", "1\n1,2,3\n"])
def test_what_is_no_table_is_named(tables, tmp_path, content):
    copied(tables, tmp_path)
    (tmp_path / "tiny.csv").write_text(content)
    with pytest.raises(TableError, match=r"tiny\.csv.*remove the file"):
        plan([TINY], tmp_path, Size(3))


def test_a_simulation_that_fails_does_not_stop_the_others(tmp_path):
    """In two processes, as users run it."""
    failing = replace(TINY, methods=("truth",), measure=paper_measures.fails_at_2)
    failures = run(plan([failing], tmp_path, Size(3)), tmp_path, workers=2)
    assert len(failures) == 2
    assert "tiny, r = 2, truth, seed 1: LinAlgError" in str(failures[0]) + str(failures[1])
    assert len(StudyTable(tmp_path, failing).read()) == 4


SLOW = """
import sys, time
from pathlib import Path
from ngmca.paper import Size, Study
from ngmca.paper.experiments import quality
from ngmca.paper.runner import plan, run

def slowly(trial, found):
    time.sleep(0.1)
    return quality(trial, found)

SLOW = Study("slow", "sparse", {"m": 12, "n": 30, "r": 2}, "snr", (10, 20), ("truth",), 1.0, 5, slowly)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    run(plan([SLOW], folder, Size(15)), folder, workers=2)
"""


def children(process):
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False


def started(tmp_path):
    """A run of slow simulations that has written some of its rows, its command and its table."""
    script = tmp_path / "slow_experiment.py"
    script.write_text(SLOW)
    table = tmp_path / "tables" / "slow.csv"
    arguments = [sys.executable, str(script), str(table.parent)]
    process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (table.exists() and table.read_text().count("\n") > 8):
        assert time.monotonic() < deadline, "no results"
        time.sleep(0.02)
    workers = children(process)
    assert len(workers) >= 2
    return process, workers, arguments, table


def test_killed_and_started_again_it_goes_on(tmp_path, monkeypatch):
    process, workers, arguments, table = started(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = pd.read_csv(table)
    assert 8 <= len(before) < 30
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(map(alive, workers)):
        time.sleep(0.1)
    assert not any(map(alive, workers))  # they end with their parent
    monkeypatch.setattr(runner, "ProcessPoolExecutor", paper_measures.one_thread)
    monkeypatch.setattr(sys, "argv", arguments[1:])
    runpy.run_path(arguments[1], run_name="__main__")
    after = pd.read_csv(table)
    assert len(after) == 30
    assert not after.duplicated(["snr", "sim", "method"]).any()
    pd.testing.assert_frame_equal(after[: len(before)], before)  # nothing lost, nothing run anew


def test_an_interrupt_ends_it_at_once(tmp_path):
    process, workers, _, table = started(tmp_path)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) != 0
    count = table.read_text().count("\n")
    time.sleep(0.5)
    assert table.read_text().count("\n") == count < 31
    assert not any(map(alive, workers))


def test_the_estimate_knows_slow_methods_from_fast_ones():
    tasks = [Task(TINY, (2, sim, method)) for sim in range(10) for method in TINY.methods]
    clock = Clock(tasks)
    assert clock.remaining() is None
    clock._start -= 11.0  # as if 11 s had passed
    clock.finished(tasks[0], 10.0)
    clock.finished(tasks[1], 1.0)
    assert clock.remaining() == pytest.approx(99.0, rel=0.01)


@pytest.mark.usefixtures("in_one_process")
def test_the_table_of_conditioning_agrees_with_the_paper(tmp_path):
    told = command("run", "tab:conditioning", "-o", tmp_path, "--sims", 2)
    assert told.count("[holds]") == 2
    table = pd.read_csv(tmp_path / "tables" / "conditioning.csv")
    assert (table.groupby("alpha_A").size() == 48).all()
    printed = [6.90, 8.36, 9.43, 10.7, 12.0, 12.9, 14.3, 15.3]
    np.testing.assert_allclose(table.groupby("alpha_A")["cond"].mean(), printed, rtol=0.03)


@pytest.mark.usefixtures("in_one_process")
def test_from_the_command_to_the_report(tmp_path):
    told = command("run", "soft-hard", "-o", tmp_path)
    assert told.count("[holds]") == 2
    for kind in ("png", "svg"):
        assert (tmp_path / "figures" / f"soft-hard.{kind}").stat().st_size > 5_000
    assert "claims of the paper: 2 holds" in command("report", "-o", tmp_path)
    page = (tmp_path / "report.html").read_text()
    sections = re.findall("<section id=([^>]+)>", page)
    assert sections == [
        "overview",
        "beyond",
        "sequel",
        *(label.replace(":", "-") for label in EXPERIMENTS),
    ]
    assert page.count("Not run yet") == len(EXPERIMENTS) - 1
    assert page.count("data:image/png;base64,") == 1
    assert not re.search(r"(src|href)=.https?:", page)  # one file, readable without a network


@pytest.mark.usefixtures("in_one_process")
def test_figures_come_from_the_tables_alone(tmp_path):
    command("run", "soft-hard", "-o", tmp_path)
    path = tmp_path / "tables" / "soft_hard.csv"
    table = pd.read_csv(path)
    first = (tmp_path / "figures" / "soft-hard.svg").read_bytes()
    command("report", "-o", tmp_path)
    assert (tmp_path / "figures" / "soft-hard.svg").read_bytes() == first  # the same to the byte
    table["soft1"] += 0.3
    table.to_csv(path, index=False)
    command("report", "-o", tmp_path)
    assert (tmp_path / "figures" / "soft-hard.svg").read_bytes() != first


def test_half_finished_simulations_are_not_looked_at(tmp_path):
    study = EXPERIMENTS["oscillations"].study
    made = [
        {"r": 40, "sim": sim, "method": method, "cost": 1.0, "rises": 0.0}
        for sim in (0, 1, 2)
        for method in study.methods
    ][:-1]
    pd.DataFrame(made).assign(seconds=0.0).to_csv(tmp_path / "oscillations.csv", index=False)
    (tmp_path / "oscillations.json").write_text(json.dumps(study.identity))
    result = load(EXPERIMENTS["oscillations"], tmp_path)
    assert result.sims == 2
    assert not result.ready  # its example is missing


def test_list_and_show(tmp_path):
    assert all(label in command("list", "-o", tmp_path) for label in EXPERIMENTS)
    told = command("show", "noise_a50r15", "-o", tmp_path)
    assert "p_S=0.5" in told
    assert told.count("[not run]") == len(EXPERIMENTS["noise_a50r15"].claims)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "nothing"), "there is no experiment nothing. `ngmca paper list` shows the labels"),
        (("all", "--quick", "--full"), "cannot be combined"),
        (("report",), "has no results yet"),
    ],
)
def test_wrong_input_is_told_in_one_line(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = command(*arguments, code=2)
    assert words in told
    assert told.count("\n") == 1
    assert not os.listdir(tmp_path)


def test_quick_keeps_the_ends():
    sims, values = Size.quick().of(EXPERIMENTS["m_a30n03r15"].study)
    assert (sims, values) == (3, (15, 30, 200))
    assert Size(None).of(EXPERIMENTS["noise_a10r15"].study)[0] == 192


def test_a_folder_of_the_user_is_refused(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "soft-hard.png").write_text("mine")
    for command in (("run", "soft-hard"), ("report",)):
        told = run_command("paper", *command, "-o", tmp_path, code=2).stderr
        assert "has files that `ngmca paper` did not write" in told
    assert (tmp_path / "figures" / "soft-hard.png").read_text() == "mine"
