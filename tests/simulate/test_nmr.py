"""Spectra of real compounds: what the file says, what quantum mechanics makes of it, and the mixture."""

import sys

import numpy as np
import pytest
from scipy.signal import find_peaks

from ngmca.simulate import DEFAULT_COMPOUNDS, compounds, nmr, peaks, read_peaks, sparse, spectrum
from ngmca.simulate.compounds import System, library
from ngmca.simulate.nmr_lines import _lines

# Hydrogen atoms of the molecules at pH 7, less those on N, O and S.
PROTONS = {
    "2-hydroxyglutarate": 5,  # -OOC-CHOH-CH2-CH2-COO-
    "acetate": 3,  # CH3-COO-
    "alanine": 4,  # CH3-CH
    "alpha-glucose": 7,  # six C-H, and one more on C6
    "aspartate": 3,  # CH-CH2
    "ATP": 8,  # two of adenine, six of ribose
    "beta-glucose": 7,
    "choline": 13,  # CH2-CH2-N(CH3)3
    "creatine": 5,  # CH2-N-CH3
    "ethanol": 5,  # CH3-CH2
    "ethanolamine": 4,  # CH2-CH2
    "GABA": 6,  # CH2-CH2-CH2
    "glutamate": 5,  # CH-CH2-CH2
    "glutamine": 5,
    "glutathione": 10,  # glutamate 5, cysteine 3, glycine 2
    "glycerol": 5,  # CH2-CH-CH2
    "glycerophosphocholine": 18,  # glycerol 5, choline 13
    "glycine": 2,
    "histamine": 6,  # CH2-CH2, two of the ring
    "histidine": 5,  # CH-CH2, two of the ring
    "lactate": 4,  # CH3-CH
    "myo-inositol": 6,
    "N-acetylaspartate": 6,  # CH-CH2, CH3
    "phenylalanine": 8,  # CH-CH2, five of the ring
    "phosphocholine": 13,
    "phosphocreatine": 5,
    "phosphoethanolamine": 4,
    "pyruvate": 3,
    "scyllo-inositol": 6,
    "serine": 3,  # CH-CH2
    "succinate": 4,  # CH2-CH2
    "taurine": 4,  # CH2-CH2
    "threonine": 5,  # CH-CH-CH3
    "tryptophan": 8,  # CH-CH2, five of the indole
    "tyrosine": 7,  # CH-CH2, four of the ring
    "valine": 8,  # CH-CH-(CH3)2
}


def test_every_compound_has_the_protons_of_its_formula():
    assert set(compounds()) == set(PROTONS)
    assert {name: compound.protons for name, compound in library().items()} == PROTONS


def test_the_file_is_sound():
    for name, compound in library().items():
        assert all(len(source) > 20 for source in compound.sources), name
        for part in compound.systems:
            assert all(0.5 < ppm < 9 for ppm in part.ppm.values()), name
            assert all(abs(value) < 20 for value in part.J.values()), name
            assert all((b, a) not in part.J for a, b in part.J), name


@pytest.mark.parametrize("name", PROTONS)
def test_intensities_sum_to_the_protons(name):
    ppm, intensity = peaks(name)
    assert intensity.sum() == pytest.approx(PROTONS[name], rel=1e-6)
    assert intensity.min() > 0
    assert (np.diff(ppm) < 0).all()
    centre = sum(part.ppm[x] * part.protons[x] for part in library()[name].systems for x in part.visible)
    assert ppm @ intensity == pytest.approx(centre, rel=1e-6)  # couplings move no centre of gravity


def multiplet(name, low, high, field=400.0):
    """Positions in Hz and intensities of the lines within a range, those within 1 Hz together."""
    ppm, intensity = peaks(name, field)
    inside = (ppm > low) & (ppm < high)
    hertz, intensity = ppm[inside][::-1] * field, intensity[inside][::-1]
    first = np.flatnonzero(np.diff(hertz, prepend=-np.inf) > 1)
    total = np.add.reduceat(intensity, first)
    return np.add.reduceat(hertz * intensity, first) / total, total


def test_lactate_is_a_doublet_and_a_quartet():
    hertz, intensity = multiplet("lactate", 1, 2)
    assert np.diff(hertz) == pytest.approx([6.933], abs=0.02)
    assert hertz.mean() / 400 == pytest.approx(1.3142, abs=1e-4)
    assert intensity == pytest.approx([1.5, 1.5], rel=0.02)
    hertz, intensity = multiplet("lactate", 3.5, 4.5)
    assert np.diff(hertz) == pytest.approx([6.933] * 3, abs=0.05)
    assert hertz.mean() / 400 == pytest.approx(4.0974, abs=1e-4)
    assert intensity == pytest.approx(np.array([1, 3, 3, 1]) / 8, rel=0.03)


