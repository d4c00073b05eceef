"""run.toml: the settings of a run, and a record of where it comes from."""

import os
import platform
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import tomli_w

from ngmca import io
from ngmca._support.messages import ArgumentError, Message, message, option
from ngmca.io import ReadError
from ngmca.saving import result_folder
from ngmca.settings.settings import Settings


def from_file(path: Path) -> tuple[Settings, dict[str, Any]]:
    """Return the settings in a TOML file, and the record of the run that wrote it, if any."""
    try:
        # run.toml keeps names of files that are not UTF-8 byte by byte
        content = tomllib.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path} is not a TOML file: {error}.") from error
    return from_tables(content, path, path.parent)


def from_tables(content: dict[str, Any], path: Path, folder: Path) -> tuple[Settings, dict[str, Any]]:
    """Return the settings and the record in the tables of a file; paths are relative to `folder`."""
    table = content.get("separate")
    if not isinstance(table, dict):
        raise ReadError(f"{path} has no table [separate]: give the run.toml of a result.")
    kinds = get_type_hints(Settings)
    for key, value in table.items():
        if key not in kinds:
            raise ReadError(f"{path}: [separate] has no option {key!r}. Use {', '.join(kinds)}.")
        if not _fits(value, kinds[key]):
            raise ReadError(f"{path}: `{key} = {value!r}` in [separate] has the wrong type.")
    if "data" in table:
        table["data"] = tuple(str(folder / Path(one)) for one in table["data"])
    for name, value in Settings(**table).files.items():
        table[name] = str(folder / Path(value))
    record = content.get("record")
    return Settings(**table), record if isinstance(record, dict) else {}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value in a TOML file has a type; true and false are not numbers."""
    if get_origin(kind) in (UnionType, Union):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:  # of any length: an array in TOML
        return isinstance(value, list) and all(_fits(one, get_args(kind)[0]) for one in value)
    if isinstance(value, bool):
        return kind is bool
    if kind is float and isinstance(value, int):
        return value.bit_length() < 1024  # larger ones do not fit into a float
    return isinstance(value, kind)


def to_toml(settings: Settings, record: dict[str, Any] | None = None) -> str:
    """Return the text of run.toml: all options of a run with its record, else those that were given."""
    chosen = settings.table() if record is not None else settings.given
    table = chosen | {"data": [os.path.abspath(one) for one in settings.data]}
    table |= {name: os.path.abspath(path) for name, path in settings.files.items()}
    header = f"{result_folder.SIGN} separate --config run.toml -o ANOTHER_FOLDER\n\n"
    return header + tomli_w.dumps({"separate": table} | ({} if record is None else {"record": record}))


def provenance(settings: Settings) -> dict[str, Any]:
    """Return versions, machine and hashes of the input files."""
    versions = {name: metadata.version(name) for name in ("ngmca", "numpy", "scipy", "numba")}
    return {
        **versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "command": " ".join(["ngmca", *sys.argv[1:]]),
        "folder": os.getcwd(),
        "sha256": io.fingerprint([Path(one) for one in settings.data]),
        **{f"sha256_{name}": _hashed(name, Path(one)) for name, one in settings.files.items()},
    }


def _hashed(name: str, path: Path) -> str:
    """Return the hash of a file that an option names."""
    if not path.exists():
        other = {
            "noise": ", and it is neither a number nor poisson",
            "closure": ", and it is not a number",
        }
        raise ArgumentError("{}: this file does not exist{}.", option(name, path), other.get(name, ""))
    return io.fingerprint([path])


def changed_input(
    before: dict[str, Any], now: dict[str, Any], *, besides: tuple[str, ...] = ()
) -> Message | None:
    """Return the first input with another hash than in an earlier record, None if all are the same."""
    for key, value in now.items():
        name = key.removeprefix("sha256").removeprefix("_")
        if key.startswith("sha256") and name not in besides and before.get(key, value) != value:
            return message("the file of {}", option(name)) if name else message("the data")
    return None
