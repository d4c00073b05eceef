"""Libraries of reference spectra: files, folders, units, and what cannot be used is named."""

import numpy as np
import pandas as pd
import pytest

from ngmca.answers.which.library import open_library
from ngmca.io import Dataset, ReadError

AXIS = np.linspace(1000.0, 2000.0, 40)
BAND = np.exp(-(((AXIS - 1400) / 60) ** 2))


def table(path, axis, *columns, head="wavenumber [cm-1],absorbance"):
    lines = [",".join(f"{value:.8g}" for value in row) for row in zip(axis, *columns, strict=True)]
    path.write_text("\n".join([head, *lines]) + "\n")


def test_a_folder_is_read_file_by_file_on_axes_of_their_own(tmp_path):
    table(tmp_path / "water.csv", AXIS, BAND)
    table(tmp_path / "acetone.csv", AXIS[::-1][:30], BAND[::-1][:30])  # falls, and is shorter
    (tmp_path / "inner").mkdir()
    table(tmp_path / "inner" / "benzene.csv", AXIS + 7, BAND)
    (tmp_path / "notes.pdf").write_bytes(b"%PDF-1.4 no spectrum")
    (tmp_path / ".hidden").write_text("x")
    found = open_library(tmp_path, "cm-1")
    assert [one.name for one in found.references] == ["acetone", "benzene", "water"]  # no "absorbance"
    assert [len(one.axis) for one in found.references] == [30, 40, 40]
    assert all((np.diff(one.axis) > 0).all() for one in found.references)
    acetone = found.references[0]
    np.testing.assert_allclose(acetone.values, np.interp(acetone.axis, AXIS, BAND), atol=1e-6)
    assert len(found.left_out) == 1
    assert "notes.pdf" in found.left_out[0]
    assert not found.notes


def test_a_table_has_a_spectrum_a_column(tmp_path):
    table(tmp_path / "pure.csv", AXIS, BAND, 1 - BAND, head="wavenumber [cm-1],ethanol,water")
    found = open_library(str(tmp_path / "pure.csv"), "1/cm")
    assert [one.name for one in found.references] == ["ethanol", "water"]
    folder = open_library(tmp_path, "cm-1")
    assert [one.name for one in folder.references] == ["pure: ethanol", "pure: water"]


def test_arrays_data_sets_and_paths_may_be_given(tmp_path):
    table(tmp_path / "file.csv", AXIS, BAND)
    data = Dataset(np.stack([BAND, BAND**2]), AXIS, "wavenumber", "cm-1", ("a", "b"))
    for library, names in (
        ({"x": (AXIS.tolist(), BAND.tolist()), 7: data}, ["x", "7: a", "7: b"]),
        ([data, (AXIS, BAND), tmp_path / "file.csv"], ["a", "b", "spectrum 2", "file"]),
        ({"ours": tmp_path / "file.csv"}, ["ours"]),
        (data, ["a", "b"]),
        (Dataset(data.Y, AXIS), ["spectrum 1", "spectrum 2"]),
    ):
        assert [one.name for one in open_library(library, "cm-1").references] == names


@pytest.mark.parametrize(
    ("own", "unit", "expected"),
    [
        ("nm", "cm-1", 1e7 / AXIS),
        ("cm-1", "nm", 1e7 / AXIS),
        ("um", "nm", 1e3 * AXIS),
        ("eV", "nm", 1239.841984 / AXIS),
        ("cm-1", "um", 1e4 / AXIS),
        ("cm^-1", "1/cm", AXIS),
    ],
)
def test_units_that_follow_from_each_other_are_converted(own, unit, expected):
    found = open_library(Dataset(BAND[None], AXIS, "wave", own), unit)
    order = np.argsort(expected)
    np.testing.assert_allclose(found.references[0].axis, expected[order], rtol=1e-8)
    np.testing.assert_allclose(found.references[0].values, BAND[order])
    assert bool(found.notes) == (own != "cm^-1")


@pytest.mark.parametrize(
    ("own", "name", "unit"),
    [
        ("Hz", "frequency", "ppm"),
        ("cm-1", "Raman shift", "nm"),
        ("s", "time", "nm"),
        ("", "m/z", "nm"),
    ],
)
def test_other_units_are_refused_with_what_to_do(own, name, unit):
    bad = Dataset(BAND[None], AXIS, name, own, ("bad",))
    with pytest.raises(ValueError, match=r"no spectrum.*bad has an axis in .*convert"):
        open_library(bad, unit)
    good = Dataset(BAND[None], AXIS, "x", unit, ("good",))
    found = open_library([bad, good], unit)
    assert [one.name for one in found.references] == ["good"]
    assert "bad has an axis" in found.left_out[0]


def test_what_has_no_unit_is_taken_for_the_other_and_told():
    plain, known = Dataset(BAND[None], AXIS), Dataset(BAND[None], AXIS, "wavelength", "nm")
    assert "without a unit were assumed to be in nm" in open_library(plain, "nm").notes[0]
    (warning,) = open_library([plain, known]).warnings
    assert "axis of the sources has no unit. That of the library, nm, was assumed" in warning
    assert not open_library([plain, known], "nm").warnings
    assert not open_library(plain).notes
    assert not open_library(plain).warnings
    other = Dataset(BAND[None], AXIS, "wavenumber", "cm-1")
    with pytest.raises(ValueError, match="axes in cm-1 and nm: pass unit"):
        open_library([known, other])


