"""Formats that instruments' programs write: written here from their specifications, and real ones."""

import base64
import struct
import zipfile
import zlib

import numpy as np
import pytest
import real_data

from ngmca import io
from ngmca.io.isolated_reading import read_here

AXIS = np.linspace(4000.0, 400.0, 37)
SPECTRA = np.round(np.random.default_rng(0).random((6, 37)), 3).astype(np.float32)


def spc(
    Y, *, flags=0x04, kind=1, intensity=2, planes=0, exponent=-128, order="<", own_axis=None,
    places=None, step=0.0,
):  # fmt: skip
    """Galactic SPC: 512 bytes of header, 32 before each spectrum with its place among the others."""
    places = [(10.0 * i, 0.0) for i in range(len(Y))] if places is None else places
    flags |= 0x80 * (own_axis is not None)
    head = struct.pack(
        order + "BBBbIddIBBBB", flags, 0x4B if order == "<" else 0x4C, 0, exponent,
        Y.shape[1], AXIS[0], AXIS[-1], len(Y), kind, intensity, 4, 0,
    )  # fmt: skip
    head = head.ljust(88, b"\0") + b"a title".ljust(130, b"\0") + b"Raman shift (cm-1)".ljust(30, b"\0")
    head = (head.ljust(316, b"\0") + struct.pack(order + "IfB", planes, step, 2)).ljust(512, b"\0")
    whole = {-128: order + "f4"}.get(exponent, order + ("i2" if flags & 1 else "i4"))
    scale = 1.0 if exponent == -128 else 2.0 ** (exponent - 8 * np.dtype(whole).itemsize)
    axis = b"" if own_axis is None else own_axis.astype(order + "f4").tobytes()
    parts = [
        struct.pack(order + "BbHf16xf", 0, exponent, i, *places[i]).ljust(32, b"\0")
        + (y if exponent == -128 else np.round(y / scale)).astype(whole).tobytes()
        for i, y in enumerate(Y)
    ]
    return head + axis + b"".join(parts)


def spc_of_masses(lists):
    """Galactic SPC in which each spectrum has an axis of its own, and a directory stands at the end."""
    body, places = b"", []
    for i, (mz, y) in enumerate(lists):
        places.append(512 + len(body))
        body += struct.pack("<BbHfffI", 0, -128, i, 1.0 * i, 0, 0, len(mz)).ljust(32, b"\0")
        body += np.array(mz, "<f4").tobytes() + np.array(y, "<f4").tobytes()
    head = struct.pack(
        "<BBBbIddIBBBB", 0xC4, 0x4B, 0, -128, 512 + len(body), 1, 9, len(lists), 9, 4, 5, 0
    )
    directory = b"".join(struct.pack("<IIf", place, 0, 0) for place in places)
    return head.ljust(512, b"\0") + body + directory


