"""Exports of instruments and arrays of users, with what is in them: numbers, axis, unit, names.

They were written from docs/reference/formats.md alone. `python tests/io/test_instrument_layouts.py` prints what is
not read right.
"""
# ruff: noqa: B905, E501, E731, UP031

import gzip
import re
import sys
import tempfile
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr
from scipy.io import savemat

from ngmca.io import ReadError, read

LAYOUTS = {}


def layout(write):
    """Register a layout: a function that writes a file into a folder, and returns it and its content."""
    LAYOUTS[write.__name__] = write
    return write


def spectra(axis, m, seed=0, scale=1.0, noise=0.002, width=0.06, k=3, decimals=5, floor=0.02):
    """Spectra of mixtures of k substances with two bands each."""
    r = np.random.default_rng(seed)
    axis = np.asarray(axis, float)
    span = abs(axis[-1] - axis[0])
    c = axis.min() + span * r.uniform(0.1, 0.9, (k, 2))
    w = span * width * r.uniform(0.5, 1.5, (k, 2))
    S = sum(np.exp(-0.5 * ((axis - c[:, [j]]) / w[:, [j]]) ** 2) for j in range(2))
    A = r.dirichlet(np.ones(k), m)
    return np.round(scale * (A @ S + floor + noise * r.standard_normal((m, len(axis)))), decimals)


def want(Y, axis=None, name=None, unit=None, names=(), **more):
    """What is in a file. A `?` after a name or unit: the file does not say it, but it may be guessed."""
    axis = None if axis is None else np.asarray(axis, float)
    return {"Y": np.asarray(Y, float), "axis": axis, "name": name, "unit": unit, "names": names, **more}


def put(p, text, enc="utf-8", nl="\n"):
    p.write_bytes(text.replace("\n", nl).encode(enc))
    return p


def de(x, fmt="%.5f"):
    return (fmt % x).replace(".", ",")


def col(axis, Y, sep="\t", fmt="%g", yfmt="%.5f"):
    return (
        "\n".join(sep.join([fmt % a] + [yfmt % v for v in Y[:, i]]) for i, a in enumerate(axis)) + "\n"
    )


# ---------- UV/Vis
@layout
def uv_two_columns_agilent(d):
    a = np.arange(190, 801, 1.0)
    Y = spectra(a, 1, 1)
    return put(d / "SAMPLE01.CSV", "Wavelength(nm),Absorbance(AU)\n" + col(a, Y, ","), nl="\r\n"), want(
        Y, a, "wavelength", "nm"
    )


@layout
def uv_cary_pairs_with_log(d):
    a = np.arange(700, 299, -2.0)
    Y = spectra(a, 3, 2)
    t = "Baseline 100%T,,Sample 0.1 mM,,Sample 0.5 mM,,\nWavelength (nm),Abs,Wavelength (nm),Abs,Wavelength (nm),Abs,\n"
    for i, x in enumerate(a):
        t += ",".join(f"{x:.6f},{Y[j, i]:.9f}" for j in range(3)) + ",\n"
    t += "\nSample 0.1 mM\nCollection Time: 11/3/2021 10:24:11 AM\nOperator Name  : lab\nScan Software Version: 5.1.0.1016\nParameter List :\nInstrument                  Cary 60\nInstrument Version          2.00\nStart (nm)                   700.0\nStop (nm)                    300.0\nX Mode                      Nanometers\nY Mode                      Abs\nScan Rate (nm/min)          600.000\nData Interval (nm)          2.0000\nAve. Time (sec)             0.1000\n<Method Modifications>\nEnd Method Modifications\n"
    return put(d / "scan.csv", t, nl="\r\n"), want(
        Y, a, "wavelength", "nm", ["Baseline 100%T", "Sample 0.1 mM", "Sample 0.5 mM"]
    )


@layout
def uv_lambda_semicolon_comma(d):
    a = np.arange(800, 249, -1.0)
    Y = spectra(a, 1, 3)
    t = "nm; A\n" + "".join(f"{de(x, '%.6f')}; {de(y, '%.6f')}\n" for x, y in zip(a, Y[0]))
    return put(d / "Probe1.Sample.asc", t), want(Y, a, "wavelength", "nm")


@layout
def uv_shimadzu_uvprobe(d):
    a = np.arange(220, 601, 0.5)
    Y = spectra(a, 1, 4)
    return put(
        d / "s1.txt", '"Kaffee 1 - RawData"\n"Wavelength nm."\t"Abs."\n' + col(a, Y, "\t", "%.2f")
    ), want(Y, a, "wavelength", "nm")


@layout
def uv_oceanview(d):
    a = 178.2 + 0.38 * np.arange(900) - 1.2e-5 * np.arange(900) ** 2
    a = np.round(a, 3)
    Y = spectra(a, 1, 5, 4000, decimals=2)
    t = (
        "Data from Subt2__0__10-20-31.txt Node\n\nDate: Thu Mar 03 10:20:31 CET 2022\nUser: labor\nSpectrometer: FLMS04421\nTrigger mode: 0\nIntegration Time (sec): 1.000000E-2\nScans to average: 10\nNonlinearity correction enabled: true\nBoxcar width: 0\nXAxis mode: Wavelengths\nNumber of Pixels in Spectrum: 900\n>>>>>Begin Spectral Data<<<<<\n"
        + col(a, Y, "\t", "%.3f", "%.2f")
    )
    return put(d / "Subt2.txt", t), want(Y, a, "wavelength", "nm?")


@layout
def uv_german_export_units_row(d):
    a = np.arange(350, 751, 2.0)
    Y = spectra(a, 4, 6)
    t = "Wellenlänge;Probe 1;Probe 2;Probe 3;Probe 4\n[nm];[AU];[AU];[AU];[AU]\n"
    t += "".join(";".join([de(x, "%.1f")] + [de(v) for v in Y[:, i]]) + "\n" for i, x in enumerate(a))
    return put(d / "Messung.csv", t, "latin-1", "\r\n"), want(
        Y, a, "Wellenlänge", "nm", [f"Probe {i}" for i in range(1, 5)]
    )


@layout
def plate_reader_wells(d):
    a = np.arange(300, 701, 5.0)
    Y = spectra(a, 6, 7, decimals=4)
    t = (
        "User: USER\tPath: C:\\Program Files\\Omega\tTest ID: 1231\nTest Name: SCAN\tDate: 12.05.2020\tTime: 09:41:12\nAbsorbance\tAbsorbance values are displayed as OD\n\nWell\tContent\t"
        + "\t".join("%d" % x for x in a)
        + "\n"
    )
    w = ["A01", "A02", "A03", "B01", "B02", "B03"]
    for n, y in zip(w, Y):
        t += f"{n}\tSample X{w.index(n) + 1}\t" + "\t".join("%.4f" % v for v in y) + "\n"
    return put(d / "plate.txt", t, nl="\r\n"), want(Y, a, names=w)