def test_two_coupled_protons_have_the_closed_solution():
    part = library()["aspartate"].systems[0]  # H3a and H3b alone are an AB system
    J, delta = part.coupling("H3a", "H3b"), (part.ppm["H3a"] - part.ppm["H3b"]) * 60
    hertz, intensity = _lines(part, ["H3a", "H3b"], 60.0)
    order = np.argsort(hertz)
    C = np.hypot(delta, J)
    centre = 30 * (part.ppm["H3a"] + part.ppm["H3b"])
    inner, outer = (C - abs(J)) / 2, (C + abs(J)) / 2
    assert hertz[order] - centre == pytest.approx([-outer, -inner, inner, outer], abs=1e-6)
    weak, strong = (1 - abs(J) / C) / 2, (1 + abs(J) / C) / 2
    assert intensity[order] == pytest.approx([weak, strong, strong, weak], abs=1e-6)
    assert strong > 2 * weak  # second order must show, or first order would pass too


def test_the_roof_flattens_with_the_field():
    def lean(field):
        _, intensity = multiplet("aspartate", 2.72, 2.95, field)
        return intensity[:2].sum() / intensity[2:].sum()

    low, high = lean(200.0), lean(800.0)
    assert low > 1.5
    assert 1 < high < 1 + (low - 1) / 2


def test_splittings_in_ppm_halve_when_the_field_doubles():
    widths = [np.ptp(multiplet("ethanol", 1, 2, field)[0]) / field for field in (400.0, 800.0)]
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.01)


def test_phosphorus_and_nitrogen_split_what_they_couple_to():
    trimethyl = library()["choline"].systems[1]
    hertz, intensity = _lines(trimethyl, ["CH3"], 400.0)
    assert np.sort(hertz) - 3.185 * 400 == pytest.approx([-0.57, 0, 0.57])
    assert intensity == pytest.approx([3, 3, 3])
    part = library()["phosphoethanolamine"].systems[0]
    hertz, intensity = _lines(part, ["H1a"], 400.0)
    assert len(hertz) == 6  # doublet by 31P, triplets by 14N
    assert np.ptp(hertz) == pytest.approx(7.288 + 2 * 0.464)
    assert hertz @ intensity == pytest.approx(3.9765 * 400)


def test_too_many_coupled_protons_are_refused_before_memory_is_gone():
    part = System({"a": 1.0, "b": 2.0}, {"a": 9, "b": 1}, {("a", "b"): 7.0})
    with pytest.raises(ValueError, match="10 protons couple to each other: at most 9"):
        _lines(part, ["a", "b"], 400.0)