def opus(Y, key=4, unit=b"WN", extra=True):
    """Bruker OPUS: a header, a directory, and blocks of parameters and of numbers."""

    def parameter(name, value):
        if isinstance(value, int):
            return name + b"\0" + struct.pack("<hhi", 0, 2, value)
        if isinstance(value, float):
            return name + b"\0" + struct.pack("<hhd", 1, 4, value)
        text = value.ljust(len(value) + 4 - len(value) % 4, b"\0")
        return name + b"\0" + struct.pack("<hh", 2, len(text) // 2) + text

    def status(y):
        fields = {b"DPF": 1, b"NPT": len(y), b"FXV": AXIS[0].item(), b"LXV": AXIS[-1].item()}
        fields |= {b"CSF": 1.0, b"MXY": float(y.max()), b"MNY": float(y.min()), b"DXU": unit}
        text = b"".join(parameter(*pair) for pair in fields.items()) + b"END\0" + bytes(4)
        return text.ljust(len(text) + -len(text) % 4, b"\0")

    blocks = []
    for kind, y in [(key, Y), *([(1, 2 * Y)] if extra else [])]:  # 1 is the spectrum before the division
        code = 3 | (3 if kind == key else 1) << 2 | kind << 10
        blocks += [(code | 1 << 4, status(y)), (code, y.astype("<f4").tobytes())]
    place, entries, body = 24 + 12 * (len(blocks) + 1), [], b""
    entries.append((13 << 10, 3 * (len(blocks) + 1), 24))
    for code, block in blocks:
        entries.append((code, len(block) // 4, place + len(body)))
        body += block
    head = b"\x0a\x0a\xfe\xfe" + struct.pack("<diii", 920622.0, 24, 40, len(entries))
    return head + b"".join(struct.pack("<iii", *entry) for entry in entries) + body


def omnic(y, intensity=0x11):
    """Thermo Omnic, one spectrum: entries of 16 bytes from 304 on say where things are."""
    head = b"Spectral Data File\r\n".ljust(30, b"\0") + b"C:\\data\\leaf.spa".ljust(266, b"\0")
    head = head.ljust(304, b"\0")
    place = 304 + 3 * 16
    described = struct.pack("<IIII", 2, len(y), 1, intensity) + struct.pack("<ff", AXIS[0], AXIS[-1])
    described = described.ljust(300, b"\0")
    entries = struct.pack("<BBII", 2, 0, place, 300).ljust(16, b"\0")
    entries += struct.pack("<BBII", 3, 0, place + 300, 4 * len(y)).ljust(16, b"\0") + bytes(16)
    return head + entries + described + y.astype("<f4").tobytes()


def block(kind, content):
    return struct.pack("<hi", kind, len(content)) + content


def text_of(word):
    return struct.pack("<h", len(word)) + word


def perkinelmer(y, unit=b"A"):
    """PerkinElmer .sp: blocks of kind and size."""
    inner = block(-29838, struct.pack("<hdd", 29975, AXIS[0], AXIS[-1]))
    inner += block(-29835, struct.pack("<hi", 29995, len(y)))
    inner += block(-29833, struct.pack("<h", 29987) + text_of(b"cm-1"))
    inner += block(-29832, struct.pack("<h", 29987) + text_of(unit))
    inner += block(-29828, struct.pack("<hi", 29974, 8 * len(y)) + y.astype("<f8").tobytes())
    return b"PEPE2D constant interval DataSet file".ljust(44, b"\0") + block(120, inner)


def perkinelmer_image(Y, columns, rows):
    """PerkinElmer .fsm: a header, and a block for each pixel."""
    sizes = struct.pack("<10d", 10, 5, -100, AXIS[0], AXIS[-1], 0, 0, 50, 7, 0)
    sizes += struct.pack("<3i", columns, rows, Y.shape[1])
    labels = b"".join(map(text_of, (b"Y - micrometers", b"X - micrometers", b"cm-1", b"%T")))
    pixels = b"".join(block(5105, y.astype("<f4").tobytes()) for y in Y)
    return (
        b"PEPEDataSet - 4DConst3DInterval".ljust(44, b"\0")
        + block(5100, text_of(b"Image") + sizes + labels)
        + pixels
    )


def winspec(frames, unit=4):
    """Princeton .spe 2.x: 4100 bytes of header, the polynomial of the axis among them."""
    head = bytearray(4100)
    count, height, width = frames.shape
    for place, kind, value in (
        (42, "<H", width), (656, "<H", height), (1446, "<i", count), (108, "<h", 3), (1992, "<f", 2.5),
        (3098, "<B", 1), (3100, "<B", unit), (3101, "<B", 1), (3263, "<d", 500.0), (3271, "<d", 0.5),
    ):  # fmt: skip
        struct.pack_into(kind, head, place, value)
    return bytes(head) + frames.astype("<u2").tobytes()


def light_field(frames, axis, behind=8):
    """Princeton .spe 3.0: sizes and axis in XML behind the data, metadata behind each frame."""
    count, height, width = frames.shape
    data = b"".join(frame.astype("<u2").tobytes() + bytes(behind) for frame in frames)
    size = 2 * height * width
    footer = (
        f'<SpeFormat version="3.0" xmlns="http://www.princetoninstruments.com/spe/2009"><DataFormat>'
        f'<DataBlock type="Frame" count="{count}" pixelFormat="MonochromeUnsigned16" size="{size}" '
        f'stride="{size + behind}"><DataBlock type="Region" count="1" width="{width}" height="{height}" '
        f'size="{size}" stride="{size}"/></DataBlock></DataFormat><Calibrations><WavelengthMapping>'
        f"<Wavelength>{','.join(map(str, axis))}</Wavelength></WavelengthMapping></Calibrations>"
        "</SpeFormat>"
    )
    head = bytearray(4100)
    struct.pack_into("<f", head, 1992, 3.0)
    struct.pack_into("<H", head, 42, width)
    struct.pack_into("<h", head, 108, 3)
    struct.pack_into("<Q", head, 678, 4100 + len(data))
    return bytes(head) + data + footer.encode()


def mzml(scans, announced=None, group=False):
    """mzML: peaks in base64, masses as doubles under zlib and intensities as plain floats."""
    text = '<?xml version="1.0"?>'
    text += '<mzML xmlns="http://psi.hupo.org/ms/mzml"><referenceableParamGroupList>'
    level = '<cvParam accession="MS:1000511" name="ms level" value="{}"/>'
    text += f'<referenceableParamGroup id="full">{level.format(1)}</referenceableParamGroup>'
    text += f'<referenceableParamGroup id="part">{level.format(2)}</referenceableParamGroup>'
    text += f'</referenceableParamGroupList><run><spectrumList count="{announced or len(scans)}">'
    for i, (kind, minutes, mz, y) in enumerate(scans):
        packed = base64.b64encode(zlib.compress(np.array(mz, "<f8").tobytes())).decode()
        plain = base64.b64encode(np.array(y, "<f4").tobytes()).decode()
        named = f'<referenceableParamGroupRef ref="{"full" if kind == 1 else "part"}"/>'
        text += (
            f'<spectrum index="{i}" id="scan={i}" defaultArrayLength="{len(mz)}">'
            f"{named if group else level.format(kind)}"
            f'<cvParam accession="MS:1000016" value="{minutes}" unitAccession="UO:0000031"/>'
            f'<binaryDataArray><cvParam accession="MS:1000514"/><cvParam accession="MS:1000523"/>'
            f'<cvParam accession="MS:1000574"/><binary>{packed}</binary></binaryDataArray>'
            f'<binaryDataArray><cvParam accession="MS:1000515"/><cvParam accession="MS:1000521"/>'
            f'<cvParam accession="MS:1000576"/><binary>{plain}</binary></binaryDataArray></spectrum>'
        )
    return (text + "</spectrumList></run></mzML>").encode()


def xlsx(path, sheets):
    """Excel's format, of which numbers and words in cells are enough."""

    def cell(value):
        if value is None:
            return "<c/>"
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return f"<c><v>{value!r}</v></c>"

    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        listed = "".join(
            f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets, 1)
        )
        book.writestr(
            "xl/workbook.xml",
            f'<workbook {main} xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        )
        start = f'<Relationship Id="r0" Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
        relations = f'<Relationships xmlns="{package}/relationships">{{}}</Relationships>'
        book.writestr("_rels/.rels", relations.format(start))
        links = "".join(
            f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/{i}.xml"/>'
            for i, _ in enumerate(sheets, 1)
        )
        book.writestr("xl/_rels/workbook.xml.rels", relations.format(links))

        for i, rows in enumerate(sheets.values(), 1):
            body = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            book.writestr(
                f"xl/worksheets/{i}.xml", f"<worksheet {main}><sheetData>{body}</sheetData></worksheet>"
            )


def ods(path, sheets):
    """LibreOffice's format."""
    names = "urn:oasis:names:tc:opendocument:xmlns:"
    body = ""
    for name, rows in sheets.items():
        body += f'<table:table table:name="{name}">'
        for row in rows:
            cells = (
                f'<table:table-cell office:value-type="string"><text:p>{c}</text:p></table:table-cell>'
                if isinstance(c, str)
                else f'<table:table-cell office:value-type="float" office:value="{c!r}"/>'
                for c in row
            )
            body += f"<table:table-row>{''.join(cells)}</table:table-row>"
        body += "</table:table>"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr(
            "META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{names}manifest:1.0"/>'
        )
        spaces = " ".join(f'xmlns:{key}="{names}{key}:1.0"' for key in ("office", "table", "text"))
        book.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{body}"
            "</office:spreadsheet></office:body></office:document-content>",
        )


def sheet(axis=AXIS, Y=SPECTRA):
    """Wavenumbers down the first column, measurements across."""
    head = ["wavenumber [cm-1]", *(f"tube {i + 1}" for i in range(len(Y)))]
    return [head, *([float(x), *map(float, column)] for x, column in zip(axis, Y.T, strict=True))]


def written(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("write", "suffix"), [(xlsx, "xlsx"), (ods, "ods")])
def test_the_table_of_a_spreadsheet_is_read_like_text(tmp_path, write, suffix):
    path = tmp_path / f"run.{suffix}"
    write(path, {"Notes": [["measured on a rainy day"]], "Run 1": sheet(), "Empty": []})
    data = io.read(path)
    np.testing.assert_allclose(data.Y, SPECTRA)
    np.testing.assert_allclose(data.axis, AXIS)
    assert (data.axis_name, data.axis_unit) == ("wavenumber", "cm-1")
    assert data.row_names == tuple(f"tube {i + 1}" for i in range(6))
    assert "cells.tsv" not in " ".join(data.notes)


def test_of_several_tables_in_a_spreadsheet_one_is_chosen_by_name(tmp_path):
    xlsx(tmp_path / "runs.xlsx", {"Monday": sheet(), "Friday": sheet(Y=2 * SPECTRA)})
    with pytest.raises(
        io.ReadError, match=r"several data sets.*'Monday' \(38x7\), dataset='Friday' \(38x7\)"
    ):
        io.read(tmp_path / "runs.xlsx")
    np.testing.assert_allclose(io.read(tmp_path / "runs.xlsx", dataset="Friday").Y, 2 * SPECTRA)
    with pytest.raises(io.ReadError, match="Sunday"):
        io.read(tmp_path / "runs.xlsx", dataset="Sunday")


def test_an_empty_cell_of_a_spreadsheet_is_missing_and_told(tmp_path):
    rows = sheet()
    rows[4][2] = None
    xlsx(tmp_path / "gap.xlsx", {"Run": rows})
    data = io.read(tmp_path / "gap.xlsx")
    np.testing.assert_array_equal(np.argwhere(np.isnan(data.Y)), [[1, 3]])
    assert any("1 missing entry" in note for note in data.notes)
    rows[4][2] = "OVR"
    xlsx(tmp_path / "gap.xlsx", {"Run": rows})
    with pytest.raises(io.ReadError, match=r"gap\.xlsx, sheet Run, line 5"):
        io.read(tmp_path / "gap.xlsx")


def test_formulas_without_values_are_empty_columns(tmp_path):
    rows = [[*row[:2], None] for row in sheet()]
    rows[0][2] = "difference"
    xlsx(tmp_path / "raw.xlsx", {"Run": rows})
    data = io.read(tmp_path / "raw.xlsx")
    np.testing.assert_allclose(data.Y, SPECTRA[:1])
    assert any("empty columns were left out: difference." in note for note in data.notes)
    xlsx(tmp_path / "axis.xlsx", {"Run": [[row[0], row[2]] for row in rows]})
    with pytest.raises(io.ReadError, match=r"axis\.xlsx, sheet Run: column 1 is called 'wavenumber"):
        io.read(tmp_path / "axis.xlsx")


def test_text_that_is_called_xls_is_read_as_text(tmp_path):
    lines = ["\t".join(map(str, row)) for row in sheet()]
    data = io.read(written(tmp_path / "export.xls", "\n".join(lines).encode()))
    np.testing.assert_allclose(data.Y, SPECTRA)


@pytest.mark.parametrize("order", ["<", ">"])
def test_spc_with_many_spectra(tmp_path, order):
    data = io.read(written(tmp_path / "series.spc", spc(SPECTRA, order=order)))
    np.testing.assert_array_equal(data.Y, SPECTRA)
    np.testing.assert_allclose(data.axis, AXIS)
    assert (data.axis_name, data.axis_unit, data.meta["title"]) == ("wavenumber", "cm-1", "a title")
    assert data.row_names == ("0 s", "10 s", "20 s", "30 s", "40 s", "50 s")
    assert (data.meta["format"], data.meta["intensity"], data.image_shape) == ("SPC", "absorbance", None)


@pytest.mark.parametrize(
    ("flags", "exponent", "close"), [(0x04, 3, 1e-8), (0x05, 3, 1e-3), (0x00, 3, 1e-8)]
)
def test_spc_with_whole_numbers(tmp_path, flags, exponent, close):
    Y = SPECTRA if flags & 4 else SPECTRA[:1]
    data = io.read(written(tmp_path / "whole.spc", spc(Y, flags=flags, exponent=exponent)))
    np.testing.assert_allclose(data.Y, Y, atol=close)


def test_spc_with_an_uneven_axis_that_has_a_label(tmp_path):
    axis = np.geomspace(200, 3000, 37).astype(np.float32)
    data = io.read(written(tmp_path / "raman.spc", spc(SPECTRA, flags=0x24, kind=0, own_axis=axis)))
    np.testing.assert_array_equal(data.axis, axis)
    assert (data.axis_name, data.axis_unit) == ("Raman shift", "cm-1")


def test_spc_map_and_transmittance(tmp_path):
    data = io.read(written(tmp_path / "map.spc", spc(SPECTRA, planes=2, intensity=128)))
    assert data.image_shape == (2, 3)
    np.testing.assert_allclose(data.Y, -np.log10(np.clip(SPECTRA, 1e-4, None)), atol=1e-6)
    assert any("absorbance" in note for note in data.notes)


@pytest.mark.parametrize("step", [0.0, 5.0])
def test_spc_map_with_coordinates(tmp_path, step):
    places = [(x, 0.0 if step and y > 7 else y) for y in (7.0, 12.0) for x in (50.0, 60.0, 70.0)]
    data = io.read(written(tmp_path / "map.spc", spc(SPECTRA, planes=2, places=places, step=step)))
    assert data.image_shape == (2, 3)
    assert data.meta["x"] == [50, 60, 70, 50, 60, 70]
    assert data.meta["y"] == [7, 7, 7, 12, 12, 12]
    assert (data.meta["x_unit"], data.meta["y_unit"]) == ("s", "um")
    plain = io.read(written(tmp_path / "plain.spc", spc(SPECTRA, planes=2)))
    assert not {"x", "y"} & set(plain.meta)  # pixels that are counted are nowhere


def test_spc_with_lists_of_peaks(tmp_path):
    lists = [([10.5, 12.0], [1, 2]), ([12.0, 13.25, 14.0], [3, 4, 5])]
    data = io.read(written(tmp_path / "gcms.spc", spc_of_masses(lists)))
    np.testing.assert_allclose(data.axis, [10.5, 12.0, 13.25, 14.0])
    np.testing.assert_allclose(data.Y, [[1, 2, 0, 0], [0, 3, 4, 5]])
    assert (data.axis_name, data.row_names) == ("m/z", ("0 min", "1 min"))


def test_interferograms_are_refused(tmp_path):
    for name, content in {
        "i.spc": spc(SPECTRA, intensity=1),
        "i.0": opus(SPECTRA[0], key=2, unit=b"PNT", extra=False),
    }.items():
        with pytest.raises(io.ReadError, match="Fourier"):
            io.read(written(tmp_path / name, content))


def check_first_spectrum(data):
    """It is the first of SPECTRA, over wavenumbers."""
    np.testing.assert_array_equal(data.Y, SPECTRA[:1])
    np.testing.assert_allclose(data.axis, AXIS)
    assert (data.axis_name, data.axis_unit) == ("wavenumber", "cm-1")


def test_opus_gives_the_result_and_names_the_rest(tmp_path):
    path = written(tmp_path / "sample.0", opus(SPECTRA[0]))
    data = io.read(path)
    check_first_spectrum(data)
    assert data.meta["dataset"] == "a"
    assert any("sm (" in note for note in data.notes)
    np.testing.assert_array_equal(io.read(path, dataset="sm").Y, 2 * SPECTRA[:1])
    with pytest.raises(io.ReadError, match="no spectrum for dataset='km': it has sm, a"):
        io.read(path, dataset="km")


def test_omnic_spectrum(tmp_path):
    data = io.read(written(tmp_path / "leaf.spa", omnic(SPECTRA[0])))
    check_first_spectrum(data)
    assert data.meta["intensity"] == "absorbance"
    percent = io.read(written(tmp_path / "t.spa", omnic(100 * SPECTRA[0], intensity=0x10)))
    np.testing.assert_allclose(percent.Y, -np.log10(np.clip(SPECTRA[:1], 1e-4, None)), atol=1e-6)


def test_perkinelmer_spectrum_and_image(tmp_path):
    data = io.read(written(tmp_path / "one.sp", perkinelmer(SPECTRA[0])))
    check_first_spectrum(data)
    assert data.meta["intensity"] == "absorbance"
    image = io.read(written(tmp_path / "many.fsm", perkinelmer_image(100 * SPECTRA, columns=3, rows=2)))
    assert image.image_shape == (2, 3)
    np.testing.assert_allclose(image.Y, -np.log10(np.clip(SPECTRA, 1e-4, None)), atol=1e-6)
    assert image.meta["x"] == [50, 60, 70, 50, 60, 70]
    assert image.meta["y"] == [7, 7, 7, 12, 12, 12]
    assert (image.meta["x_unit"], image.meta["y_unit"]) == ("um", "um")


@pytest.mark.parametrize("unit", [4, 6])
def test_princeton_of_winspec(tmp_path, unit):
    frames = np.arange(2 * 3 * 20).reshape(2, 3, 20)
    data = io.read(written(tmp_path / "w.spe", winspec(frames, unit)))
    np.testing.assert_array_equal(data.Y, frames.reshape(6, 20))
    np.testing.assert_allclose(data.axis, 500.0 + 0.5 * np.arange(1, 21))
    assert (data.axis_name, data.axis_unit) == {4: ("wavelength", "nm"), 6: ("Raman shift", "cm-1")}[
        unit
    ]
    assert data.row_names[:4] == ("frame 1 row 1", "frame 1 row 2", "frame 1 row 3", "frame 2 row 1")


def test_princeton_of_light_field(tmp_path):
    frames = np.arange(4 * 20).reshape(4, 1, 20)
    axis = np.linspace(600, 700, 20) ** 1.01
    data = io.read(written(tmp_path / "l.spe", light_field(frames, axis)))
    np.testing.assert_array_equal(data.Y, frames[:, 0])
    np.testing.assert_allclose(data.axis, axis)
    assert (data.axis_unit, data.row_names[-1]) == ("nm", "frame 4")


@pytest.mark.parametrize("group", [False, True])
def test_mzml_gives_full_scans_in_bins_named_by_time(tmp_path, group):
    scans = [
        (1, 0.5, [100.0, 200.02], [1, 2]),
        (2, 0.6, [50.0], [9]),
        (1, 0.75, [100.04, 300.0], [3, 4]),
    ]
    data = io.read(written(tmp_path / "run.mzML", mzml(scans, group=group)))
    np.testing.assert_allclose(data.axis, [100.05, 200.05, 300.05], atol=0.051)
    np.testing.assert_array_equal(data.Y, [[1, 2, 0], [3, 0, 4]])
    assert (data.axis_name, data.row_names) == ("m/z", ("0.5 min", "0.75 min"))
    assert any("1 scans of MS level 2" in note for note in data.notes)


def test_mzml_of_both_polarities_is_told(tmp_path):
    content = mzml([(1, 0.1, [100.0], [1]), (1, 0.2, [100.0], [2])])
    assert not io.read(written(tmp_path / "run.mzML", content)).notes
    signs = iter((b"MS:1000129", b"MS:1000130"))
    parts = content.split(b"<spectrum index")
    mixed = [
        parts[0],
        *(part.replace(b">", b'><cvParam accession="%b"/>' % next(signs), 1) for part in parts[1:]),
    ]
    data = io.read(written(tmp_path / "run.mzML", b"<spectrum index".join(mixed)))
    assert data.notes == ("negative and positive scans are in one table.",)


def test_mzml_with_fewer_spectra_than_announced_is_refused(tmp_path):
    scans = [(1, 0.5, [100.0], [1])]
    with pytest.raises(io.ReadError, match="announces 3 spectra, but holds 1"):
        io.read(written(tmp_path / "run.mzML", mzml(scans, announced=3)))


def wholes(folder):
    """A whole file of each binary format."""
    frames = np.arange(40).reshape(2, 1, 20)
    xlsx(folder / "w.xlsx", {"Run": sheet()})
    ods(folder / "w.ods", {"Run": sheet()})
    lists = [([10.5, 12.0], [1, 2]), ([12.0, 13.25, 14.0], [3, 4, 5])]
    return {
        "w.spc": spc(SPECTRA),
        "m.spc": spc_of_masses(lists),
        "w.0": opus(SPECTRA[0]),
        "w.spa": omnic(SPECTRA[0]),
        "w.sp": perkinelmer(SPECTRA[0]),
        "w.fsm": perkinelmer_image(SPECTRA, 3, 2),
        "w.spe": winspec(frames),
        "l.spe": light_field(frames, np.arange(20.0)),
        "w.mzML": mzml([(1, 0.5, [100.0], [1])]),
        "w.xlsx": (folder / "w.xlsx").read_bytes(),
        "w.ods": (folder / "w.ods").read_bytes(),
    }


NAMES = (
    "w.spc",
    "m.spc",
    "w.0",
    "w.spa",
    "w.sp",
    "w.fsm",
    "w.spe",
    "l.spe",
    "w.mzML",
    "w.xlsx",
    "w.ods",
)


@pytest.mark.parametrize("name", NAMES)
def test_truncated_files_are_refused(tmp_path, name):
    content = wholes(tmp_path)[name]
    read_here(written(tmp_path / name, content), {})
    for length in sorted({*np.linspace(1, len(content) - 1, 12).astype(int).tolist(), len(content) - 8}):
        with pytest.raises(io.ReadError):
            read_here(written(tmp_path / name, content[:length]), {})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("old.spc", "not an SPC file"),
        ("brain.map", "not a map of JEOL"),
        ("gamma.spe", "not a file of Princeton"),
        ("raman.l6m", "export as .xml or .txt in LabSpec"),
        ("any.sp", "no known format"),
        ("any.0", "no known format"),
    ],
)
def test_files_of_another_program_under_the_same_suffix_are_refused(tmp_path, name, words):
    content = b"\xd0\xcf\x11\xe0" + bytes(range(256)) * 20
    with pytest.raises(io.ReadError, match=words):
        io.read(written(tmp_path / name, content))


