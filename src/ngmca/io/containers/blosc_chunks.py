"""Truncated chunks of Zarr: Blosc decodes some of them to other numbers without an error."""

from pathlib import Path
from typing import Any

from ngmca.io.containers.safety_checks import METADATA
from ngmca.io.read_error import ReadError

HEADER_BYTES = 16  # of a Blosc frame; the last four are its compressed size, little endian


def check_blosc(array: Any) -> None:
    """Raise an error if a Blosc chunk of a Zarr array has another size than its header says."""
    root = getattr(array.store, "root", None)
    if root is None or not _ends_with_blosc(array.metadata.to_dict()):
        return
    folder = Path(root) / array.path
    for file in sorted(folder.rglob("*")):
        if file.name in (*METADATA, ".zattrs") or not file.is_file():
            continue
        with file.open("rb") as chunk:
            header = chunk.read(HEADER_BYTES)
        claimed, held = int.from_bytes(header[12:], "little"), file.stat().st_size
        if len(header) < HEADER_BYTES or claimed != held:
            raise ReadError(
                f"{folder}: chunk {file.relative_to(folder)} claims {claimed} bytes, but the file has "
                f"{held}: it is truncated or damaged."
            )


def _ends_with_blosc(metadata: dict[str, Any]) -> bool:
    """Return whether Blosc is the last codec of chunks, which are one file each."""
    codecs = [part for part in metadata.get("codecs", ()) if isinstance(part, dict)]
    last = metadata.get("compressor") or (codecs[-1] if codecs else {})
    return isinstance(last, dict) and "blosc" in (last.get("id"), last.get("name"))
