"""`ngmca demo`."""

import re
from pathlib import Path

import pytest
from command_line import run

pytestmark = pytest.mark.draws


def test_demo_goes_all_the_way(tmp_path):
    told = run("demo", "-o", tmp_path / "demo").stdout
    report = Path(re.search(r"report: (.*)", told)[1])
    assert report.is_file()
    assert float(re.search(r"mean ([\d.]+) dB", told)[1]) > 15
    assert "exists" in run("demo", "-o", tmp_path / "demo", code=2).stderr
    run("demo", "-o", tmp_path / "demo", "--force")
