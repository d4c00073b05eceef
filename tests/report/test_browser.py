"""The report in a real browser: no error, all figures drawn, zoom and download work, no overflow.

Text out of the data is shown letter by letter, and nothing in it is followed.
"""

import warnings
from dataclasses import replace

import chromium
import numpy as np
import pytest

import ngmca
from ngmca.answers.how_sure import Finding, diagnose
from ngmca.answers.run import Run
from ngmca.io import Dataset
from ngmca.report import html, write


@pytest.fixture(scope="module")
def browser():
    with chromium.launched() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of spectra in ppm, of an image, and of 50 sources with 5,000 samples."""
    folder = tmp_path_factory.mktemp("reports")
    Y = ngmca.simulate.spectra(m=20, n=600, r=3, lines=4, snr=20, seed=0).Y
    small = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=30), n_init=1)
    spectra = Dataset(Y, np.linspace(9, 1, 600), "chemical shift", "ppm")
    image = Dataset(Y, np.linspace(9, 1, 600), image_shape=(4, 5))
    rng = np.random.default_rng(0)
    A, S = rng.random((500, 50)), np.where(rng.random((50, 5000)) < 0.1, rng.random((50, 5000)), 0.0)
    curves = ngmca.History(np.ones(9), np.ones((9, 50)), *3 * [np.ones(9)])
    large = ngmca.Separation(A, S, np.ones(50), np.full(500, 0.1), 9, "iterations", 1e-9, curves)
    with warnings.catch_warnings(action="ignore"):
        posterior = ngmca.posterior(Y, small, domain="wavelet", n_samples=10, burn=10, seed=0)
    with_bars = replace(small, posterior=posterior)
    return {
        "bars": write(folder / "bars.html", with_bars, image),
        "spectra": write(folder / "spectra.html", small, spectra),
        "image": write(folder / "image.html", small, image),
        "large": write(folder / "large.html", large, A @ S + 0.1 * rng.standard_normal((500, 5000))),
    }


def opened(browser, path, width, **options):
    """The page with all figures drawn, and what it has complained about or asked for so far."""
    page = browser.new_page(viewport={"width": width, "height": 900}, **options)
    own = (path.as_uri(), "data:", "blob:")  # offline means none but itself
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith(own) or complaints.append(asked.url))
    page.goto(path.as_uri())
    page.wait_for_selector("body[data-drawn]", timeout=60_000)
    page.set_default_timeout(10_000)
    return page, complaints


@pytest.fixture(scope="module")
def shown(browser, reports):
    """Pages that stay open for several tests, each with its complaints so far: loading takes long."""
    pages = {}

    def show(name, width):
        if (name, width) not in pages:
            pages[name, width] = opened(browser, reports[name], width)
        return pages[name, width]

    yield show
    for page, _ in pages.values():
        page.close()


def until(page, condition):
    """Wait for a condition in the page, whose policy forbids that playwright waits for it there."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never came true: {condition}")


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["spectra", "image", "large"])
def test_every_figure_is_drawn_without_a_complaint(shown, name, width):
    page, complaints = shown(name, width)
    assert page.locator("#convergence .js-plotly-plot").count() == 0  # folded away, until
    page.locator("#convergence summary").click()
    until(page, "!document.querySelector('#convergence .plot:not(.js-plotly-plot)')")
    until(page, "[...document.querySelectorAll('.plot')].every(box => box._fullData)")
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


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["spectra", "bars"])
def test_no_title_lies_under_the_buttons(shown, name, width):
    page, _ = shown(name, width)
    found = page.evaluate(
        """[...document.querySelectorAll('.js-plotly-plot')].map(box => {
             const title = box.querySelector('.gtitle'), bar = box.querySelector('.modebar');
             if (!title) return null;
             const a = title.getBoundingClientRect(), b = bar.getBoundingClientRect();
             return {text: title.textContent, gap: b.left - a.right, under: b.top < a.bottom};
           }).filter(one => one)"""
    )
    assert len(found) > 5
    assert [one["text"] for one in found if one["gap"] < 0 and one["under"]] == []


def test_the_buttons_keep_a_picture_or_go_back_and_send_nothing(shown):
    page, _ = shown("bars", 1280)
    titles = "[...document.querySelectorAll('.modebar-btn')].map(button => button.dataset.title)"
    assert set(page.evaluate(titles)) == {"Download plot as a PNG", "Reset axes"}
    assert "Plotly Cloud" not in page.content().split("</head>")[1]


