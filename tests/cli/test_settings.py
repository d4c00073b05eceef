"""Parameters from a file."""

import numpy as np
import pytest
from command_line import run

import ngmca
from ngmca.settings.option_files import task_of
from ngmca.settings.run_file import from_file
from ngmca.settings.settings import Settings
from ngmca.task.methods import OWN_METHODS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[separate]\nsorces = 3\n", "has no option 'sorces'"),
        ("[separate]\nsources = 'three'\n", "sources = 'three'` in [separate] has the wrong type"),
        ("[separate]\nsources = true\n", "sources = True` in [separate] has the wrong type"),
        ("[separate]\nposterior = 1\n", "posterior = 1` in [separate] has the wrong type"),
        ("[separate]\ndata = 'a.csv'\n", "data = 'a.csv'` in [separate] has the wrong type"),
        ("[separate]\ndata = [1]\n", "data = [1]` in [separate] has the wrong type"),
        ("[separate]\ntau = [1]\n", "`tau = [1]` in [separate] has the wrong type"),
        ("[separate.data]\na = 1\n", "`data = {'a': 1}` in [separate] has the wrong type"),
        ("[separate]\nsources = nan\n", "`sources = nan` in [separate] has the wrong type"),
        (f"[separate]\ntau = 1{400 * '0'}\n", "in [separate] has the wrong type"),
        (f"[separate]\ntau = 1{5000 * '0'}\n", "is not a TOML file"),
        (f"[separate]\ntau = {5000 * '['}\n", "is not a TOML file"),
        ("[separate\n", "is not a TOML file"),
        ("[other]\n", "has no table [separate]"),
    ],
)
def test_wrong_configurations(tmp_path, text, message):
    (tmp_path / "c.toml").write_text(text)
    assert (
        message in run("separate", "--config", tmp_path / "c.toml", "-o", tmp_path / "x", code=2).stderr
    )


@pytest.mark.parametrize("name", ["", "nothing.toml"])  # a folder, and no file
def test_configurations_that_cannot_be_read(tmp_path, name):
    config = tmp_path / name
    told = run("separate", "--config", config, "-o", tmp_path / "x", code=2).stderr
    assert told.startswith(f"error: {config} cannot be read: ")


def test_a_record_that_is_none_is_left_out(tmp_path):
    (tmp_path / "c.toml").write_text("record = 1\n[separate]\nsources = 2\n")
    assert from_file(tmp_path / "c.toml") == (Settings(sources=2), {})


def test_a_whole_number_is_a_number_and_words_stay_words(tmp_path, table):
    (tmp_path / "c.toml").write_text(
        f"[separate]\ndata = ['{table.name}']\nsources = 2\ntau = 2\niterations = 5\n"
    )
    run("separate", "--config", tmp_path / "c.toml", "-o", tmp_path / "a")
    assert ngmca.load(tmp_path / "a").n_iter <= 10  # 5 in each domain
    (tmp_path / "c.toml").write_text(f"[separate]\ndata = ['{table.name}']\niterations = 'auto'\n")
    run("separate", "--config", tmp_path / "c.toml", "-o", tmp_path / "b", "-r", 2)


def test_the_defaults_are_those_of_the_library():
    data = ngmca.io.Dataset(np.ones((3, 4)))
    assert vars(task_of(Settings(sources=2), data)) == vars(ngmca.Task(2))
    for method in (*OWN_METHODS, *ngmca.rivals.METHODS):
        task = task_of(Settings(sources=2, method=method), data)
        assert vars(task) == vars(ngmca.Task(2, method=method))
    told = " ".join(run("separate", "--help").stdout.replace("│", " ").split())
    assert f"(default {ngmca.Soft.tau:g})" in told
    assert f"(default {ngmca.Soft.refinement:g})" in told
    table = Settings().table()
    assert (table["tau"], table["iterations"], table["n_init"]) == (ngmca.Soft.tau, "auto", "auto")


def test_the_hash_covers_the_data_beside_a_header(tmp_path):
    (tmp_path / "a.hdr").write_text("ENVI")
    (tmp_path / "a.img").write_bytes(b"1")
    before = ngmca.io.fingerprint([tmp_path / "a.hdr"])
    (tmp_path / "a.img").write_bytes(b"2")
    assert ngmca.io.fingerprint([tmp_path / "a.hdr"]) != before
    assert ngmca.io.fingerprint([tmp_path]) != ngmca.io.fingerprint([tmp_path / "a.img"])