@layout
def tecan_scan(d):
    a = np.arange(230, 1001, 10.0)
    Y = spectra(a, 5, 8, decimals=4)
    t = "Application: Tecan i-control\t\t\t\t\t\nDevice: infinite 200Pro\t\t\t\t\t\nPlate\tGreiner 96 Flat Bottom\t\t\t\t\nWavelength start\t230\tnm\t\t\t\nWavelength end\t1000\tnm\t\t\t\nWavelength step size\t10\tnm\t\t\t\nNumber of flashes\t25\t\t\t\t\n\nTemperature: 24.1 °C\t\t\t\t\t\nWavel.\tA1\tA2\tA3\tB1\tB2\n"
    t += col(a, Y, "\t", "%d", "%.4f") + "\n\nEnd Time:\t12/05/2020 10:12:33\t\t\t\t\n"
    return put(d / "tecan.txt", t, "latin-1"), want(Y, a, names=["A1", "A2", "A3", "B1", "B2"])


@layout
def time_series_unit_headings(d):
    a = np.arange(950, 1251, 2.0)
    Y = spectra(a, 30, 9)
    t0 = np.arange(30) * 0.25
    t = (
        "time (h),"
        + ",".join("%d 1/cm" % x for x in a)
        + "\n"
        + "".join("%.2f," % q + ",".join("%.5f" % v for v in y) + "\n" for q, y in zip(t0, Y))
    )
    return put(d / "reaction.csv", t), want(Y, a, "wavenumber", "cm-1", row_axis=t0, row_label="time")


@layout
def reactir_clock_headings(d):
    a = np.arange(1900, 799, -4.0)
    Y = spectra(a, 12, 10)
    hs = ["%02d:%02d:%02d" % (0, i * 2, 15) for i in range(12)]
    t = "Wavenumber cm-1," + ",".join(hs) + "\n" + col(a, Y, ",")
    return put(d / "ReactIR.csv", t), want(Y, a, "wavenumber", "cm-1", hs)


@layout
def melting_temperatures_headings(d):
    a = np.arange(200, 261, 0.5)[::-1]
    T = np.arange(20, 91, 5)
    Y = spectra(a, len(T), 11, 10)
    t = "nm\t" + "\t".join(f"{x} °C" for x in T) + "\n" + col(a, Y)
    return put(d / "melt.txt", t), want(Y, a, "wavelength", "nm", [str(x) for x in T])


@layout
def concentration_number_headings(d):
    a = np.arange(400, 701, 1.0)
    c = [0.1, 0.2, 0.5, 1.0, 2.0]
    Y = spectra(a, 5, 12)
    t = "Wavelength (nm)," + ",".join(map(str, c)) + "\n" + col(a, Y, ",")
    return put(d / "calib.csv", t), want(Y, a, "wavelength", "nm", [str(x) for x in c])


@layout
def two_header_rows_concentration(d):
    a = np.arange(400, 701, 2.0)
    Y = spectra(a, 5, 13)
    t = "Sample,S1,S2,S3,S4,S5\nConc. (mM),0.1,0.2,0.5,1.0,2.0\nWavelength (nm),,,,,\n" + col(a, Y, ",")
    return put(d / "calib2.csv", t), want(Y, a, "wavelength", "nm", ["S1", "S2", "S3", "S4", "S5"])


@layout
def spectroelectrochemistry(d):
    a = np.arange(300, 901, 3.0)
    Y = spectra(a, 8, 14)
    v = np.round(np.arange(8) * 0.1 - 0.2, 1)
    t = "lambda/nm;" + ";".join(f"{x} V" for x in v) + "\n" + col(a, Y, ";")
    return put(d / "sec.csv", t), want(Y, a, "wavelength", "nm", [f"{x} V" for x in v])


@layout
def cd_with_high_tension(d):
    a = np.arange(260, 189, -0.5)
    Y = spectra(a, 1, 15, 8)
    ht = 300 + 300 * np.exp(-(a - 190) / 15)
    t = (
        "TITLE\tlysozyme\nDATA TYPE\tCD SPECTRUM\nORIGIN\tJASCO\nDELTAX\t-0.5\nXUNITS\tNANOMETERS\nYUNITS\tCD[mdeg]\nY2UNITS\tHT[V]\nFIRSTX\t260\nLASTX\t190\nNPOINTS\t%d\nXYDATA\n"
        % len(a)
    )
    t += "".join("%.1f\t%.4f\t%.3f\n" % z for z in zip(a, Y[0], ht))
    return put(d / "lyso.txt", t), want(np.round(Y, 4), a, "wavelength", "nm", ask=True)


# ---------- fluorescence
@layout
def eem_corner_words(d):
    em = np.arange(300, 551, 2.0)
    ex = np.arange(240, 451, 10.0)
    Y = spectra(em, len(ex), 16, 500, decimals=3)
    t = "Em\\Ex (nm)," + ",".join("%d" % x for x in ex) + "\n" + col(em, Y, ",", "%d", "%.3f")
    return put(d / "eem.csv", t), want(Y, em, None, "nm", [str(int(x)) for x in ex], either=True)


@layout
def eem_hitachi(d):
    em = np.arange(250, 601, 5.0)
    ex = np.arange(200, 401, 5.0)
    Y = spectra(ex, len(em), 17, 900, decimals=1)
    t = "Sample:\triver 3\nFile name:\tR3.FDS\nRun Date:\t12:01:44 2019/04/02\nOperator:\t\nInstrument\nModel:\tF-7000 FL Spectrophotometer\nMeasurement type:\t3-D Scan\nEX Start WL:\t200.0 nm\nEX End WL:\t400.0 nm\nEM Start WL:\t250.0 nm\nEM End WL:\t600.0 nm\nScan speed:\t12000 nm/min\n\nData points\n"
    t += (
        "\t"
        + "\t".join("%.1f" % x for x in ex)
        + "\n"
        + "".join("%.1f\t" % e + "\t".join("%.1f" % v for v in y) + "\n" for e, y in zip(em, Y))
    )
    return put(d / "R3.TXT", t, nl="\r\n"), want(
        Y.T, em, None, None, [str(int(x)) for x in ex], either=True
    )


@layout
def fluorescence_horiba_s1c(d):
    a = np.arange(320, 601, 1.0)
    Y = spectra(a, 1, 18, 2e5, decimals=0)
    t = "Wavelength\tS1c / R1c\nnm\tCPS / MicroAmps\n\tEx 300 nm\n" + col(a, Y, "\t", "%g", "%.1f")
    return put(d / "emission.dat", t), want(Y, a, "wavelength", "nm")


# ---------- IR, Raman
@layout
def opus_dpt(d):
    a = np.round(3997.9 - 1.928 * np.arange(1800), 5)
    Y = spectra(a, 1, 19, width=0.01, k=6)
    return put(d / "film.0.dpt", col(a, Y, ",", "%.5f")), want(Y, a, "wavenumber?", "cm-1?")


