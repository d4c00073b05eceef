"""Kill a command at every change of the file system, and check what it leaves.

    python tests/crashing.py CASE FOLDER

prints one JSON object: the number of changes, and what was wrong after a kill at which of them.
Processes are forked from one that has everything loaded and compiled, so that a kill takes little time.
"""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import ngmca
from ngmca import report, sampling
from ngmca.cli import app, pipeline
from ngmca.cli.commands import demo as demo_command
from ngmca.cli.watchers import StopOnInterrupt
from ngmca.io import ReadError
from ngmca.paper import runner
from ngmca.saving.result_folder import COMPLETE
from ngmca.settings.settings import Settings

os.fsync = os.fstat  # see conftest.py
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
EVENTS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate"}
SEPARATE = ("separate", "mix.npz", "-r", "2", "-o", "out", "--iterations", "6", "--domain", "direct",
            "--n-init", "2")  # fmt: skip
PAPER = ("paper", "run", "tab:conditioning", "--sims", "2", "-o", "reproduction")


@dataclass(frozen=True)
class Case:
    """A command, the files before it, and the result that must be there after a kill and a resume."""

    command: tuple[str, ...]
    whole: str  # what the command leaves in the end
    before: tuple[tuple[str, ...], ...] = ()  # commands that make what it finds
    stopped: tuple[str, ...] = ()  # a run that is stopped before it


CASES = {
    "separate": Case(SEPARATE, "out"),
    "force": Case((*SEPARATE, "--force"), "out", before=((*SEPARATE, "--seed", "1"),)),
    "posterior": Case((*SEPARATE, "--posterior"), "out"),
    "resume": Case(("separate", "--resume", "out"), "out", stopped=SEPARATE),
    "simulate": Case(("simulate", "new.npz", "-m", "4", "-n", "9", "-r", "2"), "new.npz"),
    "simulate-force": Case(
        ("simulate", "new.npz", "-m", "4", "-n", "9", "-r", "2", "--force"),
        "new.npz",
        before=(("simulate", "new.npz", "-m", "4", "-n", "9", "-r", "2", "--seed", "1"),),
    ),
    "demo": Case(("demo", "-o", "demo"), "demo/result"),
    "demo-force": Case(
        ("demo", "-o", "demo", "--force"), "demo/result", before=(("demo", "-o", "demo", "--seed", "1"),)
    ),
    "paper": Case(PAPER, "reproduction/tables"),
}


def run(*arguments):
    """Run a command without output, and return its exit code."""
    with contextlib.ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        try:
            return app(list(arguments), standalone_mode=False) or 0
        except SystemExit as end:
            return end.code or 0


# `make studies` kills at every change
EVERY = 1 if os.environ.get("NGMCA_STUDIES") else 4


def forked(arguments, kill_at=0):
    """Run a command in a forked process; return its exit code and the number of changes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        events = [0]
        sys.addaudithook(partial(_count, events, kill_at, os.getcwd()))
        code = 99
        try:
            code = run(*arguments)
        finally:
            os.write(writing, str(events[0]).encode())
            os._exit(code)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as counted:
        return os.waitstatus_to_exitcode(status), int(counted.read() or 0)


def _count(events, kill_at, here, name, arguments):
    """Count changes of the file system below a folder, and kill this process at one of them."""
    if name == "open":
        path, _, flags = arguments
        if not flags & WRITING:
            return
    elif name in EVENTS:
        path = arguments[0]
    else:
        return
    if isinstance(path, int) or not os.path.abspath(os.fsdecode(path)).startswith(here):
        return
    events[0] += 1
    if events[0] == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def bystanders(folder):
    """Write files of the user with names similar to ours."""
    for name in ("out.previous/thesis.txt", "out.unfinished/notes.txt", "out-2/precious.txt",
                 "out.ngmca-notes/mine.txt", "out.part", "new.npz.part", "demo/notes.txt",
                 "demo/result.previous/thesis.txt", "reproduction/figures/mine.png",
                 "reproduction/tables/mine.csv", "report.html", "result.nc"):  # fmt: skip
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the user's own {name}")
    (folder / "reproduction" / "tables" / ".lock").touch()  # of an earlier run


def content(folder):
    """Return hashes of all files in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files
    }


def outcome(path):
    """Return the result of a command as numbers to compare; None if it is missing or incomplete."""
    try:
        if path.suffix == ".npz":
            with np.load(path) as stored:
                return {name: stored[name].tolist() for name in stored.files}
        if path.name == "tables":
            rows = (path / "conditioning.csv").read_text().splitlines()
            return sorted(row.rsplit(",", 1)[0] for row in rows)  # without the seconds
        found = ngmca.load(path)
        spread = None if found.posterior is None else found.posterior.S.sd.tolist()
        return {"S": found.S.tolist(), "A": found.A.tolist(), "sd": spread}
    except (ReadError, OSError, KeyError, ValueError):
        return None


@contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def stopping_after(iterations):
    """Stop as by Ctrl-C after so many iterations."""
    calls, before = iter(range(1, 10**9)), StopOnInterrupt.wants_stop
    StopOnInterrupt.wants_stop = lambda self: next(calls) == iterations
    try:
        yield
    finally:
        StopOnInterrupt.wants_stop = before


def shorten():
    """Use short chains, one report for all, no next step, and simulations in this process."""
    sample, few = sampling.posterior, {"n_samples": 20, "n_chains": 2}
    sampling.posterior = lambda *given, **options: sample(*given, **options | few)
    demo_command.Settings = partial(Settings, iterations=4, domain="direct")
    draw, page = report.html, []
    report.html = lambda run, show: page[0] if page else page.append(draw(run, show)) or page[0]
    pipeline.next_step = lambda *given, **options: None  # which writes nothing
    runner.ProcessPoolExecutor = lambda *given, **options: ThreadPoolExecutor(1)


def problems(case, folder, scene, wanted, earlier):
    """Yield what is wrong in a folder after a kill."""
    theirs = content(scene)
    mine = {} if earlier is None else {case.whole: earlier}
    now = content(folder)
    for name, digest in theirs.items():
        if name.split("/")[0] in ("out", "new.npz", "out.ngmca-unfinished") or _is_demo(name):
            continue
        if now.get(name) != digest:
            yield f"{name} of the user is changed or gone"
    for name, expected in mine.items():
        aside = (folder / name).parent.glob("*.replaced")
        if not any(outcome(path) in (expected, wanted) for path in (folder / name, *aside)):
            yield f"neither the earlier result nor the new one is in {name}"


def _is_demo(name):
    return name.startswith(("demo/result/", "demo/mixture.csv"))


def _is_complete_marker(path):
    """A kill at the last change leaves the marker, which says that the result is complete."""
    return path.name == "UNFINISHED" and path.read_text().endswith(COMPLETE)


def resumed(case, folder):
    """Do what ngmca recommends after a kill, and return the exit code."""
    command = case.command
    out = Path(case.whole)
    work = out.with_name(out.name + ".ngmca-unfinished")
    if case.stopped and not work.exists():
        return 0 if out.exists() else 1
    if work.exists() and (work / "run.toml").exists():
        command = ("separate", "--resume", case.whole, "--force")
    elif command[0] == "demo" or (out.exists() and command[0] in ("separate", "simulate")):
        command = (*command, *(["--force"] if "--force" not in command else []))
    return run(*command)


def main(name, folder):
    case = CASES[name]
    shorten()
    scene = folder / "scene"
    scene.mkdir(parents=True)
    bystanders(scene)
    with inside(scene):
        assert run("simulate", "mix.npz", "-m", "6", "-n", "40", "-r", "2") == 0
        for command in case.before:
            assert run(*command) == 0, command
        if case.stopped:
            with stopping_after(3):
                run(*case.stopped)
            assert Path("out.ngmca-unfinished/checkpoint.npz").is_file()
    earlier = outcome(scene / case.whole) if case.before else None
    shutil.copytree(scene, folder / "whole")
    with inside(folder / "whole"):
        assert run(*case.command) == 0  # and compiles what all the others then have
    wanted = outcome(folder / "whole" / case.whole)
    assert wanted is not None
    assert wanted != earlier
    wrong, total, left = {}, 0, [0]  # 0 is a run to its end, which counts
    while left:
        kill_at = left.pop(0)
        again = folder / "again"
        shutil.copytree(scene, again)
        with inside(again):
            code, events = forked(case.command, kill_at)
            found = []
            if code != (-signal.SIGKILL if kill_at else 0):
                found.append(f"it ended with {code}")
            found += problems(case, again, scene, wanted, earlier)
            if resumed(case, again) != 0:
                found.append("resuming fails")
            if outcome(again / case.whole) != wanted:
                found.append("resuming does not lead to the result")
            found += problems(case, again, scene, wanted, None)
            strange = [
                name
                for name in content(again)
                if name not in content(folder / "whole")
                and ".ngmca-" not in name
                and not _is_complete_marker(again / name)
            ]
            if strange:
                found.append(f"it left {strange}")
        shutil.rmtree(again)
        if found:
            wrong[kill_at] = found
        if not kill_at:
            total, left = events, sorted({*range(1, events + 1, EVERY), events})
    print(json.dumps({"events": total, "wrong": wrong}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
