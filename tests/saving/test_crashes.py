"""A command that is killed at any change of the file system loses nothing, and changes nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).parents[1] / "crashing.py"
MIN_CHANGES = {  # of the file system: with fewer, the hook does not see them
    "separate": 20,
    "force": 25,
    "posterior": 20,
    "resume": 20,
    "simulate": 4,
    "simulate-force": 4,
    "demo": 20,
    "demo-force": 25,
    "paper": 10,
}


ALWAYS = ("force", "simulate-force")  # `make studies` runs all
CASES = MIN_CHANGES if os.environ.get("NGMCA_STUDIES") else ALWAYS


@pytest.mark.parametrize("case", CASES)
def test_killed_at_events_all_along(case, tmp_path):
    done = subprocess.run(
        [sys.executable, str(DRIVER), case, str(tmp_path / "crashes")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["events"] >= MIN_CHANGES[case]
    assert found["wrong"] == {}
