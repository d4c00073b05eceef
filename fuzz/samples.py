"""A small valid file of every format that ngmca reads."""

import gzip
import warnings
from pathlib import Path

import h5py
import numpy as np
import scipy.io
import xarray as xr

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40))).round(4) + 0.01
AXIS = np.linspace(9, 1, 40).round(3)
CUBE = Y.reshape(2, 2, 50)
NAMES = [f"tube {i}" for i in range(5)]


def write_all(folder: Path) -> dict[str, str]:
    """Write one sample of each format into a folder of its name; return the file to read in each."""
    found = {}
    for name, (entry, writer) in SAMPLES.items():
        (folder / name).mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writer(folder / name / entry)
        found[name] = entry
    return found


def table(rows, sep=","):
    """Rows as text."""
    return "\n".join(sep.join(str(cell) for cell in row) for row in rows) + "\n"


COLUMNS = [("ppm", *NAMES), *np.column_stack([AXIS, Y.T])]
TEXTS = {
    "plain": ("d.csv", table(Y)),
    "axis row": ("d.tsv", table(np.array(COLUMNS, dtype=object).T, "\t")),
    "axis column": ("d.csv", table(COLUMNS)),
    "decimal commas": ("d.txt", table(COLUMNS[1:], ";").replace(".", ",")),
    "spaces": ("d.dat", "# made by x\n" + table(Y, "  ")),
    "one spectrum": ("d.xy", table(np.column_stack([AXIS, Y[0]]), " ")),
}  # fmt: skip


def write_text(text):
    """A writer of a text."""
    return lambda path: path.write_text(text)


def write_gzip(path):
    """A table, compressed."""
    path.write_bytes(gzip.compress(table(COLUMNS).encode(), mtime=0))


def write_folder(path):
    """A folder of spectra."""
    path.mkdir()
    for name, row in zip(NAMES, Y, strict=True):
        (path / f"{name}.xy").write_text(table(np.column_stack([AXIS, row]), " "))


def write_matlab(**options):
    """A writer of MATLAB's format."""
    return lambda path: scipy.io.savemat(path, {"data": Y, "ppm": AXIS, "names": NAMES}, **options)