def test_transmittance_becomes_absorbance(tmp_path):
    for head, scale in (("%T", 100), ("transmittance", 1)):
        table(tmp_path / "t.csv", AXIS, scale * 10**-BAND, head=f"wavenumber [cm-1],{head}")
        found = open_library(tmp_path, "cm-1")
        np.testing.assert_allclose(found.references[0].values, BAND, atol=1e-6)
        assert "Transmittance was converted" in found.notes[0]


def test_what_is_no_spectrum_is_left_out_by_name():
    good = Dataset(BAND[None], AXIS)
    for bad, why in (
        (Dataset(BAND[None], AXIS, meta={"peaks": True}), "list of peaks"),
        (Dataset(np.ones((4, 40)), AXIS, image_shape=(2, 2)), "is an image"),
        (Dataset(BAND[None]), "has no axis"),
        (Dataset(BAND[None], AXIS[:3]), "one position for each value"),
        (Dataset(BAND[None], np.full(40, 3.0)), "two or more"),
        (Dataset(BAND[None], AXIS * np.nan), "finite"),
    ):
        found = open_library({"bad": bad, "good": good})
        assert [one.name for one in found.references] == ["good"]
        assert found.left_out[0].startswith("bad ")
        assert why in found.left_out[0]
    negative = Dataset(BAND[None], AXIS - 1500, "wavelength", "nm")
    with pytest.raises(ValueError, match="not positive"):
        open_library({"bad": negative}, "cm-1")


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(
        ValueError, match=r"no spectrum that can be compared\. The first reason: it is empty"
    ):
        open_library(tmp_path)
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(ValueError, match=r"The first reason: .*a\.pdf"):
        open_library(tmp_path)
    with pytest.raises(ReadError, match="does not exist"):
        open_library(tmp_path / "none")
    with pytest.raises(ValueError, match="library is an empty name"):
        open_library("")


@pytest.mark.parametrize("wrong", [3, None, np.ones((3, 4)), [1, 2], {"a": BAND}, {"a": {"b": BAND}}])
def test_what_is_no_library_is_refused(wrong):
    with pytest.raises(TypeError, match="library must be a file or folder, a Dataset"):
        open_library(wrong)


def test_an_unknown_unit_is_told_where_axes_are_taken_for_it():
    plain = Dataset(BAND[None], AXIS)
    (warning,) = open_library(plain, "furlong").warnings
    assert 'unit "furlong" is unknown' in warning
    assert not open_library(Dataset(BAND[None], AXIS, "distance", "furlong"), "furlong").warnings
    for known in ("nm", "1/cm", "ppm", "keV", "ms", ""):
        assert not open_library(plain, known).warnings


def test_raman_and_infrared_spectra_are_not_taken_for_each_other():
    infrared = Dataset(BAND[None], AXIS, "wavenumber", "cm-1")
    raman = Dataset(BAND[None], AXIS, "Raman shift", "cm-1")
    (warning,) = open_library(infrared, "cm-1", "Raman shift").warnings
    assert "The sources have Raman shifts and the spectra of the library have wavenumbers" in warning
    (warning,) = open_library([raman, raman], "cm-1", "wavenumber").warnings
    assert "The spectra of the library have Raman shifts and the sources have wavenumbers" in warning
    for library, name in (
        (raman, "Raman shift"),
        (infrared, "wavenumber"),
        (raman, "position"),  # nothing is known of it
        (Dataset(BAND[None], AXIS), "Raman shift"),
    ):
        assert not open_library(library, "cm-1", name).warnings


def test_a_table_of_pandas_is_a_library_if_it_has_positions():
    rows = np.stack([BAND, BAND**2])
    tall = pd.DataFrame(rows.T, index=pd.Index(AXIS, name="wavelength [nm]"), columns=["a", "b"])
    texts = tall.T.rename(columns=lambda x: f"{x:.17g}")  # as a table read from a file may have them
    for table in (tall, tall.T, texts, tall.T.set_axis([0, 1])):
        found = open_library(table, "nm")
        np.testing.assert_allclose([one.axis for one in found.references], [AXIS] * 2)
        np.testing.assert_allclose([one.values for one in found.references], rows)
        assert not found.notes  # the unit is in the name of the index
    assert [one.name for one in open_library(tall, "nm").references] == ["a", "b"]
    assert [one.name for one in open_library([tall, tall.T]).references] == ["a", "b", "a", "b"]
    assert [one.name for one in open_library({"x": tall}).references] == ["x: a", "x: b"]
    for wrong, which in ((pd.DataFrame(rows), "neither"), (tall.set_axis([3.5, 7], axis=1), "both")):
        with pytest.raises(TypeError, match=f"{which} of its index and columns are positions: make"):
            open_library(wrong)
