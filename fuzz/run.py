"""Random cases for every part of the library: `make fuzz`, or `python fuzz/run.py --minutes 20`.

Each case has its own random generator: `--only KIND --case K --seed S` repeats it. It runs in another
process with limited memory and time. Failures are printed, and saved with their input in fuzz/found/.
The docstring of each kind says what is expected.
"""

import argparse
import collections
import contextlib
import multiprocessing
import os
import re
import shutil
import sys
import time
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path

import worker
from outcome import OUTCOMES

KINDS = {
    "readers": 4,
    "layouts": 2,
    "arrays": 3,
    "constraints": 2,
    "nnqp": 1,
    "results": 1,
    "checkpoints": 1,
    "runs": 1,
    "commands": 2,
}
FOUND = Path(__file__).with_name("found")
SECONDS_PER_CASE = 60.0  # of processor time
SECONDS_OF_WAITING = 600.0  # for a case: the machine may be busy
SECONDS_TO_START = 1200.0  # everything is compiled
MAX_COUNTED_SECONDS = 5.0  # of one case, when time is shared between kinds
SAVED_INPUTS = 3  # of failures with the same message
PROCESSES = 2
NUMBERS = re.compile(r"[0-9.e+-]+|\[.*")  # the part in which messages of the same failure may differ
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Tally:
    """The outcomes of the cases of one kind; `weight` is its share of the time."""

    weight: int
    next: int = 0
    seconds: float = 0.0
    outcomes: collections.Counter = field(default_factory=collections.Counter)


