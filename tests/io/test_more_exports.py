"""Exports that were once misread, or refused although clear: numbers, axis, unit, coordinates."""
# ruff: noqa: E501

import json

import h5py
import numpy as np
import pytest
import scipy.io

from ngmca.io import ReadError, read

WL = np.arange(230.0, 531.0, 4.0)
X = np.arange(400.0, 560.0, 4.0)
TIMES = np.arange(0.0, 240.0, 30.0)


def spectra(axis, m=8):
    """Mixtures of three bands."""
    rng = np.random.default_rng(0)
    centres, width = axis.min() + np.ptp(axis) * np.array([[0.2], [0.5], [0.75]]), np.ptp(axis) / 12
    Y = rng.dirichlet(np.ones(3), m) @ np.exp(-(((axis - centres) / width) ** 2))
    return np.round(Y + 0.02 + 0.002 * rng.standard_normal(Y.shape), 5)


def down(axis, Y, sep=","):
    return "".join(sep.join(f"{v:g}" for v in (a, *y)) + "\n" for a, y in zip(axis, Y.T, strict=True))


def across(labels, Y, sep=",", after=""):
    return "".join(
        f"{name}{sep}" + sep.join(f"{v:g}" for v in y) + after + "\n"
        for name, y in zip(labels, Y, strict=True)
    )


def heads(form="{:g}", axis=WL, sep=","):
    return sep.join(form.format(a) for a in axis)


