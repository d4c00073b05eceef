"""The recipes in docs/how-to/in-your-tools.md run as written, where the package is installed."""

import logging
from pathlib import Path

import numpy as np
import pytest
from other_tools import needed

import ngmca

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "in-your-tools.md"
MIXTURE = ngmca.simulate.spectra(m=24, n=200, r=3, snr=25, seed=0)
pytestmark = pytest.mark.filterwarnings("ignore")


def run(package):
    """Names that the recipe of a package leaves."""
    needed(package) if package == "pymcr" else pytest.importorskip(package, exc_type=ImportError)
    text = PAGE.read_text(encoding="utf-8").split(f"<!-- recipe: {package} -->\n```python\n")[1]
    names = {"Y": MIXTURE.Y.copy(), "axis": np.linspace(400, 1800, 200)}
    exec(text.split("```")[0], names)
    return names


def sdr(S):
    return ngmca.evaluate(MIXTURE.S, np.asarray(S)).mean_sdr


def test_spectrochempy():
    names = run("spectrochempy")
    assert sdr(names["sources"].data) > 25
    assert names["sources"].x == names["data"].x
    assert names["amounts"].shape == (24, 3)
    data = ngmca.io.as_dataset(names["data"])
    assert data.Y.shape == (24, 200)


def test_ramanspy():
    names = run("ramanspy")
    assert len(names["maps"]) == 3
    assert names["maps"][0].shape == (4, 6)
    assert sdr(np.stack(names["spectra"])) > 25


def test_lumispy():
    found = run("lumispy")["found"]
    assert type(found.sources).__name__ == "CLSEMSpectrum"
    assert sdr(found.sources.data) > 25


def test_pymcr():
    logging.getLogger("pymcr").setLevel(logging.ERROR)
    names = run("pymcr")
    assert 20 < sdr(names["mcr"].ST_opt_) < sdr(names["found"].S)  # as the page says


def test_every_recipe_is_tested():
    recipes = {part.split(" -->")[0] for part in PAGE.read_text().split("<!-- recipe: ")[1:]}
    assert recipes == {"spectrochempy", "ramanspy", "lumispy", "pymcr"}