@layout
def omnic_csv_rising(d):
    a = 399.1986 + 0.9642 * np.arange(3700)
    Y = spectra(a, 1, 20, width=0.01, k=6)
    a2 = np.array([float("%.6e" % x) for x in a])
    return put(d / "PS film.csv", "".join("%.6e,%.6e\n" % z for z in zip(a, Y[0])), nl="\r\n"), want(
        Y, a2, "wavenumber?", "cm-1?"
    )


@layout
def jasco_german(d):
    a = np.arange(4000, 599, -2.0)
    Y = spectra(a, 1, 21, width=0.015, k=5)
    t = f"TITLE;Harz A\nDATA TYPE;INFRARED SPECTRUM\nORIGIN;JASCO\nOWNER;\nDATE;21/02/03\nTIME;10:33:02\nSPECTROMETER/DATA SYSTEM;\nLOCALE;1031\nRESOLUTION;\nDELTAX;-2\nXUNITS;1/CM\nYUNITS;ABSORBANCE\nFIRSTX;4000,0000\nLASTX;600,0000\nNPOINTS;{len(a)}\nFIRSTY;{de(Y[0, 0])}\nXYDATA\n"
    t += (
        "".join(f"{de(x, '%.4f')};{de(y)}\n" for x, y in zip(a, Y[0]))
        + "\n##### Extended Information\n[Comments]\nSample name;Harz A\n[Measurement Information]\nModel Name;FT/IR-4700typeA\nAccumulation;32\nResolution;4 cm-1\n"
    )
    return put(d / "Harz A.csv", t, "latin-1", "\r\n"), want(Y, a, "wavenumber", "cm-1")


@layout
def ir_many_falling_no_header(d):
    a = np.arange(4000, 399, -4.0)
    Y = spectra(a, 7, 22, width=0.015, k=5)
    return put(d / "all.txt", col(a, Y, "\t", "%.1f")), want(Y, a, "wavenumber?", "cm-1?")


@layout
def ir_spectrum_ten(d):
    a = np.arange(4000, 649, -1.0)
    Y = np.round(100 - 60 * spectra(a, 1, 23, width=0.01, k=5), 3)
    return put(d / "pe.csv", "Created as New Dataset\ncm-1,%T\n" + col(a, Y, ",", "%.2f", "%.3f")), want(
        Y, a, "wavenumber", "cm-1"
    )


@layout
def ir_opus_table_headings(d):
    a = np.arange(1800, 899, -2.0)
    Y = spectra(a, 4, 24)
    n = ["patient_01.0", "patient_02.0", "patient_03.0", "patient_04.0"]
    return put(d / "opus.txt", "wavenumber [1/cm]\t" + "\t".join(n) + "\n" + col(a, Y)), want(
        Y, a, "wavenumber", "cm-1", n
    )


@layout
def raman_wire_single(d):
    a = np.round(np.linspace(1850.2, 320.7, 1015), 6)
    Y = spectra(a, 1, 25, 3000, decimals=3)
    return put(
        d / "s.txt", "#Wave\t\t#Intensity\n" + "".join("%f\t%.3f\n" % z for z in zip(a, Y[0])), nl="\r\n"
    ), want(Y, a, "Wave|wavenumber|Raman shift", "?")


@layout
def raman_wire_time_series(d):
    a = np.round(np.linspace(1200.5, 400.25, 200), 4)
    Y = spectra(a, 6, 26, 3000, decimals=3)
    tt = np.arange(6) * 10.0
    t = "#Time\t\t#Wave\t\t#Intensity\n" + "".join(
        "%f\t%.4f\t%.3f\n" % (q, x, v) for q, y in zip(tt, Y) for x, v in zip(a, y)
    )
    return put(d / "series.txt", t), want(Y, a, row_axis=tt)


@layout
def raman_witec_table(d):
    a = np.round(np.linspace(102.2, 3610.4, 800), 3)
    Y = spectra(a, 5, 27, 800, decimals=2)
    t = (
        "[Header]\nFileName = D:\\data\\cells.wip\nSizeGraph = 800\nSizeX = 5\nSizeY = 1\n\n[Data]\nX-Axis\t"
        + "\t".join(f"Sample_00{i}--Spec.Data 1" for i in range(5))
        + "\nrel. 1/cm\t"
        + "\t".join(["CCD cts"] * 5)
        + "\n"
        + col(a, Y, "\t", "%.3f", "%.2f")
    )
    return put(d / "witec.txt", t), want(Y, a, None, "cm-1", [f"Sample_00{i}" for i in range(5)])


@layout
def raman_labspec6_latin1(d):
    a = np.round(np.linspace(200.1, 1799.6, 700), 3)
    Y = spectra(a, 1, 28, 2000, decimals=1)
    t = (
        "#Acq. time (s)=\t10\n#Accumulations=\t3\n#Range (cm-¹)=\t200...1800\n#Laser (nm)=\t532\n#Grating=\t600 gr/mm\n#Hole=\t100 µm\n#X (µm)=\t12.5\n#Y (µm)=\t-3.1\n#AxisType[0]=\tIntens\n#AxisType[1]=\tSpectr\n#AxisUnit[0]=\tCnt\n#AxisUnit[1]=\t1/cm\n"
        + col(a, Y, "\t", "%.3f", "%.1f")
    )
    return put(d / "cell 4.txt", t, "latin-1"), want(Y, a, None, "cm-1")


@layout
def raman_depth_profile(d):
    a = np.round(np.linspace(600, 1800, 401), 2)
    z = np.arange(-10, 11, 2.0)
    Y = spectra(a, len(z), 29, 500, decimals=2)
    t = (
        "\t"
        + "\t".join("%.2f" % x for x in a)
        + "\n"
        + "".join("%.1f\t" % q + "\t".join("%.2f" % v for v in y) + "\n" for q, y in zip(z, Y))
    )
    return put(d / "Z profile.txt", t), want(Y, a, names=["-10", "10"])


@layout
def raman_map_headed_xy(d):
    a = np.round(np.linspace(602.1, 1798.3, 300), 1)
    xs = np.arange(5) * 1.5
    ys = np.arange(4) * 1.5
    Y = spectra(a, 20, 30, 500, decimals=1)
    xy = [(x, y) for y in ys for x in xs]
    t = (
        "x (um);y (um);"
        + ";".join("%.1f" % v for v in a)
        + "\n"
        + "".join(
            f"{x:.1f};{y:.1f};" + ";".join("%.1f" % v for v in s) + "\n" for (x, y), s in zip(xy, Y)
        )
    )
    return put(d / "map.csv", t), want(Y, a, image=(4, 5))


