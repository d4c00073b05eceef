"""Standards out of tables: what is read, and what is refused with words that help."""

import zipfile

import numpy as np
import pandas as pd
import pytest

from ngmca._support.messages import ArgumentError
from ngmca.answers.how_much.standards import check_standards, read_standards
from ngmca.io import ReadError

NAMES = ("blank", "mix 1", "mix 2", "mix 10", "Sample A")
EXPECTED = np.full((5, 2), np.nan)
EXPECTED[[1, 2]] = [[1.5, 0.25], [3.0, np.nan]]
COLUMNS = {"sample": ["mix 1", "mix 2"], "caffeine (mg/L)": [1.5, 3.0], "iron(III) [mM]": [0.25, None]}


def check(found):
    assert found.substances == ("caffeine", "iron(III)")
    assert found.units == ("mg/L", "mM")
    np.testing.assert_array_equal(found.known, EXPECTED)


@pytest.mark.parametrize(
    "text",
    [
        "sample,caffeine (mg/L),iron(III) [mM]\nmix 1,1.5,0.25\nmix 2,3,\n",
        "sample;caffeine (mg/L);iron(III) [mM]\r\n\r\nmix 1;1,5;0,25\r\nMIX 2;3;n/a\r\n",
        "# made on Monday\nsample\tcaffeine (mg/L)\tiron(III) [mM]\nmix 1\t1.5\t0.25\nmix 2\t3.0\tNaN\n",
        '"sample","caffeine (mg/L)","iron(III) [mM]",\n"mix 1",1.5,0.25,\n"mix 2",3,"",\n',
    ],
)
def test_tables_in_text_are_read_however_they_are_written(tmp_path, text):
    path = tmp_path / "standards.csv"
    path.write_bytes(text.encode())
    check(read_standards(path, NAMES))
    check(read_standards(str(path), NAMES))


def ods(path, rows, sheets=1):
    """A workbook of LibreOffice with the same cells in every sheet."""
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    cell, kind = "table:table-cell", "office:value-type"
    told = {
        str: lambda c: f'<{cell} {kind}="string"><text:p>{c}</text:p></{cell}>',
        float: lambda c: f'<{cell} {kind}="float" office:value="{c!r}"/>',
        type(None): lambda c: f"<{cell}/>",
    }
    lines = ("".join(told[type(c)](c) for c in row) for row in rows)
    body = "".join(f"<table:table-row>{line}</table:table-row>" for line in lines)
    table = "".join(f'<table:table table:name="{i}">{body}</table:table>' for i in range(sheets))
    spaces = " ".join(f'xmlns:{key}="{names}{key}:1.0"' for key in ("office", "table", "text"))
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr(
            "META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{names}manifest:1.0"/>'
        )
        book.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{table}"
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return path


