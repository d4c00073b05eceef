"""Take the pictures of the page: `python docs/app_pictures.py` (needs playwright and Chromium).

They show the sample data `reaction.csv`, on a wide screen and on one of 400 pixels.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, sync_playwright

import ngmca.datasets

PICTURES = Path(__file__).parent / "pictures"
NGMCA = (sys.executable, "-c", "from ngmca.cli import main; main()")
WIDE, NARROW = {"width": 1100, "height": 800}, {"width": 400, "height": 800}


def opened(context: BrowserContext, address: str, size: dict[str, int]) -> Page:
    """A page of the server."""
    page = context.new_page()
    page.set_viewport_size(size)
    page.set_default_timeout(60_000)
    page.goto(address)
    return page


def taken(page: Page, name: str, part: str) -> None:
    """Write a picture of what is seen from a part of the page on."""
    page.evaluate("part => document.querySelector(part).scrollIntoView()", part)
    page.wait_for_timeout(500)
    page.screenshot(path=PICTURES / f"{name}.png")


def take(context: BrowserContext, address: str) -> None:
    """Go from the data to a result."""
    page = opened(context, address, WIDE)
    page.get_by_role("button", name="reaction.csv").click()
    page.wait_for_selector("#spectrum.js-plotly-plot")
    taken(page, "app-session", "header")
    page.fill("#f-sources", "3")
    page.locator("#group-method summary").click()
    page.fill("#f-n_init", "100")  # more first guesses: the picture of the run needs its time
    page.locator("#f-n_init").blur()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(".live.js-plotly-plot")
    narrow = opened(context, page.url, NARROW)
    narrow.wait_for_selector(".live.js-plotly-plot")
    taken(narrow, "app-run", "#runs")
    page.get_by_role("link", name="Look at the result").click()
    page.wait_for_selector("#fit.js-plotly-plot")
    taken(page, "app-result", "#look")


def main() -> None:
    """Start a server, and visit it."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir()
        shutil.copy(ngmca.datasets.path("reaction"), data)
        words = (*NGMCA, "app", "--no-browser", "--folder", str(Path(folder, "sessions")), str(data))
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            page = next(line for line in server.stdout if line.startswith("page: "))
            try:
                with sync_playwright() as started:
                    chromium = started.chromium.launch(
                        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
                    )
                    take(chromium.new_context(), page.removeprefix("page: ").strip())
            finally:
                server.send_signal(2)  # as Ctrl-C does


if __name__ == "__main__":
    main()
