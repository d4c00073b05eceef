"""The linked view of notebooks: what is sent, and what a real browser draws from it."""

import base64
from dataclasses import replace
from pathlib import Path
from unittest import mock

import chromium
import numpy as np
import pytest

import ngmca
from ngmca import plotting
from ngmca._support.extras import MissingPackageError
from ngmca.io import Dataset
from ngmca.plotting.notebook_view import ARRAYS, sent

MODULE = Path(plotting.__file__).with_name("notebook_view.js")
BAD = "<img src=x onerror=alert(1)> & 'b'"
MIXTURE = ngmca.simulate.spectra(m=12, n=60, r=2, snr=25, seed=0)
AXIS = np.linspace(1800, 900, 60)


@pytest.fixture(scope="module")
def found():
    return ngmca.separate(MIXTURE.Y, 2, n_init=1, domain="direct", constraints=[])


def arrays(content):
    """The arrays as the browser reads them."""
    read = {name: np.frombuffer(content[name], "<f4" if name == "Y" else "<f8") for name in ARRAYS}
    m, n, r = len(read["rows"]), len(read["axis"]), content["facts"]["sources"]
    q = len(read["basis"]) // n
    shapes = {
        "A": (m, r),
        "S": (r, n),
        "shares": (m, r),
        "Y": (m, n),
        "weights": (m, q),
        "basis": (q, n),
    }
    return {name: one.reshape(shapes.get(name, one.shape)) for name, one in read.items()}


def fit_of(content):
    one = arrays(content)
    return one["A"] @ one["S"] + one["weights"] @ one["basis"]


def test_fit_data_axis_and_names_are_sent(found):
    data = Dataset(MIXTURE.Y, AXIS, "wavenumber", "cm-1", tuple(f"s{i}" for i in range(12)))
    content = sent(found, data)
    one, facts = arrays(content), content["facts"]
    np.testing.assert_allclose(fit_of(content), found.A @ found.S, atol=1e-12)
    np.testing.assert_allclose(one["Y"] * facts["unit"], MIXTURE.Y, atol=1e-6 * MIXTURE.Y.max())
    np.testing.assert_array_equal(one["axis"], AXIS)
    np.testing.assert_array_equal(one["shares"], found.shares)
    np.testing.assert_array_equal(one["noise"], found.noise)
    assert (facts["label"], facts["names"][3], facts["image"]) == ("wavenumber [cm-1]", "s3", None)
    assert facts["notes"] == []


def test_the_background_is_part_of_the_fit():
    bent = MIXTURE.Y + np.outer(1 + np.arange(12) / 12, MIXTURE.Y.max() * np.linspace(1, 2, 60) ** 2)
    found = ngmca.separate(bent, 2, n_init=1, domain="direct", constraints=[ngmca.Baseline()])
    expected = found.A @ found.S + found.background.values
    np.testing.assert_allclose(fit_of(sent(found, bent)), expected, atol=1e-9)


def test_large_data_are_bounded_and_the_fit_of_means_is_the_mean_of_the_fit(found, monkeypatch):
    monkeypatch.setattr("ngmca.plotting.notebook_view.MAX_CHANNELS", 25)
    monkeypatch.setattr("ngmca.plotting.notebook_view.MAX_VALUES", 80)
    content = sent(found, Dataset(MIXTURE.Y, AXIS))
    one = arrays(content)
    assert one["Y"].shape == (4, 20)
    np.testing.assert_array_equal(one["rows"], [0, 3, 6, 9])
    np.testing.assert_allclose(one["axis"], AXIS.reshape(20, 3).mean(axis=1))
    fit = (found.A @ found.S)[::3].reshape(4, 20, 3).mean(axis=2)
    np.testing.assert_allclose(fit_of(content), fit, atol=1e-12)
    assert content["facts"]["notes"] == [
        "4 of 12 measurements are in this view, evenly spaced.",
        "Every point of a spectrum is the mean of 3 channels.",
    ]
    image = sent(found, Dataset(MIXTURE.Y, image_shape=(3, 4)))
    np.testing.assert_array_equal(arrays(image)["rows"], [0, 2, 8, 10])
    assert (image["facts"]["image"], image["facts"]["columns"]) == ([2, 2], 4)


