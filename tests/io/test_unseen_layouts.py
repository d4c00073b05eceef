"""Layouts that were once misread or refused."""
# ruff: noqa: E501

import json
from itertools import pairwise

import h5py
import numpy as np
import pytest
import xarray as xr

from ngmca.io import ReadError, read
from ngmca.io.tables import spreadsheets

WL = np.arange(400.0, 561.0, 4.0)
X2 = np.round(np.arange(10.0, 60.0, 0.25), 2)
rng = np.random.default_rng(0)


def bands(axis, m=4, scale=1.0, digits=5):
    """Mixtures of three bands."""
    generator = np.random.default_rng(len(axis))
    centres, width = axis.min() + np.ptp(axis) * np.array([[0.2], [0.5], [0.75]]), np.ptp(axis) / 12
    Y = generator.random((m, 3)) @ np.exp(-(((axis - centres) / width) ** 2))
    return np.round(scale * (Y + 0.05 + 0.002 * generator.standard_normal(Y.shape)), digits)


def lines(*columns, sep=",", end=""):
    """The columns as lines of a text; words and numbers as they are."""
    return "".join(sep.join(map(str, row)) + end + "\n" for row in zip(*columns, strict=True))


Y4 = bands(WL)
COUNTS = bands(X2, 1, 2000, 0)
HEAD = ",".join(f"{a:g}" for a in WL)
ACROSS = "".join(f"S{k}," + ",".join(map(str, y)) + "\n" for k, y in enumerate(Y4))
RADIANCE = np.round(1e4 * np.exp(-(((WL - 480) / 90) ** 2)) + 50, 2)
EDGES = 9.98 - 0.04 * np.arange(42)
RANGES = ",".join(f"[{a:.2f} .. {b:.2f}]" for a, b in pairwise(EDGES))

