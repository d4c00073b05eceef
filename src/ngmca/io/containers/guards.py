"""What a container may not do: run code, or have other files of this machine read as its data."""

import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ngmca.io.dataset import ReadError

METADATA = (".zarray", ".zgroup", ".zmetadata", "zarr.json")
PLAIN = re.compile(
    r"[<>|=]?(b1|[iu][1248]|f[248]|c8|c16|[SU]\d+|[mM]8(\[\w+\])?)"
)  # NumPy's short names
NAMED = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|string")
FIXED = {"fixed_length_utf32", "null_terminated_bytes", "numpy.datetime64", "numpy.timedelta64"}
TEXT = {"vlen-utf8", "vlen-bytes", "vlen-array", "msgpack2", "json2"}  # what may stand for objects
CODECS = TEXT | {"blosc", "zlib", "gzip", "bz2", "lzma", "zstd", "lz4", "shuffle", "delta", "bytes"}
CODECS |= {"fixedscaleoffset", "quantize", "bitround", "packbits", "astype", "transpose"}
CODECS |= {"crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "sharding_indexed"}


def check_zarr(path: Path) -> None:
    """Refuse a Zarr store, folder or zip, with codecs that may run code, before any of it is decoded."""
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
                    f"{path}: {name} asks for {wrong}, which is not known as safe and could run any "
                    "program: it is not read. Save plain numbers."
                )


def check_hdf5(path: Path) -> None:
    """Refuse an HDF5 file whose data lie in other files: they may be any file of this machine."""
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
        f"{path}: {name} lies in another file, {other}, which is not read. Save the numbers themselves."
    )


def _metadata_files(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in _files_without_links(path):
            if file.name.lower() in METADATA:  # some file systems do not tell capitals apart
                yield str(file.relative_to(path)), file.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.rsplit("/", 1)[-1] in METADATA:
                yield name, archive.read(name)


def _files_without_links(path: Path) -> Iterator[Path]:
    """The files of a store, or an error for a link: zarr would follow it to any file of this machine."""
    for folder, folders, files in os.walk(path, followlinks=True):
        folders.sort()
        for name in (*folders, *sorted(files)):
            if Path(folder, name).is_symlink():
                link = Path(folder, name).relative_to(path)
                raise ReadError(
                    f"{path}: {link} is a link, which is not followed. Copy the store with what its "
                    "links point to (cp -rL), and read the copy."
                )
        yield from (Path(folder, name) for name in sorted(files))


def _without_attributes(metadata: Any, name: str) -> Any:
    """Metadata of a store of version 2 without what users add, which may look like anything."""
    known = metadata.get("metadata") if isinstance(metadata, dict) else None
    if not (name.lower().endswith(".zmetadata") and isinstance(known, dict)):
        return metadata
    return {key: entry for key, entry in known.items() if not key.endswith(".zattrs")}


def _parts(metadata: Any) -> Iterator[dict[str, Any]]:
    """Every dict in metadata, since any may describe an array; not what users add in version 3."""
    if not isinstance(metadata, dict):
        return
    yield metadata
    node = metadata.get("node_type") in ("array", "group")  # else attributes may be an array's name
    for key, entry in metadata.items():
        if not (node and key == "attributes"):
            yield from _parts(entry)


def _wrong_type(part: dict[str, Any]) -> str:
    """A type that is neither numbers nor text, or objects that no codec for text makes."""
    filters = part.get("filters")
    text = isinstance(filters, list) and any(_names(codec) <= TEXT for codec in filters)
    kinds = [part[key] for key in ("dtype", "data_type") if key in part]
    strange = [kind for kind in kinds if not (_is_plain(kind) or (kind == "|O" and text))]
    return f"the type {str(strange[0])[:60]}" if strange else ""


def _wrong_codec(codec: Any) -> str:
    """The first codec that is not known, in a tree of them; types that a codec names are checked too."""
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
    """Whether a type is one of numbers, dates or text."""
    if isinstance(kind, dict):
        return kind.get("name") in FIXED
    return isinstance(kind, str) and bool(PLAIN.fullmatch(kind) or NAMED.fullmatch(kind))


def _names(codec: Any) -> set[str]:
    """All that a codec may be taken for, without the name of the library before it."""
    if not isinstance(codec, dict):
        return {str(codec)}
    found = {
        str(part[key]) for part in (codec, _settings(codec)) for key in ("id", "name") if key in part
    }
    return {name.removeprefix("numcodecs.") for name in found} or {"without a name"}


def _settings(codec: Any) -> dict[str, Any]:
    """The options of a codec, of version 2 beside its name, of version 3 below it."""
    if not isinstance(codec, dict):
        return {}
    inner = codec.get("configuration")
    return codec | inner if isinstance(inner, dict) else codec