Y8 = spectra(WL)
NAMES = [f"S{k}" for k in range(8)]
TABS = "\t"
TEXTS = {  # text, name and unit of the axis
    "the axis in brackets behind words": (
        f"Well Row,Well Col,Content,{heads('Raw Data ({:g})')}\n"
        + across([f"A,{k + 1},Sample X{k}" for k in range(8)], Y8), None, None,
    ),
    "the axis behind OD": (
        f"sample_id,dilution,{heads('OD_{:g}')}\n" + across([f"S{k},{10**k}" for k in range(8)], Y8),
        None, None,
    ),
    "single wavelengths and ratios before the axis": (
        f"NanoDrop 1000\tNucleic Acid\n\nSample ID\tDate\tng/ul\tA260\t260/280\t340 raw\t{heads(sep=TABS)}\n"
        + across([f"D{k}\t3/12/2019\t{k + 5.5}\t0.{k}1\t1.8{k}\t0.0{k}" for k in range(8)], Y8, TABS),
        None, None,
    ),
    "the name of the index in a line of its own": (
        f"wavelength_nm,{heads()}\nsample" + "," * len(WL) + "\n" + across(NAMES, Y8),
        "wavelength", "nm",
    ),
    "the name of the times in a line of its own": (
        f"Wavelength\t{heads(sep=TABS)}\nTime\n" + across(TIMES, Y8, TABS), "wavelength", "",
    ),
    "wavelengths in a comment": (
        f"# wavelengths [nm]: {heads()}\n" + "".join(heads("{:g}", y) + "\n" for y in Y8),
        "wavelength", "nm",
    ),
    "times that begin near 0 against wavelengths as they are set": (
        f",{heads(axis=np.arange(190.0, 268.0))}\n"
        + across(np.round(0.0066 + 0.0266 * np.arange(60), 4), spectra(np.arange(190.0, 268.0), 60)),
        None, None,
    ),
    "a line of Tecan": (
        "Device: infinite 200Pro,,\nMode,Absorbance,\nWavelength start,230,nm\n\nWavel.,"
        + ",".join(NAMES) + "\n" + down(WL, Y8), "wavelength", "nm",
    ),
    "a line of WITec": (
        "[SpectrumHeader]\nTitle = Spectrum 1\nXDataKind = 1/cm\n\n[SpectrumData]\n" + down(WL, Y8[:1], "\t"),
        None, "cm-1",
    ),
    "another table below": (
        f"Wavelength,{','.join(NAMES)}\n" + down(WL, Y8) + "\nPeak table\nPeak,Position\n1,430\n2,470\n",
        "wavelength", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts(tmp_path, name):
    text, quantity, unit = TEXTS[name]
    (tmp_path / "a.txt").write_text(text)
    data = read(tmp_path / "a.txt")
    Y = spectra(np.arange(190.0, 268.0), 60) if "begin near 0" in name else Y8
    Y = Y8[:1] if "WITec" in name else Y
    np.testing.assert_allclose(data.Y, Y)
    assert data.axis[0] in (190, 230)
    assert quantity in (None, data.axis_name)
    assert unit in (None, data.axis_unit)
    if "another" in name:
        assert any("table below it, from line 79 on, was left out" in note for note in data.notes)


def test_names_of_samples_with_numbers_are_no_axis(tmp_path):
    names = [f"patient {k}" for k in range(101, 141)]
    Y = spectra(WL, 40)
    (tmp_path / "a.csv").write_text(f"wavelength,{','.join(names)}\n" + down(WL, Y))
    data = read(tmp_path / "a.csv")
    np.testing.assert_allclose(data.Y, Y)
    assert data.row_names[0] == "patient 101"
    (tmp_path / "b.csv").write_text(
        f"{','.join(names)}\n" + "".join(heads("{:g}", y) + "\n" for y in Y.T)
    )
    with pytest.raises(ReadError, match="has no axis and can be read in two ways"):
        read(tmp_path / "b.csv")


@pytest.mark.parametrize(("ends", "label"), [("{:g} s", "time [s]"), ("{:g} °C", "temperature [°C]")])
def test_times_in_names_are_coordinates(tmp_path, ends, label):
    names = heads(ends, TIMES)
    (tmp_path / "a.csv").write_text(f"Wavelength (nm),{names}\n" + down(WL, Y8))
    data = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(data.row_axis, TIMES)
    assert data.row_label == label


def test_times_of_glotaran_and_of_a_corner_with_two_names(tmp_path):
    kinetics = spectra(X, 40)
    times = np.round(np.linspace(-2, 100, 40), 2)
    header = f"decay\npsi.ascii\nTime explicit\nIntervalnr 40\n{heads('{:g}', times, ' ')}\n"
    (tmp_path / "a.ascii").write_text(header + down(X, kinetics, " "))
    corner = f"Time (s)\\Wavelength (nm),{heads(axis=X)}\n"
    (tmp_path / "b.csv").write_text(corner + across(times, kinetics))
    for name in ("a.ascii", "b.csv"):
        data = read(tmp_path / name)
        np.testing.assert_allclose(data.Y, kinetics)
        np.testing.assert_allclose(data.row_axis, times)
        assert data.row_label.lower().startswith("time")


def test_errors_beside_means_are_left_out(tmp_path):
    columns = np.stack([part for k in range(3) for part in (Y8[k], 0.01 + 0.001 * Y8[k])])
    names = "mean_a;sd_a;mean_b;sd_b;mean_c;sd_c"
    (tmp_path / "a.csv").write_text(f"wavelength;{names}\n" + down(WL, columns, ";"))
    data = read(tmp_path / "a.csv")
    np.testing.assert_allclose(data.Y, Y8[:3])
    assert any("left out: sd_a, sd_b, sd_c" in note for note in data.notes)


def test_of_the_columns_of_athena_the_normalised_one_is_read(tmp_path):
    columns = np.stack([Y8[0], 0.98 * Y8[0], 0.97 * Y8[0], np.gradient(Y8[0])])
    (tmp_path / "a.nor").write_text("#  energy norm nbkg flat nder\n" + down(7000 + WL, columns, "  "))
    data = read(tmp_path / "a.nor")
    np.testing.assert_allclose(data.Y, Y8[:1])
    assert any("left out: nbkg, flat, nder" in note for note in data.notes)


def test_one_point_in_each_line_sorted_by_wavelength(tmp_path):
    lines = [
        f"{x:g},{t:g},{v:g}"
        for x, y in zip(WL, Y8.T, strict=True)
        for t, v in zip(TIMES, y, strict=True)
    ]
    for first, unit in (("time", ""), ("time_min", " [min]")):
        (tmp_path / "a.csv").write_text("\n".join([f"wavelength,{first},dA", *lines]))
        data = read(tmp_path / "a.csv")
        np.testing.assert_allclose(data.Y, Y8)
        np.testing.assert_allclose(data.row_axis, TIMES)
        assert data.row_label == f"time{unit}"


def test_emission_and_excitation_with_three_decimals(tmp_path):
    em, ex = np.arange(280.0, 441.0, 4.0), np.arange(240.0, 320.0, 10.0)
    Y = np.round(100 * spectra(em), 3)
    text = f"Sample:\tDOM\nEX WL:\t240-310 nm\nData Points\nEM/EX\t{heads('{:g}', ex, TABS)}\n"
    body = "".join(
        "\t".join([f"{a:g}", *(f"{v:.3f}" for v in y)]) + "\n" for a, y in zip(em, Y.T, strict=True)
    )
    (tmp_path / "a.txt").write_text(text + body)
    data = read(tmp_path / "a.txt")
    np.testing.assert_allclose(data.Y, Y)
    np.testing.assert_allclose(data.row_axis, ex)


JSON = {
    "arrays": lambda: {"wavelength": list(WL), "spectra": Y8.tolist(), "names": NAMES},
    "split": lambda: {"columns": list(WL), "index": NAMES, "data": Y8.tolist()},
    "records of channels": lambda: [
        {"wavelength": a, **dict(zip(NAMES, y, strict=True))}
        for a, y in zip(WL, Y8.T.tolist(), strict=True)
    ],
    "records of spectra": lambda: {
        "samples": [{"id": n, "x": list(WL), "y": y} for n, y in zip(NAMES, Y8.tolist(), strict=True)]
    },
}


@pytest.mark.parametrize("kind", JSON)
def test_json(tmp_path, kind):
    (tmp_path / "a.json").write_text(json.dumps(JSON[kind]()))
    data = read(tmp_path / "a.json")
    np.testing.assert_allclose(data.Y, Y8)
    np.testing.assert_allclose(data.axis, WL)
    assert data.row_names == tuple(NAMES)
    if kind == "arrays":
        assert data.axis_name == "wavelength"


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2', '{"a": 1}', '{"a": [[1, 2], [3]]}', '{"a": [["1", 2]]}']
)
def test_json_without_a_table_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ReadError, match=r"not a complete JSON|no table"):
        read(tmp_path / "a.json")


