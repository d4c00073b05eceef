"""Files that would run code, or hand over other files of the machine, are refused before they can."""

import contextlib
import json
import os
import pickle
import shutil
import warnings
import zipfile

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr

from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io import ReadError, read

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40)))


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = str(trace)

    def __reduce__(self):
        return os.mkdir, (self.trace,)


@pytest.fixture(autouse=True)
def trusting(monkeypatch):
    """From 0.16.6, numcodecs refuses by itself: what is tested here is that it is not even asked."""
    monkeypatch.setenv("NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE", "1")


def zarr_2(folder, trace, filters=("vlen-utf8", "pickle"), **changed):
    """An array of Zarr's version 2 whose only chunk is a pickle."""
    folder.mkdir(parents=True)
    array = {"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|O", "order": "C",
             "filters": [{"id": name} for name in filters], "compressor": None,
             "fill_value": None}  # fmt: skip
    (folder / ".zarray").write_text(json.dumps(array | changed))
    (folder / "0.0").write_bytes(pickle.dumps(Evil(trace)))
    return array | changed


def group_2(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".zgroup").write_text('{"zarr_format": 2}')


def plain_2(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        group = zarr.open_group(str(path), mode="w", zarr_format=2)
        group.create_array("data", data=Y)


def alone(path, trace):
    zarr_2(path, trace)


def beside_the_data(path, trace):
    plain_2(path)
    zarr_2(path / "names", trace)


def deep_inside(path, trace):
    plain_2(path)
    for folder in (path / "a", path / "a" / "b"):
        group_2(folder)
    zarr_2(path / "a" / "b" / "names", trace)


def as_compressor(path, trace):
    zarr_2(path, trace, filters=(), dtype="<f8", compressor={"id": "pickle"})


def harmless_alone(path, trace):
    """A group with an array whose own metadata are harmless; what would make it run code."""
    group_2(path)
    evil = zarr_2(path / "data", trace)
    (path / "data" / ".zarray").write_text(json.dumps(evil | {"filters": None, "dtype": "<f8"}))
    return evil


def consolidated_only(path, trace, **more):
    """The array's own metadata are harmless, those of the store are not: which are read?"""
    known = {".zgroup": {"zarr_format": 2}, "data/.zarray": harmless_alone(path, trace)}
    text = json.dumps({"zarr_consolidated_format": 1, "metadata": known} | more)
    (path / ".zmetadata").write_text(text)


def consolidated_beside_a_key_of_arrays(path, trace):
    consolidated_only(path, trace, codecs=None)


def consolidated_in_the_group(path, trace):
    inside = {"kind": "inline", "metadata": {"data": harmless_alone(path, trace)}}
    group = {"zarr_format": 2, "consolidated_metadata": inside}
    (path / ".zgroup").write_text(json.dumps(group))


def zarr_3(path, trace, codec):
    path.mkdir(parents=True)
    array = {"zarr_format": 3, "node_type": "array", "shape": [2, 2], "data_type": "float64",
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
             "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
             "fill_value": 0.0, "codecs": codec, "attributes": {}}  # fmt: skip
    (path / "zarr.json").write_text(json.dumps(array))
    (path / "c" / "0").mkdir(parents=True)
    (path / "c" / "0" / "0").write_bytes(pickle.dumps(Evil(trace)))


PICKLE_3 = {"name": "numcodecs.pickle", "configuration": {}}


def version_3(path, trace):
    zarr_3(path, trace, [PICKLE_3])


def version_3_under_two_names(path, trace):
    zarr_3(path, trace, [{"id": "blosc", **PICKLE_3}])


def version_3_in_a_shard(path, trace):
    inner = {"chunk_shape": [2, 2], "codecs": [PICKLE_3], "index_codecs": [{"name": "bytes"}]}
    zarr_3(path, trace, [{"name": "sharding_indexed", "configuration": inner}])


def consolidated_3(path, trace, name, **more):
    """Version 3: harmless but for what the group says about an array of that name."""
    zarr_3(path / name, trace, [{"name": "bytes", "configuration": {"endian": "little"}}])
    array = json.loads((path / name / "zarr.json").read_text()) | {"codecs": [PICKLE_3]}
    inside = {"kind": "inline", "must_understand": False, "metadata": {name: array} | more}
    group = {"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": inside}
    (path / "zarr.json").write_text(json.dumps(group))


def version_3_called_attributes(path, trace):
    consolidated_3(path, trace, "attributes")


def version_3_called_attributes_beside_node_type(path, trace):
    consolidated_3(path, trace, "attributes", node_type={"zarr_format": 3, "node_type": "group"})


def version_3_called_zattrs(path, trace):
    consolidated_3(path, trace, "data.zattrs")


STORES = [
    alone,
    beside_the_data,
    deep_inside,
    as_compressor,
    consolidated_only,
    consolidated_beside_a_key_of_arrays,
    consolidated_in_the_group,
    version_3,
    version_3_under_two_names,
    version_3_in_a_shard,
    version_3_called_attributes,
    version_3_called_attributes_beside_node_type,
    version_3_called_zattrs,
]


@pytest.mark.parametrize("build", STORES)
@pytest.mark.parametrize("name", ["d.zarr", "d.zspy"])
def test_a_zarr_store_runs_no_code(tmp_path, build, name):
    if name == "d.zspy":
        pytest.importorskip("rsciio")
    build(tmp_path / name, tmp_path / "trace")
    with pytest.raises(ReadError, match="'pickle', which is not known to be safe"):
        read(tmp_path / name)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("build", [deep_inside, consolidated_beside_a_key_of_arrays])
def test_nor_does_a_zipped_one(tmp_path, build):
    pytest.importorskip("rsciio")
    build(tmp_path / "d", tmp_path / "trace")
    with zipfile.ZipFile(tmp_path / "d.zspy", "w") as archive:
        for file in (tmp_path / "d").rglob("*"):
            archive.write(file, file.relative_to(tmp_path / "d"))
    with pytest.raises(ReadError, match="'pickle', which is not known to be safe"):
        read(tmp_path / "d.zspy")
    assert not (tmp_path / "trace").exists()


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("name", ["d.zarr", "d.zspy"])
@pytest.mark.parametrize("inside", ["names", "a/b/names", "data/0.0"])
def test_links_in_a_store_are_not_followed(tmp_path, name, inside):
    """Neither to metadata that were not looked at, nor to somebody's file in the place of a chunk."""
    if name == "d.zspy":
        pytest.importorskip("rsciio")
    zarr_2(tmp_path / "hidden", tmp_path / "trace")
    deep_inside(tmp_path / name, tmp_path / "trace")
    shutil.rmtree(tmp_path / name / "a" / "b" / "names")
    link = tmp_path / name / inside
    link.unlink(missing_ok=True)
    link.symlink_to(tmp_path / "hidden" / ("0.0" if inside.startswith("data") else ""))
    with pytest.raises(ReadError, match=f"{inside} is a link, which is not followed"):
        read(tmp_path / name)
    assert not (tmp_path / "trace").exists()


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_a_link_to_a_store_is_the_users_choice(tmp_path):
    plain_2(tmp_path / "d.zarr")
    (tmp_path / "l.zarr").symlink_to(tmp_path / "d.zarr")
    np.testing.assert_array_equal(read(tmp_path / "l.zarr").Y, Y)


def test_leave_to_run_code_is_not_passed_on():
    with IsolatedProcess() as apart:
        assert apart.call("os:getenv", "NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE", seconds=60) is None
        assert apart.call("os:getenv", "PATH", seconds=60) == os.environ["PATH"]


def test_the_stores_would_run_code(tmp_path):
    """What the refusals are worth: zarr itself, asked for the array, makes the trace."""
    alone(tmp_path / "d.zarr", tmp_path / "trace")
    import numcodecs.pickles

    allowed = getattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", None)
    numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE = True
    try:
        with contextlib.suppress(Exception), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.open(str(tmp_path / "d.zarr"), mode="r")[...]
    finally:
        numcodecs.pickles.ALLOW_UNSAFE_PICKLE_DECODE = allowed
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize("version", [2, 3])
def test_harmless_stores_are_read(tmp_path, version):
    names = xr.DataArray(["a", "b", "c", "d", "e"], dims="tube")
    array = xr.Dataset({"data": (("tube", "ppm"), Y)}, {"tube": names, "ppm": np.arange(40.0)})
    array.attrs |= {"filters": "red, green", "set-up": {"codecs": ["none"], "dtype": "any"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array.to_zarr(tmp_path / "d.zarr", zarr_format=version)
    data = read(tmp_path / "d.zarr")
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, np.arange(40.0))


@pytest.mark.parametrize("codec", ["sharded", "zlib and delta"])
def test_codecs_of_numbers_are_known(tmp_path, codec):
    import numcodecs

    path = str(tmp_path / "d.zarr")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if codec == "sharded":
            zarr.create_array(path, data=Y, chunks=(5, 10), shards=(5, 20))
        else:
            coded = {"filters": [numcodecs.Delta("<f8")], "compressors": numcodecs.Zlib()}
            zarr.create_array(path, data=np.round(Y * 64), chunks=(5, 10), zarr_format=2, **coded)
    np.testing.assert_array_equal(read(path).Y, Y if codec == "sharded" else np.round(Y * 64))


def secret(folder):
    """A file of somebody else, as HDF5 and as bytes."""
    with h5py.File(folder / "secret.h5", "w") as file:
        file["data"] = Y
    Y.tofile(folder / "secret.bin")


def external_link(file, folder):
    file["data"] = h5py.ExternalLink(str(folder / "secret.h5"), "data")


def external_link_in_a_group(file, folder):
    file["more/data"] = Y
    file["more/inner/link"] = h5py.ExternalLink(str(folder / "secret.h5"), "/")


def external_storage(file, folder):
    file.create_dataset("data", Y.shape, "f8", external=[(str(folder / "secret.bin"), 0, Y.nbytes)])


def virtual(file, folder):
    layout = h5py.VirtualLayout(Y.shape, "f8")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "data", Y.shape)
    file.create_virtual_dataset("data", layout)


@pytest.mark.parametrize("name", ["d.h5", "d.nc", "d.mat", "d.nxs", "d.hspy", "d.emd"])
@pytest.mark.parametrize("build", [external_link, external_link_in_a_group, external_storage, virtual])
def test_hdf5_hands_over_no_other_file(tmp_path, build, name):
    if name[2:] in ("nxs", "hspy", "emd"):
        pytest.importorskip("rsciio")
    secret(tmp_path)
    with h5py.File(tmp_path / name, "w") as file:
        build(file, tmp_path)
    with pytest.raises(ReadError, match=r"are in another file, .*secret\.\w+, which is not read"):
        read(tmp_path / name)


def test_links_inside_the_file_are_fine(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["scan/data"] = Y
        file["again"] = h5py.SoftLink("/scan/data")
        file["scan/loop"] = file["/"]
        layout = h5py.VirtualLayout((2, 40), "f8")
        layout[:] = h5py.VirtualSource(file["scan/data"])[:2]
        file.create_virtual_dataset("part", layout)
    np.testing.assert_array_equal(read(tmp_path / "d.h5", dataset="scan/data").Y, Y)
    np.testing.assert_array_equal(read(tmp_path / "d.h5", dataset="part").Y, Y[:2])
