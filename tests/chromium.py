"""A real browser for tests: Debian's Chromium, driven by playwright."""

import os
import shutil
import subprocess
from contextlib import contextmanager

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium():
    """Debian's Chromium, installed if it is missing and can be."""
    found = shutil.which("chromium")
    if found:
        return found
    if not shutil.which("apt-get") or os.geteuid() != 0:
        pytest.skip("needs Chromium: apt-get install chromium")
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Chromium is missing and cannot be installed: {done.stderr.strip()[-150:]}")
    return shutil.which("chromium") or pytest.skip("Chromium was installed and is not found")


@contextmanager
def launched():
    """A browser, or a skip that says what is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = chromium()
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()
