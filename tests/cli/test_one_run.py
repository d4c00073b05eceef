"""One `ngmca separate` does everything once: reads, checks, builds the problem, writes the result."""

import builtins
import io as streams
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from command_line import run

import ngmca
from ngmca.io import detect
from ngmca.saving import results
from ngmca.task import problem
from ngmca.task.problem import Problem
from ngmca.task.task import Task

SNIFFER = "format_of" if hasattr(detect, "format_of") else "reader_of"


@pytest.fixture
def counts(monkeypatch):
    """How often a run did each thing."""
    found = Counter()

    def counted(name, whole):
        def count(*arguments, **options):
            found[name] += 1
            return whole(*arguments, **options)

        return count

    def opening(whole):
        def count(file, *arguments, **options):
            if isinstance(file, str | Path) and Path(file).name == "mixture.csv":
                found["file opened"] += 1
            return whole(file, *arguments, **options)

        return count

    of = Problem.of.__func__
    monkeypatch.setattr(Problem, "of", classmethod(counted("problem built", of)))
    monkeypatch.setattr(Task, "__post_init__", counted("task checked", Task.__post_init__))
    arrays = counted("constraints as arrays", problem.constraint_arrays)
    monkeypatch.setattr(problem, "constraint_arrays", arrays)
    sniffed = counted("format detected", getattr(detect, SNIFFER))
    for module in places_of(SNIFFER):
        monkeypatch.setattr(module, SNIFFER, sniffed)
    monkeypatch.setattr(results, "write_result", counted("NetCDF written", results.write_result))
    monkeypatch.setattr(builtins, "open", opening(builtins.open))
    monkeypatch.setattr(streams, "open", opening(streams.open))
    return found


def places_of(name):
    """All modules of ngmca that have imported a function of `detect`."""
    modules = [module for key, module in sys.modules.items() if key.startswith("ngmca")]
    return [one for one in modules if getattr(one, name, None) is getattr(detect, name)]


@pytest.fixture
def table(tmp_path):
    mixture = ngmca.simulate.spectra(m=12, n=200, r=5, lines=4, snr=25, seed=1)
    columns = {f"tube {i}": row for i, row in enumerate(mixture.Y)}
    path = tmp_path / "mixture.csv"
    ngmca.io.write_table(path, {"ppm": np.linspace(9, 1, 200).round(6)} | columns)
    return path


@pytest.mark.parametrize("options", [(), ("--closure", "1"), ("--iterations", "30", "--n-init", "3")])
def test_a_run_checks_builds_and_writes_once(tmp_path, table, counts, options):
    counts.clear()
    run("separate", table, "-r", 5, "-o", tmp_path / "out", *options)
    once = ("problem built", "task checked", "constraints as arrays", "NetCDF written")
    assert {name: counts[name] for name in once} == dict.fromkeys(once, 1)


def test_a_run_reads_and_hashes_once(tmp_path, table, counts):
    counts.clear()
    run("separate", table, "-r", 5, "-o", tmp_path / "out", "--iterations", 5)
    assert counts["format detected"] == 1
    assert counts["file opened"] <= 2  # once to read it, once for its hash