def processor_seconds(pid):
    """Return the processor time that a process has used; on systems without /proc, the time of day."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # also of processes that it ended


class Worker:
    """A process, and the case that it runs."""

    def __init__(self, seed, chosen):
        context = multiprocessing.get_context("spawn")
        self.folder = worker.new_folder()
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=worker.serve, args=(theirs, self.folder, seed, chosen), daemon=False
        )
        self.process.start()
        theirs.close()
        self.task, self.begun, self.used = ("start", 0), time.monotonic(), 0.0

    def give(self, kind, number):
        """Start a case."""
        self.task, self.begun = (kind, number), time.monotonic()
        self.used = processor_seconds(self.process.pid)
        self.pipe.send(self.task)

    def answer(self):
        """Return outcome and text, or None if the case is still running."""
        if self.pipe.poll():
            try:
                return self.pipe.recv()
            except EOFError:
                self.process.join()
                return "died", f"the process ended with exit code {self.process.exitcode}"
        if self.task[0] not in KINDS:
            late = time.monotonic() - self.begun > SECONDS_TO_START
            return ("died", f"took longer than {SECONDS_TO_START:g} s to start") if late else None
        waited, used = time.monotonic() - self.begun, processor_seconds(self.process.pid) - self.used
        if used > SECONDS_PER_CASE or waited > SECONDS_OF_WAITING:
            return "died", f"took {used:.0f} s of processor time in {waited:.0f} s"
        return None

    def end(self):
        """End the process, by force if necessary, and remove its folder."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)
            self.process.join(0 if time.monotonic() - self.begun > SECONDS_PER_CASE else 5)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Fuzzer:
    """The loop: gives cases to workers and saves failures."""

    def __init__(self, args):
        self.args = args
        chosen = [args.only] if args.only else list(KINDS)
        self.tallies = {kind: Tally(KINDS[kind], args.case or 0) for kind in chosen}
        self.alike = collections.Counter()
        self.first = {}
        self.end = None  # set once everything is compiled

    def run(self):
        """Run cases until the limit of time or number is reached."""
        count = 1 if self.args.case is not None else self.args.processes
        workers = [self.worker() for _ in range(count)]
        printed = time.monotonic()
        try:
            while workers:
                wait([one.pipe for one in workers], timeout=1.0)
                workers = [kept for one in workers if (kept := self.step(one)) is not None]
                if time.monotonic() - printed > 60:
                    printed = time.monotonic()
                    print(self.line(), flush=True)
        finally:
            for one in workers:
                one.end()

    def worker(self):
        """Start a process for the chosen kinds."""
        return Worker(self.args.seed, list(self.tallies))

    def step(self, one):
        """Handle the answer of a worker; return it, a new one, or None if there is nothing to do."""
        found = one.answer()
        if found is None:
            return one
        outcome, text = found
        if one.task[0] in self.tallies:
            self.count(one, outcome, text)
        elif outcome == "died":
            raise SystemExit(f"a worker cannot start: {text}")
        self.end = self.end or time.monotonic() + 60 * self.args.minutes
        if outcome == "died":
            one.end()
            return self.worker()
        task = self.next_task()
        if task is None:
            one.end()
            return None
        one.give(*task)
        return one

    def next_task(self):
        """Return a case of the kind that had the least time, or None at the end."""
        most = 1 if self.args.case is not None else self.args.cases
        begin = self.args.case or 0
        open_ = [k for k, t in self.tallies.items() if most is None or t.next - begin < most]
        if not open_ or (time.monotonic() > self.end and self.args.case is None):
            return None
        kind = min(
            open_, key=lambda k: (self.tallies[k].next > begin, self.tallies[k].seconds / KINDS[k])
        )
        self.tallies[kind].next += 1
        return kind, self.tallies[kind].next - 1

    def count(self, one, outcome, text):
        """Count an outcome; save and print a failure."""
        kind, number = one.task
        tally = self.tallies[kind]
        tally.seconds += min(time.monotonic() - one.begun, MAX_COUNTED_SECONDS)
        tally.outcomes[outcome if outcome in OUTCOMES else "failure"] += 1
        if outcome not in OUTCOMES:
            self.save(kind, number, text, one.folder / "case")

    def save(self, kind, number, text, folder):
        """Save a failure with its input, and print it if it is new."""
        title = text.strip().splitlines()[0][:400]
        command = f"{sys.executable} fuzz/run.py --only {kind} --seed {self.args.seed} --case {number}"
        alike = f"{kind}: {NUMBERS.sub('#', title)[:120]}"
        self.alike[alike] += 1
        if self.alike[alike] <= SAVED_INPUTS:
            target = FOUND / f"{kind}-{self.args.seed}-{number}"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target, symlinks=True)
            (target / "failure.txt").write_text(f"{text}\n\n{command}\n")
        if self.alike[alike] == 1:
            self.first[alike] = (title, command)
            print(f"FAILED {kind}: {title}\n       {command}", flush=True)
        if self.args.case is not None:
            print(text)

    def line(self):
        """Return the progress in one line."""
        parts = (f"{kind} {t.outcomes.total()}" for kind, t in self.tallies.items())
        return f"{', '.join(parts)}; {self.alike.total()} failures, {len(self.alike)} different"

    def table(self):
        """Return a table of all outcomes."""
        columns = (*OUTCOMES, "failure")
        rows = [f"{'kind':12}{'cases':>8}" + "".join(f"{name:>10}" for name in columns)]
        for kind, t in self.tallies.items():
            figures = "".join(f"{t.outcomes[name]:10d}" for name in columns)
            rows.append(f"{kind:12}{t.outcomes.total():8d}{figures}")
        for alike, times in self.alike.most_common():
            title, command = self.first[alike]
            rows.append(f"\n{times} x {alike.split(':')[0]}: {title}\n    {command}")
        return "\n".join(rows)


def main():
    """Run; return 1 if there are failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=PROCESSES, help="that run cases side by side")
    parser.add_argument("--only", choices=list(KINDS), help="run only one kind of cases")
    parser.add_argument("--cases", type=int, help="largest number of cases of each kind")
    parser.add_argument("--case", type=int, help="run only this case; needs --only")
    args = parser.parse_args()
    if args.case is not None and not args.only:
        parser.error("--case needs --only")
    os.environ |= dict.fromkeys(THREADS, "1") | {"NGMCA_READ_SECONDS": "20", "COLUMNS": "200"}
    fuzzer = Fuzzer(args)
    try:
        fuzzer.run()
    except KeyboardInterrupt:
        print("stopped")
    print(fuzzer.table())
    return int(bool(fuzzer.alike))


if __name__ == "__main__":
    sys.exit(main())
