"""What the commands say about themselves."""

import os
import subprocess
import sys

import pytest
from command_line import run


@pytest.mark.parametrize("command", ["separate", "info", "report", "evaluate", "simulate", "demo"])
def test_help_has_examples(command):
    told = run(command, "--help").stdout
    assert f"ngmca {command}" in told
    assert "Example" in told


def test_help_loses_no_word_to_markup():
    told = " ".join(run("separate", "--help").stdout.replace("│", " ").split())
    assert "'ngmca[io]'" in told
    assert "(estimated)" in told
    assert "(found out)" in told


def test_completion_is_offered():
    environment = os.environ | {
        "_NGMCA_COMPLETE": "complete_bash",
        "COMP_WORDS": "ngmca sep",
        "COMP_CWORD": "1",
    }
    script = "import sys; sys.argv=['ngmca']; from ngmca.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert "separate" in done.stdout


def test_importing_ngmca_stays_light():
    heavy = "plotly typer xarray h5py sklearn zarr rich"
    script = f"import ngmca, sys; print([m for m in {heavy.split()} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