@layout
def raman_hyperspec_wide(d):
    a = np.arange(602, 1802, 4.0)
    Y = spectra(a, 9, 31, 500, decimals=2)
    t = '"filename"\t"x"\t"y"\t' + "\t".join(f'"spc.{int(x)}"' for x in a) + "\n"
    for i, s in enumerate(Y):
        t += f'"chondro.txt"\t{-11.55 + i}\t{-4.77}\t' + "\t".join("%.2f" % v for v in s) + "\n"
    return put(d / "chondro.txt", t), want(Y, a)


# ---------- NMR
@layout
def nmr_topspin_totxt(d):
    n = 1024
    a = 12.0 - 14.0 * np.arange(n) / (n - 1)
    Y = spectra(a, 1, 32, 1e6, width=0.004, k=12, decimals=1)
    t = (
        "# File created = Monday, November 5, 2018 2:14:15 PM CET\n# Data set = glucose 10 1 /opt/data\n# Spectral Region:\n# LEFT = 12.0 ppm. RIGHT = -2.0 ppm.\n#\n# SIZE = 1024 ( = number of points)\n#\n# In the following ordering is from the 'left' to the 'right' limits!\n# Lines beginning with '#' must be considered as comment lines.\n#\n"
        + "".join("%.1f\n" % v for v in Y[0])
    )
    return put(d / "glucose.txt", t), want(Y, a, "chemical shift", "ppm")


@layout
def nmr_mnova_stack(d):
    a = np.round(np.linspace(10, -0.5, 2000), 5)
    Y = spectra(a, 4, 33, 1e4, width=0.004, k=12, decimals=3)
    n = ["urine_01", "urine_02", "urine_03", "urine_04"]
    return put(
        d / "stack.txt",
        "ppm\t"
        + "\t".join(n)
        + "\t\n"
        + "".join(
            "\t".join(["%.5f" % x] + ["%.3f" % v for v in Y[:, i]]) + "\t\n" for i, x in enumerate(a)
        ),
    ), want(Y, a, "chemical shift", "ppm", n)


@layout
def nmr_bucket_table_class(d):
    a = np.round(np.arange(9.98, 0.5, -0.04), 2)
    Y = spectra(a, 10, 34, 1.0, width=0.01, k=8)
    t = (
        "Sample,Class,"
        + ",".join("%.2f" % x for x in a)
        + "\n"
        + "".join(
            f"rat{i},{'control' if i % 2 else 'dosed'}," + ",".join("%.5f" % v for v in y) + "\n"
            for i, y in enumerate(Y)
        )
    )
    return put(d / "buckets.csv", t), want(Y, a, names=[f"rat{i}" for i in range(10)])


@layout
def nmr_kinetic_headings(d):
    a = np.round(np.linspace(9, 0, 900), 3)
    Y = spectra(a, 5, 35, 100, width=0.006, k=6, decimals=3)
    h = ["t=0", "t=5 min", "t=10 min", "t=20 min", "t=40 min"]
    return put(
        d / "kin.tsv", "Chemical shift (ppm)\t" + "\t".join(h) + "\n" + col(a, Y, "\t", "%.3f", "%.3f")
    ), want(Y, a, "chemical shift", "ppm", h)


# ---------- MS
@layout
def gcms_matrix(d):
    mz = np.arange(40, 161)
    rt = np.round(np.arange(60) * 0.01 + 5.2, 3)
    r = np.random.default_rng(36)
    S = np.zeros((3, len(mz)))
    for j in range(3):
        S[j, r.choice(len(mz), 12, replace=False)] = r.uniform(50, 999, 12)
    A = np.array([np.exp(-0.5 * ((rt - c) / 0.04) ** 2) for c in (5.35, 5.45, 5.6)]).T
    Y = np.round(A @ S * 10)
    t = (
        "RT(min),"
        + ",".join(map(str, mz))
        + "\n"
        + "".join("%.3f," % q + ",".join("%d" % v for v in y) + "\n" for q, y in zip(rt, Y))
    )
    return put(d / "gcms.csv", t), want(Y, mz, row_axis=rt)


@layout
def ms_sticks_two_columns(d):
    mz = np.array([41.1, 43.05, 55.1, 57.07, 69.2, 71.0, 85.15, 99.3, 113.1, 142.2])
    y = np.array([[300, 999, 280, 850, 120, 430, 300, 60, 33, 51]])
    t = (
        "SPECTRUM - MS\nDecane.raw\nITMS + c EI Full ms\nScan #: 321\nRT: 6.21\nData points: 10\nMass\tIntensity\n"
        + col(mz, y.astype(float), "\t", "%.2f", "%.1f")
    )
    return put(d / "decane.txt", t), want(y, mz, "Mass|m/z", None)


# ---------- DAD
@layout
def lc_dad_utf16(d):
    wl = np.arange(200, 401, 4.0)
    rt = np.round(np.arange(80) * 0.0133, 4)
    Y = spectra(wl, 80, 37, 30, decimals=4)
    t = (
        ","
        + ",".join("%d" % x for x in wl)
        + "\n"
        + "".join("%.4f," % q + ",".join("%.4f" % v for v in y) + "\n" for q, y in zip(rt, Y))
    )
    p = d / "DAD1.CSV"
    p.write_bytes(b"\xff\xfe" + t.replace("\n", "\r\n").encode("utf-16-le"))
    return p, want(Y, wl)


# ---------- X-ray
@layout
def xanes_athena_mu(d):
    e = np.round(
        np.concatenate(
            [np.arange(6962, 7092, 5.0), np.arange(7092, 7152, 0.5), 7152 + np.arange(60) ** 1.5]
        ),
        3,
    )
    y = np.round(
        0.4 + 1 / (1 + np.exp(-(e - 7112) / 2)) + 0.2 * np.exp(-0.5 * ((e - 7125) / 6) ** 2), 6
    )[None]
    t = (
        "# XDI/1.0  Athena/0.9.26\n# Column.1: energy eV\n# Column.2: xmu\n# Element.symbol: Fe\n# Element.edge: K\n# Scan.start_time: 2018-06-01 12:00:00\n# ///\n# Fe foil\n#-----------\n#  energy  xmu\n"
        + "".join("  %.3f  %.6f\n" % z for z in zip(e, y[0]))
    )
    return put(d / "fe_foil.xmu", t), want(y, e, "energy", "eV")


@layout
def xanes_athena_norm_many(d):
    e = np.round(np.concatenate([np.arange(8800, 8960, 5.0), np.arange(8960, 9040, 0.4)]), 3)
    Y = np.array(
        [
            np.round(
                1 / (1 + np.exp(-(e - 8979 - i) / 2)) + 0.1 * i * np.exp(-0.5 * ((e - 8995) / 4) ** 2), 6
            )
            for i in range(4)
        ]
    )
    t = (
        "# Demeter 0.9.26\n# exported 4 groups as norm(E)\n#-----------\n#  energy  cu_foil  cuo  cu2o  cat_1\n"
        + "".join(
            "  " + "  ".join(["%.3f" % x] + ["%.6f" % v for v in Y[:, i]]) + "\n"
            for i, x in enumerate(e)
        )
    )
    return put(d / "cu.nor", t), want(Y, e, "energy", "eV?", ["cu_foil", "cuo", "cu2o", "cat_1"])