def test_a_unit_in_an_attribute_beside_an_axis(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        item = file.create_dataset("reflectance", data=Y8)
        item.attrs["wavelengths"], item.attrs["wavelength_units"] = WL, "nm"
    data = read(tmp_path / "a.h5")
    np.testing.assert_array_equal(data.axis, WL)
    assert (data.axis_name, data.axis_unit) == ("wavelength", "nm")


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_of_gc_ms(tmp_path, whole):
    rng = np.random.default_rng(1)
    mz, Y = np.arange(50, 70), rng.integers(1, 900, (6, 20)) * (rng.random((6, 20)) < 0.6)
    Y[0] += 1
    shifts = np.zeros(Y.shape) if whole else rng.choice([-0.2, 0.0, 0.1, 0.2], Y.shape)
    scans = [np.flatnonzero(y) for y in Y]
    with scipy.io.netcdf_file(tmp_path / "run.cdf", "w") as file:
        file.createDimension("scan_number", 6)
        file.createDimension("point_number", sum(map(len, scans)))
        parts = {
            "scan_index": ("scan_number", "i", np.cumsum([0, *map(len, scans)])[:-1]),
            "scan_acquisition_time": ("scan_number", "d", 60 + 0.5 * np.arange(6)),
            "mass_values": (
                "point_number",
                "f",
                [mz[j] + shifts[i, j] for i, s in enumerate(scans) for j in s],
            ),
            "intensity_values": ("point_number", "f", [Y[i, j] for i, s in enumerate(scans) for j in s]),
        }
        for name, (dimension, kind, values) in parts.items():
            file.createVariable(name, kind, (dimension,))[:] = np.asarray(values)
    data = read(tmp_path / "run.cdf")
    np.testing.assert_array_equal(data.axis, mz)
    np.testing.assert_array_equal(data.Y, Y)
    assert (data.axis_name, data.row_label, data.row_axis[1]) == ("m/z", "time [s]", 60.5)
    assert whole != any("rounded to whole m/z" in note for note in data.notes)
    content = (tmp_path / "run.cdf").read_bytes()
    (tmp_path / "run.cdf").write_bytes(content[:-40])
    with pytest.raises(ReadError, match=r"run\.cdf"):
        read(tmp_path / "run.cdf")