def test_uneven_ends_gaps_and_extreme_units(found, monkeypatch):
    monkeypatch.setattr("ngmca.plotting.notebook_view.MAX_CHANNELS", 26)
    Y = np.where(np.arange(60) == 58, np.nan, 1e-300 * MIXTURE.Y)[:, :59]
    tiny = replace(found, S=1e-300 * found.S[:, :59])
    content = sent(tiny, Y)
    one = arrays(content)
    assert one["Y"].shape == (12, 20)
    np.testing.assert_allclose(one["Y"][:, :-1].astype(float) * content["facts"]["unit"] * 1e300,
                               MIXTURE.Y[:, :57].reshape(12, 19, 3).mean(axis=2), atol=1e-6)  # fmt: skip
    assert np.isnan(one["Y"][:, -1]).all()
    np.testing.assert_allclose(one["S"][:, -1], tiny.S[:, 57:].mean(axis=1))


def test_only_some_rows_are_read_of_data_on_disk(found, monkeypatch):
    monkeypatch.setattr("ngmca.plotting.notebook_view.MAX_MEASUREMENTS", 3)

    class Store:
        shape, ndim, dtype, asked = MIXTURE.Y.shape, 2, MIXTURE.Y.dtype, []

        def __len__(self):
            return 12

        def __getitem__(self, key):
            self.asked.append((key.start, key.stop))
            return MIXTURE.Y[key]

    content = sent(found, Dataset(Store()))
    assert Store.asked == [(0, 1), (4, 5), (8, 9)]
    np.testing.assert_allclose(arrays(content)["A"], found.A[::4])


def test_wrong_data_and_several_techniques_are_refused(found):
    with pytest.raises(ValueError, match=r"data have the shape 12 x 30, but 12 x 60"):
        sent(found, MIXTURE.Y[:, :30])
    data = ngmca.join_techniques({"a": MIXTURE.Y, "b": 2 * MIXTURE.Y[:, :40]})
    both = ngmca.separate(data, 2, n_init=1, domain="direct", constraints=[])
    with pytest.raises(ValueError, match=r"techniques\[0\]\.explore"):
        sent(both, data)
    second = both.techniques[1]
    np.testing.assert_allclose(fit_of(sent(second, data.split()[1])), second.A @ second.S)


def test_the_missing_package_is_named(found):
    with (
        mock.patch.dict("sys.modules", {"anywidget": None}),
        pytest.raises(MissingPackageError, match=r"pip install 'ngmca\[notebook\]'"),
    ):
        found.explore(MIXTURE.Y)


# A model as anywidget gives it to a module, and what it was asked to keep.
STUB = """async ([code, content, width]) => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
  const state = Object.fromEntries(Object.entries(content).map(
    ([name, value]) => [name, typeof value === "string" ? bytes(value) : value]));
  const heard = {};
  const model = {
    get: (name) => state[name],
    set: (name, value) => {
      state[name] = value;
      (heard["change:" + name] || []).forEach((one) => one());
    },
    save_changes: () => {}, off: () => {},
    on: (name, call) => (heard[name] ||= []).push(call),
  };
  const module = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const el = document.createElement("div");
  el.style.width = width + "px";
  document.body.replaceChildren(el);
  module.default.render({ model, el });
  window.state = state;
}"""


@pytest.fixture(scope="module")
def page():
    complaints = []
    with chromium.launched() as browser:
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.set_default_timeout(20_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith("blob:") or complaints.append(asked.url))
        yield page
    assert complaints == []


