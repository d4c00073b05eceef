"""The report in a real browser: no error, every figure drawn, zoom works, nothing sticks out."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import ngmca
from ngmca.io import Dataset
from ngmca.report import write

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


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = chromium()
    with api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of spectra in ppm, of an image, and of 50 sources with 5,000 samples."""
    folder = tmp_path_factory.mktemp("reports")
    Y = ngmca.simulate.spectra(m=20, n=600, r=3, lines=4, snr=20, seed=0).Y
    small = ngmca.separate(Y, 3, n_iter=30, seed=0)
    spectra = Dataset(Y, np.linspace(9, 1, 600), "chemical shift", "ppm")
    image = Dataset(Y, np.linspace(9, 1, 600), image_shape=(4, 5))
    rng = np.random.default_rng(0)
    A, S = rng.random((500, 50)), np.where(rng.random((50, 5000)) < 0.1, rng.random((50, 5000)), 0.0)
    curves = ngmca.History(np.ones(9), np.ones((9, 50)), *3 * [np.ones(9)])
    large = ngmca.Separation(A, S, np.ones(50), np.full(500, 0.1), 9, "iterations", 1e-9, curves)
    return {
        "spectra": write(folder / "spectra.html", small, spectra),
        "image": write(folder / "image.html", small, image),
        "large": write(folder / "large.html", large, A @ S + 0.1 * rng.standard_normal((500, 5000))),
    }


def opened(browser, path, width):
    """The page with all figures drawn, and what it complained about."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url))  # offline means none but itself
    page.goto(path.as_uri())
    page.wait_for_function("document.body.dataset.drawn !== undefined", timeout=60_000)
    page.set_default_timeout(10_000)
    return page, [text for text in complaints if text != path.as_uri() and not text.startswith("data:")]


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["spectra", "image", "large"])
def test_every_figure_is_drawn_without_a_complaint(browser, reports, name, width):
    page, complaints = opened(browser, reports[name], width)
    assert complaints == []
    boxes = page.locator(".plot")
    figures = page.evaluate(
        """[...document.querySelectorAll('.plot')].map(box => ({
             width: box.getBoundingClientRect().width,
             ink: box.querySelectorAll('.scatterlayer path, .barlayer path, .heatmaplayer image').length,
             points: box._fullData.length}))"""
    )
    assert len(figures) == boxes.count() > 10
    for figure in figures:
        assert figure["width"] > 0.6 * min(width, 400) * (0.55 if name == "image" else 1)
        assert figure["ink"] > 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out
    page.close()


@pytest.mark.parametrize("section", ["sources", "fits"])
def test_zoom_and_back(browser, reports, section):
    page, complaints = opened(browser, reports["spectra"], 1280)
    page.evaluate(f"document.querySelector('#{section} .plot').scrollIntoView()")
    box = page.locator(f"#{section} .plot .nsewdrag").first.bounding_box()
    layout = f"document.querySelector('#{section} .plot')._fullLayout"
    limits = f"{layout}.xaxis.range.map(Number)"
    before = page.evaluate(limits)
    assert before[0] > before[1]  # ppm: from right to left
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.52 * box["height"], steps=6)
    page.mouse.up()
    page.wait_for_function(f"Math.abs({limits}[0] - {before[0]}) > 0.5")
    zoomed = page.evaluate(limits)
    assert zoomed[0] - zoomed[1] == pytest.approx(0.3 * (before[0] - before[1]), rel=0.1)
    assert page.evaluate(f"{layout}.xaxis2.range.map(Number)") == pytest.approx(zoomed)  # together
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_function(f"Math.abs({limits}[0] - {before[0]}) < 1e-6")
    assert complaints == []
    page.close()
