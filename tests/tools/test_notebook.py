"""The linked view in JupyterLab with a real kernel: `make test-tools` runs it with the newest one."""

import contextlib
import json
import os
import subprocess
import sys
from urllib.request import urlopen

import chromium
import numpy as np
import pytest
from other_tools import needed

import ngmca

needed("anywidget")
needed("jupyterlab")
CELL = """\
from a_map import data, ngmca
found = ngmca.separate(data, 3, n_init=1, domain="direct", constraints=[])
view = found.explore(data)
view"""
A_MAP = """\
import ngmca
import numpy as np

S = ngmca.simulate.spectra(m=3, n=300, r=3, snr=20, seed=1).S
y, x = np.indices((24, 32)).reshape(2, -1)
spots = [np.exp(-((y - v) ** 2 + (x - u) ** 2) / 60) for v, u in ((6, 8), (14, 22), (18, 6))]
Y = np.stack(spots, axis=1) @ S
Y += 0.02 * S.max() * np.random.default_rng(0).standard_normal(Y.shape)
axis = np.linspace(1800, 900, 300)
data = ngmca.io.Dataset(Y, axis, "wavenumber", "cm-1", image_shape=(24, 32))
"""
AFTER = "print('chosen', view.measurement, view.source)\nview.measurement = 300"


def cell(text):
    return {"cell_type": "code", "id": str(len(text)), "metadata": {}, "outputs": [], "source": text,
            "execution_count": None}  # fmt: skip


@pytest.fixture
def lab(tmp_path):
    """The address of JupyterLab with one notebook, its settings in a folder of its own."""
    kernel = {"name": "python3", "display_name": "Python", "language": "python"}
    notebook = {"cells": [cell(CELL), cell(AFTER)], "metadata": {"kernelspec": kernel}}
    settings = tmp_path / "set" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a_map.py").write_text(A_MAP)
    (tmp_path / "work" / "a.ipynb").write_text(
        json.dumps(notebook | {"nbformat": 4, "nbformat_minor": 5})
    )
    own = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    own |= {
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "run"),
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "set"),
    }
    words = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    words += ["--IdentityProvider.token=secret", f"--ServerApp.root_dir={tmp_path / 'work'}"]
    words += [
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    with subprocess.Popen(words, env=os.environ | own, stderr=subprocess.PIPE, text=True) as server:
        for line in server.stderr:
            if "?token=" in line:
                break
        address = line.split()[-1].partition("/lab")[0]
        yield address
        with contextlib.suppress(OSError):
            urlopen(f"{address}/api/shutdown?token=secret", data=b"")
        server.terminate()
        server.stderr.read()


def test_what_is_not_there_cannot_be_chosen():
    from traitlets import TraitError

    Y = ngmca.simulate.spectra(m=6, n=40, r=2, snr=20, seed=0).Y
    view = ngmca.separate(Y, 2, n_init=1, domain="direct", constraints=[]).explore(Y)
    view.measurement, view.source = 5, 1
    view.source = None
    for name, wrong in (("measurement", 6), ("measurement", -1), ("source", 2)):
        with pytest.raises(TraitError, match=rf"'{name}' trait .* should not be"):
            setattr(view, name, wrong)
    assert (view.measurement, view.source) == (5, None)


def test_a_click_in_jupyterlab_reaches_python_and_back(lab):
    asked = []
    with chromium.launched() as browser:
        page = browser.new_page(viewport={"width": 1140, "height": 1000})
        page.set_default_timeout(90_000)
        page.on("request", lambda one: asked.append(one.url))
        page.goto(f"{lab}/lab/tree/a.ipynb?token=secret")
        page.get_by_text("| Idle").wait_for()  # earlier keys are lost
        first = page.locator(".jp-CodeCell").first
        first.locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        page.wait_for_selector(".ngmca .total")
        box = page.locator(".ngmca .map").nth(1).bounding_box()
        page.mouse.click(box["x"] + box["width"] * 12.5 / 32, box["y"] + box["height"] * 10.5 / 24)
        assert page.locator(".ngmca input").input_value() == str(10 * 32 + 12 + 1)
        page.locator(".ngmca .name").nth(1).click()
        page.locator(".jp-CodeCell").nth(1).locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")
        page.get_by_text("chosen 332 1").wait_for()
        page.wait_for_function("document.querySelector('.ngmca input').value === '301'")
        page.locator(".ngmca .fit").focus()
        page.keyboard.press("ArrowRight")
        words = page.locator(".ngmca .value").text_content().rpartition(": ")[2]
        values = [float(part.split()[1]) for part in words.split(", ")]
        if os.environ.get("NGMCA_PICTURE"):  # for the documentation
            page.locator(".ngmca .fit").blur()
            page.locator(".ngmca .fit").hover(position={"x": 500, "y": 60})
            page.locator(".ngmca").screenshot(path=os.environ["NGMCA_PICTURE"])
    made = {}
    exec(A_MAP, made)
    Y, found = made["Y"], ngmca.separate(made["data"], 3, n_init=1, domain="direct", constraints=[])
    fit = float(found.A[300] @ found.S[:, 0])
    np.testing.assert_allclose(values, [Y[300, 0], fit, Y[300, 0] - fit], rtol=1e-3, atol=1e-4)
    assert [url for url in asked if not url.startswith((lab, "blob:", "data:"))] == []
