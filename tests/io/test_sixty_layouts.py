"""Tables and containers as instruments and people write them: how many are read right, wrong, refused.

`python tests/io/test_sixty_layouts.py` prints the counts and what happened to each layout.
"""
# ruff: noqa: E501

import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import scipy.io
import xarray as xr
import zarr

from ngmca.io import ReadError, read

MOST_WRONG, MOST_REFUSED = 0.02, 0.15


def mixtures(axis, m, seed, noise=0.003):
    """Spectra of mixtures of four substances with several bands, in no order."""
    rng = np.random.default_rng(seed)
    span = float(np.ptp(axis))
    S = sum(np.exp(-(((axis - c) / (span * w)) ** 2))
            for c, w in zip(rng.uniform(axis.min(), axis.max(), (6, 4, 1)),
                            rng.uniform(0.01, 0.05, (6, 4, 1)), strict=True))  # fmt: skip
    Y = rng.uniform(0.1, 1, (m, 4)) @ S + noise * np.abs(rng.standard_normal((m, len(axis))))
    return np.round(Y, 5)


def reaction(axis, times, seed):
    """Spectra of A -> B -> C at these times."""
    S = mixtures(axis, 3, seed, 0.0)
    t = times - times.min()
    k = 4 / t.max()
    A = np.stack([np.exp(-k * t), 2 * k * t * np.exp(-k * t), 1 - np.exp(-k * t) * (1 + k * t)], axis=1)
    noise = 0.002 * np.random.default_rng(seed).standard_normal((len(t), len(axis)))
    return np.round(A @ S + noise, 5)


UV = np.arange(200.0, 801.0, 2.0)
NIR = np.arange(1100.0, 2500.0, 4.0)
IR = np.arange(4000.0, 648.0, -4.0)
RAMAN = np.round(np.linspace(201.37, 1803.62, 400), 2)
PPM = np.round(np.linspace(10.0, 0.5, 800), 4)
MZ = np.arange(35.0, 251.0)
T = np.round(np.geomspace(0.02, 60, 25), 4)
EVEN_T = np.arange(0, 30.0, 1.5)


def rows(*columns, sep=",", form="{:.6g}"):
    cells = [[c if isinstance(c, str) else form.format(c) for c in column] for column in columns]
    return [sep.join(row) for row in zip(*cells, strict=True)]


def line(*cells, sep=","):
    return sep.join(c if isinstance(c, str) else f"{c:.6g}" for c in cells)


LAYOUTS = {}


def layout(name, Y, axis):
    """Register a layout: the file that the function writes, and what is in it."""

    def keep(write):
        LAYOUTS[write.__name__] = (name, write, np.atleast_2d(Y), axis)
        return write

    return keep


def text(name, Y, axis, encoding="utf-8", end="\n"):
    def keep(lines):
        def write(path):
            path.write_bytes((end.join(lines()) + end).encode(encoding))

        LAYOUTS[lines.__name__] = (name, write, np.atleast_2d(Y), axis)
        return lines

    return keep


U4, U1, U12 = mixtures(UV, 4, 1), mixtures(UV, 1, 2), mixtures(UV, 12, 3)
N30 = mixtures(NIR, 30, 4)
I3, I1 = mixtures(IR, 3, 5), mixtures(IR, 1, 6)
R6, R1 = mixtures(RAMAN, 6, 7), mixtures(RAMAN, 1, 8)
P5 = mixtures(PPM, 5, 9)
K = reaction(UV, T, 10)
KE = reaction(UV, EVEN_T, 11)
GC = np.round(1e4 * np.abs(np.random.default_rng(3).gamma(0.3, 1, (60, len(MZ)))))
RT = np.round(2.0 + 0.05 * np.arange(60), 3)


@text("uvprobe.txt", U1, UV)
def uv_visible_with_a_title_in_quotes():
    return ['"File: C:\\data\\s1.spc"', '"Wavelength nm.","Abs."', *rows(UV, U1[0], form="{:.4f}")]


@text("evolution.txt", U4, UV)
def uv_visible_with_samples_across():
    head = "\t".join(["Wavelength(nm)", "blank corrected 1", "std 0.1 mM", "std 0.2 mM", "river"])
    return [head, *rows(UV, *U4, sep="\t")]


