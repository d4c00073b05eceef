"""Text as instruments and their programs write it: headers, footers, maps, pairs, blocks."""

import numpy as np
import pytest

from ngmca.io import ReadError, read

rng = np.random.default_rng(3)
X = np.linspace(200, 800, 31)
WN = np.linspace(3200, 800, 31)


def spectra(count, axis=X, seed=0):
    """Bands in proportions of their own, four digits."""
    mine = np.random.default_rng(seed)
    shape = (axis - axis.min()) / np.ptp(axis)
    bands = np.exp(-(((shape - mine.uniform(0.1, 0.9, (4, 1))) / 0.08) ** 2))
    return np.round(
        mine.uniform(0.1, 1, (count, 4)) @ bands + 0.01 * mine.standard_normal((count, 31)), 4
    )


Y1, Y3, Y6 = spectra(1), spectra(3), spectra(6)


def lines(*columns, sep=",", end="", digits=4):
    return [sep.join(f"{v:.{digits}f}" for v in row) + end for row in zip(*columns, strict=True)]


def comma(rows):
    return [row.replace(".", ",") for row in rows]


def long(axis_last=True):
    """x, y, wavenumber, intensity of 2 x 3 pixels."""
    rows = []
    for i in range(6):
        x, y = 10.0 + i % 3, -4.0 + 2 * (i // 3)
        rows += [(x, y, w, v) for w, v in zip(WN, Y6[i], strict=True)]
    return rows if axis_last else sorted(rows, key=lambda row: -row[2])


CARY_FOOTER = [
    "", "Std1", "Collection Time: 3/5/2021 10:12:00 AM", "Operator Name            : me",
    "Scan Software Version: 3.00(182)", "Start (nm)              800.0", "Stop (nm)               200.0",
    "Scan rate (nm/min)      600.000", "Comments:", "", "Std2", "Ave. Time (sec)   0.1000",
    "Instrument, Cary 60", "<Baseline Correction>", "Method Log", "File: a, b and c",
]  # fmt: skip
BWTEK_HEADER = [
    "File Version;BWSpec4.11_1", "Date;2023-02-19 12:06:04", "title;BWS465-785S", "c code;BWT",
    "laser_wavelength;785", "intigration times(ms);500", "average number;5", "coefs_a0;780,5",
    "coefs_a1;0,15", "use_zero;0", "Overlay js;0",
]  # fmt: skip
LABRAM = [
    "#Acq. time (s)=\t1", "#Accumulations=\t2", "#Range (nm)=\t200...800", "#Instrument=\tLabRAM HR",
    "#AxisType[0]=\tIntens", "#AxisUnit[0]=\tCnt", "#AxisType[1]=\tSpectr", "#AxisUnit[1]=\tnm",
    "#AxisType[2]=\tY", "#AxisUnit[2]=\tµm", "#AxisType[3]=\tX", "#AxisUnit[3]=\tµm",
]  # fmt: skip
WAVES = "\t".join(f"{x:.4f}" for x in X)
MAP = ["\t".join([str(10 + i % 3), str(5 + i // 3), *map(str, row)]) for i, row in enumerate(Y6)]
TIMES = np.array([0.0, 2.0, 4.0])
NM, CM = ("wavelength", "nm"), ("wavenumber", "cm-1")

# lines of a file; Y, axis, its name and unit, names of rows, shape of the image
READ = {
    "Cary, two samples.csv": (
        ["Std1,,Std2,,", "Wavelength (nm),Abs,Wavelength (nm),Abs,",
         *lines(X[::-1], Y3[0][::-1], X[::-1], Y3[1][::-1], end=","), *CARY_FOOTER],
        Y3[:2, ::-1], X[::-1], ("wavelength", "nm"), ("Std1", "Std2"), None),
    "Cary, one sample.csv": (
        ["Std1,", "Wavelength (nm),Abs", *lines(X, Y1[0], end=","), *CARY_FOOTER],
        Y1, X, ("wavelength", "nm"), None, None),
    "JASCO.txt": (
        ["TITLE\tsample", "DATA TYPE\tINFRARED SPECTRUM", "ORIGIN\tJASCO", "OWNER\t", "DATE\t21/03/05",
         "SPECTROMETER/DATA SYSTEM\tFT/IR", "DELTAX\t-80", "XUNITS\t1/CM", "YUNITS\tABSORBANCE",
         "FIRSTX\t3200", "LASTX\t800", "NPOINTS\t31", "XYDATA", *lines(WN, Y1[0], sep="\t"), "",
         "##### Extended Information", "[Comments]", "Sample name\tx", "[Measurement Information]",
         "Accumulation\t16"],
        Y1, WN, CM, None, None),
    "BWTek.txt": (
        [*BWTEK_HEADER, "Pixel;Wavelength;Wavenumber;Raman Shift;Dark;Reference;Raw data #1;"
         "Dark Subtracted #1;%TR #1;Absorbance #1;", *comma(lines(
             np.arange(31), 780 + X / 10, 12800 - X, X, 1000 + 0 * X, 65535 + 0 * X, 1000 + Y1[0], Y1[0],
             0 * X, 0 * X, sep=";", end=";"))],
        Y1, X, ("Raman shift", "cm-1"), ("Dark Subtracted #1",), None),
    "BWTek, empty ends.txt": (
        [*BWTEK_HEADER, "Pixel;Raman Shift;Dark;Raw data #1;Dark Subtracted #1;", "0;  ;1;2;  ;",
         "1;  ;1;2;  ;", *comma(lines(2 + np.arange(31), X, 0 * X, Y1[0], Y1[0], sep=";", end=";"))],
        Y1, X, ("Raman shift", "cm-1"), None, None),
    "Andor.asc": (
        [*lines(X, Y1[0], sep="\t"), "", "", "Date and Time:\tTue Mar 02 14:08:17 2021",
         "Software Version:\t4.31", "Model:\tDV420", "Exposure Time (secs):\t0.1", "Gain level:\t1",
         "Wavelength (nm):\t500.2", "Data Type:\tCounts"],
        Y1, X, NM, None, None),
    "Andor, series.asc": (
        [*lines(X, *Y6), "", "Date and Time,Tue Mar 02 14:08:17 2021", "Exposure Time (secs),0.1"],
        Y6, X, NM, None, None),
    "Orange.tab": (
        ["name\t" + "\t".join(f"{x:.0f}" for x in X) + "\tkind",
         "string\t" + "\t".join(["c"] * 31) + "\td",
         "meta\t" + "\t".join([""] * 31) + "\tclass",
         *["\t".join([f"s{i}", *map(str, row), "ab"[i % 2]]) for i, row in enumerate(Y6)]],
        Y6, X, NM, tuple(f"name=s{i}, kind={'ab'[i % 2]}" for i in range(6)), None),
    "Orange.csv": (
        ["mS#name," + ",".join(f"C#{x:.0f}" for x in X),
         *[",".join([f"s{i}", *map(str, row)]) for i, row in enumerate(Y6)]],
        Y6, X, NM, tuple(f"s{i}" for i in range(6)), None),
    "Omnic.csv": (lines(WN, Y1[0]), Y1, WN, CM, (), None),
    "Shimadzu.txt": (
        ['"sample - RawData"', '"Wavelength nm.","Abs."', *lines(X, Y1[0])], Y1, X, ("wavelength", "nm"),
        ("Abs.",), None),
    "Ocean Optics.txt": (
        ["SpectraSuite Data File", "+" * 36, "Date: Tue Mar 02 14:08:17 CET 2021", "User: me",
         "Integration Time (usec): 100000 (USB4000)", "Spectra Averaged: 5", "Boxcar Smoothing: 0",
         "Number of Pixels in File: 31", ">>>>>Begin Processed Spectral Data<<<<<",
         *lines(X, Y1[0], sep="\t"), ">>>>>End Processed Spectral Data<<<<<"],
        Y1, X, NM, None, None),
    "OceanView, decimal commas.txt": (
        ["Data from a Node", "", "Date: Tue Mar 02", "Integration Time (sec): 1,000000E-1",
         "XAxis mode: Wavelengths", ">>>>>Begin Spectral Data<<<<<", *comma(lines(X, Y1[0], sep="\t"))],
        Y1, X, NM, None, None),
    "Avantes.txt": (
        ["Integration time [ms]: 10.000", "Averaging Nr. [scans]: 10",
         "Timestamp [10 microseconds ticks]: 2",
         "Wave   ;Sample", "[nm]   ;[counts]", "", *lines(X, Y1[0], sep=";  ")],
        Y1, X, ("wave", "nm"), None, None),
    "units below the names.csv": (
        ["wavelength,a,b,c", "nm,AU,AU,AU", *lines(X, *Y3)], Y3, X, NM, ("a", "b", "c"), None),
    "quoted units.csv": (
        ['"Wavelength","a","b","c"', '"nm","AU","AU","AU"', *[",".join(f'"{c}"' for c in row.split(","))
                                                            for row in lines(X, *Y3)]],
        Y3, X, NM, ("a", "b", "c"), None),
    "LabRAM map.txt": (
        [*LABRAM, "\t\t" + WAVES, *MAP], Y6, X, NM,
        tuple(f"x={10 + i % 3}, y={5 + i // 3}" for i in range(6)), (2, 3)),
    "LabRAM, range alone.txt": ([*LABRAM[:4], "\t\t" + WAVES, *MAP], Y6, X, NM, None, (2, 3)),
    "LabRAM, columns first.txt": (
        [*LABRAM, "\t\t" + WAVES, *[MAP[i] for i in (0, 3, 1, 4, 2, 5)]], Y6, X, NM, None, (2, 3)),
    "LabRAM, a pixel missing.txt": (
        [*LABRAM, "\t\t" + WAVES, *MAP[:5]], Y6[:5], X, NM,
        tuple(f"x={10 + i % 3}, y={5 + i // 3}" for i in range(5)), None),
    "LabRAM, line.txt": (
        [*LABRAM, "\t" + WAVES, *[row.split("\t", 1)[0] + str(i) + "\t" + row.split("\t", 2)[2]
                                  for i, row in enumerate(MAP)]],
        Y6, X, NM, None, None),
    "named map.csv": (
        ["y,x," + ",".join(f"{x:g}" for x in X),
         *[",".join([str(i // 3), str(i % 3), *map(str, row)]) for i, row in enumerate(Y6)]],
        Y6, X, NM, tuple(f"y={i // 3}, x={i % 3}" for i in range(6)), (2, 3)),
    "Renishaw map.txt": (
        ["#X\t\t#Y\t\t#Wave\t\t#Intensity", *["\t\t".join(f"{v:.6f}" for v in row) for row in long()]],
        Y6, WN, ("wave", ""), tuple(f"X={10 + i % 3}, Y={-4 + 2 * (i // 3)}" for i in range(6)), (2, 3)),
    "long, no names.txt": (
        [" ".join(f"{v:.6f}" for v in row) for row in long()], Y6, WN, CM, None, (2, 3)),
    "long, axis first.csv": (
        ["x,y,wavenumber,intensity", *[",".join(f"{v:.6f}" for v in row) for row in long(False)]],
        Y6, WN, CM, None, (2, 3)),
    "series, long.csv": (
        ["time (s),wavelength (nm),intensity",
         *[f"{t},{x:.4f},{v}"
           for t, row in zip(TIMES, Y3, strict=True) for x, v in zip(X, row, strict=True)]],
        Y3, X, NM, ("time (s)=0", "time (s)=2", "time (s)=4"), None),
    "Renishaw spectrum.txt": (
        ["#Wave\t\t#Intensity", *lines(WN, Y1[0], sep="\t\t")], Y1, WN, ("wave", ""), None, None),
    "pairs.csv": (
        lines(X, Y3[0], X, Y3[1], X, Y3[2]), Y3, X, NM, ("1", "2", "3"), None),
    "pairs by pandas.csv": (
        ["wavelength,a,wavelength.1,b", *lines(X, Y3[0], X, Y3[1])], Y3[:2], X, ("wavelength", ""),
        ("a", "b"), None),
    "blocks, headed.csv": (
        [line for k in range(3)
         for line in (f"Sample {k}", "Wavelength (nm),Abs", *lines(X, Y3[k]), "")],
        Y3, X, ("wavelength", "nm"), ("Sample 0", "Sample 1", "Sample 2"), None),
    "blocks, blank lines.txt": (
        [line for k in range(3) for line in (*lines(X, Y3[k], sep=" "), "", "")],
        Y3, X, NM, ("1", "2", "3"), None),
    "blocks, comments.txt": (
        [line for k in range(3) for line in (f"# spectrum {k}", *lines(X, Y3[k], sep="  "))],
        Y3, X, NM, ("spectrum 0", "spectrum 1", "spectrum 2"), None),
    "names in a comment.txt": (
        ["# made by me", "# wavelength a b c", *lines(X, *Y3, sep=" ")], Y3, X, ("wavelength", ""),
        ("a", "b", "c"), None),
    "axis in a comment.txt": (
        ["# " + " ".join(map(str, X)), *[" ".join(map(str, row)) for row in Y6]],
        Y6, X, NM, (), None),
    "commas above, tabs below.txt": (
        ["wavelength,a,b,c", *lines(X, *Y3, sep="\t")],
        Y3, X, ("wavelength", ""), ("a", "b", "c"), None),
    "empty columns.csv": (
        ["wavelength,a,b,c,,,", *lines(X, *Y3, end=",,,")],
        Y3, X, ("wavelength", ""), ("a", "b", "c"), None),
    "two axes.csv": (
        ["Wavelength (nm),Wavenumber (cm-1),a,b,c", *lines(X, 1e7 / X, *Y3)],
        Y3, X, ("wavelength", "nm"), ("a", "b", "c"), None),
    "pixels first.csv": (
        ["Pixel,wavelength [nm],a,b,c", *lines(np.arange(31), X, *Y3)],
        Y3, X, NM, ("a", "b", "c"), None),
    "intensity first.csv": (
        ["counts,wavelength (nm)", *lines(Y1[0], X)], Y1, X, NM, ("counts",), None),
    "a 0 in the corner.txt": (
        [" ".join(map(str, [0, *np.arange(6) * 50.0 + 25])), *lines(X, *Y6, sep=" ")],
        Y6, X, NM, None, None),
    "their number first.txt": (
        ["31", *lines(X, Y1[0], sep=" ")], Y1, X, NM, None, None),
    "nan in the corner.txt": (
        [" ".join(map(str, ["nan", *np.arange(6) * 50.0 + 25])), *lines(X, *Y6, sep=" ")],
        Y6, X, NM, None, None),
}  # fmt: skip


def written(folder, name, rows, encoding="utf-8"):
    path = folder / name
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode(encoding))
    return path


@pytest.mark.parametrize("name", READ)
def test_read_right(tmp_path, name):
    rows, Y, axis, (quantity, unit), names, shape = READ[name]
    data = read(written(tmp_path, name, rows))
    np.testing.assert_allclose(data.Y, Y, atol=1e-9)
    np.testing.assert_allclose(data.axis, axis, atol=1e-4)
    assert (data.axis_name, data.axis_unit) == (quantity, unit)
    assert data.image_shape == shape
    if names is not None:
        assert data.row_names == names


def at(rows, i, text):
    """The same lines with one of them replaced."""
    return [*rows[:i], text, *rows[i + 1 :]]


PLAIN = lines(X, *Y3)
AVANTES = "Wave;Sample;Dark;Reference"
BOTH = ["," + ",".join(f"{t:g}" for t in np.arange(1, 7) * 10.0),
        *lines(np.linspace(5, 9, 31), *np.sort(Y6, axis=0))]  # fmt: skip
ASKED = (
    r"two ways: 6 measurements x 31 channels, .*axis='first-column'.* or 31 measurements x 6 channel.*"
)
REFUSED = {
    "two ways.csv": (BOTH, ASKED + "axis='first-row'"),
    "two ways in long form.txt": (
        [f"{a} {b} {a * b % 7}" for a in range(3, 10) for b in range(5, 14)],
        "two ways: .*column [12].* or .*column [12]"),
    "long, other positions.csv": (
        ["x,y,wavenumber,intensity", *[f"{i},0,{w + i},1.5" for i in range(4) for w in X]],
        "have different positions"),
    "a position twice.csv": (
        at(lines(X, Y1[0]), 9, "360.0,0.5"), r"line 10: the first column repeats a value at 360"),
    "turning back.csv": (
        ["wavelength,a,b,c", *at(PLAIN, 9, "330.0,1,2,3")],
        r"line 11: the first column changes direction at 330"),
    "a word.csv": (
        at(PLAIN, 4, "280.0,0.1,oops,0.2"), "line 5, column 3 holds 'oops', which is not a number"),
    "a hole in the axis.csv": (
        ["wavelength,a,b,c", *at(PLAIN, 4, ",0.1,0.3,0.2")], "line 6, column 1 is empty"),
    "infinity.csv": (at(PLAIN, 4, "280.0,0.1,inf,0.2"), "line 5, column 3 is inf"),
    "short.csv": (at(PLAIN, 4, "280.0,0.1"), "line 5 has 2 cells, other lines have 4"),
    "short at the end.csv": ([*PLAIN, "820.0,0.1"], "line 32 has 2 cells, other lines have 4"),
    "sizes at the top.txt": (
        ["31 4", *lines(X, *Y3, sep=" ")], "line 1 has 2 cells.*skip=1 to ignore it"),
    "thousands.txt": (
        [f"{x:.0f}\t{1000 + 50 * i:,}" for i, x in enumerate(X)],
        "'1,000' and '200': are these decimals or thousands"),
    "thousands without decimals.txt": (
        [f"{x:.1f};{1000 + 50 * i:,d}" for i, x in enumerate(X)],
        "'1,000' and '200.0': are these decimals or thousands"),
    "thousands with points.txt": (
        [f"{x:.1f}".replace(".", ",") + f";{1000 + i}"[:-3] + f".{i:03d}" for i, x in enumerate(X)],
        "are these decimals or thousands"),
    "JASCO, cut.txt": (["TITLE\tx", "XUNITS\tnm", "NPOINTS\t40", "XYDATA", *lines(X, Y1[0], sep="\t")],
                       "announces 40 points, but holds 31"),
    "JASCO, three kinds.txt": (
        ["TITLE\tx", "XUNITS\tNANOMETERS", "YUNITS\tCD [mdeg]", "YUNITS2\tHT [V]", "YUNITS3\tABSORBANCE",
         "NPOINTS\t31", "XYDATA", *lines(X, *Y3, sep="\t")],
        r"different kinds: CD \[mdeg\], HT .*columns='2'"),
    "Avantes, dark and reference.txt": (
        ["Integration time: 10", AVANTES, "[nm];[counts];[counts];[counts]", *lines(X, *Y3, sep=";")],
        r"different kinds: 1 Wave, 2 Sample, 3 Dark, 4 Reference\..*columns='2'"),
    "position second.txt": (lines(Y1[0], X, sep=" "), "column 2 rises or falls"),
    "axis in the middle.csv": (
        ["Row,Omega,Wavenumber,O1,O2", *lines(X % 7, X % 5, X, *Y3[:2])],
        "column 3 is called 'Wavenumber'"),
    "turned, no axis.csv": (
        [",".join(map(str, row)) for row in spectra(12).T],
        r"31 measurements x 12 channels \(transpose=False\)"),
    "a position twice above.csv": (
        [",".join(["name", *map(str, [*X[:9], X[8], *X[10:]])]), *[f"s{i}," + ",".join(map(str, row))
                                                                  for i, row in enumerate(Y6)]],
        "numbers above its columns do not rise"),
    "prose.txt": (["1. Dear all,", "2. it is cold", "", "3. Yours"], "no table of numbers"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_cause(tmp_path, name):
    rows, message = REFUSED[name]
    with pytest.raises(ReadError, match=message):
        read(written(tmp_path, name, rows))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encodings_keep_units(tmp_path, encoding):
    rows = ["wavelength [µm];a;b;c", *comma(lines(X, *Y3, sep=";"))]
    data = read(written(tmp_path, "t.txt", rows, encoding))
    np.testing.assert_array_equal(data.Y, Y3)
    assert (data.axis_name, data.axis_unit) == ("wavelength", "um")


def test_pairs_of_different_length_meet_on_a_common_axis(tmp_path):
    short = [f"{x:g},{y},{x + 1:g},{y}" if i < 25 else f"{x:g},{y},," for i, (x, y) in
             enumerate(zip(X, Y1[0], strict=True))]  # fmt: skip
    data = read(written(tmp_path, "t.csv", ["wavelength,a,wavelength,b", *short]))
    assert data.row_names == ("a", "b")
    assert (data.axis[0], data.axis[-1]) == (201, 681)
    assert any("common" in note for note in data.notes)


def test_where_pixels_are(tmp_path):
    data = read(written(tmp_path, "t.txt", [*LABRAM, "\t\t" + WAVES, *MAP[::-1]]))
    np.testing.assert_array_equal(data.Y[:, 3], Y6[::-1, 3])
    assert data.meta["x"] == [12, 11, 10, 12, 11, 10]
    assert data.meta["y"] == [6, 6, 6, 5, 5, 5]


def test_what_is_passed_over_is_said(tmp_path):
    rows, *_ = READ["BWTek.txt"]
    notes = read(written(tmp_path, "t.txt", rows)).notes
    assert any("left out: Pixel, Wavelength, Wavenumber, Dark, Reference" in note for note in notes)