@pytest.mark.parametrize("section", ["sources", "fits"])
def test_zoom_and_back(shown, section):
    page, complaints = shown("spectra", 1280)
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
    until(page, f"Math.abs({limits}[0] - {before[0]}) > 0.5")
    zoomed = page.evaluate(limits)
    assert zoomed[0] - zoomed[1] == pytest.approx(0.3 * (before[0] - before[1]), rel=0.1)
    assert page.evaluate(f"{layout}.xaxis2.range.map(Number)") == pytest.approx(zoomed)  # together
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    until(page, f"Math.abs({limits}[0] - {before[0]}) < 1e-6")
    assert complaints == []


def test_a_figure_can_be_kept_as_a_picture(shown):
    page, complaints = shown("image", 1280)
    page.locator("#mixing .plot").first.hover()
    with page.expect_download() as kept:
        page.locator("#mixing .plot .modebar-btn[data-title*=Download]").first.click()
    assert kept.value.path().read_bytes().startswith(b"\x89PNG")
    assert kept.value.path().stat().st_size > 5000  # drawn, not blank
    assert complaints == []


LINK = "<a href='http://evil.test/a'>link</a>"
HOSTILE = (
    '<b style="background:url(http://evil.test/b)">bold</b><img src=http://evil.test/i onerror=pwned=1>'
    f"{LINK}<script>pwned=1</script><extra></extra></script>&amp;'\""
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The report of data of which every text is hostile."""
    Y = ngmca.simulate.spectra(m=8, n=200, r=2, lines=4, snr=20, seed=0).Y
    separation = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=10), n_init=1)
    data = Dataset(
        Y,
        np.linspace(1, 9, 200),
        axis_name="axis" + HOSTILE,
        axis_unit="unit" + HOSTILE,
        row_names=tuple(
            f"<i>{i}</i>" if i < 4 else f"{i}<a href='//evil.test'>{i}</a>" for i in range(8)
        ),
        meta={"path": "/tmp/file" + HOSTILE, "title": "title" + HOSTILE, "format": "format" + HOSTILE},
        notes=("note" + HOSTILE,),
    )
    run = Run(
        separation, diagnose(Y, separation), data, {"separate": {"key" + HOSTILE: "value" + HOSTILE}}
    )
    run.__dict__["findings"] = [Finding("kind" + HOSTILE, "heading" + HOSTILE, "text" + HOSTILE)]
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_text(html(run), encoding="utf-8")
    return path


@pytest.mark.parametrize("bypass", [False, True])  # of the policy: escaping has to do without it
def test_hostile_text_is_shown_and_not_followed(browser, hostile, bypass):
    page, complaints = opened(browser, hostile, 1280, bypass_csp=bypass)
    axis = page.locator("#sources .plot .x2title").first.text_content()
    assert axis == f"axis{HOSTILE} [unit{HOSTILE}]"
    ticks = page.locator("#mixing .plot .x2tick text").all_text_contents()
    assert [tick for tick in ticks if len(tick) < 14] == [f"<i>{i}</i>" for i in range(4)]
    assert "4<a href='//e…" in ticks
    titles = page.locator("#fits .plot .gtitle").all_text_contents()
    assert any(title.startswith(("measurement <i>", "measurement 4<a")) for title in titles)
    told = page.locator("body").text_content()
    for text in ("title", "note", "key", "value", "format", "heading", "text"):
        assert text + HOSTILE in told
    box = page.locator("#mixing .plot .barlayer path").first
    box.hover(force=True)
    assert "<i>0</i>: " in page.locator("#mixing .plot .hovertext").first.text_content()
    assert page.locator(".plot a[href], .plot svg a").count() == 0
    assert page.evaluate("window.pwned") is None
    assert complaints == []
    page.close()


ATTACKS = {  # each with what the policy of the page must block
    "fetch('http://127.0.0.1:9/f').catch(()=>{})": "http://127.0.0.1:9/f",
    "document.body.append(Object.assign(new Image(),{src:'http://127.0.0.1:9/i'}))": "http://127.0.0.1:9/i",
    "document.body.style.background='url(http://127.0.0.1:9/b)'": "http://127.0.0.1:9/b",
    "document.body.append(Object.assign(document.createElement('script'),{text:'pwned=1'}))": "inline",
}


def test_the_page_may_ask_for_nothing_and_run_nothing_else(browser, reports):
    page, _ = opened(browser, reports["spectra"], 1280)
    page.evaluate(
        "document.addEventListener('securitypolicyviolation', one => document.title = one.blockedURI)"
    )
    for attack, blocked in ATTACKS.items():
        page.evaluate(f"() => {{ {attack} }}")
        until(page, f"document.title == '{blocked}'")
        assert page.evaluate("window.pwned") is None
    page.close()