RIGHT = {  # text, data, first position, name of the axis, unit, names
    "a setting above two columns": (
        "File: A.ABS\nOperator: JK\n" + lines(WL, Y4[0], sep="  "), Y4[:1], 400, "", "", None,
    ),
    "settings of each column below their names": (
        "Labels,a,b,c,d,\nType,Emission Scan,Emission Scan,Emission Scan,Emission Scan,\n"
        "Xaxis,Wavelength(nm),Wavelength(nm),Wavelength(nm),Wavelength(nm),\nYaxis,Counts,Counts,Counts,Counts,\n"
        "Dwell Time,0.1,0.1,0.1,0.1,\n\n" + lines(WL, *Y4, end=","), Y4, 400, "wavelength", "nm", list("abcd"),
    ),
    "amounts and temperatures between the names and the axis": (
        "Sample,a,b,c,d\nConc (mM),0.1,0.2,0.5,1\nTemp,20,20,20,20\nWavelength (nm),,,,\n" + lines(WL, *Y4),
        Y4, 400, "wavelength", "nm", list("abcd"),
    ),
    "three lines of names with the axis in the first": (
        "Wavelength\tS1c\tS1c\tS1c\tS1c\nnm\tCPS / MicroAmps\tCPS / MicroAmps\tCPS / MicroAmps\tCPS / MicroAmps\n"
        "\tw EM\tx EM\ty EM\tz EM\n" + lines(WL, *Y4, sep="\t"), Y4, 400, "wavelength", "nm", ["w EM", "x EM", "y EM", "z EM"],
    ),
    "the temperature beside the wavelength": (
        "Wavelength(nm)\tTemperature(°C)\ta\tb\tc\td\n" + lines(WL, ["25.0"] + [""] * (len(WL) - 1), *Y4, sep="\t"),
        Y4, 400, "wavelength", "nm", list("abcd"),
    ),
    "errors of counts without headings": (lines(X2, COUNTS[0], np.round(np.sqrt(COUNTS[0]), 2), sep=" "), COUNTS, 10, "", "", None),
    "Sig(q) beside I(q)": ("# q(A-1)  I(q)  Sig(q)\n" + lines(X2, COUNTS[0], 0.03 * COUNTS[0] + 1, sep="  "), COUNTS, 10, "q", "A-1", None),
    "dI beside I": ("q,I,dI\n" + lines(X2, COUNTS[0], 0.03 * COUNTS[0] + 1), COUNTS, 10, "q", "", None),
    "mean, sd and n": ("wavelength,mean,sd,n\n" + lines(WL, Y4[0], 0.03 * Y4[0], [3] * len(WL)), Y4[:1], 400, "wavelength", "", None),
    "relative intensities": (
        "m/z,Intensity,Relative\n" + lines(X2, COUNTS[0], np.round(100 * COUNTS[0] / COUNTS.max(), 2)), COUNTS, 10, "m/z", "", None,
    ),
    "mean and SD below the others": (
        f"Sample,{HEAD}\n{ACROSS}Mean,{','.join(map(str, Y4.mean(0)))}\nSD,{','.join(map(str, Y4.std(0)))}\n",
        Y4, 400, "", "", ["S0", "S1", "S2", "S3"],
    ),
    "a legend beside the upper lines": (
        "nm,a,b,c,d,Sample,c (mM)\n" + lines(WL, *Y4, [*"abcd", *[""] * (len(WL) - 4)], ["0.1", "0.2", "0.3", "0.4", *[""] * (len(WL) - 4)]),
        Y4, 400, "wavelength", "nm", list("abcd"),
    ),
    "ranges as names": (
        f"bucket,{RANGES}\n" + ACROSS, Y4, 9.96, "", "", ["S0", "S1", "S2", "S3"],
    ),
    "a class number beside counted bands": (
        "id,label," + ",".join(f"band{j + 1}" for j in range(len(WL))) + "\n" + "".join(
            f"p{k},{k % 2}," + ",".join(map(str, y)) + "\n" for k, y in enumerate(Y4)),
        Y4, None, "", "", [f"id=p{k}, label={k % 2}" for k in range(4)],
    ),
    "pixels beside the wavelengths, one point in each line": (
        "Frame,Row,Column,Wavelength,Intensity\n" + "".join(f"{k + 1},1,{j + 1},{a},{Y4[k, j]}\n" for k in range(4) for j, a in enumerate(WL)),
        Y4, 400, "wavelength", "", None,
    ),
    "an index, the field, the intensity": ("index\tField [G]\tIntensity []\n" + lines(range(1, 42), WL * 8, Y4[0], sep="\t"), Y4[:1], 3200, "Field", "G", None),
    "pairs of columns with quantities as units": (
        "a,,b,,c,,d,\nnm,Abs,nm,Abs,nm,Abs,nm,Abs\n" + lines(*[c for y in Y4 for c in (WL, y)]), Y4, 400, "wavelength", "nm", list("abcd"),
    ),
    "positions with three decimals, one of them whole": (
        "IGOR\nWAVES/D\twavelength\ta\tb\tc\td\nBEGIN\n" + lines([400, *np.round(WL[1:] + 0.123, 3)], *Y4, sep="\t") + "END\n", Y4, 400, "", "", None,
    ),
    "QNAN of old programs": ("wavelength\ta\tb\tc\td\n" + lines(WL, *Y4, sep="\t").replace(f"\t{Y4[1, 3]}\t", "\t1.#QNAN\t", 1), None, 400, "wavelength", "", list("abcd")),
    "French": ("Longueur d\u2019onde (nm);a;b;c;d\n" + lines(WL, *Y4, sep=";").replace(".", ","), Y4, 400, "longueur d'onde", "nm", list("abcd")),
    "a hyphen": ("Raman-Shift (1/cm)\ta\tb\tc\td\n" + lines(WL, *Y4, sep="\t"), Y4, 400, "Raman shift", "cm-1", list("abcd")),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_texts(tmp_path, name):
    text, Y, first, quantity, unit, names = RIGHT[name]
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    data = read(tmp_path / "a.txt")
    if name.startswith("QNAN"):
        Y = Y4.copy()
        Y[1, 3] = np.nan
    np.testing.assert_allclose(data.Y, Y)
    assert first is None or data.axis[0] == pytest.approx(first)
    assert data.axis_name == quantity or not quantity
    assert data.axis_unit == unit or not unit
    assert data.axis_name != "Operator:"
    assert names is None or list(data.row_names) == names


LEFT_OUT = {
    "the temperature beside the wavelength": "columns that were left out: Temperature(°C)",
    "errors of counts without headings": "columns that were left out: column 3",
    "mean and SD below the others": "lines that summarise the others were left out: 6 Mean, 7 SD",
    "a legend beside the upper lines": "columns that were left out: Sample, c (mM)",
    "amounts and temperatures between the names and the axis": "line 2 (Conc (mM),0.1,0.2,0.5,1) was left out",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_is_told(tmp_path, name):
    (tmp_path / "a.txt").write_text(RIGHT[name][0], encoding="utf-8")
    assert any(LEFT_OUT[name] in note for note in read(tmp_path / "a.txt").notes)


@pytest.mark.parametrize("form", [lambda a, b: 100 * b / a, lambda a, b: np.log10(a / b)])
def test_a_ratio_beside_its_parts_is_an_error(tmp_path, form):
    radiance = np.round(RADIANCE * (0.2 + Y4[0]), 2)
    text = "data= \n" + lines(WL, RADIANCE, radiance, np.round(form(RADIANCE, radiance), 4), sep="  ")
    (tmp_path / "a.sig").write_text(text)
    with pytest.raises(ReadError, match="column 4 is a ratio of columns"):
        read(tmp_path / "a.sig")
    assert read(tmp_path / "a.sig", columns="4").Y.shape == (1, len(WL))


@pytest.mark.parametrize(
    "Y", [np.outer([1.0, 2.0, 4.0], Y4[0]), np.stack([Y4[0], Y4[1], Y4[0] + Y4[1]]), Y4[[0, 0, 1]]]
)
def test_dilutions_mixtures_and_repeats_are_data(tmp_path, Y):
    (tmp_path / "a.csv").write_text(lines(WL, *Y))
    np.testing.assert_allclose(read(tmp_path / "a.csv").Y, Y)


def test_signals_and_names_of_samples_are_data(tmp_path):
    (tmp_path / "a.csv").write_text("wavelength,sig,n,a,b\n" + lines(WL, *Y4))
    np.testing.assert_allclose(read(tmp_path / "a.csv").Y, Y4)
    words = "Mean Green,1\nmean,2\nb,3\n"
    (tmp_path / "b.csv").write_text(f"Sample,{HEAD}\n" + ACROSS.replace("S1", words.split(",")[0]))
    assert read(tmp_path / "b.csv").row_names[1] == "Mean Green"


def test_numbers_of_a_sheet_that_are_stored_as_text():
    rows = [["nm", "a"], *([f"{a:g}", f"{v:.5f}"] for a, v in zip(WL, Y4[0], strict=True))]
    assert spreadsheets.numbers_in(rows) == 2 * len(WL)


def test_columns_of_pandas_in_json(tmp_path):
    table = dict(zip(["wavelength", "a", "b"], [WL, *Y4[:2]], strict=True))
    text = {name: {str(i): v for i, v in enumerate(column.tolist())} for name, column in table.items()}
    (tmp_path / "a.json").write_text(json.dumps(text))
    data = read(tmp_path / "a.json")
    np.testing.assert_array_equal(data.axis, WL)
    np.testing.assert_allclose(data.Y, Y4[:2])


def test_wavelengths_in_netcdf_that_are_no_coordinate(tmp_path):
    cube = (("y", "x", "band"), Y4.reshape(2, 2, -1))
    wavelength = (("band",), WL, {"units": "nm"})
    stored = xr.Dataset({"radiance": cube, "wavelength": wavelength}, {"band": np.arange(len(WL))})
    stored.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    data = read(tmp_path / "a.nc")
    np.testing.assert_array_equal(data.axis, WL)
    assert (data.axis_name, data.axis_unit, data.image_shape) == ("wavelength", "nm", (2, 2))


@pytest.mark.parametrize(
    "words",
    [("x_start", "x_step", "x_unit"), ("wavelength_first", "wavelength_delta", "wavelength_unit")],
)
def test_start_and_step_in_attributes_of_hdf5(tmp_path, words):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["spectra"] = Y4
        file["spectra"].attrs.update(zip(words, (400.0, 4.0, "nm"), strict=True))
    data = read(tmp_path / "a.h5")
    np.testing.assert_array_equal(data.axis, WL)
    assert (data.axis_name, data.axis_unit) == ("wavelength", "nm")


WAVES = ",".join(f"{w:g}" for w in WL)
PLATES = {  # lines above the wells, and the name of the axis
    "above empty names": (
        f",Wavelength [nm],{WAVES}\nWell,Content,{',' * (len(WL) - 1)}\n",
        "wavelength",
    ),
    "above two names": (f",Wavelength [nm],{WAVES}\nWell,Content\n", "wavelength"),
    "in the corner": (f"Wavelength [nm],,{WAVES}\nWell,Content\n", "wavelength"),
    "below another line": (f"Raw Data,,\n,Raman shift (cm-1),{WAVES}\nWell,Content\n", "Raman shift"),
}


@pytest.mark.parametrize("name", PLATES)
def test_an_axis_above_the_names_of_wells(tmp_path, name):
    head, quantity = PLATES[name]
    wells = "".join(f"A0{i},dye {i}," + ",".join(map(str, y)) + "\n" for i, y in enumerate(Y4))
    (tmp_path / "a.csv").write_text(f"User: lab,Test ID: 144\nTest Name: scan\n\n{head}{wells}")
    data = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(data.Y, Y4)
    np.testing.assert_array_equal(data.axis, WL)
    assert data.axis_name == quantity
    assert data.row_names[0] == "Well=A00, Content=dye 0"


@pytest.mark.parametrize("orient", ["columns", "records"])
def test_positions_as_names_in_json(tmp_path, orient):
    names, Y = [f"{w:g}" for w in WL], np.vstack([Y4, Y4 + 1])
    columns = [dict(zip("abcdefgh", column.tolist(), strict=True)) for column in Y.T]
    table = dict(zip(names, columns, strict=True))
    records = [dict(zip(names, y.tolist(), strict=True)) for y in Y]
    (tmp_path / "a.json").write_text(json.dumps(table if orient == "columns" else records))
    data = read(tmp_path / "a.json")
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, WL)
    assert orient != "columns" or data.row_names == tuple("abcdefgh")


def test_numbers_of_measurements_in_json_are_no_axis(tmp_path):
    columns = {"wavelength": WL.tolist()} | {f"{2 * i}": (Y4[0] + i).tolist() for i in range(25)}
    (tmp_path / "a.json").write_text(json.dumps(columns))
    data = read(tmp_path / "a.json")
    np.testing.assert_array_equal(data.axis, WL)
    assert len(data.Y) == 25


@pytest.mark.parametrize("name", ["average", "Mean", "AVG"])
def test_a_mean_of_the_other_columns_is_no_measurement(tmp_path, name):
    text = f"wavelength,a,b,c,{name}\n" + lines(WL, *Y4[:3], Y4[:3].mean(axis=0).round(4))
    (tmp_path / "a.csv").write_text(text)
    data = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(data.Y, Y4[:3])
    assert any(f"columns that were left out: {name}" in note for note in data.notes)
    (tmp_path / "a.csv").write_text(f"wavelength,a,b,c,{name}\n" + lines(WL, *Y4))
    assert len(read(tmp_path / "a.csv").Y) == 4


def test_spaces_around_cells_in_quotes(tmp_path):
    text = '"Wavelength (nm)" , "a" , "b"\n' + "".join(
        f'"{w}" , "{a}" , "{b}"\n' for w, a, b in zip(WL, *Y4[:2], strict=True)
    )
    (tmp_path / "a.csv").write_text(text)
    data = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(data.Y, Y4[:2])
    assert data.row_names == ("a", "b")


def test_a_unit_behind_a_name_between_spaces(tmp_path):
    (tmp_path / "a.txt").write_text(
        "wavelength [\u00b5m] a b c\n" + lines(WL / 100, *Y4[:3], sep=" "), encoding="utf-8"
    )
    data = read(tmp_path / "a.txt")
    np.testing.assert_array_equal(data.Y, Y4[:3])
    assert (data.axis_name, data.row_names) == ("wavelength", ("a", "b", "c"))