def write(tmp_path, *lines):
    path = tmp_path / "peaks.csv"
    path.write_text("compound, ppm, intensity\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("fwhm", [3.0, 12.0])
def test_lines_are_laplacians_of_the_wanted_width(tmp_path, fwhm):
    path = write(tmp_path, "a, 5.0037, 2", "b, 2, 1")
    data = nmr(m=2, n=1001, peaks=path, ppm=(0, 10), fwhm=fwhm, scale="integral", seed=0)
    near = np.flatnonzero(np.abs(data.axis - 5.0037) < 0.05)
    slope = np.abs(np.diff(np.log(data.S[0, near])))  # a Laplacian has straight flanks
    middle = np.argmin(np.abs(data.axis[near] - 5.0037))
    flanks = np.delete(slope, [middle - 1, middle])
    assert 2 * np.log(2) / flanks == pytest.approx(fwhm)
    # the flanks meet at the exact place of the line, between two samples
    left, right = near[0], near[-1]
    rate = 2 * np.log(2) / (fwhm * 0.01)
    lean = np.log(data.S[0, left] / data.S[0, right]) / rate
    assert (data.axis[left] + data.axis[right] + lean) / 2 == pytest.approx(5.0037, abs=1e-6)
    assert data.S[0].sum() == pytest.approx(2, rel=0.03)


def test_integrals_are_protons():
    data = nmr(compounds=compounds(), scale="integral")
    assert data.S.sum(axis=1) == pytest.approx([PROTONS[name] for name in data.names], rel=0.03)
    axis, S = spectrum("valine")
    np.testing.assert_array_equal(axis, data.axis)
    np.testing.assert_array_equal(S, data.S[data.names.index("valine")])


def test_the_spectrum_has_its_lines_where_they_belong():
    data = nmr(compounds=["creatine", "acetate"])
    tops = [data.axis[find_peaks(row, height=0.1)[0]] for row in data.S]
    step = data.axis[0] - data.axis[1]
    assert tops[0] == pytest.approx([3.913, 3.027], abs=step / 2)
    assert tops[1] == pytest.approx([1.904], abs=step / 2)


def test_the_paper_s_setting():
    data = nmr(snr=15.0, seed=1)
    assert data.Y.shape == (15, 1200)
    assert data.names == DEFAULT_COMPOUNDS
    assert len(set(data.names)) == 15
    assert data.axis[[0, -1]].tolist() == [9.0, 0.5]
    assert data.axis_name == "ppm"
    assert data.snr == pytest.approx(15)
    np.testing.assert_allclose(data.Y, data.A @ data.S + data.noise)
    np.testing.assert_allclose(np.linalg.norm(data.S, axis=1), 1)
    assert data.S.min() >= 0
    assert data.A.min() > 0
    A = nmr(m=4000, seed=0).A
    assert np.mean(A**2) == pytest.approx(1, rel=0.03)
    assert np.mean(A) == pytest.approx(np.sqrt(2 / np.pi), rel=0.02)  # 0.71 if they were Laplacian
    products = np.triu(data.S @ data.S.T, 1)
    assert 0.6 < products.max() < 0.75
    assert 3 < (products > 0.4).sum() < 10
    assert np.median(products[np.triu_indices(15, 1)]) < 0.1


def test_seeds():
    first, again, other = (nmr(compounds="random", r=6, snr=20, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.Y, again.Y)
    assert first.names == again.names != other.names
    assert len(set(first.names)) == 6
    assert nmr(r=4).names == DEFAULT_COMPOUNDS[:4]
    assert len(nmr(compounds="random").names) == 15


def test_other_simulators_have_no_names():
    data = sparse(m=3, n=4, r=2)
    assert data.names == ()
    assert data.axis is None


def test_own_peak_table(tmp_path):
    lines = ("# comment", "a, 5, 2", "", "b b, 2, 1", "a, 6.5, 1e0")
    found = read_peaks(write(tmp_path, *lines))
    assert list(found) == ["a", "b b"]
    assert found["a"][0].tolist() == [5, 6.5]
    assert found["a"][1].tolist() == [2, 1]
    other = tmp_path / "other.csv"
    other.write_text("\ufeffIntensity,who,Compound,PPM\n3,me,c,1.5\n")
    assert read_peaks(other)["c"][1].tolist() == [3]
    assert nmr(peaks=tmp_path / "peaks.csv").names == ("a", "b b")
    assert nmr(peaks=tmp_path / "peaks.csv", compounds=["b b"]).names == ("b b",)
    assert nmr(peaks=tmp_path / "peaks.csv", compounds="random", r=1, seed=1).names[0] in found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("compound,ppm\na,1\n", "line 1: no column intensity"),
        ("compound;ppm;intensity\na;1;1\n", "separated by commas"),
        ("", "line 1: no column compound"),
        ("compound,ppm,intensity\n", "no peaks"),
        ("compound,ppm,intensity\na,1,1\n\na,x,1\n", "line 4: ppm must be a number .* got 'x'"),
        ("compound,ppm,intensity\na,1,nan\n", "line 2: intensity must be a number"),
        ("compound,ppm,intensity\na,1,-2\n", "line 2: intensity must not be negative"),
        ("compound,ppm,intensity\na,1\n", "line 2: 2 cells"),
        ("compound,ppm,intensity\n,1,1\n", "line 2: the compound has no name"),
        ("compound,ppm,intensity\na,1,0\n", "every intensity of 'a' is 0"),
        ("compound,ppm,intensity\na,12,1\n", "a has no line between 0.5 and 9 ppm"),
    ],
)
def test_wrong_peak_tables_are_told_by_file_and_line(tmp_path, text, told):
    path = tmp_path / "wrong.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=told) as error:
        nmr(peaks=path)
    assert "wrong.csv" in str(error.value) or "no line" in told


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ValueError, match=r"wrong.csv is not a text table"):
        nmr(peaks=path)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"compounds": ["lactat"]}, "did you mean lactate"),
        ({"compounds": "lactate"}, "compounds must be one of"),
        ({"compounds": []}, "none"),
        ({"compounds": ["lactate", "LACTATE"]}, "once"),
        ({"compounds": ["lactate"], "r": 2}, "r=2 does not match"),
        ({"r": 16}, "random"),
        ({"r": 99, "compounds": "random"}, "36"),
        ({"r": 0}, "r must"),
        ({"m": 0}, "m must"),
        ({"n": 1}, "n must"),
        ({"ppm": (3, 3)}, "ppm must"),
        ({"ppm": (1, 2, 3)}, "ppm must"),
        ({"ppm": 4}, "ppm must"),
        ({"ppm": (6, 9)}, "lactate has no line between 6 and 9"),
        ({"fwhm": 0}, "fwhm must"),
        ({"field": 0}, "field must"),
        ({"scale": "max"}, "scale must"),
        ({"snr": np.nan}, "snr must"),
    ],
)
def test_bad_settings_are_named(wrong, told):
    with pytest.raises(ValueError, match=told):
        nmr(**wrong)


def test_names_must_be_words():
    with pytest.raises(TypeError, match="compound must be a name"):
        peaks(3)


def test_without_nmrsim_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nmrsim", None)
    with pytest.raises(ImportError, match=r"pip install 'ngmca\[paper\]'"):
        peaks("lactate", field=123.0)
