"""The way from a file to a result over HTTP, and what survives a kill."""

import json
import os
import signal
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from app_client import HOST, ORIGIN, TOKEN
from starlette.testclient import TestClient

import ngmca
from ngmca._support.messages import option
from ngmca.app.forms import GROUPS, choices_in, field_of, in_words, settings_in
from ngmca.app.repeat import command_line, python_lines
from ngmca.app.web_application import application
from ngmca.io import ReadError
from ngmca.io.array_choice import choose_array
from ngmca.report import preview_figures
from ngmca.saving import results
from ngmca.saving.results import load_run
from ngmca.settings import Settings, from_file


def until(ask, wanted, seconds=120):
    """Ask again until the answer is what is waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ask()
        if wanted(found):
            return found
        time.sleep(0.1)
    pytest.fail(f"never came: {found}")


def read(client, opened):
    return until(lambda: client.get(f"{opened}/preview").json(), lambda one: "seconds" not in one)


def ended(client, opened):
    """The state of the newest run when it is at work no more."""
    runs = until(lambda: client.get(f"{opened}/runs").json(), lambda all: all[0]["state"] != "running")
    return runs[0]


def test_a_file_is_opened_previewed_run_and_taken_away(client, opened, tmp_path):
    facts = read(client, opened)["facts"]
    assert (facts["measurements"], facts["channels"]) == (12, 200)
    assert dict(facts["words"])["Axis"] == "chemical shift [ppm], from 9 to 1 in the file"
    shown = client.get(f"{opened}/spectrum?row=3").json()
    assert (shown["row"], shown["used"]) == (3, 200)
    given = {"sources": "2", "iterations": "20", "n_init": "1", "leave_out": "4:5", "domain": "direct"}
    state = client.post(f"{opened}/settings", data=given).json()
    assert 'leave_out = "4:5"' in state["toml"]
    assert client.get(f"{opened}/spectrum").json()["used"] == 175
    client.post(f"{opened}/settings", data={"leave_out": "", "range": "4:5"})
    assert client.get(f"{opened}/spectrum").json()["used"] == 25
    client.post(f"{opened}/undo")
    assert client.post(f"{opened}/settings", data={"do": "run"}).status_code == 303
    assert ended(client, opened)["state"] == "done"
    address = f"{opened}/runs/1"
    page = client.get(address).text
    folder = tmp_path / "sessions" / opened.split("/")[-1] / "runs" / "1" / "result"
    assert "ngmca separate" in page
    for name in ("sources.csv", "mixing.csv", "result.nc", "run.toml", "report.html"):
        answer = client.get(f"{address}/files/{name}")
        assert answer.headers["content-disposition"].startswith("attachment")
    table = client.get(f"{address}/files/sources.csv").text.splitlines()
    assert len(table) == 176
    for name in ("sources", "shares", "weights"):
        assert client.get(f"{address}/figure/{name}").json()["figure"]["data"]
    fit = until(lambda: client.get(f"{address}/fit?row=4").json(), lambda one: "figure" in one)
    assert fit["row"] == 4
    assert client.get(f"{opened}/compare?one=1&other=1").text.count("<td>the same</td>") == 2
    assert len(client.get(f"{opened}/compare/figure?one=1&other=1").json()["data"]) == 4
    report = client.get(f"{address}/report")
    assert report.headers["content-security-policy"].startswith("sandbox ")
    _same_as_python(page)
    client.post(f"{address}/names", data={"name-1": "glucose", "name-2": "<b>x"})
    assert "glucose" in client.get(f"{address}/files/sources.csv").text
    assert "source 1: glucose" in client.get(f"{address}/figure/sources").text
    assert "source 2: &lt;b&gt;x" in client.get(address).text
    assert client.post(f"{address}/names", data={"name-1": "a", "name-2": "a"}).status_code == 400
    _take_next_step(client, opened, folder)


def _take_next_step(client, opened, folder):
    """The button of the verdict starts a run with the change that the verdict names."""
    assert client.post(f"{opened}/runs/1/next").status_code == 400  # this verdict has no such step
    run = load_run(folder)
    results.write(folder, replace(run, record=run.record | {"next_change": {"sources": 3}}))
    assert client.post(f"{opened}/runs/1/next").status_code == 303
    runs = client.get(f"{opened}/runs").json()
    assert [one["number"] for one in runs] == [2, 1]
    assert from_file(folder.parents[1] / "2" / "run.toml")[0].sources == 3
    client.post(f"{opened}/runs/2/stop")


def _same_as_python(page):
    """The lines of Python on the page find the same sources, to the bit."""
    folder = page.split("They are in ")[1].split(".</p>")[0]
    lines = python_lines(from_file(Path(folder) / "run.toml")[0], 2)
    lines = lines.replace("run.toml", f"{folder}/run.toml")
    found = {}
    exec(lines.replace("ngmca.report.write", "print"), found)
    assert (ngmca.load(folder).S == found["result"].S).all()


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ({"range": "1:2", "robust": True}, "crop(1, 2)\nresult = ngmca.separate(data, 3, robust=True)"),
        ({"tau": 2.0}, "read('a.csv')\nresult = ngmca.separate(data, 3, method=ngmca.Soft(tau=2.0))"),
        ({"transpose": True}, "read('a.csv', transpose=True)\nresult = ngmca.separate(data, 3)"),
        ({"profiles": "unimodal"}, "task = task_of(replace(settings, sources=3), data)"),
    ],
)
def test_lines_of_python(settings, lines):
    assert lines in python_lines(Settings(("a.csv",), 3, **settings), 3)


def test_the_command_line_is_quoted():
    settings = Settings(("a b.csv",), "auto", rows="time [h] 0:1", robust=True)
    words = "ngmca separate 'a b.csv' -r auto --robust --rows 'time [h] 0:1' -o result"
    assert command_line(settings) == words


def test_what_does_not_go_together_is_grey_with_its_reason(client, opened):
    state = client.post(f"{opened}/settings", data={"method": "naive", "sources": "2"}).json()
    assert "ignore constraints" in state["reasons"]["closure"]["off"]
    assert "only 'soft' works" in state["reasons"]["domain"]["choices"]["wavelet"]
    state = client.post(f"{opened}/settings", data={"method": "soft"}).json()
    assert state["reasons"]["closure"]["off"] == ""
    assert state["reasons"]["domain"]["choices"]["wavelet"] == ""


def test_steps_are_undone(client, opened):
    client.post(f"{opened}/settings", data={"sources": "2"})
    client.post(f"{opened}/settings", data={"sources": "5", "robust.there": "1", "robust": "True"})
    state = client.post(f"{opened}/undo").json()
    assert (state["values"]["sources"], state["values"]["robust"]) == ("2", "False")
    assert client.post(f"{opened}/undo").json()["values"]["sources"] == "auto"
    assert not client.post(f"{opened}/undo").json()["undo"]


def test_no_field_is_lost_between_form_and_run_toml(client, opened, start, tmp_path):
    """Every field, with another value than its default, arrives in run.toml and in the command."""
    folder = tmp_path / "sessions" / opened.split("/")[-1]
    for one in fields(Settings):
        if not one.metadata:
            continue
        field = field_of(Settings(), one.name)
        own = [value for value, _ in field.choices if value != str(one.default)]
        value = {"switch": "True", "choice": own[0] if own else ""}.get(field.kind, "3")
        value = str(start / "tubes.csv") if field.file else value
        state = client.post(
            f"{opened}/settings", data={one.name: value, f"{one.name}.pasted": ""}
        ).json()
        assert "error" not in state, (one.name, state)
        assert state["values"][one.name] in (value, "3.0"), one.name
        found = from_file(folder / "run.toml")[0].given
        assert str(found[one.name]) in (value, "3.0"), one.name
        client.post(f"{opened}/undo")
    names = {name for _, _, names in GROUPS for name in names}
    assert names == {one.name for one in fields(Settings) if one.metadata}


def test_a_step_is_switched_off_and_on_and_undone(client, opened, tmp_path):
    path = tmp_path / "sessions" / opened.split("/")[-1] / "run.toml"
    given = {"sources": "2", "noise": "poisson", "gain": "2", "range": "2:8"}
    client.post(f"{opened}/settings", data=given)
    state = client.post(f"{opened}/switch", data={"name": "noise"}).json()  # with gain, which needs it
    assert {one["name"]: one["on"] for one in state["steps"]} == {
        "sources": True, "noise": False, "gain": False, "range": True
    }  # fmt: skip
    assert from_file(path)[0].given.keys() == {"data", "sources", "range"}
    client.post(f"{opened}/settings", data={"range": "3:8", "noise": "", "gain": ""})  # off stays off
    state = client.post(f"{opened}/switch", data={"name": "noise"}).json()
    assert (state["values"]["noise"], state["values"]["gain"]) == ("poisson", "2.0")
    client.post(f"{opened}/undo")
    assert "noise" not in from_file(path)[0].given
    assert client.post(f"{opened}/switch", data={"name": "sources"}).status_code == 400


def test_a_spectrum_of_the_library_becomes_known(client, opened, start):
    x = np.linspace(2, 8, 301)
    ngmca.io.write_table(start / "pure.csv", {"ppm": x, "one": np.sin(x) ** 2, "other": x})
    read(client, opened)
    client.post(f"{opened}/settings", data={"library": "pure.csv"})
    ask = lambda: client.get(f"{opened}/library").json()  # noqa: E731
    assert until(ask, lambda one: "names" in one)["names"] == ["one", "other"]
    assert client.post(f"{opened}/library", data={}).status_code == 400
    values = client.post(f"{opened}/library", data={"spectrum": "1"}).json()["values"]
    assert values["known_scale"] == "free"
    known = ngmca.io.read(values["known_sources"])
    assert known.row_names == ("other",)
    assert known.positions.min() > 2  # nothing is made up where the library has nothing
    assert np.allclose(known.Y[0], known.positions)


def test_an_error_of_a_run_names_the_fields_to_change():
    error = "--known-scale needs --known-sources: give a file of spectra. With -r 3 it is too many."
    assert [one["name"] for one in settings_in(error)] == ["known_sources", "known_scale", "sources"]


def test_pasted_tables_become_files(client, opened):
    pasted = {"known_mixing.pasted": "tube 1\t0.5\r\ntube 3\t\r\n"}
    value = client.post(f"{opened}/settings", data=pasted).json()["values"]["known_mixing"]
    assert Path(value).read_text(encoding="utf-8") == "tube 1\t0.5\ntube 3\n"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("sources", "many", "not a number of sources"),
        ("tau", "x", "“Final threshold”: 'x' is not a number"),
        ("seed", "1.5", "is not a whole number"),
    ],
)
def test_wrong_values_are_explained(client, opened, field, value, words):
    answer = client.post(f"{opened}/settings", data={field: value})
    assert (answer.status_code, words in answer.json()["error"]) == (400, True)


def test_what_is_no_table_is_explained(client, start):
    (start / "words.csv").write_text("This is a letter.\nIt has no numbers.\n")
    found = read(client, client.post("/open", data={"path": "words.csv"}).headers["location"])
    assert "words.csv" in found["error"]
    assert found["choices"] == []


def test_the_choices_that_an_error_names_become_buttons():
    error = ReadError("two ways: {} or {}.", option("axis", "first-row"), option("transpose", True))
    assert [(one["name"], one["value"]) for one in choices_in(error.message)] == [
        ("axis", "first-row"),
        ("transpose", "True"),
    ]
    assert in_words(error.message) == "two ways: “The first row is the axis” or “Each row is a channel”."


def test_the_data_sets_that_an_error_lists_become_buttons():
    with pytest.raises(
        ReadError, match=r"several data sets. Choose one: dataset='a b' \(2x3\)"
    ) as error:
        choose_array({"a b": (2, 3), "run/c": (3, 5)}, None, "a.mat")
    found = [(one["name"], one["value"]) for one in choices_in(error.value.message)]
    assert found == [("dataset", "a b"), ("dataset", "run/c")]


def test_the_figure_of_a_spectrum_has_the_height_of_what_is_used():
    y = np.r_[np.linspace(1, 3, 90), np.full(10, 1e6)]
    data = ngmca.io.Dataset(y[None], np.arange(100.0))
    drawn = preview_figures.spectra(data, [(0, y)], [(89.5, 100)])
    assert np.allclose(drawn.layout["yaxis"]["range"], [1 - 0.16, 3 + 0.16])
    assert "range" not in preview_figures.spectra(data, [(0, y)]).layout["yaxis"]
    assert "range" not in preview_figures.spectra(data, [(0, y)], [(-1, 100)]).layout["yaxis"]


def test_one_measurement_is_told_before_a_run(client, start):
    ngmca.io.write_table(start / "one.csv", {"ppm": np.linspace(9, 1, 50), "only": np.ones(50)})
    opened = client.post("/open", data={"path": "one.csv"}).headers["location"]
    assert "open the folder" in read(client, opened)["facts"]["notes"][0]


def test_a_file_of_this_computer_is_copied_for_a_field(client, opened, tmp_path):
    content = b"tube 1,2\n"
    given = client.put(f"{opened}/files", params={"name": "k3/hplc.csv"}, content=content).json()
    path = tmp_path / "sessions" / opened.split("/")[-1] / "given" / "k3" / "hplc.csv"
    assert (given["path"], given["folder"]) == (str(path), str(path.parent))
    assert path.read_bytes() == content
    state = client.post(f"{opened}/settings", data={"standards": given["path"]}).json()
    assert state["values"]["standards"] == str(path)
    assert read(client, opened)["facts"]["measurements"] == 12  # the data are the same


def test_messages_name_files_without_their_folders():
    files = ["/data/lab/a.csv", "/data/lab/day 2"]
    assert in_words("/data/lab/a.csv and /data/lab/day 2/b.spc", files) == "a.csv and day 2/b.spc"
    assert in_words("a/b", ["/a.csv"]) == "a/b"


def test_dropped_files_are_data_until_they_are_deleted(client, start, tmp_path):
    session = client.post("/upload").json()["session"]
    content = (start / "tubes.csv").read_bytes()
    client.put(f"/upload/{session}", params={"name": "dropped.csv"}, content=content)
    assert client.post(f"/upload/{session}").json() == {"session": session}
    assert read(client, f"/s/{session}")["facts"]["measurements"] == 12
    assert "dropped.csv" in client.get("/").text
    assert client.post(f"/s/{session}/delete").status_code == 303
    assert list((tmp_path / "sessions").iterdir()) == []
    assert (start / "tubes.csv").exists()


def test_a_worker_that_is_killed_is_told_and_sessions_survive(
    client, opened, start, tmp_path, monkeypatch
):
    client.post(f"{opened}/settings", data={"sources": "2", "n_init": "200", "do": "run"})
    folder = tmp_path / "sessions" / opened.split("/")[-1] / "runs" / "1"
    started = until(lambda: folder / "started.json", lambda path: path.exists())
    process = json.loads(started.read_text())["process"]
    other = application(start, tmp_path / "sessions", TOKEN, (HOST,))  # another server, after a crash
    with TestClient(other, base_url=f"http://{HOST}", follow_redirects=False) as second:
        second.get(f"/?token={TOKEN}")
        assert second.get(f"{opened}/runs").json()[0]["state"] == "running"
        second.headers.update(ORIGIN)
        monkeypatch.setattr("ngmca.app.runs.MAX_RUNS", 1)  # the run of the first server counts
        refused = second.post(f"{opened}/settings", data={"do": "run"})
        assert "1 runs are at work" in refused.json()["error"]
        os.kill(process, signal.SIGKILL)
        assert "was killed" in ended(client, opened)["words"]
        assert ended(second, opened)["state"] == "killed"
        assert 'value="2"' in second.get(opened).text