@layout
def beamline_raw_counters(d):
    e = np.arange(7000, 7301, 2.0)
    i0 = np.round(1e5 + 10 * (e - 7000))
    it = np.round(i0 * np.exp(-0.4 - 1 / (1 + np.exp(-(e - 7112) / 2))))
    t = "# scan 12 mono\n# energy_eV I0 It seconds\n" + "".join(
        "%.1f %d %d %.1f\n" % (a, b, c, 1.0) for a, b, c in zip(e, i0, it)
    )
    return put(d / "scan12.dat", t), want(np.array([i0, it]), e, ask=True)


@layout
def xps_casa(d):
    be = np.round(298 - 0.1 * np.arange(200), 1)
    Y = spectra(be, 1, 38, 8000, decimals=1)
    t = (
        "Cycle 0:C 1s/5\nCharacteristic Energy eV\t1486.6\tAcquisition Time s\t60.3\nB.E. (eV)\tCounts\n"
        + col(be, Y, "\t", "%.1f", "%.1f")
    )
    return put(d / "C1s.txt", t), want(
        Y, be, "|".join(["B.E.", "binding energy", "energy", "Binding energy"]), "eV"
    )


@layout
def eels_no_header(d):
    e = np.arange(270, 780, 0.5)
    Y = np.round(
        5e4 * (e / 270) ** -3
        + 800 * (e > 284) * np.exp(-(e - 284) / 50)
        + 500 * (e > 532) * np.exp(-(e - 532) / 60),
        2,
    )[None]
    return put(d / "eels.txt", col(e, Y, "\t", "%.2f", "%.2f")), want(Y, e, notname="wavelength")


# ---------- NIR tables
@layout
def nir_samples_properties_after(d):
    a = np.arange(1100, 2499, 8.0)
    Y = spectra(a, 15, 39)
    r = np.random.default_rng(1)
    t = (
        "ID,"
        + ",".join("X%d" % x for x in a)
        + ",protein,moisture\n"
        + "".join(
            f"w{i:02d}," + ",".join("%.5f" % v for v in y) + ",%.2f,%.2f\n" % tuple(r.uniform(8, 15, 2))
            for i, y in enumerate(Y)
        )
    )
    return put(d / "wheat.csv", t), want(Y, a, names=[f"w{i:02d}" for i in range(15)])


@layout
def nir_r_write_csv(d):
    a = np.arange(1100, 2299, 6.0)
    Y = spectra(a, 12, 40)
    r = np.random.default_rng(2)
    t = (
        '"","octane",'
        + ",".join('"NIR.%d nm"' % x for x in a)
        + "\n"
        + "".join(
            f'"{i + 1}",{r.uniform(83, 89):.2f},' + ",".join("%.5f" % v for v in y) + "\n"
            for i, y in enumerate(Y)
        )
    )
    return put(d / "gasoline.csv", t), want(Y, a, None, "nm")


@layout
def nir_pandas_index_meta(d):
    a = np.arange(900, 1701, 4.0)
    Y = spectra(a, 20, 41)
    t = (
        ",sample,variety,year,"
        + ",".join("%.1f" % x for x in a)
        + "\n"
        + "".join(
            f"{i},m{i},kent,{2015 + i % 4}," + ",".join("%.5f" % v for v in y) + "\n"
            for i, y in enumerate(Y)
        )
    )
    return put(d / "mango.csv", t), want(Y, a, names=["m0", "m19"])


@layout
def nir_date_times(d):
    a = np.arange(1000, 1651, 5.0)
    Y = spectra(a, 25, 42)
    h = ["2023-05-01 12:%02d:00" % i for i in range(25)]
    t = (
        "timestamp,"
        + ",".join("%d" % x for x in a)
        + "\n"
        + "".join(q + "," + ",".join("%.5f" % v for v in y) + "\n" for q, y in zip(h, Y))
    )
    return put(d / "inline.csv", t), want(Y, a, names=h[:2])


@layout
def asd_fieldspec(d):
    a = np.arange(350, 2501, 1.0)
    Y = spectra(a, 3, 43, 0.5, decimals=6)
    n = ["soil00000.asd", "soil00001.asd", "soil00002.asd"]
    return put(
        d / "fieldspec.txt", "Wavelength\t" + "\t".join(n) + "\n" + col(a, Y, "\t", "%d", "%.6f")
    ), want(Y, a, "wavelength", "nm?", n)


@layout
def usgs_library_one_column(d):
    a = np.arange(500)
    Y = spectra(a + 1.0, 1, 44, 0.6, decimals=7)
    Yx = Y.copy()
    Yx[0, :8] = np.nan
    Yx[0, 200:210] = np.nan
    t = " splib07a Record=1234: Actinolite HS116.1B ASDFRb AREF\n" + "".join(
        " %s\n" % ("-1.2300000e+034" if np.isnan(v) else "%.7e" % v) for v in Yx[0]
    )
    return put(d / "splib07a_actinolite.txt", t), want(Yx, None)


@layout
def ecostress_header(d):
    a = np.round(np.linspace(14.0, 0.4, 600), 4)
    Y = spectra(a, 1, 45, 60, decimals=4)
    t = (
        "Name: Brown loam\nType: Soil\nClass: Alfisol\nParticle Size: Fine\nSample No.: 87P3665\nOwner: JHU\nMeasurement: Directional (10 Degree) Hemispherical Reflectance\nFirst Column: X\nSecond Column: Y\nX Units: Wavelength (micrometers)\nY Units: Reflectance (percent)\nFirst X Value: 14.0\nLast X Value: 0.4\nNumber of X Values: 600\nAdditional Information: none.txt\n\n"
        + col(a, Y, "\t", "%.4f", "%.4f")
    )
    return put(d / "soil.spectrum.txt", t), want(Y, a, "wavelength", "um")


# ---------- numbers in text
@layout
def replicates_with_sd(d):
    a = np.arange(400, 701, 2.0)
    M = spectra(a, 2, 46)
    sd = np.round(np.full_like(M, 0.004) + 0.001 * np.random.default_rng(3).random(M.shape), 5)
    Y = np.array([M[0], sd[0], M[1], sd[1]])
    return put(d / "mean_sd.csv", "wavelength_nm,A,A_sd,B,B_sd\n" + col(a, Y, ",")), want(
        M, a, "wavelength", "nm", ["A", "B"], note="left out: A_sd, B_sd"
    )


