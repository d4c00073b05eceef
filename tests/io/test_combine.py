"""Several files as one table: what adds up is put together, what does not is refused."""

import numpy as np
import pytest

from ngmca.io import Dataset, ReadError, read
from ngmca.io.combine import combine

WAVENUMBERS = np.linspace(4000.0, 400.0, 40)
BAND = np.exp(-(((WAVENUMBERS - 1700) / 300) ** 2))


def table(path, heading, y):
    lines = [f"cm-1,{heading}", *(f"{a:.6f},{b:.6f}" for a, b in zip(WAVENUMBERS, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def peaks(title, pairs):
    listed = "\n".join(f"{a}, {b}" for a, b in pairs)
    return (
        f"##TITLE={title}\n##JCAMP-DX=4.24\n##DATA TYPE=MASS SPECTRUM\n##XUNITS=M/Z\n"
        f"##YUNITS=RELATIVE ABUNDANCE\n##NPOINTS={len(pairs)}\n##PEAK TABLE=(XY..XY)\n{listed}\n##END=\n"
    )


def compound(path, blocks):
    head = f"##TITLE=many\n##JCAMP-DX=4.24\n##DATA TYPE=LINK\n##BLOCKS={len(blocks)}\n"
    path.write_text(head + "".join(peaks(*block) for block in blocks) + "##END=\n")
    return path


def jcamp(path, unit, y):
    pairs = "\n".join(f"{a:.4f}, {b:.6f}" for a, b in zip(WAVENUMBERS, y, strict=True))
    path.write_text(
        f"##TITLE={path.stem}\n##JCAMP-DX=4.24\n##DATA TYPE=INFRARED SPECTRUM\n##XUNITS=1/CM\n"
        f"##YUNITS={unit}\n##NPOINTS={len(y)}\n##XYPOINTS=(XY..XY)\n{pairs}\n##END=\n"
    )
    return path


@pytest.mark.parametrize(
    ("one", "other"),
    [("A", "%T"), ("Abs", "% Transmittance"), ("Absorbance (AU)", "Transmission [%]")],
)
def test_absorbance_and_transmittance_in_one_folder_are_refused(tmp_path, one, other):
    table(tmp_path / "first.csv", one, BAND)
    table(tmp_path / "second.csv", other, 100 * 10**-BAND)
    with pytest.raises(ReadError, match="first has absorbance and second has transmittance"):
        read(tmp_path)


def test_text_in_transmittance_beside_jcamp_is_refused(tmp_path):
    files = [jcamp(tmp_path / "a.jdx", "ABSORBANCE", BAND), table(tmp_path / "b.csv", "%T", 90 - BAND)]
    with pytest.raises(ReadError, match="a has absorbance and b has transmittance"):
        read(files)


def test_jcamp_in_both_becomes_absorbance(tmp_path):
    jcamp(tmp_path / "transmission.jdx", "ABSORBANCE", BAND)  # a name is no unit
    jcamp(tmp_path / "b.jdx", "TRANSMITTANCE", 10**-BAND)
    data = read(tmp_path)
    np.testing.assert_allclose(data.Y[0], data.Y[1], atol=1e-4)


@pytest.mark.parametrize(("one", "other"), [("A", "T"), ("%T", "%T"), ("Abs", "A"), ("%T", "tube 3")])
def test_samples_and_equal_kinds_are_not_refused(tmp_path, one, other):
    table(tmp_path / "first.csv", one, BAND)
    table(tmp_path / "second.csv", other, 2 * BAND)
    assert read(tmp_path).Y.shape == (2, 40)


def test_all_lists_of_peaks_of_every_file_are_kept(tmp_path):
    many = compound(
        tmp_path / "many.jdx", [("x", [(10, 1), (12, 2)]), ("y", [(12, 3), (13, 4), (20, 5)])]
    )
    (tmp_path / "one.jdx").write_text(peaks("z", [(11, 6), (13, 7)]))
    data = read([many, tmp_path / "one.jdx"])
    np.testing.assert_array_equal(data.axis, [10, 11, 12, 13, 20])
    np.testing.assert_array_equal(data.Y, [[1, 0, 2, 0, 0], [0, 0, 3, 4, 5], [0, 6, 0, 7, 0]])
    assert data.row_names == ("many: x", "many: y", "one")
    assert "3 peak lists" in data.notes[-1]


def test_a_list_of_peaks_beside_a_spectrum_is_refused(tmp_path):
    (tmp_path / "peaks.jdx").write_text(peaks("z", [(500, 6), (700, 7)]))
    lines = "m/z,counts\n" + "".join(f"{x},{x % 7}\n" for x in range(400, 900, 10))
    (tmp_path / "spectrum.csv").write_text(lines)
    with pytest.raises(ReadError, match="peaks is a peak list and spectrum is a spectrum"):
        read(tmp_path)


def test_uneven_axes_keep_the_points_of_one_of_them():
    edge = np.concatenate([np.arange(0, 100, 10), np.arange(100, 120, 0.5), np.arange(120, 200, 5)])
    axes = [edge, edge[3:] + 0.1, edge[:-2] - 0.1]
    parts = [Dataset((axis**2)[None], axis, "energy", "eV") for axis in axes]
    data = combine(parts, ["a", "b", "c\x1b"])
    assert set(data.axis) < set(axes[1])
    np.testing.assert_array_equal(data.Y[1], data.axis**2)
    np.testing.assert_allclose(data.Y[0], np.interp(data.axis, edge, edge**2))
    assert "of uneven steps were interpolated linearly to that of b" in data.notes[0]
    turned = combine([Dataset(p.Y[:, ::-1], p.axis[::-1], "energy", "eV") for p in parts], "abc")
    np.testing.assert_array_equal(turned.axis, data.axis[::-1])
    np.testing.assert_array_equal(turned.Y, data.Y[:, ::-1])


def test_a_folder_of_two_ranges_is_an_error_in_words(tmp_path):
    for name, first in (("a", 400), ("b", 900)):
        lines = "".join(f"{first + 10 * i},{i}\n" for i in range(6))
        (tmp_path / f"{name}.csv").write_text(f"wavelength [nm],y\n{lines}")
    with pytest.raises(ReadError, match="a ends at 450 and b begins at 900"):
        read(tmp_path)