def opened(page, content, width=800):
    plain = {k: base64.b64encode(v).decode() if isinstance(v, bytes) else v for k, v in content.items()}
    page.evaluate(STUB, [MODULE.read_text(), plain, width])
    page.wait_for_selector(".ngmca .total")


def told(page, channel):
    """Measured, fit and residual at a channel, as the view writes them."""
    page.locator(".fit").focus()
    for _ in range(channel + 1):
        page.keyboard.press("ArrowRight")
    words = page.locator(".value").text_content().rpartition(": ")[2]
    return [float(part.split()[1]) for part in words.split(", ")]


def expected(found, Y, row, channel):
    fit = float(found.A[row] @ found.S[:, channel])
    return [Y[row, channel], fit, Y[row, channel] - fit]


def test_a_click_on_an_amount_shows_its_fit(page, found):
    names = (BAD, *(f"s{i}" for i in range(1, 12)))
    content = sent(found, Dataset(MIXTURE.Y, AXIS, BAD, "cm-1", names))
    opened(page, content)
    assert BAD in page.locator(".told").text_content()
    assert page.locator(".ngmca img").count() == 0
    np.testing.assert_allclose(told(page, 7), expected(found, MIXTURE.Y, 0, 7), rtol=1e-3, atol=1e-4)
    box = page.locator(".amounts").nth(1).bounding_box()
    place = 52 + (box["width"] - 66) * 7.5 / 12  # in the middle of the eighth bar
    page.mouse.click(box["x"] + place, box["y"] + 20)
    assert page.evaluate("state.measurement") == 7
    assert page.locator(".told").text_content().startswith("s7: ")
    page.mouse.move(0, 0)
    page.locator(".fit").focus()
    page.keyboard.press("ArrowLeft")
    words = page.locator(".value").text_content().rpartition(": ")[2]
    values = [float(part.split()[1]) for part in words.split(", ")]
    np.testing.assert_allclose(values, expected(found, MIXTURE.Y, 7, 6), rtol=1e-3, atol=1e-4)
    shown = page.locator(".name small").nth(1).text_content()
    assert shown == f"{found.A[7, 1]:.3g} · {100 * found.shares[7, 1]:.3g} %"


def test_the_field_steps_and_a_source_is_highlighted_everywhere(page, found):
    opened(page, sent(found, MIXTURE.Y), width=360)
    page.get_by_label("measurement", exact=True).fill("5")
    page.keyboard.press("Enter")
    assert page.evaluate("state.measurement") == 4
    page.get_by_label("next measurement").click()
    assert page.get_by_label("measurement", exact=True).input_value() == "6"
    page.locator(".name").first.press("Enter")
    assert page.evaluate("state.source") == 0
    assert page.locator(".name").nth(0).get_attribute("aria-pressed") == "true"
    faint = page.locator(".sources > .faint, .fit path.faint").count()
    assert faint == 4  # name, spectrum and amounts of the other one, and its part of the fit
    assert page.evaluate("document.querySelector('.ngmca').scrollWidth") <= 360


def test_a_click_on_a_pixel_and_gaps(page, found):
    Y = MIXTURE.Y.copy()
    Y[6, :3] = np.nan
    opened(page, sent(found, Dataset(Y, image_shape=(3, 4))))
    box = page.locator(".map").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 2.5 / 4, box["y"] + box["height"] * 1.5 / 3)
    assert page.evaluate("state.measurement") == 6
    assert "row 2, column 3" in page.locator(".told").text_content()
    page.locator(".fit").focus()
    page.keyboard.press("ArrowRight")
    assert "measured missing" in page.locator(".value").text_content()
    page.locator(".map").first.press("ArrowDown")
    assert page.evaluate("state.measurement") == 10
    pixels = page.evaluate(
        "Array.from(document.querySelector('canvas').getContext('2d').getImageData(0, 0, 4, 3).data)"
    )
    opacity = np.array(pixels[3::4]) / 255
    np.testing.assert_allclose(opacity, found.A[:, 0] / found.A[:, 0].max(), atol=0.01)