@text("cary60.csv", U4[:, ::-1], UV[::-1], end="\r\n")
def cary_pairs_with_parameters_below():
    head = [
        "s1,,s2,,s3,,s4,,",
        "Wavelength (nm),Abs,Wavelength (nm),Abs,Wavelength (nm),Abs,Wavelength (nm),Abs,",
    ]
    down = UV[::-1]
    body = rows(*[c for y in U4 for c in (down, y[::-1])])
    foot = [
        "",
        "s1",
        "Collection Time: 14.11.2023 10:12:01",
        "Baseline File Name: none",
        "Scan Rate (nm/min): 600",
    ]
    return [*head, *(row + "," for row in body), *foot]


@text("spectrum10.csv", I1, IR, end="\r\n")
def perkinelmer_csv():
    return ["Created as New Dataset,Sample 001 By Administrator", "cm-1,A", *rows(IR, I1[0])]


@text("pe.asc", I1, IR)
def perkinelmer_ascii():
    head = ["PE IR       SUBTECH     SPECTRUM    ASCII       PEDS        4.00        -1", "-1", "toluene.sp",
            "23/11/14", "10:12:01.00", "23/11/14", "10:12:01.00", "me", "", "", "#HDR", "-1", "-1", "-1.0",
            "#GR", "CM-1", "A", "1.000000", "0.000000", "4000.000000", "-4.000000", str(len(IR)), "4",
            "0.9", "0.0", "#DATA"]  # fmt: skip
    return [*head, *rows(IR, I1[0], sep="  ", form="{:.6f}")]


@text("opus.dpt", I1, IR)
def opus_points():
    return rows(IR, I1[0], form="{:.5f}")