def test_omnic_maps_and_old_spc_are_refused_with_what_to_do(tmp_path):
    with pytest.raises(io.ReadError, match="as a group"):
        io.read(written(tmp_path / "tissue.map", b"Spectral Exte File\r\n".ljust(5000, b"\0")))
    with pytest.raises(io.ReadError, match="before 1996"):
        io.read(written(tmp_path / "old.spc", b"\0\x4d" + bytes(600)))


def test_a_map_that_is_text_is_read_as_text(tmp_path):
    lines = ["\t".join(map(str, row)) for row in sheet()]
    data = io.read(written(tmp_path / "table.map", "\n".join(lines).encode()))
    np.testing.assert_allclose(data.Y, SPECTRA)


def test_xml_of_another_program_is_refused(tmp_path):
    with pytest.raises(io.ReadError, match="LabSpec and mzML"):
        io.read(written(tmp_path / "settings.xml", b"<?xml version='1.0'?><settings>1 2 3</settings>"))


def test_real_files_of_other_programs():
    folder = real_data.folder_of("orange_spectroscopy") / "orangecontrib" / "spectroscopy" / "datasets"
    juice = io.read(folder / "peach_juice.0")
    table = np.loadtxt(folder / "peach_juice.dpt", comments=("#", ";"))
    np.testing.assert_allclose(juice.Y[0], table[:, 1], atol=1e-5)
    np.testing.assert_allclose(juice.axis, table[:, 0], atol=1e-4)
    image = io.read(folder / "perkinelmer" / "4x4_pixel_PE_image.fsm")
    pixel = io.read(folder / "perkinelmer" / "single_PE_spectrum.sp")
    assert image.image_shape == (4, 4)
    np.testing.assert_allclose(image.meta["x"][:4], [17480, 17530, 17580, 17630], atol=1e-4)
    np.testing.assert_allclose(image.meta["y"][::4], [2749, 2799, 2849, 2899], atol=1e-4)
    np.testing.assert_allclose(image.Y[5], pixel.Y[0], atol=1e-6)
    assert io.read(folder / "sample1.spa").Y.shape == (1, 1738)
    masses = io.read(folder / "m_xyxy.spc")
    assert (masses.Y.shape, masses.axis_name, masses.row_names[0]) == ((512, 261), "m/z", "1.08667 min")
    np.testing.assert_array_equal(masses.Y[:3].sum(axis=1), [45327, 36606, 33749])
    with pytest.raises(io.ReadError, match="as a group"):
        io.read(folder / "small_Omnic.map")