def write_matlab_7_3(path):
    """HDF5 behind a block of MATLAB's."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["data"], file["ppm"] = Y.T, AXIS[:, None]
        file["data"].attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def write_hdf5(libver="earliest", **options):
    """A writer of HDF5."""

    def write(path):
        with h5py.File(path, "w", libver=libver) as file:
            file.create_dataset("scan/data", data=Y, **options)
            file["scan/ppm"] = AXIS

    return write


def labelled():
    """An xarray of the data, with names."""
    coordinates = {"tube": NAMES, "ppm": ("ppm", AXIS, {"units": "ppm"})}
    return xr.DataArray(Y, coordinates, ("tube", "ppm"), name="data")


def write_netcdf_3(path):
    """NetCDF 3, whose first direction may grow."""
    labelled().to_dataset().to_netcdf(path, engine="scipy", unlimited_dims=["tube"])


def write_zarr(version):
    """A writer of Zarr."""

    def write(path):
        import zarr

        group = zarr.open_group(str(path), mode="w", zarr_format=version)
        group.create_array("data", data=Y, chunks=(2, 20))
        group.create_array("ppm", data=AXIS)

    return write


def write_envi(path):
    """A cube and its header."""
    import spectral

    meta = {"wavelength": AXIS[:10].tolist(), "wavelength units": "Nanometers"}
    cube = (1000 * Y[:, :40]).astype("int16").reshape(4, 5, 10)
    spectral.envi.save_image(str(path), cube, ext=".img", metadata=meta)


def write_imzml(mode):
    """A writer of imzML and its data."""

    def write(path):
        from pyimzml.ImzMLWriter import ImzMLWriter

        with ImzMLWriter(str(path.with_suffix("")), mode=mode) as writer:
            for i in range(4):
                shift = i if mode == "processed" else 0
                writer.addSpectrum(AXIS[::-1] + 100 + shift, Y[i], (i % 2 + 1, i // 2 + 1, 1))

    return write


BRUKER = "##TITLE= Parameter file\n##JCAMPDX= 5.0\n##DATATYPE= Parameter Values\n"


def write_bruker(path):
    """Two experiments, each with a processed spectrum."""
    for i in range(2):
        inside = path / str(i + 1) / "pdata" / "1"
        inside.mkdir(parents=True)
        (inside.parents[1] / "acqus").write_text(
            BRUKER + "##$NUC1= <1H>\n##$SFO1= 500.13\n##$D= (0..3)\n0 1 2 3\n##$TD= 80\n##END=\n"
        )
        (inside / "procs").write_text(
            BRUKER + "##$SI= 40\n##$XDIM= 40\n##$SW_p= 4000\n##$SF= 500.13\n##$OFFSET= 9.5\n"
            "##$BYTORDP= 1\n##$DTYPP= 0\n##$NC_proc= 0\n##$AUNMP= <proc_1d>\n##END=\n"
        )
        (1e4 * Y[i]).astype(">i4").tofile(inside / "1r")


def write_bruker_2d(path):
    """A pseudo-2D experiment."""
    write_bruker(path.parent / "x")
    (path.parent / "x" / "1").rename(path)
    for file in sorted((path.parent / "x").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    (path.parent / "x").rmdir()
    inside = path / "pdata" / "1"
    (inside / "1r").unlink()
    (inside / "proc2s").write_text((inside / "procs").read_text().replace("= 40", "= 5"))
    (1e4 * Y).astype(">i4").tofile(inside / "2rr")


PROCPAR = "".join(
    f"{name} 1 1 1e+9 -1e+9 0 2 1 0 1 64\n1 {value}\n0 \n"
    for name, value in {"sw": 9713.45, "reffrq": 161.89, "rfl": 4856.77, "rfp": 0}.items()
)


def write_varian(path):
    """Three spectra as VnmrJ keeps them."""
    import nmrglue

    (path / "datdir").mkdir(parents=True)
    (path / "procpar").write_text(PROCPAR)
    header = {"nblocks": 3, "ntraces": 1, "np": 80, "ebytes": 4, "tbytes": 320, "bbytes": 348,
              "vers_id": 0, "status": 0x1 | 0x2 | 0x8 | 0x10, "nbheaders": 1, "S_DATA": 1,
              "S_SPEC": 1, "S_32": 0, "S_FLOAT": 1, "S_COMPLEX": 1, "S_HYPERCOMPLEX": 0,
              "blockheader": None}  # fmt: skip
    block = {"scale": 0, "status": 0, "index": 1, "mode": 0, "ctcount": 1, "lpval": 0.0, "rpval": 0.0,
             "lvl": 0.0, "tlt": 0.0}  # fmt: skip
    header["blockheader"] = [block] * 3
    spectra = np.ascontiguousarray(Y[:3].astype("complex64"))
    nmrglue.varian.write_fid(str(path / "datdir" / "phasefile"), header, spectra, correct=False)


def write_nmrpipe(rows):
    """A writer of NMRPipe."""

    def write(path):
        import nmrglue

        udic = nmrglue.fileiobase.create_blank_udic(1 if rows == 1 else 2)
        udic[udic["ndim"] - 1] |= {"size": 40, "complex": False, "freq": True, "time": False,
                                   "sw": 5000.0, "obs": 500.0, "car": 2500.0}  # fmt: skip
        if rows > 1:
            udic[0] |= {"size": rows, "complex": False, "freq": False, "time": True}
        values = Y[:rows].astype("float32").squeeze()
        nmrglue.pipe.write(str(path), nmrglue.pipe.create_dic(udic), values)

    return write


def jcamp_block(i):
    """One spectrum in JCAMP-DX."""
    head = {"TITLE": NAMES[i], "JCAMP-DX": 4.24, "DATA TYPE": "INFRARED SPECTRUM", "XUNITS": "1/CM",
            "YUNITS": "ABSORBANCE", "XFACTOR": 1, "YFACTOR": 0.0001, "FIRSTX": 700, "LASTX": 622,
            "DELTAX": -2, "NPOINTS": 40, "FIRSTY": Y[i, 0]}  # fmt: skip
    values = (1e4 * Y[i]).round().astype(int).reshape(8, 5)
    rows = [f"{700 - 10 * k} " + " ".join(map(str, row)) for k, row in enumerate(values)]
    lines = [f"##{key}={value}" for key, value in head.items()]
    return "\n".join([*lines, "##XYDATA=(X++(Y..Y))", *rows, "##END=\n"])


def jcamp_compound():
    """Three spectra in one file."""
    head = "##TITLE=series\n##JCAMP-DX=5.0\n##DATA TYPE=LINK\n##BLOCKS=3\n"
    return head + "".join(jcamp_block(i) for i in range(3)) + "##END=\n"


def jcamp_peaks():
    """A list of peaks."""
    head = {"TITLE": "peaks", "JCAMP-DX": 4.24, "DATA TYPE": "MASS SPECTRUM", "XUNITS": "M/Z",
            "YUNITS": "RELATIVE ABUNDANCE", "XFACTOR": 1, "YFACTOR": 1, "NPOINTS": 10}  # fmt: skip
    pairs = [f"{20 + 3 * k},{100 * Y[0, k]:.0f}" for k in range(10)]
    lines = [f"##{key}={value}" for key, value in head.items()]
    return "\n".join([*lines, "##PEAK TABLE=(XY..XY)", *pairs, "##END=\n"])


def emsa():
    """A spectrum of an electron microscope."""
    head = {"FORMAT": "EMSA/MAS Spectral Data File", "VERSION": "1.0", "TITLE": "test", "DATE": "",
            "TIME": "", "OWNER": "x", "NPOINTS": "40", "NCOLUMNS": "1", "XUNITS": "keV",
            "YUNITS": "counts", "DATATYPE": "Y", "XPERCHAN": "0.5", "OFFSET": "1.0",
            "SPECTRUM": ""}  # fmt: skip
    lines = [f"#{key:12}: {value}" for key, value in head.items()]
    return "\n".join([*lines, *(f"{value}," for value in Y[0]), "#ENDOFDATA   : \n"])


def write_hyperspy(path):
    """A map of spectra in HyperSpy's format (rosettasciio cannot write .zspy with Zarr 3)."""
    from rsciio.hspy import file_writer

    axes = [{"name": name, "units": unit, "size": size, "scale": 0.5, "offset": 1.0,
             "navigate": navigate, "index_in_array": i, "_type": "UniformDataAxis", "is_binned": False}
            for i, (name, unit, size, navigate) in enumerate(
                [("y", "nm", 2, True), ("x", "nm", 2, True), ("Energy", "keV", 50, False)])]  # fmt: skip
    signal = {"data": CUBE, "axes": axes, "metadata": {"General": {"title": "map"}},
              "original_metadata": {}, "attributes": {"_lazy": False, "ragged": False},
              "learning_results": {}, "tmp_parameters": {}, "models": {},
              "package_info": {"package": "hyperspy", "package_version": "2"}}  # fmt: skip
    file_writer(str(path), signal)