@layout
def missing_marks(d):
    a = np.arange(400, 601, 2.0)
    Y = spectra(a, 6, 47)
    Yx = Y.copy()
    Yx[1, 5] = Yx[2, 60] = Yx[3, 33] = Yx[4, 80] = Yx[5, 81] = np.nan
    marks = iter(["#N/A", "n.a.", "--", "", "NaN"])
    t = "wavelength (nm),a,b,c,d,e,f\n"
    for i, x in enumerate(a):
        t += ",".join(["%g" % x] + [next(marks) if np.isnan(v) else "%.5f" % v for v in Yx[:, i]]) + "\n"
    return put(d / "gaps.csv", t), want(Yx, a, "wavelength", "nm")


@layout
def minus999_in_reflectance(d):
    a = np.arange(400, 1001, 5.0)
    Y = spectra(a, 5, 48)
    Yx = Y.copy()
    Yx[:, 40:44] = np.nan
    t = "nm,p1,p2,p3,p4,p5\n" + "".join(
        ",".join(["%g" % x] + ["-999" if np.isnan(v) else "%.5f" % v for v in Yx[:, i]]) + "\n"
        for i, x in enumerate(a)
    )
    return put(d / "refl.csv", t), want(Yx, a, "wavelength", "nm")


@layout
def minus999_as_data(d):
    a = np.arange(200, 261, 1.0)
    Y = np.round(-1200 * spectra(a, 3, 49))
    Y[1, 20] = -999
    return put(d / "cd.csv", "wavelength (nm),a,b,c\n" + col(a, Y, ",", "%g", "%d")), want(
        Y, a, "wavelength", "nm"
    )


@layout
def thousands_quoted(d):
    a = np.arange(400, 2001, 4.0)
    Y = spectra(a, 2, 50, 20000, decimals=1)
    t = '"Raman shift (cm-1)","s1","s2"\n' + "".join(
        '"%s","%s","%s"\n' % (f"{x:,.1f}", f"{p:,.1f}", f"{q:,.1f}") for x, p, q in zip(a, *Y)
    )
    return put(d / "thousands.csv", t), want(Y, a, "Raman shift", "cm-1", ["s1", "s2"])


@layout
def thousands_dots_german(d):
    a = np.arange(400, 1001, 2.0)
    Y = spectra(a, 2, 51, 20000, decimals=2)
    g = lambda v: f"{v:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")
    t = "Wellenzahl [cm-1];A;B\n" + "".join(f"{g(x)};{g(p)};{g(q)}\n" for x, p, q in zip(a, *Y))
    return put(d / "tausend.csv", t), want(Y, a, None, "cm-1", ["A", "B"])


@layout
def mac_line_ends_bom(d):
    a = np.arange(300, 501, 1.0)
    Y = spectra(a, 2, 52)
    return put(d / "mac.txt", "wavelength/nm\tdye 1\tdye 2\n" + col(a, Y), "utf-8-sig", "\r"), want(
        Y, a, "wavelength", "nm", ["dye 1", "dye 2"]
    )


@layout
def gz_tsv_tab_decimal_comma_trailing(d):
    a = np.arange(900, 1701, 3.0)
    Y = spectra(a, 3, 53)
    t = "Wavelength [nm]\ta\tb\tc\t\n" + "".join(
        "\t".join([de(x, "%.1f")] + [de(v) for v in Y[:, i]]) + "\t\n" for i, x in enumerate(a)
    )
    p = d / "t.tsv.gz"
    p.write_bytes(gzip.compress(t.encode()))
    return p, want(Y, a, "wavelength", "nm", ["a", "b", "c"])


@layout
def blocks_bracketed(d):
    a = np.arange(500, 801, 2.0)
    Y = spectra(a, 3, 54)
    t = ""
    for i, y in enumerate(Y):
        t += f"[Spectrum {i + 1}]\nName=vial {i + 1}\nUnit=nm\n" + col(a, y[None], "\t") + "\n"
    return put(d / "blocks.txt", t), want(Y, a)


@layout
def fixed_width_prn(d):
    a = np.arange(400, 701, 5.0)
    Y = spectra(a, 4, 55)
    t = "  lambda     S-1       S-2       S-3       S-4\n" + "".join(
        "%8.1f" % x + "".join("%10.5f" % v for v in Y[:, i]) + "\n" for i, x in enumerate(a)
    )
    return put(d / "four.prn", t), want(Y, a, "wavelength", None, ["S-1", "S-2", "S-3", "S-4"])


@layout
def transposed_names_left_no_corner(d):
    a = np.arange(1000, 1801, 4.0)
    Y = spectra(a, 5, 56)
    n = ["blood", "skin", "fat", "bone", "nail"]
    t = (
        "cm-1;"
        + ";".join("%d" % x for x in a)
        + "\n"
        + "".join(q + ";" + ";".join("%.5f" % v for v in y) + "\n" for q, y in zip(n, Y))
    )
    return put(d / "tissues.csv", t), want(Y, a, "wavenumber", "cm-1", n)


@layout
def numbered_rows_and_ph(d):
    a = np.arange(350, 651, 3.0)
    Y = spectra(a, 11, 57)
    ph = np.round(np.arange(11) * 0.8 + 2, 1)
    t = (
        "No.,pH,"
        + ",".join("%d nm" % x for x in a)
        + "\n"
        + "".join(
            f"{i + 1},{p}," + ",".join("%.5f" % v for v in y) + "\n"
            for i, (p, y) in enumerate(zip(ph, Y))
        )
    )
    return put(d / "titration.csv", t), want(Y, a, "wavelength", "nm", row_axis=ph)


@layout
def footer_statistics(d):
    a = np.arange(400, 651, 2.0)
    Y = spectra(a, 3, 58)
    t = (
        "Wavelength (nm)\tA\tB\tC\n"
        + col(a, Y)
        + "\nMaximum\t"
        + "\t".join("%.5f" % y.max() for y in Y)
        + "\nMean\t"
        + "\t".join("%.5f" % y.mean() for y in Y)
        + "\n"
    )
    return put(d / "foot.txt", t), want(Y, a, "wavelength", "nm", ["A", "B", "C"])


# ---------- containers
@layout
def mat_struct_fields(d):
    a = np.arange(800, 1801, 4.0)
    Y = spectra(a, 9, 62)
    savemat(
        d / "set.mat",
        {"ds": {"X": Y, "wn": a, "labels": np.array([f"a{i}" for i in range(9)], dtype=object)}},
    )
    return d / "set.mat", want(Y, a, "wavenumber", "cm-1?")


@layout
def mat_calibration(d):
    a = np.arange(1100, 2500, 8.0)
    Y = spectra(a, 20, 63)
    savemat(
        d / "corn.mat",
        {
            "spectra": Y,
            "wavelengths": a[None],
            "propvals": np.random.default_rng(1).random((20, 4)),
            "information": "corn, m5",
        },
    )
    return d / "corn.mat", want(Y, a, "wavelength", "nm?")


