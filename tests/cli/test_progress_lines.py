"""Lines that say how far a run is, where no bar can be drawn."""

import re

import numpy as np
from command_line import run

from ngmca._support import progress


def test_a_long_run_says_what_it_does(table, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.02)
    monkeypatch.setattr(progress, "GROWTH", 0.0)
    told = run("separate", table, "-r", 3, "-o", tmp_path / "out").stderr.splitlines()
    lines = [line.partition(" s: ")[2] for line in told if re.match(r"\d+ s: ", line)]
    assert any(
        re.match(r"separating, iteration \d+ of at most \d+, residual \d+.*%$", one) for one in lines
    )
    stages = [line.split(",")[0] for line in lines]
    assert len(set(stages)) >= 2
    changes = 1 + sum(np.array(stages[1:]) != np.array(stages[:-1]))
    assert changes == len(set(stages)), "a stage that is over does not come back"


def test_a_short_or_quiet_run_says_nothing(table, tmp_path, monkeypatch):
    short = run("separate", table, "-r", 3, "-o", tmp_path / "short").stderr
    monkeypatch.setattr(progress, "SECONDS", 0.02)
    monkeypatch.setattr(progress, "GROWTH", 0.0)
    quiet = run("separate", table, "-r", 3, "--quiet", "-o", tmp_path / "quiet").stderr
    assert not re.search(r"\d s: ", short) or "5 s: " in short  # on a machine with much other work
    assert quiet == ""