def athena():
    """A project of Athena."""
    lists = "@x = ({});\n@y = ({});\n[record]\n"
    axis = ",".join(f"'{x:g}'" for x in AXIS + 7100)
    groups = [
        f"$old_group = 'g{i}';\n@args = ('label','{name}','bkg_eshift',0.5);\n"
        + lists.format(axis, ",".join(f"'{y:g}'" for y in row))
        for i, (name, row) in enumerate(zip(NAMES, Y, strict=True))
    ]
    return "# Athena project file -- Demeter version 0.9.26\n" + "".join(groups) + "@journal = ();\n1;\n"


SAMPLES = {
    **{f"text, {name}": (file, write_text(text)) for name, (file, text) in TEXTS.items()},
    "text, gzip": ("d.csv.gz", write_gzip),
    "folder of text": ("spectra", write_folder),
    "npy": ("d.npy", lambda path: np.save(path, Y)),
    "npy, Fortran": ("d.npy", lambda path: np.save(path, np.asfortranarray(Y.astype(">f4")))),
    "npz": ("d.npz", lambda path: np.savez(path, data=Y, ppm=AXIS, names=np.array(NAMES))),
    "npz, compressed": ("d.npz", lambda path: np.savez_compressed(path, data=Y, ppm=AXIS)),
    "mat 5": ("d.mat", write_matlab()),
    "mat 5, compressed": ("d.mat", write_matlab(do_compression=True)),
    "mat 4": ("d.mat", lambda path: scipy.io.savemat(path, {"data": Y, "ppm": AXIS}, format="4")),
    "mat 7.3": ("d.mat", write_matlab_7_3),
    "hdf5": ("d.h5", write_hdf5()),
    "hdf5, chunks": ("d.h5", write_hdf5(chunks=(2, 10), compression="gzip")),
    "hdf5, latest": ("d.h5", write_hdf5("latest", chunks=(1, 10))),
    "zarr 2": ("d.zarr", write_zarr(2)),
    "zarr 3": ("d.zarr", write_zarr(3)),
    "netcdf 3": ("d.nc", write_netcdf_3),
    "netcdf 4": ("d.nc", lambda path: labelled().to_netcdf(path, engine="h5netcdf")),
    "bruker": ("nmr", write_bruker),
    "bruker 2d": ("7", write_bruker_2d),
    "varian": ("v.fid", write_varian),
    "nmrpipe": ("d.ft", write_nmrpipe(1)),
    "nmrpipe 2d": ("d.ft", write_nmrpipe(5)),
    "jcamp": ("d.jdx", write_text(jcamp_block(0))),
    "jcamp, compound": ("d.jdx", write_text(jcamp_compound())),
    "jcamp, peaks": ("d.jdx", write_text(jcamp_peaks())),
    "athena": ("d.prj", write_text(athena())),
    "athena, gzip": ("d.prj", lambda path: path.write_bytes(gzip.compress(athena().encode(), mtime=0))),
    "msa": ("d.msa", write_text(emsa())),
    "envi": ("d.hdr", write_envi),
    "imzml, continuous": ("d.imzML", write_imzml("continuous")),
    "imzml, processed": ("d.imzML", write_imzml("processed")),
    "hspy": ("d.hspy", write_hyperspy),
}