@layout
def mat_eem_cube(d):
    em = np.arange(250, 451, 2.0)
    ex = np.arange(240, 301, 5.0)
    X = np.array(
        [[spectra(em, 1, 64 + k + i, 100, decimals=3)[0] for k in range(len(ex))] for i in range(5)]
    ).transpose(0, 2, 1)
    savemat(
        d / "claus.mat", {"X": X, "EmAx": em, "ExAx": ex, "y": np.random.default_rng(1).random((5, 3))}
    )
    return d / "claus.mat", want(X.transpose(0, 2, 1).reshape(-1, len(em)), em, ask=True)


@layout
def mat_cells_of_two_columns(d):
    a = np.arange(400, 1801, 2.0)
    Y = spectra(a, 4, 70, 900, decimals=2)
    c = np.empty((1, 4), object)
    for i in range(4):
        c[0, i] = np.column_stack([a, Y[i]])
    savemat(d / "raman_cells.mat", {"spectra": c})
    return d / "raman_cells.mat", want(Y, a)


@layout
def mat73_spectra(d):
    a = np.arange(600, 1801, 3.0)
    Y = spectra(a, 12, 71)
    with h5py.File(d / "v73.mat", "w", userblock_size=512) as f:
        for k, v in {"spectra": Y, "wavenumbers": a[None]}.items():
            q = f.create_dataset(k, data=v.T)
            q.attrs["MATLAB_class"] = np.bytes_("double")
    with open(d / "v73.mat", "r+b") as f:
        f.write(
            b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 .".ljust(
                124
            )
            + b"\x00\x02IM"
        )
    return d / "v73.mat", want(Y, a, "wavenumber", "cm-1?")


@layout
def npy_axis_first_row(d):
    a = np.arange(400, 1801, 2.0)
    Y = spectra(a, 15, 72, 100)
    np.save(d / "raman.npy", np.vstack([a, Y]))
    return d / "raman.npy", want(Y, a)


@layout
def npy_records(d):
    a = np.arange(400, 701, 1.0)
    Y = spectra(a, 2, 73)
    q = np.zeros(len(a), dtype=[("wavelength", "f8"), ("dye_a", "f8"), ("dye_b", "f8")])
    q["wavelength"] = a
    q["dye_a"], q["dye_b"] = Y
    np.save(d / "rec.npy", q)
    return d / "rec.npy", want(Y, a, "wavelength", None, ["dye_a", "dye_b"])


@layout
def npz_labels_concentrations(d):
    a = np.linspace(2800, 800, 501)
    Y = spectra(a, 16, 74)
    np.savez(
        d / "set.npz",
        spectra=Y,
        wavenumbers=a,
        labels=np.array([f"p{i}" for i in range(16)]),
        concentrations=np.random.default_rng(1).random((16, 3)),
    )
    return d / "set.npz", want(Y, a, "wavenumber", "cm-1?", ["p0", "p15"])


@layout
def npz_x_y_vectors(d):
    a = np.linspace(200, 1800, 801)
    Y = spectra(a, 1, 75, 50)
    np.savez(d / "one.npz", x=a, y=Y[0])
    return d / "one.npz", want(Y, a)


@layout
def npz_cube_bands_first(d):
    a = np.linspace(400, 1000, 61)
    Y = spectra(a, 30, 76)
    np.savez(d / "cube.npz", cube=Y.T.reshape(61, 5, 6), wavelength=a)
    return d / "cube.npz", want(Y, a, "wavelength", "nm?", image=(5, 6))


@layout
def h5_groups_of_spectra(d):
    a = np.arange(350, 801, 2.0)
    Y = spectra(a, 4, 77)
    with h5py.File(d / "runs.h5", "w") as f:
        for i, y in enumerate(Y):
            g = f.create_group(f"sample_{i + 1}")
            g["wavelength"] = a
            g["wavelength"].attrs["units"] = "nm"
            g["absorbance"] = y
            g.attrs["operator"] = "me"
    return d / "runs.h5", want(Y, a, "wavelength", "nm", [f"sample_{i + 1}" for i in range(4)])


@layout
def h5_nexus_nxdata(d):
    a = np.arange(7000, 7201, 0.5)
    Y = spectra(a, 8, 78, 1000, decimals=2)
    with h5py.File(d / "scan.nxs", "w") as f:
        f.attrs["default"] = "entry"
        e = f.create_group("entry")
        e.attrs["NX_class"] = "NXentry"
        e.attrs["default"] = "mca"
        g = e.create_group("mca")
        g.attrs["NX_class"] = "NXdata"
        g.attrs["signal"] = "counts"
        g.attrs["axes"] = ["position", "energy"]
        g["counts"] = Y
        g["energy"] = a
        g["energy"].attrs["units"] = "eV"
        g["position"] = np.arange(8) * 0.5
        g["position"].attrs["units"] = "mm"
        i = e.create_group("instrument")
        i.attrs["NX_class"] = "NXinstrument"
        i["ring_current"] = np.full(8, 200.0)
    return d / "scan.nxs", want(Y, a, "energy", "eV", row_axis=np.arange(8) * 0.5)


@layout
def h5_time_energy_units(d):
    a = np.arange(280, 321, 0.1)
    Y = spectra(a, 20, 80)
    with h5py.File(d / "operando.h5", "w") as f:
        g = f.create_group("measurement")
        g["intensity"] = Y
        g["energy"] = a
        g["energy"].attrs["unit"] = "eV"
        g["time"] = np.arange(20) * 30.0
        g["time"].attrs["unit"] = "s"
        f["comment"] = "test"
    return d / "operando.h5", want(Y, a, "energy", "eV", row_axis=np.arange(20) * 30.0)


@layout
def h5_4d_dimension_scales(d):
    a = np.arange(500, 601, 2.0)
    Y = spectra(a, 24, 81)
    with h5py.File(d / "stack.h5", "w") as f:
        q = f.create_dataset("data", data=Y.reshape(2, 3, 4, -1))
        for i, (n, v) in enumerate(
            [
                ("time", [0.0, 60.0]),
                ("y", np.arange(3) * 2.0),
                ("x", np.arange(4) * 2.0),
                ("wavelength", a),
            ]
        ):
            f[n] = v
            f[n].make_scale(n)
            q.dims[i].attach_scale(f[n])
        f["wavelength"].attrs["units"] = "nm"
    return d / "stack.h5", want(Y, a, "wavelength", "nm")


@layout
def h5_bands_first(d):
    a = np.linspace(0.4, 2.5, 120)
    Y = spectra(a, 42, 82)
    with h5py.File(d / "scene.h5", "w") as f:
        f["reflectance"] = Y.T.reshape(120, 6, 7)
        f["wavelength"] = a
        f["wavelength"].attrs["units"] = "micrometers"
    return d / "scene.h5", want(Y, a, "wavelength", "um", image=(6, 7))


