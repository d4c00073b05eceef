"""Checks that a container neither runs code nor reads other files of this machine as its data."""

import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ngmca.io.read_error import ReadError

METADATA = (".zarray", ".zgroup", ".zmetadata", "zarr.json")
NUMPY_TYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d+|[mM]8(\[\w+\])?)")
NAMED_TYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|string")
FIXED_SIZE_TYPES = {"fixed_length_utf32", "null_terminated_bytes"}
FIXED_SIZE_TYPES |= {"numpy.datetime64", "numpy.timedelta64"}
TEXT_CODECS = {"vlen-utf8", "vlen-bytes", "vlen-array", "msgpack2", "json2"}  # objects may use them
CODECS = TEXT_CODECS | {"blosc", "zlib", "gzip", "bz2", "lzma", "zstd", "lz4", "bytes"}
CODECS |= {
    "shuffle",
    "delta",
    "fixedscaleoffset",
    "quantize",
    "bitround",
    "packbits",
    "astype",
    "transpose",
}
CODECS |= {"crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "sharding_indexed"}


def check_zarr(path: Path) -> None:
    """Raise an error for a Zarr store (folder or zip) with codecs that may run code; decode nothing."""
    for name, text in _metadata_files(path):
        try:
            parts = list(_parts(_without_attributes(json.loads(text), name)))
        except (ValueError, RecursionError) as error:
            raise ReadError(f"{path} is not a Zarr store: {name} is damaged ({error}).") from error
        for part in parts:
            codecs = [part.get(key) for key in ("filters", "compressor", "codecs")]
            wrong = _wrong_codec(codecs) or _wrong_type(part)
            if wrong:
                raise ReadError(
                    f"{path}: {name} asks for {wrong}, which is not known to be safe and could run any "
                    "program: it is not read. Save plain numbers."
                )


def check_hdf5(path: Path) -> None:
    """Raise an error for an HDF5 file whose data are in other files: it could be any file."""
    import h5py

    with h5py.File(path, "r") as file:
        links: dict[str, Any] = {}
        file.visititems_links(links.__setitem__)
        for name, link in links.items():
            if isinstance(link, h5py.ExternalLink):
                raise _outside(path, name, link.filename)
            item = file[name] if isinstance(link, h5py.HardLink) else None
            if isinstance(item, h5py.Dataset):
                _check_storage(item, path)


def _check_storage(item: Any, path: Path) -> None:
    if item.external:
        raise _outside(path, item.name, item.external[0][0])
    for source in item.virtual_sources() if item.is_virtual else ():
        if source.file_name != ".":
            raise _outside(path, item.name, source.file_name)


def _outside(path: Path, name: str, other: str) -> ReadError:
    return ReadError(
        f"{path}: the data of {name} are in another file, {other}, which is not read. Save the numbers "
        "in one file."
    )


def _metadata_files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in _files_without_links(path):
            if file.name.lower() in METADATA:  # some file systems ignore case
                yield str(file.relative_to(path)), file.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.rsplit("/", 1)[-1] in METADATA:
                yield name, archive.read(name)


def _files_without_links(path: Path) -> Iterator[Path]:
    """Yield the files of a store; raise an error for a link, which could lead to any file."""
    for folder, folders, files in os.walk(path, followlinks=True):
        folders.sort()
        for name in (*folders, *sorted(files)):
            if Path(folder, name).is_symlink():
                link = Path(folder, name).relative_to(path)
                raise ReadError(
                    f"{path}: {link} is a link, which is not followed. Copy the store with the files "
                    "behind its links (cp -rL), and read the copy."
                )
        yield from (Path(folder, name) for name in sorted(files))


def _without_attributes(metadata: Any, name: str) -> Any:
    """Return the metadata of a store of version 2 without the attributes that users add."""
    known = metadata.get("metadata") if isinstance(metadata, dict) else None
    if not (name.lower().endswith(".zmetadata") and isinstance(known, dict)):
        return metadata
    return {key: entry for key, entry in known.items() if not key.endswith(".zattrs")}


def _parts(metadata: Any) -> Iterator[dict[str, Any]]:
    """Yield every dict in metadata, since any may describe an array, except attributes of users."""
    if not isinstance(metadata, dict):
        return
    yield metadata
    node = metadata.get("node_type") in ("array", "group")  # otherwise an array may be named attributes
    for key, entry in metadata.items():
        if not (node and key == "attributes"):
            yield from _parts(entry)


def _wrong_type(part: dict[str, Any]) -> str:
    """Return the first type that is neither numbers nor text, or ""."""
    filters = part.get("filters")
    text = isinstance(filters, list) and any(_names(codec) <= TEXT_CODECS for codec in filters)
    kinds = [part[key] for key in ("dtype", "data_type") if key in part]
    strange = [kind for kind in kinds if not (_is_plain(kind) or (kind == "|O" and text))]
    return f"the type {str(strange[0])[:60]}" if strange else ""


def _wrong_codec(codec: Any) -> str:
    """Return the first codec, in a tree of them, that is unknown or has an unknown type, or ""."""
    if isinstance(codec, list):
        return next((wrong for wrong in map(_wrong_codec, codec) if wrong), "")
    if codec is None:
        return ""
    strange = _names(codec) - CODECS
    if strange:
        return f"the codec {min(strange)[:60]!r}"
    settings = _settings(codec)
    if not all(_is_plain(settings[key]) for key in ("dtype", "astype") if key in settings):
        return f"a codec for {str(settings)[:60]}"
    return _wrong_codec([settings.get(key) for key in ("codecs", "index_codecs")])


def _is_plain(kind: Any) -> bool:
    """Return whether a type is one of numbers, dates or text."""
    if isinstance(kind, dict):
        return kind.get("name") in FIXED_SIZE_TYPES
    return isinstance(kind, str) and bool(NUMPY_TYPE.fullmatch(kind) or NAMED_TYPE.fullmatch(kind))


def _names(codec: Any) -> set[str]:
    """Return all names of a codec, without the prefix of its library."""
    if not isinstance(codec, dict):
        return {str(codec)}
    found = {
        str(part[key]) for part in (codec, _settings(codec)) for key in ("id", "name") if key in part
    }
    return {name.removeprefix("numcodecs.") for name in found} or {"without a name"}


def _settings(codec: Any) -> dict[str, Any]:
    """Return the options of a codec: beside its name in version 2, below it in version 3."""
    if not isinstance(codec, dict):
        return {}
    inner = codec.get("configuration")
    return codec | inner if isinstance(inner, dict) else codec
