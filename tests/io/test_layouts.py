"""Tables in every layout: read right, or refused with both readings named; never read wrong."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from ngmca.cli import app
from ngmca.io import ReadError, read

WN = np.linspace(400, 1800, 71)
TIMES = np.arange(12) * 5.0


def bands(axis, centres, width):
    return np.exp(-(((axis[:, None] - centres) / width) ** 2)).T


def kinetics(noise=0.01, seed=0):
    """Spectra of a reaction A -> B -> C, one a time."""
    rng = np.random.default_rng(seed)
    shares = np.stack(
        [np.exp(-TIMES / 15), TIMES / 20 * np.exp(1 - TIMES / 20), 1 - np.exp(-TIMES / 30)]
    )
    spectra = np.stack([bands(WN, rng.uniform(450, 1750, 4), 40.0).sum(axis=0) for _ in range(3)])
    return np.round(shares.T @ spectra + noise * rng.standard_normal((12, 71)), 5)


def samples(count=12, seed=1):
    """Spectra of mixtures in no order."""
    rng = np.random.default_rng(seed)
    spectra = bands(WN, rng.uniform(450, 1750, 5), 40.0)
    return np.round(
        rng.uniform(0, 1, (count, 5)) @ spectra + 0.005 * rng.standard_normal((count, 71)), 5
    )


Y, MIXED = kinetics(), samples()
NAMES = [f"tube {i}" for i in range(12)]


def frame(values, index, columns, name=None):
    return pd.DataFrame(values, index=pd.Index(index, name=name), columns=columns)


# what is written, and what must come out: Y, axis, name and unit, names of measurements
FRAMES = {
    "wavenumbers down, times across": (
        frame(Y.T, WN, TIMES, "wavenumber"), Y, ("wavenumber", "cm-1"), [str(t) for t in TIMES]),
    "times down, wavenumbers across": (
        frame(Y, TIMES, WN, "time"), Y, ("channel", ""), [f"{t:g}" for t in TIMES]),
    "both named in the corner": (
        frame(Y, TIMES, WN, "time (s)\\wavenumber"), Y, ("wavenumber", "cm-1"),
        [f"{t:g}" for t in TIMES]),
    "nothing named, wavenumbers down": (frame(Y.T, WN, TIMES), Y, ("channel", ""), None),
    "nothing named, times down": (frame(Y, TIMES, WN), Y, ("channel", ""), None),
    "numbers of samples across": (
        frame(MIXED.T, WN, range(12), "Raman shift (cm-1)"), MIXED, ("Raman shift", "cm-1"), None),
    "numbers of samples down": (frame(MIXED, range(1, 13), WN, "sample"), MIXED, ("channel", ""), None),
    "numbers of samples down, no name": (frame(MIXED, range(12), WN), MIXED, ("channel", ""), None),
    "the axis across is named": (
        frame(MIXED, range(12), WN, "wavenumber"), MIXED, ("wavenumber", "cm-1"), None),
    "names across": (frame(Y.T, WN, NAMES, "wavelength_nm"), Y, ("wavelength", "nm"), NAMES),
    "names down": (frame(Y, NAMES, WN, "ppm"), Y, ("chemical shift", "ppm"), NAMES),
    "units above": (frame(Y, NAMES, [f"{w:g} nm" for w in WN]), Y, ("wavelength", "nm"), NAMES),
    "X above, as R does": (frame(Y, NAMES, [f"X{w:g}" for w in WN]), Y, ("channel", ""), NAMES),
    "properties beside": (
        frame(Y, NAMES, WN, "name").assign(conc=1.5).reset_index().iloc[:, [0, -1, *range(1, 72)]],
        Y, ("channel", ""), [f"name={n}, conc=1.5" for n in NAMES]),
    "numbered rows, names across": (
        frame(MIXED.T, range(71), NAMES), MIXED, ("channel", ""), NAMES),
}  # fmt: skip


@pytest.mark.parametrize("layout", FRAMES)
def test_frames_of_pandas(tmp_path, layout):
    made, values, axis, names = FRAMES[layout]
    made.to_csv(tmp_path / "t.csv", index=layout != "properties beside")
    data = read(tmp_path / "t.csv")
    np.testing.assert_array_equal(data.Y, values)
    np.testing.assert_allclose(data.axis, np.arange(71) if layout.startswith("numbered") else WN)
    assert (data.axis_name, data.axis_unit) == axis
    assert any("is the axis" in note for note in data.notes)
    if names is not None:
        assert list(data.row_names) == names


def test_every_decision_can_be_overridden(tmp_path):
    path = tmp_path / "t.csv"
    frame(Y.T, WN, TIMES, "wavenumber").to_csv(path)
    for options in ({}, {"axis": "first-column"}, {"transpose": True}):
        data = read(path, **options)
        np.testing.assert_array_equal(data.Y, Y)
        np.testing.assert_allclose(data.axis, WN)
    for options in ({"axis": "first-row"}, {"transpose": False}):
        data = read(path, **options)
        np.testing.assert_array_equal(data.Y, Y.T)
        np.testing.assert_array_equal(data.axis, TIMES)
    np.testing.assert_array_equal(read(path, axis="none").Y, np.column_stack([WN, Y.T]))
    np.testing.assert_array_equal(read(path, axis="none", columns="2-13", transpose=True).Y, Y)
    with pytest.raises(ReadError, match="axis in the first column: leave out transpose"):
        read(path, axis="first-column", transpose=False)
    with pytest.raises(ReadError, match="one of 'first-column', 'first-row', 'none'"):
        read(path, axis="top")


def test_columns_by_number_and_by_name(tmp_path):
    path = tmp_path / "t.csv"
    frame(Y.T, WN, NAMES, "wavenumber").to_csv(path)
    for columns in ("4-6,9", "tube 2,tube 3,tube 4,tube 7"):
        data = read(path, columns=columns)
        np.testing.assert_array_equal(data.Y, Y[[2, 3, 4, 7]])
        np.testing.assert_allclose(data.axis, WN)
        assert data.row_names == ("tube 2", "tube 3", "tube 4", "tube 7")
    with pytest.raises(ReadError, match="has columns 1 to 13: columns='14' does not fit"):
        read(path, columns="14")
    with pytest.raises(ReadError, match="has no column 'tube 20': it has wavenumber, tube 0"):
        read(path, columns="tube 20")
    np.savetxt(path, MIXED, delimiter=",")
    np.testing.assert_array_equal(read(path, columns="2-5").Y, MIXED[:, 1:5])


def test_lines_to_skip_and_the_line_of_names(tmp_path):
    path = tmp_path / "t.csv"
    rows = frame(Y.T, WN, NAMES, "wavenumber").to_csv().splitlines()
    path.write_text("\n".join(["1,2,3", "9,9", *rows]))
    with pytest.raises(ReadError, match=r"line 1 has 3 cells, other lines have 13. Give skip=1"):
        read(path)
    for options in ({"skip": 2}, {"header": 3}):
        data = read(path, **options)
        np.testing.assert_array_equal(data.Y, Y)
        assert (data.axis_unit, data.row_names) == ("cm-1", tuple(NAMES))
    data = read(path, skip=2, header=0)
    np.testing.assert_array_equal(data.Y, Y)
    assert (data.axis_unit, data.row_names) == ("", ())
    with pytest.raises(ReadError, match="has no names in line 200"):
        read(path, header=200)


def test_options_for_tables_are_not_passed_over(tmp_path):
    np.save(tmp_path / "d.npy", Y)
    with pytest.raises(ReadError, match=r"d\.npy is not a table: leave out header"):
        read(tmp_path / "d.npy", header=1)
    (tmp_path / "t.csv").write_text("1,2,3\n4,5,6\n")
    with pytest.raises(ReadError, match=r"has no array with several dimensions: leave out axes"):
        read(tmp_path / "t.csv", axes="time,channel")


def test_options_of_the_command_line_stay_in_run_toml(tmp_path):
    frame(Y.T, WN, TIMES).to_csv(tmp_path / "t.csv")
    options = ("--axis", "first-column", "--columns", "2-9", "--header", "1", "--skip", "0")
    seen = CliRunner().invoke(app, ["info", str(tmp_path / "t.csv"), *options, "--json"])
    assert '"measurements": 8' in seen.stdout
    out = tmp_path / "out"
    given = ("-r", "2", "-o", str(out), "--iterations", "5", "--n-init", "1")
    done = CliRunner().invoke(app, ["separate", str(tmp_path / "t.csv"), *options, *given])
    assert done.exit_code == 0, done.output
    kept = (out / "run.toml").read_text()
    for line in ('axis = "first-column"', 'columns = "2-9"', "header = 1", "skip = 0"):
        assert line in kept
    again = ["separate", "--config", str(out / "run.toml"), "-o", str(tmp_path / "again")]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert read(tmp_path / "again" / "sources.csv").Y.shape == (2, 71)


def test_an_unclear_table_is_bad_input(tmp_path):
    noise = np.random.default_rng(0).random((9, 9))
    frame(noise, np.arange(9) + 2.5, np.arange(9) + 30.5).to_csv(tmp_path / "t.csv")
    done = CliRunner().invoke(app, ["info", str(tmp_path / "t.csv")])
    assert done.exit_code == 2
    assert done.stderr.count("9 measurements x 9 channels") == 2
    assert "first-row" in done.stderr
    assert "first-column" in done.stderr


def test_the_table_of_the_largest_kind(tmp_path):
    wn, times = np.linspace(900, 2450, 1551), np.linspace(0.5, 221.5, 443)
    shares = np.stack([np.exp(-times / 60), 1 - np.exp(-times / 90)])
    spectra = np.stack([np.exp(-(((wn - c) / 35) ** 2)) for c in (1100, 1650)]) + 0.2 * np.exp(
        -(((wn - 2100) / 20) ** 2)
    )
    values = np.round(shares.T @ spectra, 4)
    for made in (frame(values.T, wn, times, "wavenumber"), frame(values, times, wn, "time / s")):
        made.to_csv(tmp_path / "t.csv")
        data = read(tmp_path / "t.csv")
        np.testing.assert_array_equal(data.Y, values)
        np.testing.assert_allclose(data.axis, wn)


class Drawn:
    """A table of spectra in a drawn layout: what is written, and what must be read."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.m, self.n = int(rng.integers(2, 16)), int(rng.integers(20, 120))
        self.ordered = rng.random() < 0.4
        self.word, self.axis = self._axis()
        self.style = self._style()
        self.cells = np.array([[self.style(v) for v in row] for row in self._spectra()])
        self.Y = np.array([[self._value(c) for c in row] for row in self.cells])

    def _axis(self):
        word, low, high = [
            ("wavenumber", 400, 4000), ("wavelength [nm]", 220, 780), ("ppm", 0.4, 9.6),
            ("Raman shift (cm-1)", 150, 1900), ("Energy (eV)", 280, 295), ("m/z", 50, 600),
        ][self.rng.integers(6)]  # fmt: skip
        grid = np.linspace(0, 1, self.n) ** self.rng.choice([1.0, 1.0, 0.9])
        axis = np.round(low + (high - low) * grid, 4)
        return word, axis[::-1] if self.rng.random() < 0.4 else axis

    def _spectra(self):
        """Bands with noise; in the order of a reaction, or in none."""
        rng, x = self.rng, np.linspace(0, 1, self.n)
        r = int(rng.integers(2, 5))
        shape = [np.exp(-(((x - c) / w) ** 2)) for c, w in rng.uniform((0, 0.02), (1, 0.1), (3 * r, 2))]
        S = np.array(shape).reshape(r, 3, -1).sum(axis=1)
        t = np.linspace(0, 1, self.m)[:, None]
        rates = rng.uniform(0.5, 6, r)
        A = np.exp(-t * rates) + t * rng.random(r) if self.ordered else rng.random((self.m, r))
        scale = 10 ** rng.uniform(-1, 4)
        return scale * (A @ S + 10 ** rng.uniform(-3, -1) * rng.standard_normal((self.m, self.n)))

    def _style(self):
        self.delimiter = str(self.rng.choice([",", ",", ";", "\t", " "]))
        self.comma = self.delimiter != "," and self.rng.random() < 0.4
        digits = self.rng.choice([".6g", ".8g", ".4e", ".5f"])
        return lambda v: f"{v:{digits}}".replace(".", "," if self.comma else ".")

    def _value(self, cell):
        return float(cell.replace(",", "."))

    def labels(self):
        """What counts or names the measurements, and what that is called."""
        kind = self.rng.choice(["names", "numbers", "from 0", "times"])
        if kind == "times" and not self.ordered:
            kind = "names"
        start = self.rng.choice([0, 0, 20])
        word, cells = {
            "names": ("name", [f"s_{i}" for i in self.rng.permutation(self.m)]),
            "numbers": ("sample", [str(i + 1) for i in range(self.m)]),
            "from 0": ("", [str(i) for i in range(self.m)]),
            "times": ("time (s)", [f"{start + 5 * i:g}" for i in range(self.m)]),
        }[kind]
        return word, cells

    def text(self):
        """The lines of the file: the axis down the first column, or across the first row."""
        rng = self.rng
        place = [f"{v:g}".replace(".", "," if self.comma else ".") for v in self.axis]
        self.axis = np.array([self._value(cell) for cell in place])
        word, names = self.labels()
        self.down = rng.random() < 0.5
        named, spoken = rng.random() < 0.8, rng.random() < 0.6
        if self.down or rng.random() < 0.1:  # some write the name of the axis above the other one
            word = self.word
        if self.delimiter == " ":
            word = word.replace(" ", "")
        rows = (
            np.column_stack([place, self.cells.T]) if self.down else np.column_stack([names, self.cells])
        )
        lines = [list(row) for row in rows]
        if not named and not self.down:
            lines = [line[1:] for line in lines]
        top = [word if spoken else "", *(names if self.down else place)]
        if not named:
            top = [] if self.down else place
        if top and self.delimiter == " " and top[0] == "":
            top[0] = "x"
        lines = [top, *lines] if top else lines
        comments = ["# drawn at random", "% nothing else"][: rng.integers(3)]
        return "\n".join([*comments, *(self.delimiter.join(line) for line in lines)]) + "\n"


def outcome(seed, folder):
    """Whether a drawn table is read right (True), or refused (False)."""
    drawn = Drawn(seed)
    path = folder / "t.txt"
    path.write_text(drawn.text())
    try:
        data = read(path)
    except ReadError as error:
        if "two ways" in str(error) or "thousands" in str(error):
            return False
        raise
    np.testing.assert_array_equal(data.Y, drawn.Y)
    np.testing.assert_array_equal(data.axis, drawn.axis)
    return True


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_drawn_tables_are_read_right_or_refused(tmp_path_factory, seed):
    outcome(seed, tmp_path_factory.mktemp("drawn"))


def test_few_drawn_tables_are_refused(tmp_path):
    assert np.mean([outcome(seed, tmp_path) for seed in range(300)]) > 0.9
