"""Random command lines and damaged run.toml: the exit code is 0, 1 or 2, and an error is one line."""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import tomllib
from functools import cache
from pathlib import Path

import damage
import numpy as np
import samples
import tomli_w
from outcome import ACCEPTED, ERROR, expect

import ngmca
from ngmca import rivals
from ngmca.cli import app
from ngmca.cli.errors import run
from ngmca.task.methods import OWN_METHODS as ALGORITHMS
from ngmca.task.task import DOMAINS

SEPARATE = {"data": ["d.csv"], "sources": 2, "method": "soft", "tau": 1.0, "iterations": 5,
            "refinement": 0.2, "seed": 0, "domain": "auto", "posterior": False}  # fmt: skip
VALUES = (0, -1, 3, 2**31, 2**63, 10**30, 0.0, -0.5, 1.5, 1e300, float("nan"), float("inf"), True, False,
          "", "x", "auto", "soft", "hals", "wavelet", "d.csv", "../d.csv", "missing", "a\nb", "\x1b[31m",
          "1:5", "9:1", ":", "nan:nan", "1H", "x" * 5000, [], ["d.csv"], ["d.npy", "d.csv"], [1], [[]],
          {}, {"a": 1})  # fmt: skip
PATHS = ("d.csv", "d.npy", "mix.npz", "out", "out/result.nc", "out/run.toml", "new", "new/deep/er",
         "d.h5", "missing.csv", ".", "..", "", "-", "ä ö", "x" * 300, "wide.csv", "zero.npy", "junk.bin",
         "empty.csv", "--", "out/", "tall.csv")  # fmt: skip
DATA = ("d.csv", "d.npy", "mix.npz", "wide.csv", "zero.npy", "tall.csv", "d.h5")
COUNTS = ("1", "2", "3", "5", "7", "0", "-1")
NUMBERS = ("0", "0.5", "1", "2", "7", "1e-300", "1e9", "-1", "nan", "inf")
RANGES = ("2:7", "7:2", "0:1", "-1e9:1e9", "1:1", "nan:1")
NAMES = ("Y", "S", "data", "scan/data", "scan/ppm", "1H")
WORDS = (
    "0",
    "1",
    "-1",
    "1e9",
    "nan",
    "-inf",
    "1e-300",
    "x",
    "",
    ":",
    "99999999999999999999",
    "é",
    "\x1b[1m",
)
METHODS = (*ALGORITHMS, *rivals.METHODS)
USUAL = {"data": (["d.csv"], ["d.npy"], ["d.csv", "d.csv"], ["zero.npy"]), "sources": (1, 2, 3),
         "method": METHODS, "tau": (0, 0.5, 2), "iterations": (1, 7, "auto"), "refinement": (0, 0.5),
         "seed": (0, 2**40), "domain": DOMAINS, "posterior": (True, False), "noise": (0, 0.1, 1e300),
         "transpose": (True, False), "range": RANGES, "dataset": NAMES, "nucleus": NAMES}  # fmt: skip
READING = {"--range": RANGES, "--dataset": NAMES, "--nucleus": NAMES}
COMMANDS = {  # files to read or write, options and their usual values, switches
    "separate": (DATA, {"-r": COUNTS, "-o": PATHS, "--method": METHODS, "--tau": NUMBERS,
                        "--refinement": NUMBERS, "--seed": COUNTS, "--noise": NUMBERS,
                        "--domain": DOMAINS,
                        "--config": ("run.toml", "out/run.toml"), "--resume": PATHS, **READING},
                 ("--posterior", "--no-posterior", "--transpose", "--force", "-q", "--json")),
    "info": (DATA, READING, ("--transpose", "--no-transpose", "--json")),
    "report": (("out", "out/result.nc"), {"--to": PATHS}, ()),
    "evaluate": (("out", "mix.npz", "d.csv", "out/result.nc", "out/sources.csv"), {}, ("--json",)),
    "simulate": (("new.npz", "new/new.npz", "mix.npz"),
                 {"--kind": ("sparse", "spectra", "bands", "library", "nmr"), "-r": COUNTS, "-m": COUNTS,
                  "-n": ("30", "100", *COUNTS), "--compounds": ("random", "lactate,alanine"),
                  "--peaks": DATA, "--spectra": DATA, "--snr": NUMBERS, "--seed": COUNTS}, ("--force",)),
    "paper": (("list", "show", "report"), {}, ("tab:conditioning", "--help")),
}  # fmt: skip