def test_workbooks_frames_and_dicts_say_the_same(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    rows = [[None] * 4, [None, *COLUMNS], [None, "mix 1", 1.5, 0.25], [None, "mix 2", 3.0, None]]
    book = ods(tmp_path / "standards.ods", rows)
    for given in (book, frame, frame.set_index("sample"), COLUMNS):
        check(read_standards(given, NAMES))


def test_errors_in_workbooks_name_the_line_and_ask_for_one_sheet(tmp_path):
    rows = [[None, None], ["s", "a"], ["mix 1", 1.0], ["mix 2", "much"]]
    with pytest.raises(ReadError, match=r"standards.ods, line 4, a: 'much' is not a number"):
        read_standards(ods(tmp_path / "standards.ods", rows), NAMES)
    with pytest.raises(ReadError, match="must have one sheet with numbers, got 0 3x2, 1 3x2"):
        read_standards(ods(tmp_path / "two.ods", rows, sheets=2), NAMES)


def test_numbers_count_from_1_in_tables_and_from_0_in_pairs():
    numbered = ("1", "2", "3")
    table = read_standards({"measurement": [2, 3.0], "a": [5, 6]}, numbered)
    pair = read_standards(([1, np.int64(2)], [5, 6]), numbered, unit="g")
    for found in (table, pair):
        np.testing.assert_array_equal(found.known, [[np.nan], [5], [6]])
    assert (pair.substances, pair.units) == (("substance 1",), ("g",))
    named = read_standards((["mix 1", "blank"], [[5, np.nan], [6, 1]]), NAMES)
    np.testing.assert_array_equal(named.known[:2], [[6, 1], [5, np.nan]])


@pytest.mark.parametrize(
    ("head", "name", "unit"),
    [
        ("caffeine (mg/L)", "caffeine", "mg/L"),
        ("caffeine(g L-1)", "caffeine", "g L-1"),
        ("ethanol [%]", "ethanol", "%"),
        ("citric acid (mmol)", "citric acid", "mmol"),
        ("NaCl (aq)", "NaCl (aq)", ""),
        ("vitamin (C)", "vitamin (C)", ""),
        ("limonene (R)", "limonene (R)", ""),
        ("copper(II)", "copper(II)", ""),
    ],
)
def test_brackets_hold_a_unit_or_belong_to_the_name(head, name, unit):
    found = read_standards({"sample": ["blank"], head: [1]}, NAMES)
    assert (found.substances, found.units) == ((name,), (unit,))


def test_a_row_that_comes_twice_may_add_and_must_not_contradict():
    table = {"sample": ["mix 1"] * 3, "a": [1, 1, 1], "b": [None, 2, None]}
    np.testing.assert_array_equal(read_standards(table, NAMES).known[1], [1, 2])
    with pytest.raises(ReadError, match=r"'mix 1' twice, with 1 and 1.5 of a"):
        read_standards(table | {"a": [1, 1.5, 1]}, NAMES)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"s": ["mix1"], "a": [1]},
            r"no measurement has the name 'mix1'. The nearest are 'mix 1', 'mix",
        ),
        ({"s": ["zzz"], "a": [1]}, "The nearest are 'blank', 'mix 1'"),
        ({"s": [2], "a": [1]}, "or their numbers from 1 if they have no names"),
        (
            {"s": ["mix 1"], "a (mg/L)": [1], "A (mol/L)": [2]},
            "two columns for A, in 'mg/L' and in 'mol/L'",
        ),
        ({"s": ["mix 1"], "a": ["5 %"]}, "row 1, a: '5 %' is not a number. .*units into the heading"),
        ({"s": ["mix 1"], "a": ["<lod"]}, "'<lod' is not a number"),
        ({"s": ["mix 1"], "a": [True]}, "True is not a number"),
        ({"s": ["mix 1", "mix 2"], "a": [1, -0.5]}, "row 2, a: a concentration of -0.5 is not possible"),
        ({"s": ["mix 1"], "a": [np.inf]}, "a concentration of inf is not possible"),
        ({"s": ["mix 1"], "a (%)": [250]}, "250 % of a. Some rows may have another unit"),
        ({"s": ["mix 1"], "3": [250]}, "the first line must have names of substances, but has '3'"),
        ({"s": ["mix 1"]}, "there are no concentrations"),
        ({"s": ["mix 1"], "a": [1, 2]}, "lists of equal length"),
        ({"s": "mix 1", "a": 2}, "must have lists"),
    ],
)
def test_bad_tables_are_refused_with_what_to_do(columns, words):
    with pytest.raises(ValueError, match=words):
        read_standards(columns, NAMES)


@pytest.mark.parametrize(
    "heads", [("row", "column", "a"), ("Row", "Column ", "a"), ("s", "row", "column")]
)
def test_pixels_by_row_and_column_are_refused_with_how_they_are_numbered(heads):
    with pytest.raises(ReadError, match=r"row x width \+ column \+ 1"):
        read_standards(dict(zip(heads, ([1, 2], [2, 3], [4, 5]), strict=True)), ("1", "2", "3"))


