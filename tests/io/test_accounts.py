"""Every line and every column of a table: data, name, axis, or passed over and told; else refused."""

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from ngmca.io import ReadError, read

WL = np.arange(400.0, 700.0, 4.0)


def spectra(m, axis=WL, ordered=True, seed=0):
    """Bands on an axis, in the order of a reaction or in none."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(axis.min(), axis.max(), (3, 4, 1))
    S = np.exp(-(((axis - centres) / (np.ptp(axis) / 25)) ** 2)).sum(axis=1)
    t = np.linspace(0, 1, m)
    A = np.stack([np.exp(-3 * t), 3 * t * np.exp(-2 * t), 1 - np.exp(-2 * t)], axis=1)
    A = A if ordered else rng.random((m, 3))
    return np.round(A @ S + 0.003 * rng.standard_normal((m, len(axis))), 4)


Y = spectra(12)
MANY = spectra(40, np.arange(400.0, 900.0), ordered=False)


def lines(*columns, sep=",", form="{:.6g}"):
    """Lines of a file, out of columns of numbers or words."""
    cells = [[c if isinstance(c, str) else form.format(c) for c in column] for column in columns]
    return [sep.join(row) for row in zip(*cells, strict=True)]


def across(labels, values=Y, axis=WL, corner="sample"):
    return [",".join([corner, *(f"{w:g}" for w in axis)]), *lines(labels, *values.T)]


def written(folder, name, rows):
    path = folder / name
    path.write_text(rows if isinstance(rows, str) else "\n".join(rows) + "\n", encoding="utf-8")
    return path


SHIFTS = np.arange(204.0, 1800.0, 12.0)
RAMAN = spectra(3, SHIFTS)
TUBES = ["1", "2", "3", "4", "5", "6", "7", "8", "blank", "QC1", "QC2", "QC3"]
COUNTS = np.round(3000 * np.abs(Y[:2]) + 900)
MAP = [(2.0 * x, 1.5 * y) for y in range(3) for x in range(4)]
POINTS = [(x, y, w, v) for (x, y), row in zip(MAP, Y, strict=True) for w, v in zip(WL, row, strict=True)]
TIDY = [(f"s{i}", w, v) for i, row in enumerate(Y) for w, v in zip(WL, row, strict=True)]
MINUS = str.maketrans("-", "\u2212")

# what is written, and what must come out: Y, axis, names of measurements
READ = {
    "numbers, then words, as names": (across(TUBES), Y, WL, TUBES),
    "words, then numbers, as names": (across(TUBES[::-1]), Y, WL, TUBES[::-1]),
    "words among numbers, as names": (
        across([*"12345", "5b", *"6789", "10", "11"]), Y, WL, [*"12345", "5b", *"6789", "10", "11"]),
    "words among numbers, no header": (lines(TUBES, *Y.T), Y, None, TUBES),
    "a name that looks like a comment": (
        across(["A0", "#1", "A2", *TUBES[3:]]), Y, WL, ["A0", "#1", "A2", *TUBES[3:]]),
    "thousands set apart by apostrophes": (
        ["wavenumber;a;b;c", *lines([f"{w:,.1f}".replace(",", "'") for w in SHIFTS], *RAMAN, sep=";")],
        RAMAN, SHIFTS, ["a", "b", "c"]),
    "thousands set apart by spaces that do not break": (
        ["wavenumber;a;b;c",
         *lines([f"{w:,.1f}".replace(",", "\u00a0") for w in SHIFTS], *RAMAN, sep=";")],
        RAMAN, SHIFTS, ["a", "b", "c"]),
    "another minus": (
        ["shift,a,b", *(row.translate(MINUS) for row in lines(WL - 450, *Y[:2] + 0.1))],
        Y[:2] + 0.1, WL - 450, ["a", "b"]),
    "exponents of Fortran": (
        [row.replace("e", "D") for row in lines(WL, Y[0], sep="  ", form="{:.5e}")], Y[:1], WL, []),
    "a space before each comma": (
        [row.replace(",", " ,") for row in lines(WL, *COUNTS)], COUNTS, WL, []),
    "minus signs that R makes points": (
        ["name," + ",".join(f"X.{w:g}" for w in WL[::-1]), *lines(TUBES, *Y.T)],
        Y, -WL[::-1], TUBES),
    "an axis with its quantity in each name": (
        [",".join(["", *(f"m/z {w:g}" for w in WL)]), *lines(["a", "b"], *Y[:2].T)],
        Y[:2], WL, ["a", "b"]),
    "concentrations below the names": (
        ["wavelength,a,b,c", "conc,0.1,0.2,0.3", *lines(WL, *Y[:3])], Y[:3], WL, ["a", "b", "c"]),
    "an empty column with a name, across": (
        [row + end for row, end in zip(across([str(i) for i in range(101, 113)]),
                                       [",comment", *[","] * 12], strict=True)],
        Y, WL, [str(i) for i in range(101, 113)]),
    "an empty column with a name, down": (
        ["wavelength,a,b,comment", *(row + "," for row in lines(WL, *Y[:2]))], Y[:2], WL, ["a", "b"]),
    "an index without a name": (
        pd.DataFrame(MANY, index=range(101, 141), columns=[f"A{i}" for i in range(400, 900)]).to_csv(),
        MANY, np.arange(400.0, 900.0), [str(i) for i in range(101, 141)]),
    "an index before the axis": (
        pd.DataFrame(np.vstack([WL, Y[:3]]).T, columns=["wl", "a", "b", "c"]).to_csv(),
        Y[:3], WL, ["a", "b", "c"]),
    "one point a line, named by words": (
        ["sample,wavelength,value", *lines(*zip(*TIDY, strict=True))],
        Y, WL, [f"s{i}" for i in range(12)]),
    "one point a line, with an index": (
        pd.DataFrame(TIDY, columns=["sample", "wavelength", "value"]).to_csv(), Y, WL,
        [f"s{i}" for i in range(12)]),
    "two tabs after each name": (
        ["#Time\t\t#Wave\t\t#Intensity",
         *lines(np.repeat(np.linspace(0.5, 30, 12), 75), np.tile(WL, 12), Y.ravel(), sep="\t")],
        Y, WL, [f"Time={t:.6g}" for t in np.linspace(0.5, 30, 12)]),
    "a depth beside an axis": (
        across(np.linspace(0.5, 30, 12), spectra(12, ordered=False), corner="depth_um"),
        spectra(12, ordered=False), WL, None),
    "properties that begin with x and y": (
        [",".join(["xylose", "yeast", *(f"{w:g}" for w in WL)]),
         *lines(np.arange(12) % 3, np.arange(12) // 3, *Y.T)], Y, WL, None),
    "a falling spectrum": (
        lines(WL / 100, Y[0], 2.5 * np.exp(-WL / 100), Y[1], sep="\t", form="{:.9g}"),
        [Y[0], 2.5 * np.exp(-WL / 100), Y[1]], WL / 100, []),
    "pairs as Origin names them": (
        ["A(X1)\tB(Y1)\tC(X2)\tD(Y2)", *lines(WL, Y[0], WL, Y[1], sep="\t")], Y[:2], WL, ["B", "D"]),
    "few wavelengths above": (
        ["405,520,600,650", *lines(*Y.T[[3, 30, 50, 60]])], Y[:, [3, 30, 50, 60]],
        [405.0, 520.0, 600.0, 650.0], []),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_read_right(tmp_path, name):
    rows, values, axis, names = READ[name]
    data = read(written(tmp_path, "t.csv", rows))
    np.testing.assert_allclose(data.Y, values, rtol=1e-4, atol=1e-6)
    assert (data.axis is None) == (axis is None)
    if axis is not None:
        np.testing.assert_allclose(data.axis, axis)
    assert data.image_shape is None
    assert data.axis_unit != "um"  # of a depth, which is beside the axis
    if names is not None:
        assert list(data.row_names) == list(names)


PLAIN = lines(WL, *Y[:3])
HEAD = "wavelength,a,b,c"

# what is written, and what the notes say
TOLD = {
    "concentrations below the names": (
        [HEAD, "conc,0.1,0.2,0.3", *PLAIN], "line 2 (conc,0.1,0.2,0.3) was left out"),
    "a line without a position": ([HEAD, ",0.1,0.2,0.3", *PLAIN], "line 2 (0.1,0.2,0.3) was left out"),
    "a mean below": (
        [HEAD, *PLAIN, "Mean,1,2,3"], "lines below the table were left out: 77 (Mean)"),
    "a mean apart": ([HEAD, *PLAIN, "", "Mean,1,2,3"], "lines of numbers were left out: 78"),
    "a line as a comment": (
        [HEAD, *PLAIN[:9], "# 435,1,2,3", *PLAIN[9:]], "comment lines with numbers were left out: 11."),
    "an empty column": (
        ["wavelength,a,b,comment", *(row + "," for row in lines(WL, *Y[:2]))],
        "empty columns were left out: comment."),
    "a column of words": (
        ["wavelength,a,flag,b", *lines(WL, Y[0], ["fine"] * 75, Y[1])],
        "columns of words were left out: 3 flag."),
    "no axis at all": (lines(*Y.T), "has no axis: its rows are taken as 12 measurements of 75 channels"),
    "transmittance in the header": (["wavelength,%T", *lines(WL, 10 ** (2 - Y[0]))], "transmittance"),
    "transmittance in a setting": (
        ["XUNITS\tNANOMETERS", "YUNITS\t%T", *lines(WL, 10 ** (2 - Y[0]), sep="\t")], "transmittance"),
    "a dark spectrum": (
        ["wavelength,sample,dark", *lines(WL, *Y[:2])],
        "columns that may not be measurements: 3 dark"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_is_passed_over_is_told(tmp_path, name):
    rows, words = TOLD[name]
    notes = " ".join(read(written(tmp_path, "t.csv", rows)).notes)
    assert words in notes


def grouped(values, mark=",", quote='"'):
    return [f"{quote}{v:,.0f}{quote}".replace(",", mark) if v >= 1000 else f"{v:.0f}" for v in values]


def marked(column, places, word):
    return [word if i in places else f"{v:.4f}" for i, v in enumerate(column)]


FIRST, LAST = {0}, {74}
WAYS = "can be read in two ways"

REFUSED = {
    "thousands in the axis, up": (
        ["wavenumber,a,b,c", *lines(grouped(SHIFTS), *RAMAN)], "holds '1,008', which is not a number"),
    "thousands in the axis, down": (
        ["wavenumber,a,b,c", *lines(grouped(SHIFTS[::-1]), *RAMAN)], "line 2, column 1 holds '1,788'"),
    "thousands with a space": (
        ["wavenumber;a;b", *lines(grouped(SHIFTS, " ", ""), *RAMAN[:2], sep=";")], "holds '1 008'"),
    "thousands with a point": (
        ["wavelength;a;b", *lines(WL, *(grouped(c, ".", "") for c in COUNTS), sep=";")],
        "decimals or thousands"),
    "marks at the end": (
        [HEAD, *PLAIN[:-5], *(r.replace(",", "*,", 1) for r in PLAIN[-5:])], r"'680\*'"),
    "marks at the top": (
        [HEAD, *("~" + row for row in PLAIN[:9]), *PLAIN[9:]], "line 2, .* holds '~400'"),
    "nothing detected, first": (
        [HEAD, *lines(WL, *(marked(c, FIRST, "ND") for c in Y[:3]))], "line 2, column 2 holds 'ND'"),
    "nothing detected, last": (
        [HEAD, *lines(WL, *(marked(c, LAST, "ND") for c in Y[:3]))], "line 76, column 2 holds 'ND'"),
    "no value as a comment": (
        [HEAD, *PLAIN[:9], "#N/A,1,2,3", *PLAIN[9:]], "line 11, column 1 holds '#N/A'"),
    "percent in the only column": (["wavelength,a", *lines(WL, [f"{v:.1f}%" for v in Y[0]])], "%'"),
    "percent in one of two": (
        ["wavelength,a,b", *lines(WL, Y[0], [f"{v:.1f}%" for v in Y[1]])], "column 3"),
    "decimal commas in quotes": (
        ["wavelength,a", *lines(WL, [f'"{v:.4f}"'.replace(".", ",") for v in Y[0]])], "column 2 holds"),
    "overflow in most of a column": (
        [HEAD, *lines(WL, Y[0], marked(Y[1], range(50), "OVR"), Y[2])], "line 2, column 3 holds 'OVR'"),
    "words in most of a column": (
        [HEAD, *lines(WL, Y[0], marked(Y[1], range(50), "saturated"), Y[2])],
        "column 3 holds 'saturated'"),
    "units beside positions": (
        ["wavelength,a,b", *lines([f"{w:g} nm" for w in WL], *Y[:2])], "column 1 holds '400 nm'"),
    "decimal commas between commas": (
        [row.replace(".", ",") for row in lines(WL, np.abs(Y[0]), form="{:.4f}")],
        "commas decimal signs and delimiters"),
    "names of half the columns": (
        ["wavelength,a", *(row.replace(".", ",") for row in lines(WL, np.abs(Y[0]), form="{:.1f}"))],
        "line 1 names 2 columns, but the lines below have 4"),
    "a heading on the axis that is no number": (
        [row.replace("400", "400-402", 1) for row in across(TUBES)], "heading '400-402'"),
    "a last heading that is no number": (
        [row.replace("696", "~696", 1) for row in across(TUBES)], "heading '~696'"),
    "a last heading that is empty": ([r.replace(",696", ",", 1) for r in across(TUBES)], "heading ''"),
    "times first, nothing named": (lines(np.linspace(0.5, 20, 40), *MANY.T, sep=" "), WAYS),
    "numbers of samples first, nothing named": (lines(np.arange(101, 141), *MANY.T), WAYS),
    "gaps in numbers of samples": (lines(1000 + 7 * np.arange(40) ** 2, *MANY.T), WAYS),
    "a second axis with a name": (
        ["wavelength (nm),a,energy (eV)", *lines(WL, Y[0], 1240 / WL)],
        r"column 3 is called 'energy \(eV"),
    "two tables side by side": (
        ["wavelength,a,b,wavelength,c,d", *lines(WL, *Y[:2], WL + 1, *Y[2:4])], "column 4 is called"),
    "a second axis without a name": (
        lines(WL, *Y[:2], WL, *Y[2:4], sep="\t"), "column 4 rises or falls"),
    "an index and an axis without names": (lines(np.arange(75), WL, *Y[:3]), "column 2 rises or falls"),
    "pairs with a falling intensity": (
        lines(WL, Y[0], WL + 1, np.linspace(1, 0, 75), sep="\t"), "column 3 rises or falls"),
    "a position twice, nothing named": (
        lines(np.where(WL == 500, 496, WL), *Y[:3], sep="\t"), "line 26: the first column repeats"),
    "two detectors that overlap": (
        [*lines(WL[:40], *Y[:3, :40]), *lines(WL[30:], *Y[:3, 30:])],
        "line 41: the first column changes direction"),
    "up and down again": (
        ["E,a,b", *lines(WL, *Y[:2]), *lines(WL, *Y[:2])[::-1]], "column repeats a value at 696"),
    "an axis in the middle": (lines(Y[0], WL, Y[1]), "column 2 rises or falls all the way"),
    "an axis at the end": (lines(*Y[:3], WL), "column 4 rises or falls all the way"),
    "a map that was interrupted": (
        lines(*zip(*POINTS[:-20], strict=True), sep="\t"), "spectrum is not complete"),
    "an interrupted map with names": (
        ["#X\t\t#Y\t\t#Wave\t\t#Intensity", *lines(*zip(*POINTS[:-20], strict=True), sep="\t")],
        "spectrum is not complete"),
    "absorbance beside transmittance": (["wavelength,%T,Abs", *lines(WL, *Y[:2])], "different kinds"),
    "a German spectrometer": (
        ["Wellenlänge;Probe;Dunkel;Referenz", *lines(WL, *Y[:3], sep=";")], "different kinds"),
    "different kinds beside an empty column": (
        ["wavelength,dark,reference,comment", *(row + "," for row in lines(WL, *Y[:2]))],
        "different kinds"),
    "one spectrum in two ranges": (
        ["wavelength,a", *lines(WL[:40], Y[0, :40]), "wavelength,a", *lines(WL[30:], Y[0, 30:])],
        "2 tables with different axes"),
    "numbers of rows and columns only": (pd.DataFrame(Y.T).to_csv(), r"transpose=False\), or 12 meas"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_cause(tmp_path, name):
    rows, message = REFUSED[name]
    with pytest.raises(ReadError, match=message):
        read(written(tmp_path, "t.csv", rows))


def test_options_settle_what_is_asked(tmp_path):
    path = written(tmp_path, "t.csv", lines(np.linspace(0.5, 20, 40), *MANY.T, sep=" "))
    data = read(path, axis="none")
    np.testing.assert_allclose(data.Y, MANY)
    assert data.row_names[:2] == ("0.5", "1")
    written(tmp_path, "t.csv", lines(Y[0], WL, Y[1]))
    data = read(path, columns="1,3")
    np.testing.assert_allclose(data.Y, Y[:2])
    np.testing.assert_array_equal(data.axis, WL)
    written(tmp_path, "t.csv", [HEAD, "conc,0.1,0.2,0.3", *PLAIN])
    data = read(path, header=1)
    assert (data.axis_name, data.row_names) == ("wavelength", ("a", "b", "c"))
    assert any("left out: 2." in note for note in data.notes)
    written(tmp_path, "t.csv", across(np.linspace(0.5, 30, 12), corner="ppm"))
    assert read(path, axis="first-row").axis_name == "wavelength"


CELLS = ["ND", "1,234", "~5", "", "45%", "-", "x", "400 nm", "#3", "1_000", "12-13"]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_a_strange_cell_loses_nothing_without_a_word(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    rows = (
        [HEAD, *PLAIN]
        if rng.random() < 0.5
        else across(TUBES if rng.random() < 0.5 else range(101, 113))
    )
    shape = (3, 75) if rows[0] == HEAD else (12, 75)
    table = [row.split(",") for row in rows]
    ends = rng.random() < 0.6  # where the table begins and ends
    i = int(rng.choice([0, 1, 2, len(table) - 1])) if ends else int(rng.integers(len(table)))
    j = int(rng.choice([0, 1, len(table[0]) - 1]))
    word = CELLS[rng.integers(len(CELLS))]
    table[i][j] = f'"{word}"' if "," in word else word
    path = written(tmp_path_factory.mktemp("cell"), "t.csv", [",".join(row) for row in table])
    try:
        data = read(path)
    except ReadError:
        return
    told = " ".join([*data.notes, *data.row_names[:1]])  # a column may be a property in the names
    assert data.Y.shape == shape or "left out" in told or f"{word}=" in told, (i, j, word)


def save(path, **arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".mat":
        scipy.io.savemat(path, arrays)
    else:
        with h5py.File(path, "w") as file:
            for name, array in arrays.items():
                file[name] = array


FORMS = ["d.npz", "d.mat", "d.h5"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "word", ["time", "t", "temperature", "conc", "id", "delay", "sample", "depth", "pH"]
)
def test_what_numbers_the_measurements_is_no_axis(tmp_path, form, word):
    save(tmp_path / form, Y=MANY, **{word: np.arange(40) * 0.5 + 1})
    data = read(tmp_path / form)
    np.testing.assert_array_equal(data.Y, MANY)
    assert data.axis is None


@pytest.mark.parametrize("form", FORMS)
def test_a_vector_of_unknown_name_down_the_rows_is_asked_about(tmp_path, form):
    save(tmp_path / form, Y=MANY, theta=np.arange(40.0))
    with pytest.raises(ReadError, match="'theta' has one number for each row of the table of 40 x 500"):
        read(tmp_path / form)
    assert read(tmp_path / form, transpose=False).axis is None
    data = read(tmp_path / form, transpose=True)
    np.testing.assert_array_equal(data.Y, MANY.T)
    np.testing.assert_array_equal(data.axis, np.arange(40.0))


@pytest.mark.parametrize("form", FORMS)
def test_concentrations_beside_spectra_are_no_data(tmp_path, form):
    wl = np.arange(400.0, 900.0)
    few = np.random.default_rng(0).random((40, 3))
    save(tmp_path / form, X=MANY, y=few, wl=wl)
    data = read(tmp_path / form)
    np.testing.assert_array_equal(data.Y, MANY)
    np.testing.assert_array_equal(data.axis, wl)
    for arrays in ({"Xcal": MANY, "y": few}, {"spectra": MANY, "X": few}):
        save(tmp_path / form, **arrays)
        with pytest.raises(ReadError, match=r"is much larger. Choose one: dataset="):
            read(tmp_path / form)


def test_places_are_no_axis_of_a_cube(tmp_path):
    cube, wl = np.moveaxis(MANY.reshape(5, 8, 500), -1, 0), np.arange(400.0, 900.0)
    save(tmp_path / "d.npz", cube=cube, x=np.arange(8.0), y=np.arange(5.0), wl=wl)
    data = read(tmp_path / "d.npz")
    np.testing.assert_array_equal(data.Y, MANY)
    assert data.image_shape == (5, 8)
    save(tmp_path / "d.npz", cube=cube, x=np.arange(8.0))
    with pytest.raises(
        ReadError, match="the last dimension of 500x5x8 is as long as a vector of coordinates"
    ):
        read(tmp_path / "d.npz")
    np.testing.assert_array_equal(read(tmp_path / "d.npz", transpose=True).Y, MANY)


def test_dimension_scales_and_units_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["Y"], file["a"], file["b"] = MANY, np.arange(40.0), np.arange(400.0, 900.0)
        file["b"].attrs["units"] = "nm"
        file["b"].make_scale("b")
        file["Y"].dims[1].attach_scale(file["b"])
    data = read(tmp_path / "d.h5")
    np.testing.assert_array_equal(data.Y, MANY)
    np.testing.assert_array_equal(data.axis, np.arange(400.0, 900.0))
    assert data.axis_unit == "nm"
