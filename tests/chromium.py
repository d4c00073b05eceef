"""A real browser for tests: Debian's Chromium, driven by playwright."""

import shutil
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
    """Return the path of an installed Chromium; tests install no system packages."""
    return shutil.which("chromium") or pytest.skip("needs Chromium: apt-get install chromium")


@contextmanager
def launched():
    """A browser, or a skip that says what is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = chromium()
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()
