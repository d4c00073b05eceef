"""Runs: the command `ngmca separate` in processes of their own, and what their folders say."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ngmca._support.atomic_files import write_atomically
from ngmca.app.sessions import Session
from ngmca.io import ReadError
from ngmca.saving import result_folder

MAX_RUNS = 4  # at the same time
NGMCA = (sys.executable, "-c", "from ngmca.cli import main; main()")
PRIORITY = 10  # lower than that of the server, so that the page answers
KILLED_WORDS = "The process of this run was killed. "


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run of a session."""

    folder: Path

    @property
    def number(self) -> int:
        """Its number in the session."""
        return int(self.folder.name)

    @property
    def result(self) -> Path:
        """The folder that the command writes."""
        return self.folder / "result"

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return (self.result / result_folder.RESULT).is_file()

    @property
    def can_resume(self) -> bool:
        """Whether a stopped run can be continued."""
        return result_folder.can_resume(result_folder.unfinished(self.result))

    @property
    def progress(self) -> dict[str, Any]:
        """How far the run was when it last said so."""
        return _json(self.folder / "progress.json")

    @property
    def facts(self) -> dict[str, Any]:
        """When it was started, and its process."""
        return _json(self.folder / "started.json")

    @property
    def log(self) -> str:
        """What the command printed."""
        try:
            return (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    @property
    def error(self) -> str:
        """The error that the command ended with."""
        lines = [line for line in self.log.splitlines() if line.startswith("error: ")]
        return lines[-1].removeprefix("error: ") if lines else ""


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def runs_of(session: Session) -> list[RunFolder]:
    """Return the runs of a session, the newest first."""
    folders = [one for one in (session.folder / "runs").iterdir() if one.name.isdigit()]
    return [RunFolder(one) for one in sorted(folders, key=lambda one: -int(one.name))]


def run_of(session: Session, number: str) -> RunFolder:
    """Return one run; raise an error if there is none."""
    found = RunFolder(session.folder / "runs" / number)
    if not number.isdigit() or not found.folder.is_dir():
        raise ReadError("there is no such run.")
    return found


@dataclass
class Runner:
    """Starts and stops runs. It holds nothing but the processes: all else is on disk."""

    _running: dict[Path, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, session: Session) -> RunFolder:
        """Start a run with the settings of a session."""
        self._check_room(session.folder.parent)
        numbers = [one.number for one in runs_of(session)]
        run = RunFolder(session.folder / "runs" / str(max(numbers, default=0) + 1))
        run.folder.mkdir()
        shutil.copyfile(session.folder / result_folder.RECORD, run.folder / result_folder.RECORD)
        self._begin(run, "--config", str(run.folder / result_folder.RECORD), "-o", str(run.result))
        return run

    def resume(self, run: RunFolder) -> None:
        """Continue a stopped run."""
        self._check_room(run.folder.parents[2])
        self._begin(run, "--resume", str(run.result))

    def rename(self, run: RunFolder, names: Mapping[int, str]) -> None:
        """Give names to the sources of a result, in its figures, tables and report."""
        words = [*NGMCA, "report", str(run.result)]
        words += [f"--name={number}={name}" for number, name in names.items()]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            text = " ".join(done.stderr.decode(errors="replace").split())
            raise ReadError(text.removeprefix("error: ") or "the names could not be kept.")

    def stop(self, run: RunFolder) -> None:
        """Ask a run to stop after its iteration; it keeps what it has."""
        if self.state(run) == "running":
            with suppress(ProcessLookupError):
                os.kill(int(run.facts["process"]), signal.SIGINT)

    def state(self, run: RunFolder) -> str:
        """Return whether a run is running, done, stopped, failed or killed."""
        process = self._running.get(run.folder)
        if process is not None and process.poll() is not None:
            write_atomically(run.folder / "ended.json", json.dumps({"code": process.returncode}))
            del self._running[run.folder]
        elif process is not None or _is_held(run.folder / "lock"):
            return "running"
        if run.done:
            return "done"
        code = _json(run.folder / "ended.json").get("code")
        if code is None and run.error.startswith("stopped"):  # it was started by an earlier server
            code = 130
        if code == 130 or (code == -signal.SIGINT and run.can_resume):
            return "stopped"
        return "failed" if code is not None and code > 0 else "killed"

    def end(self, folder: Path | None = None) -> None:
        """Stop all runs, or those below a folder, and wait for them; after ten seconds kill them."""
        ours = [
            (place, one)
            for place, one in self._running.items()
            if folder is None or place.is_relative_to(folder)
        ]
        for _, process in ours:
            process.send_signal(signal.SIGINT)
        until = time.monotonic() + 10
        for place, process in ours:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self.state(RunFolder(place))

    def _check_room(self, sessions: Path) -> None:
        """Raise an error if too many runs are at work, also those that an earlier server started."""
        busy = {place for place, process in self._running.items() if process.poll() is None}
        busy |= {lock.parent for lock in sessions.glob("*/runs/*/lock") if _is_held(lock)}
        if len(busy) >= MAX_RUNS:
            raise ReadError(f"{len(busy)} runs are at work, the limit: wait for one, or stop one.")

    def _begin(self, run: RunFolder, *arguments: str) -> None:
        (run.folder / "ended.json").unlink(missing_ok=True)
        words = [*NGMCA, "separate", *arguments, "--progress", str(run.folder / "progress.json")]
        with (run.folder / "log.txt").open("wb") as log, (run.folder / "lock").open("a+b") as lock:
            held = _hold(lock)
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, pass_fds=[lock.fileno()] if held else [],
            )  # fmt: skip
        with suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, process.pid, PRIORITY)
        facts = {"process": process.pid, "at": time.strftime("%Y-%m-%d %H:%M")}
        write_atomically(run.folder / "started.json", json.dumps(facts))
        self._running[run.folder] = process


def _hold(lock: IO[bytes]) -> bool:
    """Lock a file; its process inherits the lock, which lives exactly as long as that process."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # this system has no such locks
        return False
    return True


def _is_held(path: Path) -> bool:
    """Whether the process of a run is alive, also one of an earlier server."""
    try:
        import fcntl

        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        pass
    return False
