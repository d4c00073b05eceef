"""Tables as text, in every shape that spreadsheets and instruments give them."""

import csv
import gzip

import numpy as np
import pytest

from ngmca.io import ReadError, read, write_table
from ngmca.io.tables.cells import Style

Y = np.array([[0.5, 2.0, -1.25, 7.0, 3.0, 1.5], [1.0, 0.0, 4.5, 2.0, 9.0, 0.25]])
AXIS = np.array([9.5, 8.0, 6.5, 5.0, 3.5, 2.0])


def table(rows, sep=","):
    return "\n".join(sep.join(str(cell) for cell in row) for row in rows) + "\n"


PLAIN = table(Y)
LAYOUTS = {
    "plain": (PLAIN, None, ()),
    "white space": (table(Y, "  "), None, ()),
    "tabs": (table(Y, "\t"), None, ()),
    "comments": ("# made by x\n%more\n\n" + PLAIN, None, ()),
    "decimal commas": (table(Y, ";").replace(".", ","), None, ()),
    "decimal commas and spaces": (table(Y, " ").replace(".", ","), None, ()),
    "decimal commas and tabs": (table(Y, "\t").replace(".", ","), None, ()),
    "windows": (PLAIN.replace("\n", "\r\n"), None, ()),
    "trailing delimiter": (PLAIN.replace("\n", ",\n"), None, ()),
    "byte order mark": ("\ufeff" + PLAIN, None, ()),
    "index column": (table([("a", *Y[0]), ("b", *Y[1])]), None, ("a", "b")),
    "axis row": (table([AXIS, *Y]), AXIS, ()),
    "axis row, named corner": (table([("ppm", *AXIS), ("a", *Y[0]), ("b", *Y[1])]), AXIS, ("a", "b")),
    "axis row, numbered rows": (table([("", *AXIS), (1, *Y[0]), (2, *Y[1])]), AXIS, ("1", "2")),
    "axis row, short header": (table([AXIS, ("a", *Y[0]), ("b", *Y[1])]), AXIS, ("a", "b")),
    "axis column": (table(np.column_stack([AXIS, Y.T])), AXIS, ()),
    "axis column, header": (table([("ppm", "a", "b"), *np.column_stack([AXIS, Y.T])]), AXIS, ("a", "b")),
    "quoted": (table([('"p,q"', '"a"', '"b"'), *np.column_stack([AXIS, Y.T])]), AXIS, ("a", "b")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_numbers_come_out_of_every_layout(tmp_path, layout):
    text, axis, names = LAYOUTS[layout]
    (tmp_path / "t.csv").write_bytes(text.encode())
    data = read(tmp_path / "t.csv")
    np.testing.assert_array_equal(data.Y, Y)
    assert data.row_names == names
    if axis is None:
        assert data.axis is None
    else:
        np.testing.assert_array_equal(data.axis, axis)


def test_gzip_and_utf16(tmp_path):
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(PLAIN.encode()))
    (tmp_path / "t.txt").write_bytes(PLAIN.encode("utf-16"))
    np.testing.assert_array_equal(read(tmp_path / "t.txt.gz").Y, Y)
    np.testing.assert_array_equal(read(tmp_path / "t.txt").Y, Y)


@pytest.mark.parametrize(
    ("corner", "name", "unit"),
    [
        ("ppm", "chemical shift", "ppm"),
        ("Energy (keV)", "energy", "keV"),
        ("wavelength [nm]", "wavelength", "nm"),
        ("1/cm", "wavenumber", "cm-1"),
        ("bias", "bias", ""),
    ],
)
def test_name_and_unit_of_the_axis(tmp_path, corner, name, unit):
    (tmp_path / "t.csv").write_text(table([(corner, "a", "b"), *np.column_stack([AXIS, Y.T])]))
    data = read(tmp_path / "t.csv")
    assert (data.axis_name, data.axis_unit) == (name, unit)


def test_transpose_is_as_asked_and_the_axis_wins_without_asking(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(PLAIN)
    np.testing.assert_array_equal(read(path, transpose=True).Y, Y.T)
    path.write_text(table(np.column_stack([AXIS, Y.T])))
    np.testing.assert_array_equal(read(path, transpose=True).Y, Y)  # it says what is so already
    with pytest.raises(ReadError, match="axis in the first column"):
        read(path, transpose=False)


def test_one_spectrum_a_file_and_a_folder_of_them(tmp_path):
    for name, row in zip("ab", Y, strict=True):
        (tmp_path / f"{name}.xy").write_text(table(np.column_stack([AXIS, row]), " "))
    assert read(tmp_path / "a.xy").Y.shape == (1, 6)
    data = read(tmp_path)
    np.testing.assert_array_equal(data.Y, Y)
    assert data.row_names == ("a", "b")


def test_different_axes_meet_on_a_common_one_and_it_says_so(tmp_path):
    fine, coarse = np.linspace(0, 10, 201), np.linspace(1, 12, 111)
    (tmp_path / "a.txt").write_text(table(np.column_stack([fine, 2 * fine + 1])))
    (tmp_path / "b.txt").write_text(table(np.column_stack([coarse, 30 - coarse])))
    data = read(tmp_path)
    assert data.axis[0] == 1
    assert data.axis[-1] == 10
    np.testing.assert_allclose(data.Y, [2 * data.axis + 1, 30 - data.axis], atol=1e-9)
    assert any("common" in note for note in data.notes)


def test_written_tables_keep_every_digit(tmp_path):
    values = np.random.default_rng(0).standard_normal((3, 50))
    axis = np.linspace(10, 0, 50)
    write_table(tmp_path / "t.csv", {"ppm": axis, "a": values[0], "b": values[1], "c": values[2]})
    data = read(tmp_path / "t.csv")
    np.testing.assert_array_equal(data.Y, values)
    np.testing.assert_array_equal(data.axis, axis)
    assert data.row_names == ("a", "b", "c")


def test_written_words_are_no_formulas(tmp_path):
    words = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=x", "\r=x", "plain", "-1.5", "", "\udcff"]
    write_table(tmp_path / "t.csv", {"=HYPERLINK()": words, "-3": np.arange(-5.0, 5.0)}, comment="a\nb")
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        assert file.readline() == "# a b\n"
        names, *rows = csv.reader(file)
    assert names == ["'=HYPERLINK()", "-3"]
    harmless = ["'" + word for word in words[:4]] + [" '=x", " '=x", *words[6:9], "\\udcff"]
    assert [row[0] for row in rows] == harmless
    assert [float(row[1]) for row in rows] == list(range(-5, 5))


def test_written_columns_of_one_name_are_all_there(tmp_path):
    columns = [
        ("source 1", [1, 2]),
        ("source 1", [3, 4]),
        ("source 1 (2)", [5, 6]),
        ("source 1", [7, 8]),
    ]
    write_table(str(tmp_path / "t.csv"), columns)
    with (tmp_path / "t.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    assert names == ["source 1", "source 1 (3)", "source 1 (2)", "source 1 (4)"]
    assert rows == [["1", "3", "5", "7"], ["2", "4", "6", "8"]]


def test_a_part_of_the_axis(tmp_path):
    (tmp_path / "t.csv").write_text(table([AXIS, *Y]))
    part = read(tmp_path / "t.csv").crop(3, 8)
    np.testing.assert_array_equal(part.axis, [8.0, 6.5, 5.0, 3.5])
    np.testing.assert_array_equal(part.Y, Y[:, 1:5])
    with pytest.raises(ReadError, match=r"20:30.*2 to 9\.5"):
        part.crop(2, 9.5) and read(tmp_path / "t.csv").crop(20, 30)


def test_nor_are_they_where_cells_are_parted_otherwise(tmp_path):
    words = ["x;=cmd|'/C calc'!A0", "a\t=1+1", "a|@x", "a; +1", "\uff1d1+1", "b;\uff20x", "a;b c|d - e"]
    write_table(tmp_path / "t.csv", {"n": [1] * 7, "words": words})
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        written = [row[1] for row in csv.reader(file)][1:]
    harmless = ["x;'=cmd|'/C calc'!A0", "a =1+1", "a|'@x", "a; '+1", "'\uff1d1+1", "b;'\uff20x"]
    assert written == [*harmless, "a;b c|d - e"]


def test_names_with_an_underscore_are_no_numbers():
    """Python reads 1_0 as ten; in a table it is the name of a sample."""
    style = Style(",")
    assert style.number("1_0") is None
    assert style.is_word("1_0")
    assert style.number("10") == 10
