"""Cases without end for every door of the library: `make fuzz`, or `python fuzz/run.py --minutes 20`.

Each case is drawn by a generator of its own: `--only KIND --case K --seed S` repeats it. It is done in
another process with limits of memory and time. What should not have been is printed, and kept with its
input under fuzz/found/. See the docstrings of the kinds for what is expected of them.
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

KINDS = {"readers": 4, "arrays": 3, "nnqp": 1, "results": 1, "checkpoints": 1, "runs": 1, "commands": 2}
FOUND = Path(__file__).with_name("found")
SECONDS = 60.0  # that a case may take
COMPILING = 1200.0  # and the start
LONG = 5.0  # more than that is not held against a kind when time is shared out
KEPT = 3  # inputs kept of findings that read alike
PROCESSES = 2
NUMBERS = re.compile(r"[0-9.e+-]+|\[.*")  # in which findings may differ and still be alike
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Tally:
    """What became of the cases of one kind; `weight` is its share of the time."""

    weight: int
    next: int = 0
    seconds: float = 0.0
    outcomes: collections.Counter = field(default_factory=collections.Counter)


class Worker:
    """A process, and the case that it is at."""

    def __init__(self, seed, chosen):
        context = multiprocessing.get_context("spawn")
        self.folder = worker.new_folder()
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=worker.serve, args=(theirs, self.folder, seed, chosen), daemon=False
        )
        self.process.start()
        theirs.close()
        self.task, self.begun = ("start", 0), time.monotonic()

    def give(self, kind, number):
        """Begin a case."""
        self.task, self.begun = (kind, number), time.monotonic()
        self.pipe.send(self.task)

    def answer(self):
        """Outcome and text, once there are any."""
        if self.pipe.poll():
            try:
                return self.pipe.recv()
            except EOFError:
                self.process.join()
                return "died", f"the process ended with exit code {self.process.exitcode}"
        limit = SECONDS if self.task[0] in KINDS else COMPILING
        if time.monotonic() - self.begun > limit:
            return "died", f"took longer than {limit:g} s"
        return None

    def end(self):
        """End the process, if need be by force, and remove what it left."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)
            self.process.join(0 if time.monotonic() - self.begun > SECONDS else 5)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Fuzzer:
    """The loop: cases to workers, findings to disk."""

    def __init__(self, args):
        self.args = args
        chosen = [args.only] if args.only else list(KINDS)
        self.tallies = {kind: Tally(KINDS[kind], args.case or 0) for kind in chosen}
        self.alike = collections.Counter()
        self.first = {}
        self.end = None  # not before everything is compiled

    def run(self):
        """Do cases until the time or their number is up."""
        count = 1 if self.args.case is not None else PROCESSES
        workers = [self.worker() for _ in range(count)]
        told = time.monotonic()
        try:
            while workers:
                wait([one.pipe for one in workers], timeout=1.0)
                workers = [kept for one in workers if (kept := self.step(one)) is not None]
                if time.monotonic() - told > 60:
                    told = time.monotonic()
                    print(self.line(), flush=True)
        finally:
            for one in workers:
                one.end()

    def worker(self):
        """A new process for the chosen kinds."""
        return Worker(self.args.seed, list(self.tallies))

    def step(self, one):
        """The worker after its answer was looked at, or another, or None if there is nothing to do."""
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
        """A case of the kind that had the least time, or None at the end."""
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
        """Note an outcome; keep and tell a finding."""
        kind, number = one.task
        tally = self.tallies[kind]
        tally.seconds += min(time.monotonic() - one.begun, LONG)
        tally.outcomes[outcome if outcome in OUTCOMES else "finding"] += 1
        if outcome not in OUTCOMES:
            self.keep(kind, number, text, one.folder / "case")

    def keep(self, kind, number, text, folder):
        """Save a finding with its input, and print it if it is new."""
        title = text.strip().splitlines()[0][:400]
        command = f"{sys.executable} fuzz/run.py --only {kind} --seed {self.args.seed} --case {number}"
        alike = f"{kind}: {NUMBERS.sub('#', title)[:120]}"
        self.alike[alike] += 1
        if self.alike[alike] <= KEPT:
            target = FOUND / f"{kind}-{self.args.seed}-{number}"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder, target, symlinks=True)
            (target / "finding.txt").write_text(f"{text}\n\n{command}\n")
        if self.alike[alike] == 1:
            self.first[alike] = (title, command)
            print(f"FOUND {kind}: {title}\n      {command}", flush=True)
        if self.args.case is not None:
            print(text)

    def line(self):
        """How far it is."""
        parts = (f"{kind} {t.outcomes.total()}" for kind, t in self.tallies.items())
        return f"{', '.join(parts)}; {self.alike.total()} findings, {len(self.alike)} different"

    def table(self):
        """What became of all cases."""
        columns = (*OUTCOMES, "finding")
        rows = [f"{'kind':12}{'cases':>8}" + "".join(f"{name:>10}" for name in columns)]
        for kind, t in self.tallies.items():
            figures = "".join(f"{t.outcomes[name]:10d}" for name in columns)
            rows.append(f"{kind:12}{t.outcomes.total():8d}{figures}")
        for alike, times in self.alike.most_common():
            title, command = self.first[alike]
            rows.append(f"\n{times} x {alike.split(':')[0]}: {title}\n    {command}")
        return "\n".join(rows)


def main():
    """Run; 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS), help="one kind of cases")
    parser.add_argument("--cases", type=int, help="of each kind, at most")
    parser.add_argument("--case", type=int, help="this one alone; needs --only")
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