@cache
def prepare():
    """Return a folder with small files and a result."""
    folder = Path(tempfile.mkdtemp(prefix="files-", dir=".")).absolute()
    (folder / "d.csv").write_text(samples.table(samples.COLUMNS))
    (folder / "wide.csv").write_text(samples.table(samples.Y[:1]))
    (folder / "tall.csv").write_text(samples.table(samples.Y.T))
    np.save(folder / "d.npy", samples.Y.astype("f4"))
    np.save(folder / "zero.npy", np.zeros((4, 9)))
    samples.write_hdf5()(folder / "d.h5")
    (folder / "junk.bin").write_bytes(np.random.default_rng(0).bytes(500))
    (folder / "empty.csv").write_bytes(b"")
    (folder / "run.toml").write_text(tomli_w.dumps({"separate": SEPARATE, "record": {"sha256": "0"}}))
    for line in (["simulate", "mix.npz", "-m", "6", "-n", "40", "-r", "2"],
                 ["separate", "mix.npz", "-r", "2", "--iterations", "5", "-o", "out"]):  # fmt: skip
        code, _, err = _run(line, folder)
        expect(code == 0, f"a valid command fails: {err}")
    return folder


def runs_case(rng, folder):
    """Run `separate` with a damaged or absurd run.toml."""
    shutil.copytree(prepare(), folder, dirs_exist_ok=True)
    path = folder / "run.toml"
    if rng.random() < 0.3:
        damage.damage_file(path, rng)
    else:
        path.write_text(_absurd(rng), encoding="utf-8")
    line = ["separate", "--config", "run.toml", "-o", "found"]
    with contextlib.suppress(Exception):  # many iterations are slow, which is no failure
        if tomllib.loads(path.read_text())["separate"]["iterations"] > 100:
            line += ["--iterations", "9"]
    return _outcome(line, folder)


def _absurd(rng):
    """Return a run.toml with a few random values."""
    names = (*USUAL, "sorces")
    table = dict(SEPARATE)
    for _ in range(rng.integers(1, 4)):
        name = names[rng.integers(len(names))]
        table[name] = _drawn(USUAL.get(name, VALUES), VALUES, rng, 0.7)
    if rng.random() < 0.1:
        del table[sorted(table)[rng.integers(len(table))]]
    record = _drawn(({"sha256": "0"}, {}), (*VALUES, {"sha256": []}), rng)
    return tomli_w.dumps({"separate": table, "record": record})


def commands_case(rng, folder):
    """Run a random command line."""
    shutil.copytree(prepare(), folder, dirs_exist_ok=True)
    name = str(rng.choice(sorted(COMMANDS)))
    usual, options, switches = COMMANDS[name]
    line = [name, *(_drawn(usual, PATHS, rng) for _ in range(2 if name == "evaluate" else 1))]
    if name == "separate":
        line += ["--iterations", "5", "-r", "2", "-o", "new"]
    for option, values in options.items():
        if rng.random() < 1.5 / len(options):
            line += [option, _drawn(values, (*WORDS, *PATHS), rng)]
    line += [switch for switch in switches if rng.random() < 0.2]
    if rng.random() < 0.05:
        line.insert(int(rng.integers(len(line) + 1)), _drawn(("--what", "-h"), WORDS, rng))
    return _outcome(line, folder)


def _drawn(usual, others, rng, chance=0.9):
    values = usual if rng.random() < chance else others
    return values[int(rng.integers(len(values)))]


def _run(line, folder):
    """Run a command in this process, in a folder; return exit code, stdout and stderr."""
    out, err, before, argv = io.StringIO(), io.StringIO(), os.getcwd(), sys.argv
    os.chdir(folder)
    sys.argv = ["ngmca", *line]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(app)
    finally:
        os.chdir(before)
        sys.argv = argv
    return code, out.getvalue(), err.getvalue()


def _outcome(line, folder):
    """Run a command and check its output."""
    (folder.parent / "what.txt").write_text("ngmca " + repr(line) + "\n")
    code, out, err = _run(line, folder)
    what = f"{' '.join(line)[:300]}: {err[-600:]!r}"
    expect(code in (0, 1, 2), f"exit code {code}, {what}")
    expect("internal error" not in err and "Traceback" not in err, f"an internal error, {what}")
    expect("could not be drawn" not in err, f"no report, {what}")
    lines = err.splitlines()
    expect(
        all(one.startswith(("note: ", "error: ")) for one in lines),
        f"an unknown line, {what}",
    )
    expect("encountered in" not in err and "Warning" not in err, f"a warning of a library, {what}")
    errors = [one for one in lines if one.startswith("error: ")]
    if code == 0:
        expect(not errors, f"an error and exit code 0, {what}")
        _check_output(line, out, folder, what)
        return ACCEPTED
    shown = not out and len(errors) == 1
    expect(shown or (out and not errors), f"exit code {code}, {what}")
    return ERROR


def _check_output(line, out, folder, what):
    """Check what a successful command printed and wrote."""
    if "--json" in line and "-h" not in line:
        json.loads(out)
    if line[0] == "separate" and "-h" not in line and (folder / "found").exists():
        found = ngmca.load(folder / "found")
        expect(np.isfinite(found.A).all() and np.isfinite(found.S).all(), f"not finite, {what}")