@pytest.mark.parametrize(
    "index", [[1, 2], [0, 1], pd.RangeIndex(1, 3), pd.RangeIndex(0, 4, 2), [1.0, 2.0]]
)
def test_an_index_that_counts_is_no_index_of_numbered_measurements(index):
    frame = pd.DataFrame({"a": [5.0, 6.0]}, index=index)
    with pytest.raises(ArgumentError, match="pandas counts from 0"):
        read_standards(frame, ("1", "2", "3"))
    named = read_standards(frame.set_axis([20, 10]), ("10", "20", "30"))
    np.testing.assert_array_equal(named.known[:, 0], [6, 5, np.nan])


def test_no_column_of_a_frame_is_lost():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"], index=["mix 1"])
    with pytest.raises(ReadError, match="two columns for a"):
        read_standards(frame, NAMES)
    frame = pd.DataFrame({"measurement": ["mix 2"], "a": [1]}, index=["mix 1"])
    with pytest.raises(ReadError, match="'mix 2' is not a number"):
        read_standards(frame, NAMES)


def test_standards_are_checked_before_there_are_sources():
    standards = read_standards({"s": ["mix 1", "mix 2"], "a": [1, 2], "b": [2, 1]}, NAMES)
    check_standards(standards, 2)
    with pytest.raises(
        ValueError, match=r"2 substances \(a and b\), but there is 1 source: sep"
    ) as error:
        check_standards(standards, 1)
    assert "names=" not in str(error.value)


def test_errors_name_the_line_of_the_file(tmp_path):
    path = tmp_path / "standards.csv"
    path.write_text("sample,a,b\n# a remark\nmix 1,1,2\nmix 2,1\n")
    with pytest.raises(ReadError, match="line 4 has 2 cells, the first has 3"):
        read_standards(path, NAMES)
    path.write_text("sample,a,b\n\nmix 1,1,much\n")
    with pytest.raises(ReadError, match=r"standards.csv, line 3, b: 'much' is not a number"):
        read_standards(path, NAMES)
    path.write_text("")
    with pytest.raises(ReadError, match=r"standards.csv"):
        read_standards(path, NAMES)
    with pytest.raises(ReadError, match="does not exist"):
        read_standards(tmp_path / "other.csv", NAMES)
    np.save(tmp_path / "a.npy", np.ones(3))
    with pytest.raises(ReadError, match="is not a table"):
        read_standards(tmp_path / "a.npy", NAMES)


def test_units_that_contradict_and_names_that_are_not_unique_are_refused():
    with pytest.raises(ArgumentError, match="a is in 'mg/L', which contradicts unit='g/L'"):
        read_standards({"s": ["mix 1"], "a (mg/L)": [1]}, NAMES, unit="g/L")
    with pytest.raises(ReadError, match="2 measurements have the name 'x'"):
        read_standards({"s": ["x"], "a": [1]}, ("x", "x", "y"))


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (([0, 9], [1, 2]), "no measurement 9. Indices go from 0 to 4"),
        (([0, 1], [[1], [2], [3]]), "one row of concentrations for each of 2 measurements"),
        (([0, 1], [1, -2]), "a concentration of -2 is not possible"),
        (([0, 0], [1, 2]), "twice"),
    ],
)
def test_bad_pairs_are_refused(pair, words):
    with pytest.raises(ValueError, match=words):
        read_standards(pair, NAMES)


def test_what_is_no_table_is_a_type_error():
    for given in (5, np.ones((3, 2)), {"mix 1"}):
        with pytest.raises(TypeError, match="standards must be a table"):
            read_standards(given, NAMES)
    with pytest.raises(TypeError, match="an index of a standard must be an integer"):
        read_standards(([0.5, 1.0], [1, 2]), NAMES)


def test_times_of_standards_need_those_of_the_measurements():
    given = {"time [h]": [0.0, 0.6], "glucose": [44.0, 43.0]}
    with pytest.raises(ReadError, match=r"has times, but .* with rows, as 'time \[h\] 0:0\.5'"):
        read_standards(given, ["1", "2", "3"])
