"""The main way in a real browser: open a file, look at it, run, and see spectra, amounts and a fit."""

import subprocess
import sys

import chromium
import pytest
from app_client import TOKEN
from command_line import NGMCA

ARGUMENTS = ["app", "--token", TOKEN, "--no-browser", "--folder"]


@pytest.fixture
def server(start, tmp_path):
    """The address of a server, as the command starts it."""
    words = [*NGMCA, *ARGUMENTS, str(tmp_path / "sessions"), str(start / "tubes.csv")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("page: "):
                break
        yield line.removeprefix("page: ").strip()
        process.send_signal(2)  # as Ctrl-C does
        assert process.wait(30) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another one there")
def test_from_a_file_to_amounts(server):
    own = server.partition("/?")[0]
    complaints = []
    with chromium.launched() as browser:
        page = browser.new_page(viewport={"width": 400, "height": 900})
        page.set_default_timeout(60_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda asked: asked.url.startswith((own, "data:", "blob:")) or complaints.append(asked.url),
        )
        page.goto(server)
        page.wait_for_selector("#spectrum.js-plotly-plot")
        _can_have_focus(page.locator("[data-into=standards]"))
        assert "chemical shift [ppm]" in page.locator("#facts").text_content()
        page.fill("#f-sources", "2")
        page.get_by_role("button", name="Run", exact=True).click()
        page.get_by_role("link", name="Look at the result").click()
        page.wait_for_selector("#figure.js-plotly-plot")
        page.wait_for_selector("#fit.js-plotly-plot")
        page.locator("#spectra").scroll_into_view_if_needed()
        box = page.locator("#spectra .nsewdrag").nth(1).bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 5)
        page.wait_for_selector("#look[data-source='2']")  # amounts of the second source stand out
        faint = page.evaluate("document.getElementById('figure').data.map(one => one.opacity)")
        assert faint == [0.25, 1]
        page.locator("#figure .point, #figure .barlayer path").first.click(force=True)
        page.frame_locator("iframe").locator("#sources .js-plotly-plot").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.goto(own)
        _can_have_focus(page.locator("#files"))
    assert complaints == []


def _can_have_focus(field):
    """Files are chosen without a mouse, too: a button of the page stands for the field itself."""
    field.focus()
    assert field.evaluate("one => one === document.activeElement")
