"""NMR spectra in JCAMP-DX as TopSpin writes them, and axes in Hz as chemical shifts."""

import numpy as np
import pytest

from ngmca.io import ReadError, read
from ngmca.io.vendors.jcamp_digits import decoded

# a line in the most compressed form, with steps and repeated steps
LINE = "1@VKT%TLkj%J%KLJ%njKjL%kL%jJULJ%kLK1%lLMNPNPRLJ0QTOJ1P"
NUMBERS = [0, 0, 0, 0, 2, 4, 4, 4, 7, 5, 4, 4, 5, 5, 7, 10, 11, 11, 6, 5, 7, 6, 9, 9, 7, 10, 10, 9, 10,
           11, 12, 15, 16, 16, 14, 17, 38, 38, 35, 38, 42, 47, 54, 59, 66, 75, 78, 88, 96, 104, 110,
           121, 128]  # fmt: skip
TOPSPIN = """##TITLE=small
##JCAMPDX= 6.0
##DATA TYPE= NMR SPECTRUM
##DATA CLASS= NTUPLES
##.OBSERVE FREQUENCY= 100.0
##.SHIFT REFERENCE= INTERNAL, CDCl3, 1, 9.5
##NTUPLES= NMR SPECTRUM
##VAR_NAME=  FREQUENCY,     SPECTRUM/REAL,   SPECTRUM/IMAG
##SYMBOL=    X,             R,               I
##VAR_DIM=   55,            55,              55
##UNITS=     HZ,            ARBITRARY UNITS, ARBITRARY UNITS
##FACTOR=    1,             0.5,             1
##FIRST=     540,           0,               0
##LAST=      0,             0,               0
##PAGE= N=1
##DATA TABLE= (X++(R..R)), XYDATA
54{}
1A28b0j0
##PAGE= N=2
##DATA TABLE= (X++(I..I)), XYDATA
54A2B3
##END NTUPLES=NMR SPECTRUM
##END=
"""


def test_the_compressed_forms():
    np.testing.assert_array_equal(decoded([LINE], "x"), NUMBERS)
    np.testing.assert_array_equal(
        decoded(["0 1 2 -3", "3+4-5", "5a2T"], "x"), [1, 2, -3, 4, -5, -12, -12]
    )
    np.testing.assert_array_equal(decoded(["0A0J0T", "2C0C1"], "x"), [10, 20, 30, 31])
    with pytest.raises(ReadError, match="the check of a line failed"):
        decoded(["0A0J0T", "2C1C1"], "x")


def test_a_spectrum_of_topspin(tmp_path):
    path = tmp_path / "a.dx"
    path.write_text(TOPSPIN.format(LINE[1:]))
    data = read(path)
    np.testing.assert_array_equal(data.Y[0], 0.5 * np.array([*NUMBERS, -20, -30]))
    np.testing.assert_allclose(data.axis, 9.5 - np.arange(55) / 10)
    assert (data.axis_name, data.axis_unit) == ("chemical shift", "ppm")
    path.write_text(TOPSPIN.format(LINE[1:-1]))
    with pytest.raises(ReadError, match="the check of a line failed"):
        read(path)


@pytest.mark.parametrize(("first", "unit", "begin"), [(900.0, "ppm", 9.0), (1200.0, "Hz", 1200.0)])
def test_hertz_become_chemical_shifts_if_zero_is_inside(tmp_path, first, unit, begin):
    y = np.round(1000 * np.exp(-(((np.arange(101) - 40) / 5) ** 2)))
    lines = "\n".join(f"{first - 10 * i:g} {v:g}" for i, v in enumerate(y))
    path = tmp_path / "a.jdx"
    path.write_text(
        "##TITLE=a\n##JCAMP-DX=5.0\n##DATA TYPE=NMR SPECTRUM\n##.OBSERVE FREQUENCY=100\n##XUNITS=HZ\n"
        f"##YUNITS=ARBITRARY UNITS\n##XFACTOR=1\n##YFACTOR=1\n##FIRSTX={first}\n##LASTX={first - 1000}\n"
        f"##NPOINTS=101\n##FIRSTY=0\n##XYDATA=(X++(Y..Y))\n{lines}\n##END=\n"
    )
    data = read(path)
    assert data.axis_unit == unit
    assert data.axis[0] == pytest.approx(begin)
