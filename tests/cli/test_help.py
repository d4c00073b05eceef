"""What the commands say about themselves."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run

from ngmca.io import detect

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = [
    *("separate", "rank", "answer", "posterior", "info", "report", "rerun", "watch", "evaluate"),
    *("simulate", "demo"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(command):
    told = run(command, "--help").stdout
    assert f"ngmca {command}" in told
    assert "Example" in told


def test_the_docs_have_every_command_and_every_option_of_separate():
    told, written = (
        run("separate", "--help").stdout,
        (DOCS / "reference" / "command-line.md").read_text(),
    )
    options = set(re.findall(r"--[a-z][a-z-]*[a-z]", told.split("Examples")[0])) - {"--help"}
    assert len(options) > 20
    named = set(re.findall(r"--[a-z][a-z-]*[a-z]", written))
    assert {option for option in options if not option.startswith("--no-")} <= named
    assert all(f"    ngmca {command}" in written for command in COMMANDS)


def test_the_docs_have_the_suffixes_of_every_format():
    written = (DOCS / "reference" / "formats.md").read_text()
    suffixes = {*detect.BY_SUFFIX, *detect.SHEET_SUFFIXES, *detect.EXPORT_HINTS} - {".fid"}
    assert [suffix for suffix in sorted(suffixes) if f"`{suffix}`" not in written] == []


def test_help_loses_no_word_to_markup():
    told = " ".join(run("separate", "--help").stdout.replace("│", " ").split())
    assert "'ngmca[io]'" in told
    assert "(estimated)" in told
    assert "(detected)" in told


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