@text("labspec_map.txt", mixtures(RAMAN, 12, 12), RAMAN)
def labspec_map():
    Y = mixtures(RAMAN, 12, 12)
    return [line("", "", *RAMAN, sep="\t"), *rows([10 + 2 * (i % 4) for i in range(12)], [5.0 + i // 4 for i in range(12)],
                                                  *Y.T, sep="\t")]  # fmt: skip


@text("witec.txt", R6, RAMAN)
def witec_table():
    names = [f"Sample--{i:03d}--Spec.Data 1" for i in range(6)]
    return [line("Wavenumber /rel. 1/cm", *names, sep="\t"), *rows(RAMAN, *R6, sep="\t")]


@text("renishaw.txt", mixtures(RAMAN, 6, 13), RAMAN[::-1])
def renishaw_points():
    Y = mixtures(RAMAN, 6, 13)
    points = [
        (-12.5 + 2 * (i % 3), 4.0 + i // 3, RAMAN[::-1][j], Y[i, j])
        for i in range(6)
        for j in range(400)
    ]
    return [
        "#X\t\t#Y\t\t#Wave\t\t#Intensity",
        *rows(*zip(*points, strict=True), sep="\t\t", form="{:.6f}"),
    ]


@text("tecan.txt", U4, UV)
def plate_reader_scan():
    head = ["Application: Tecan i-control", "Device: infinite 200Pro", "Date:\t14.11.2023", "Mode\tAbsorbance Scan",
            "Wavelength start\t200\tnm", "Wavelength end\t800\tnm", ""]  # fmt: skip
    return [
        *head,
        line("Wavel.", "A1", "A2", "B1", "B2", sep="\t"),
        *rows(UV, *U4, sep="\t"),
        "",
        "End Time:\t10:15:22",
    ]


@text("bmg.csv", U12, UV)
def plate_reader_wells_in_rows():
    wells = [f"{'ABC'[i // 4]}{1 + i % 4:02d}" for i in range(12)]
    content = [f"Sample X{i + 1}" for i in range(12)]
    return [line("Well", "Content", *UV), *rows(wells, content, *U12.T)]


@text("dad.csv", K, UV)
def diode_array_times_down():
    return [line("Time (min)\\Wavelength (nm)", *UV), *rows(T, *K.T)]


@text("dad_turned.csv", K, UV)
def diode_array_times_across():
    return [line("nm", *T), *rows(UV, *K)]


@text("deutsch.csv", U4, UV, encoding="latin-1", end="\r\n")
def german_semicolons():
    body = [row.replace(".", ",") for row in rows(UV, *U4, sep=";", form="{:.4f}")]
    return ["Wellenlänge [nm];Probe 1;Probe 2;Probe 3;Blindprobe", *body]


@text("nir_props.csv", N30, NIR)
def properties_after_the_spectra():
    rng = np.random.default_rng(0)
    return [
        line(*NIR, "moisture", "protein"),
        *rows(*N30.T, rng.uniform(8, 15, 30), rng.uniform(9, 14, 30)),
    ]


@text("nir_ids.csv", N30, NIR)
def identifiers_and_properties_before():
    rng = np.random.default_rng(1)
    ids = [f"W{i:04d}" for i in range(30)]
    return [
        line("ID", "Set", "moisture", *NIR),
        *rows(ids, ["cal", "val"] * 15, rng.uniform(8, 15, 30), *N30.T),
    ]


@text("r_table.txt", N30, NIR)
def r_write_table():
    head = " ".join(f'"X{x:g}"' for x in NIR)
    return [head, *rows([f'"{i + 1}"' for i in range(30)], *N30.T, sep=" ")]


@text("r_frame.csv", N30, NIR)
def r_columns_with_a_factor():
    head = ['"class"', *(f'"X{x:g}"' for x in NIR)]
    return [",".join(head), *rows(['"soil"', '"sand"', '"clay"'] * 10, *N30.T)]


@text("pandas.csv", U4, UV)
def pandas_with_its_index():
    table = pd.DataFrame({"wavelength": UV, **{f"s{i}": y for i, y in enumerate(U4)}})
    return table.to_csv().splitlines()


@text("writematrix.csv", K, UV)
def matlab_matrix_with_nan_in_the_corner():
    return [line("NaN", *T), *rows(UV, *K)]


@text("savetxt.dat", U4, UV)
def numpy_columns():
    return rows(UV, *U4, sep=" ", form="{:.18e}")


@text("savetxt_rows.dat", U12, UV)
def numpy_rows():
    return [line(*UV, sep=" "), *rows(*U12.T, sep=" ", form="{:.18e}")]


@text("fluoromax.txt", U4, UV)
def names_above_units():
    head = [
        line("Wavelength", "S1", "S2", "S3", "S4", sep="\t"),
        line("nm", "CPS", "CPS", "CPS", "CPS", sep="\t"),
    ]
    return [*head, *rows(UV, *(1e5 * U4), sep="\t", form="{:.8g}")]


LAYOUTS["names_above_units"] = (*LAYOUTS["names_above_units"][:2], 1e5 * U4, UV)


@text("origin.txt", U4, UV)
def origin_with_three_lines():
    return [line("Wavelength", *["Absorbance"] * 4, sep="\t"), line("nm", *["a.u."] * 4, sep="\t"),
            line("", "pH 4", "pH 5", "pH 6", "pH 7", sep="\t"), *rows(UV, *U4, sep="\t")]  # fmt: skip


@text("surface_xplorer.csv", K, UV)
def transient_absorption_with_gaps():
    gone = [[("NaN" if w < 206 else v) for w, v in zip(UV, y, strict=True)] for y in K]
    return [line(0.0, *T), *rows(UV, *gone)]


KG = K.copy()
KG[:, UV < 206] = np.nan
LAYOUTS["transient_absorption_with_gaps"] = (*LAYOUTS["transient_absorption_with_gaps"][:2], KG, UV)


@text("stopped_flow.csv", KE + 0.01, UV)
def stopped_flow_with_settings_above():
    head = ["Type,Time vs Wavelength", "Instrument,SX20", "Slit width,2 nm", "Pathlength,10 mm", ""]
    return [*head, line("Wavelength", *(EVEN_T + 0.5)), *rows(UV, *(KE + 0.01))]


@text("xrd.xy", U1, UV / 10)
def diffractogram():
    return ["# 2theta intensity", *rows(UV / 10, U1[0], sep=" ")]


@text("athena.nor", U4, UV + 6800)
def absorption_edges():
    return ["# Athena data file -- Demeter", "# Plot_space: energy", "#------------------------", "#  energy  Fe_foil  FeO  Fe2O3  sample",
            *rows(UV + 6800, *U4, sep="   ")]  # fmt: skip


@text("gcms.csv", GC, MZ)
def scans_by_masses():
    return [line("RT", *MZ), *rows(RT, *GC.T)]


@text("mz_bins.csv", GC[:12], MZ)
def masses_in_names():
    return [
        line("sample", *(f"mz_{x:g}" for x in MZ)),
        *rows([f"run{i}" for i in range(12)], *GC[:12].T),
    ]


@text("buckets.csv", P5, PPM)
def nmr_buckets():
    return [line("Sample", *PPM), *rows([f"urine_{i}" for i in range(5)], *P5.T)]


@text("nmr.txt", P5, PPM)
def nmr_columns():
    return [line("ppm", *(f"S{i}" for i in range(5)), sep="\t"), *rows(PPM, *P5, sep="\t")]


@text("monitoring.csv", U4, UV)
def dates_across():
    return [line("nm", *(f"2024-01-0{d} 10:00:00" for d in range(1, 5))), *rows(UV, *U4)]


@text("dates.csv", U12, UV)
def dates_down():
    return [line("date", *UV), *rows([f"2024-02-{d:02d}" for d in range(1, 13)], *U12.T)]


@text("conditions.csv", U4, UV)
def conditions_below_the_names():
    return ["Sample,A,B,C,D", "Temperature,25,30,35,40", "Wavelength (nm),,,,", *rows(UV, *U4)]


ASD = np.arange(350.0, 2501.0)


@text("asd.txt", mixtures(ASD, 2, 14), ASD)
def field_spectrometer():
    return [
        line("Wavelength", "soil00000.asd", "soil00001.asd", sep="\t"),
        *rows(ASD, *mixtures(ASD, 2, 14), sep="\t"),
    ]


@text("pixels.csv", mixtures(UV, 20, 15), UV)
def pixels_with_bands_in_names():
    Y = mixtures(UV, 20, 15)
    places = [[i % 5 for i in range(20)], [i // 5 for i in range(20)]]
    return [line("x", "y", *(f"band_{w:g}" for w in UV)), *rows(*places, *Y.T)]


@text("tidy.csv", U4, UV)
def one_point_a_line_sorted_by_wavelength():
    points = [(f"s{i}", w, U4[i, j]) for j, w in enumerate(UV) for i in range(4)]
    return ["sample,wavelength,absorbance", *rows(*zip(*points, strict=True))]


@text("tidy_reps.csv", U12, UV)
def one_point_a_line_with_replicates():
    points = [(f"s{i // 3}", i % 3 + 1, w, U12[i, j]) for i in range(12) for j, w in enumerate(UV)]
    return ["sample,replicate,wavelength,value", *rows(*zip(*points, strict=True))]


@text("unicode.txt", U4, UV, encoding="utf-16")
def utf_16_tabs():
    return [line("λ (nm)", "a", "b", "c", "d", sep="\t"), *rows(UV, *U4, sep="\t")]


@text("fixed.prn", U4, UV)
def fixed_width():
    return ["".join(f"{c:>12}" for c in ("nm", "one", "two", "three", "four")),
            *("".join(f"{v:12.5f}" for v in row) for row in zip(UV, *U4, strict=True))]  # fmt: skip


@text("kinetics.csv", KE, UV)
def wavelengths_in_names():
    return [line("Time (s)", *(f"Abs@{w:g} nm" for w in UV)), *rows(EVEN_T, *KE.T)]


@text("bare_times.txt", K[:, ::-1], UV[::-1])
def two_bare_axes():
    return [line(0, *T, sep="\t"), *rows(UV[::-1], *K[:, ::-1], sep="\t")]


@text("replicates.csv", U12, UV)
def names_that_repeat():
    return [line("nm", *(f"s{i // 3}" for i in range(12))), *rows(UV, *U12)]


def xlsx(path, content):
    """Write a workbook, as the tests of spreadsheets do."""
    sys.path.insert(0, str(Path(__file__).parent))
    from test_vendor_formats import xlsx as write

    write(path, content)


def sheets(name, Y, axis):
    def keep(tables):
        LAYOUTS[tables.__name__] = (name, lambda path: xlsx(path, tables()), np.atleast_2d(Y), axis)
        return tables

    return keep


@sheets("book.xlsx", U4, UV)
def workbook_with_a_page_of_notes():
    spectra = [["Wavelength / nm", "a", "b", "c", "d"], *np.column_stack([UV, *U4]).tolist()]
    return {"Info": [["operator", "me"], ["path", 1.0], ["slit", 2.0]], "Spectra": spectra}


@sheets("nir.xlsx", N30, NIR)
def workbook_with_samples_down():
    body = [[f"W{i}", 9 + i / 8, *y] for i, y in enumerate(N30.tolist())]
    return {"NIR": [["Sample", "Protein", *NIR.tolist()], *body]}


def mat(path, **arrays):
    scipy.io.savemat(path, arrays)


def h5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


@layout("rows.mat", U12, UV)
def matlab_with_wavelengths(path):
    mat(path, data=U12, wavelengths=UV)


@layout("turned.mat", U12, UV)
def matlab_turned(path):
    mat(path, X=U12.T, nm=UV[:, None])


@layout("calibration.mat", N30, NIR)
def matlab_with_concentrations(path):
    mat(path, spectra=N30, conc=np.random.default_rng(0).random((30, 3)), wl=NIR)


@layout("struct.mat", N30, NIR)
def matlab_structure(path):
    mat(path, m5spec={"data": N30, "axisscale": NIR, "name": "corn"})


@layout("positional.npz", U12, UV)
def numpy_archive_without_names(path):
    np.savez(path, UV, U12)


@layout("xy.npz", U1, UV)
def numpy_x_and_y(path):
    np.savez(path, x=UV, y=U1[0])


@layout("fields.npy", U4, UV)
def numpy_fields(path):
    kinds = [("wavelength", "f8"), *((f"s{i}", "f8") for i in range(4))]
    np.save(path, np.array(list(zip(UV, *U4, strict=True)), dtype=kinds))


@layout("two.npy", R1, RAMAN)
def numpy_two_columns(path):
    np.save(path, np.column_stack([RAMAN, R1[0]]))


@layout("ta.npz", K, UV)
def numpy_wavelengths_down_times_across(path):
    np.savez(path, wl=UV, t=T, dA=K.T)


@layout("many.h5", R6, RAMAN)
def hdf5_one_group_for_each_spectrum(path):
    h5(
        path,
        **{
            f"spectrum_{i}/{k}": v
            for i, y in enumerate(R6)
            for k, v in (("shift", RAMAN), ("counts", y))
        },
    )


@layout("nexus.h5", KE, UV)
def nexus_signal_and_axes(path):
    with h5py.File(path, "w") as file:
        group = file.create_group("entry/data")
        group.attrs.update({"NX_class": "NXdata", "signal": "counts", "axes": ["time", "energy"]})
        group["counts"], group["time"], group["energy"] = KE, EVEN_T, UV
        group["counts_errors"] = 0.01 * KE


@layout("attribute.h5", U12, UV)
def hdf5_axis_in_an_attribute(path):
    with h5py.File(path, "w") as file:
        file["spectra"] = U12
        file["spectra"].attrs["wavelength"] = UV


@layout("cube.h5", U12, UV)
def hdf5_bands_first(path):
    h5(path, cube=U12.T.reshape(-1, 3, 4), wavelengths=UV)


@layout("movie.h5", np.vstack([U12, 2 * U12]), UV)
def hdf5_movie(path):
    h5(path, movie=np.stack([U12, 2 * U12]).reshape(2, 3, 4, -1), wavelength=UV, t=np.arange(2.0))


@layout("time.nc", KE, UV)
def netcdf_wavelength_first(path):
    xr.DataArray(KE.T, {"wavelength": UV, "time": EVEN_T}, ("wavelength", "time"), name="A").to_netcdf(
        path
    )


@layout("bands.nc", U12, UV)
def netcdf_bands_with_a_coordinate(path):
    cube = xr.DataArray(U12.reshape(3, 4, -1), dims=("y", "x", "band"), name="reflectance")
    cube.assign_coords(wavelength=("band", UV)).to_netcdf(path)


@layout("store.zarr", U12, UV)
def zarr_cube(path):
    group = zarr.open_group(str(path), mode="w")
    group.create_array("image", data=U12.reshape(3, 4, -1))
    group.create_array("wavelength", data=UV)


@layout("cells.mat", U4, UV)
def matlab_with_names(path):
    mat(path, absorbance=U4, lambda_nm=UV, samples=np.array(["a", "b", "c", "d"], object))


# A second set, written after the first one was read.
XRF = np.round(np.arange(0, 20.48, 0.02), 3)
X3 = mixtures(XRF, 3, 50)
FL = np.arange(300.0, 601.0, 1.0)
F8 = mixtures(FL, 8, 51)
EX = np.arange(250.0, 330.0, 10.0)
PIX = np.round(338.6 + 0.37 * np.arange(1024) - 1.2e-5 * np.arange(1024) ** 2, 2)
O5 = mixtures(PIX, 5, 52)
MIR = np.round(np.linspace(3996.02, 401.1, 1866), 3)
M10 = mixtures(MIR, 10, 53)
TT = np.array([-1.0, -0.5, -0.2, 0, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 1.5, 2, 3, 5, 8, 13, 20, 35, 60, 100])
TA = reaction(UV, TT - TT.min() + 0.01, 54)


@text("xrf.csv", X3, XRF)
def energies_in_kev():
    return ["Energy (keV),a,b,c", *rows(XRF, *X3)]


@text("eem.csv", F8, FL)
def excitation_emission():
    return [line("Em\\Ex", *EX), *rows(FL, *F8)]


@text("ocean.txt", O5[:1], PIX)
def ocean():
    return [
        "Data from HR4000",
        "",
        "Date: now",
        "User: x",
        "Integration Time (sec): 1.0",
        "XAxis mode: Wavelengths",
        "Number of Pixels in Spectrum: 1024",
        ">>>>>Begin Spectral Data<<<<<",
        *rows(PIX, O5[0], sep="\t", form="{:.5f}"),
    ]


@text("avantes.txt", O5, PIX)
def avantes():
    return [
        line("Wave   ", "Sample1", "Sample2", "Sample3", "Sample4", "Sample5", sep=";"),
        line("[nm]", *["[counts]"] * 5, sep=";"),
        *rows(PIX, *O5, sep=";"),
    ]


@text("ftir.csv", M10, MIR)
def ftir_rows_named_by_files():
    return [line("filename", *MIR), *rows([f"s{i}.0" for i in range(10)], *M10.T)]


@text("ftir_meta.csv", M10, MIR)
def ftir_with_date_and_temperature():
    return [
        line("date", "temperature", "operator", *MIR),
        *rows([f"2023-05-{i + 1:02d}" for i in range(10)], 20 + np.arange(10) / 2, ["kb"] * 10, *M10.T),
    ]


@text("ta.dat", TA, UV)
def glotaran_time_explicit():
    return [
        "comment",
        "another",
        "Time explicit",
        "Intervalnr 20",
        line("", *TT, sep="\t"),
        *rows(UV, *TA, sep="\t"),
    ]


@text("ta2.csv", TA, UV)
def ta_times_down_blank_corner():
    return [line("", *UV), *rows(TT, *TA.T)]


@text("semi.csv", U4, UV, encoding="utf-8-sig")
def excel_bom_semicolon():
    return ["nm;A;B;C;D", *rows(UV, *U4, sep=";")]


@text("sep.csv", U4, UV)
def excel_sep_line():
    return ["sep=;", "nm;A;B;C;D", *rows(UV, *U4, sep=";")]


@text("quoted.csv", U4, UV)
def everything_quoted():
    return [",".join(f'"{c}"' for c in r.split(",")) for r in ["wavelength,s1,s2,s3,s4", *rows(UV, *U4)]]


@text("pct.csv", U4, UV)
def trailing_blank_columns():
    return [r + ",,," for r in ["Wavelength nm,s1,s2,s3,s4", *rows(UV, *U4)]]


@text("reps.csv", U12, UV)
def two_header_rows():
    return [
        line(
            "", "ctrl", "ctrl", "ctrl", "low", "low", "low", "mid", "mid", "mid", "high", "high", "high"
        ),
        line("wavelength", *["r1", "r2", "r3"] * 4),
        *rows(UV, *U12),
    ]


@text("sampleids.csv", N30, NIR)
def numeric_ids_and_class():
    return [
        line("id", "class", *NIR),
        *rows(1000 + np.arange(30), [f"{i % 3}" for i in range(30)], *N30.T),
    ]


@text("wn_down.txt", M10[:4], MIR)
def no_header_four_spectra():
    return rows(MIR, *M10[:4], sep="\t", form="{:.4f}")


@text("desc.csv", U4[:, ::-1], UV[::-1])
def falling_wavelengths():
    return ["Wavelength,a,b,c,d", *rows(UV[::-1], *U4[:, ::-1])]


@text("kin.txt", KE, UV)
def spectra_per_time_in_minutes():
    return [line("Wavelength (nm)", *(f"{x:g} min" for x in EVEN_T), sep="\t"), *rows(UV, *KE, sep="\t")]


@text("titr.csv", U12, UV)
def titration_ph_across():
    return [line("pH", *(2 + 0.5 * np.arange(12))), *rows(UV, *U12)]


@text("chrom.csv", GC[:5], MZ)
def masses_down_samples_across():
    return [line("m/z", "S1", "S2", "S3", "S4", "S5"), *rows(MZ, *GC[:5])]


@layout("order.mat", U12, UV)
def mat_x_y_names(path):
    mat(path, x=UV, y=U12)


@layout("order2.mat", U12, UV)
def mat_columns_x_y(path):
    mat(path, x=UV[:, None], y=U12.T)


@layout("s.npz", U12, UV)
def npz_freq_and_spec(path):
    np.savez(path, freq=UV, spec=U12, meta=np.array(["a"]))


@layout("big.h5", U12, UV)
def h5_entry_data_and_wavelength_elsewhere(path):
    h5(path, **{"entry/data": U12, "instrument/wavelength": UV})


@layout("h5attr.h5", U12, UV)
def h5_units_attr(path):
    with h5py.File(path, "w") as f:
        f["intensity"] = U12.T
        f["x"] = UV
        f["x"].attrs["units"] = "nm"


@layout("da.nc", U12, UV)
def nc_no_names(path):
    xr.Dataset({"spectra": (("sample", "wl"), U12)}, {"wl": UV}).to_netcdf(path)


@layout("cube.npz", U12, UV)
def npz_cube_xyz(path):
    np.savez(path, cube=U12.reshape(3, 4, -1), wavelengths=UV, x=np.arange(4.0), y=np.arange(3.0))


@layout("df.h5", U12, UV)
def h5_table_with_fields(path):
    with h5py.File(path, "w") as f:
        f["table"] = np.array(
            list(zip(UV, *U12, strict=True)),
            dtype=[("wavelength", "f8"), *((f"s{i}", "f8") for i in range(12))],
        )


def outcome(folder, name):
    """Return "right", "refused" or "wrong", and what was said or read."""
    file, write, Y, axis = LAYOUTS[name]
    path = folder / file
    write(path)
    try:
        data = read(path)
    except ReadError as error:
        return "refused", str(error).replace(str(path), file)
    same = data.Y.shape == Y.shape and np.allclose(data.Y, Y, rtol=1e-3, atol=2e-4, equal_nan=True)
    placed = (
        data.axis is not None and len(data.axis) == len(axis) and np.allclose(data.axis, axis, rtol=1e-4)
    )
    return ("right" if same and placed else "wrong"), f"{data}; {'; '.join(map(str, data.notes))}"


def outcomes(folder):
    return {name: outcome(folder, name) for name in LAYOUTS}


def test_at_least_sixty_layouts_are_read_right_or_refused(tmp_path):
    found = outcomes(tmp_path)
    assert len(found) >= 60
    wrong = {name: said for name, (kind, said) in found.items() if kind == "wrong"}
    refused = {name: said for name, (kind, said) in found.items() if kind == "refused"}
    assert len(wrong) <= MOST_WRONG * len(found), wrong
    assert len(refused) <= MOST_REFUSED * len(found), refused


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1]))
    seen = outcomes(Path(tempfile.mkdtemp()))
    for name, (kind, said) in seen.items():
        if kind != "right" or "-v" in sys.argv:
            print(f"{kind:8}{name}: {said[:300]}")
    kinds = [kind for kind, _ in seen.values()]
    print(
        ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("right", "wrong", "refused")),
        "of",
        len(kinds),
    )
