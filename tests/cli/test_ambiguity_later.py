"""`ngmca separate --ambiguity` and `ngmca ambiguity`: the same range, in all files."""

import json

import numpy as np
from command_line import run

import ngmca


def test_the_range_is_in_all_files_at_once_or_later(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 60)
    S = np.exp(-(((x - [[0.3], [0.6]]) / 0.15) ** 2)) + 0.05
    Y = rng.dirichlet([4, 4], 15) @ S + 0.005 * rng.standard_normal((15, 60))
    np.save(tmp_path / "Y.npy", Y)
    command = ("separate", tmp_path / "Y.npy", "-r", 2, "--closure", 1, "-o")
    told = run(*command, tmp_path / "at_once", "--ambiguity").stdout
    assert "rotational ambiguity" in told
    run(*command, tmp_path / "out")
    assert ngmca.load(tmp_path / "out").ambiguity is None
    monkeypatch.setattr("ngmca.cli.pipeline._found", None)  # it is not separated again
    facts = json.loads(run("ambiguity", tmp_path / "out", "--json").stdout)["ambiguity"]
    found, later = (ngmca.load(tmp_path / out) for out in ("at_once", "out"))
    expected = ngmca.ambiguity(Y, found, constraints=[ngmca.Closure()])
    for one in (found.ambiguity, later.ambiguity):
        np.testing.assert_array_equal(one.S_high, expected.S_high)
        np.testing.assert_array_equal(one.T, expected.T)
    assert facts["highest"] == expected.highest.tolist()
    assert (later.A == found.A).all()
    for name, low in (("sources.csv", expected.S_low[0]), ("mixing.csv", expected.A_low[:, 0])):
        texts = [(tmp_path / out / name).read_text() for out in ("at_once", "out")]
        assert texts[0] == texts[1]
        head, *rows = texts[0].splitlines()
        column = head.split(",").index("source 1 allowed lowest")
        np.testing.assert_allclose([float(row.split(",")[column]) for row in rows], low, rtol=1e-6)
    told = run(*command[:-3], "--method", "gmca", "-o", tmp_path / "g", "--ambiguity", code=2).stderr
    assert "--ambiguity cannot be combined with --method gmca" in told


def test_too_many_sources_are_refused_before_the_separation(tmp_path, monkeypatch):
    np.save(tmp_path / "Y.npy", np.random.default_rng(0).random((4, 30)))
    monkeypatch.setattr("ngmca.cli.pipeline._found", None)
    told = run(
        "separate", tmp_path / "Y.npy", "-r", 6, "--ambiguity", "-o", tmp_path / "x", code=2
    ).stderr
    assert "--ambiguity needs at least as many measurements and channels as sources" in told