@layout
def h5_compound_table(d):
    a = np.arange(400, 801, 2.0)
    Y = spectra(a, 3, 83)
    q = np.zeros(len(a), dtype=[("wavenumber", "f8"), ("s1", "f4"), ("s2", "f4"), ("s3", "f4")])
    q["wavenumber"] = a
    for i in range(3):
        q[f"s{i + 1}"] = Y[i]
    with h5py.File(d / "table.h5", "w") as f:
        f["spectra"] = q
    return d / "table.h5", want(Y, a, "wavenumber", "cm-1?", ["s1", "s2", "s3"])


@layout
def nc_time_wavelength(d):
    a = np.arange(350, 751, 2.0)
    t = np.arange(15) * 2.0
    Y = spectra(a, 15, 84)
    xr.Dataset(
        {"absorbance": (("wavelength", "time"), Y.T)},
        {"wavelength": ("wavelength", a, {"units": "nm"}), "time": ("time", t, {"units": "min"})},
    ).to_netcdf(d / "k.nc", engine="h5netcdf")
    return d / "k.nc", want(Y, a, "wavelength", "nm", row_axis=t, row_label="time")


@layout
def nc_image(d):
    a = np.linspace(900, 1700, 81)
    Y = spectra(a, 30, 85)
    xr.Dataset(
        {
            "reflectance": (("band", "y", "x"), Y.T.reshape(81, 5, 6)),
            "mask": (("y", "x"), np.ones((5, 6))),
        },
        {"wavelength": ("band", a, {"units": "nm"}), "x": np.arange(6.0), "y": np.arange(5.0)},
    ).to_netcdf(d / "img.nc", engine="h5netcdf")
    return d / "img.nc", want(Y, a, "wavelength", "nm", image=(5, 6))


@layout
def zarr_group(d):
    a = np.linspace(4000, 800, 401)
    Y = spectra(a, 10, 86)
    g = zarr.open_group(d / "ir.zarr", mode="w")
    g.create_array("spectra", data=Y)
    g.create_array("wavenumber", data=a)
    g["wavenumber"].attrs["units"] = "cm-1"
    return d / "ir.zarr", want(Y, a, "wavenumber", "cm-1")


@layout
def zarr_xarray_3d(d):
    a = np.linspace(100, 3500, 171)
    Y = spectra(a, 20, 87, 300)
    xr.Dataset(
        {"raman": (("y", "x", "raman_shift"), Y.reshape(4, 5, -1))},
        {
            "raman_shift": ("raman_shift", a, {"units": "cm^-1"}),
            "x": np.arange(5.0),
            "y": np.arange(4.0),
        },
    ).to_zarr(d / "map.zarr", consolidated=False)
    return d / "map.zarr", want(Y, a, "Raman shift", "cm-1", image=(4, 5))


# ---------- folders
@layout
def folder_two_columns(d):
    f = d / "samples"
    f.mkdir()
    a = np.arange(250, 651, 1.0)
    Y = spectra(a, 5, 88)
    for i, y in enumerate(Y):
        put(f / f"tea_{i}.txt", "Wavelength (nm)\tA\n" + col(a, y[None]))
    put(f / "README.txt", "Spectra of five teas, measured in May.\nCuvette 1 cm.\n")
    return f, want(Y, a, "wavelength", "nm", [f"tea_{i}" for i in range(5)])


@layout
def folder_dpt(d):
    f = d / "dpt"
    f.mkdir()
    a = np.round(1801.3 - 1.93 * np.arange(400), 4)
    Y = spectra(a, 4, 89)
    for i, y in enumerate(Y):
        put(f / f"spot{i + 1}.dpt", col(a, y[None], ",", "%.4f"))
    return f, want(Y, a, names=[f"spot{i + 1}" for i in range(4)])


@layout
def long_table_sample_column(d):
    a = np.arange(400, 701, 3.0)
    Y = spectra(a, 4, 90)
    t = "sample;wavelength_nm;absorbance\n" + "".join(
        f"mix{j};{x:g};{Y[j, i]:.5f}\n" for j in range(4) for i, x in enumerate(a)
    )
    return put(d / "long.csv", t), want(Y, a, "wavelength", "nm", [f"mix{j}" for j in range(4)])


def same(found, wanted):
    return np.shape(found) == np.shape(wanted) and np.allclose(
        found, wanted, rtol=2e-5, atol=1e-7, equal_nan=True
    )


def agrees(found, wanted, unknown):
    """Whether a name or unit is what the file says, or unknown if the file does not say it."""
    if not wanted or wanted == "?":
        return True
    words = [word.lower() for word in wanted.rstrip("?").split("|")]
    return found.lower() in [*words, unknown] if wanted.endswith("?") else found.lower() in words


def faults(data, wanted):
    """What was read wrong."""
    turned = wanted.get("either") and same(data.Y, wanted["Y"].T)  # both directions are spectra
    if turned:
        return [] if data.axis is not None else ["no axis"]
    found = [] if same(data.Y, wanted["Y"]) else [f"Y {data.Y.shape} instead of {wanted['Y'].shape}"]
    if wanted["axis"] is None:
        found += [] if data.axis is None else ["an axis that is not in the file"]
    elif data.axis is None or not same(data.axis, wanted["axis"]):
        found.append(f"axis of {data}")
    for key, value, unknown in (("name", data.axis_name, "channel"), ("unit", data.axis_unit, "")):
        if not agrees(value, wanted[key], unknown):
            found.append(f"{key} {value!r}, not {wanted[key]!r}")
    if wanted.get("notname") == data.axis_name:
        found.append(f"a guess, {data.axis_name}")
    named = " | ".join(data.row_names)
    found += [f"no name {name!r} in {named[:60]}" for name in wanted["names"] or () if name not in named]
    if wanted.get("row_axis") is not None and not same(data.row_axis, wanted["row_axis"]):
        found.append(f"coordinates {data.row_axis}")
    if wanted.get("image") and data.image_shape != wanted["image"]:
        found.append(f"image {data.image_shape}")
    if wanted.get("note") and not re.search(wanted["note"], " ".join(map(str, data.notes))):
        found.append("no note")
    return found


def outcome(folder, name):
    """Return "right", "wrong" or "refused", and why."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of zarr and xarray, when they write
        path, wanted = LAYOUTS[name](folder)
    try:
        data = read(path)
    except ReadError as error:
        return ("right" if wanted.get("ask") else "refused"), str(error)
    found = faults(data, wanted)
    return ("wrong" if found else "right"), "; ".join(found)


@pytest.mark.parametrize("name", LAYOUTS)
def test_read_right(tmp_path, name):
    kind, why = outcome(tmp_path, name)
    assert kind == "right", f"{kind}: {why}"


if __name__ == "__main__":
    for name in LAYOUTS:
        kind, why = outcome(Path(tempfile.mkdtemp()), name)
        if kind != "right" or "-v" in sys.argv:
            print(kind, name, why)
