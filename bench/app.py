"""Memory and answers of `ngmca app`: a large file by path and by upload, four runs at once, and kills.

    python bench/app.py [--gigabytes 1]

Memory is the largest resident memory of the server (VmHWM), before and after.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

import ngmca

TOKEN = "a-token-for-the-benchmark"
NGMCA = (sys.executable, "-c", "from ngmca.cli import main; main()")


class Server:
    """The command as a process, and a client of it."""

    def __init__(self, start, folder):
        self.words = [
            *NGMCA,
            "app",
            str(start),
            "--no-browser",
            "--token",
            TOKEN,
            "--folder",
            str(folder),
        ]
        self.begin()

    def begin(self):
        """Start it."""
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        line = next(one for one in self.process.stdout if one.startswith("page: "))
        self.host = urllib.parse.urlsplit(line.split()[1]).netloc
        self.headers = {
            "Cookie": f"ngmca-{self.host.split(':')[1]}={TOKEN}",
            "Origin": f"http://{self.host}",
        }

    def ask(self, method, path, body=None, **headers):
        """Return the answer: where it leads, its JSON, or its bytes."""
        connection = HTTPConnection(self.host, timeout=600)
        connection.request(method, path, body, self.headers | {"Accept": "application/json"} | headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status >= 400:
            raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
        return answer.headers.get("location") or (
            json.loads(content) if content[:1] in b"[{" else content
        )

    def form(self, address, **fields):
        """Send a form."""
        kind = "application/x-www-form-urlencoded"
        return self.ask("POST", address, urllib.parse.urlencode(fields), **{"Content-Type": kind})

    def preview(self, session):
        """Wait for the preview of a session."""
        while "seconds" in (found := self.ask("GET", f"{session}/preview")):
            time.sleep(0.2)
        return found["facts"]

    def peak(self):
        """Return the largest resident memory so far, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))


def large_file(folder, gigabytes):
    n = 25_000
    Y = np.lib.format.open_memmap(
        folder / "large.npy", "w+", np.float32, (int(gigabytes * 1e9 / 4 / n), n)
    )
    for i in range(0, len(Y), 500):
        Y[i : i + 500] = np.random.default_rng(i).random((len(Y[i : i + 500]), n), dtype=np.float32)
    return folder / "large.npy"


def memory(server, path):
    print(f"at rest                        {server.peak():6.0f} MB")
    session = server.form("/open", path=path.name)
    begun = time.monotonic()
    facts = server.preview(session)
    server.ask("GET", f"{session}/spectrum?row=77")
    print(
        f"{path.stat().st_size / 1e9:.1f} GB by path, previewed       {server.peak():6.0f} MB, "
        f"{time.monotonic() - begun:.0f} s, {facts['measurements']} x {facts['channels']}"
    )
    name = server.ask("POST", "/upload")["session"]
    begun = time.monotonic()
    with path.open("rb") as file:
        size = {"Content-Length": str(path.stat().st_size)}
        server.ask("PUT", f"/upload/{name}?name=dropped.npy", file, **size)
    print(f"the same by upload             {server.peak():6.0f} MB, {time.monotonic() - begun:.0f} s")
    server.form(f"/s/{name}/delete")
    server.form(f"{session}/delete")


def four_runs(server, start):
    Y = ngmca.simulate.spectra(m=200, n=2000, r=6, lines=6, snr=20, seed=0).Y
    ngmca.io.write_table(
        start / "spectra.csv",
        {"ppm": np.linspace(9, 1, 2000).round(6)} | {f"tube {i}": row for i, row in enumerate(Y)},
    )
    session = server.form("/open", path="spectra.csv")
    server.preview(session)
    for _ in range(4):
        server.form(f"{session}/settings", sources="6", n_init="40", do="run")
    times = []
    while len(times) < 60:
        for page in (session, f"{session}/runs", f"{session}/spectrum?row=3"):
            begun = time.monotonic()
            server.ask("GET", page)
            times.append(time.monotonic() - begun)
        time.sleep(0.5)
    print(
        f"four runs at once: pages answer in {1e3 * np.median(times):.0f} ms (median), "
        f"{1e3 * max(times):.0f} ms (longest of {len(times)})"
    )
    return session


def kills(server, session):
    folder = Path(server.words[-1]) / session.rsplit("/", 1)[1] / "runs"
    process = json.loads((folder / "2" / "started.json").read_text())["process"]
    os.kill(process, signal.SIGKILL)
    time.sleep(1)
    states = {
        one["number"]: (one["state"], one["words"]) for one in server.ask("GET", f"{session}/runs")
    }
    print(f"kill -9 of run 2: {states}")
    server.process.kill()
    server.process.wait()
    server.begin()
    states = {one["number"]: one["state"] for one in server.ask("GET", f"{session}/runs")}
    print(f"kill -9 of the server, started again: {states}")
    for number in states:
        server.form(f"{session}/runs/{number}/stop")
    while "running" in {one["state"] for one in server.ask("GET", f"{session}/runs")}:
        time.sleep(0.5)
    states = {one["number"]: one["state"] for one in server.ask("GET", f"{session}/runs")}
    print(f"all stopped: {states}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        start = Path(place) / "data"
        start.mkdir()
        path = large_file(start, given.gigabytes)
        server = Server(start, Path(place) / "sessions")
        try:
            memory(server, path)
            kills(server, four_runs(server, start))
        finally:
            server.process.send_signal(signal.SIGINT)
            server.process.wait()


if __name__ == "__main__":
    main()
