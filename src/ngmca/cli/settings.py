"""Parameters of a run: from the command line, from run.toml, and written back to it."""

import os
import platform
import re
import sys
import tomllib
from dataclasses import asdict, dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from ngmca import io
from ngmca.io import Dataset, ReadError

HEADER = "# Repeats this run: ngmca separate --config run.toml -o ANOTHER_FOLDER\n\n"
LIBRARIES = ("ngmca", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class Settings:
    """What to separate and how; the names are those of run.toml."""

    data: tuple[str, ...] = ()
    sources: int | None = None
    method: str = "soft"
    tau: float = 1.0
    iterations: int | str = "auto"
    refinement: float = 0.2
    seed: int = 0
    noise: float | None = None
    posterior: bool = False
    transpose: bool | None = None
    range: str | None = None
    dataset: str | None = None
    nucleus: str | None = None

    def changed(self, **given: Any) -> "Settings":
        """The same with the values that were given, None standing for not given."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    def read(self) -> Dataset:
        """The data, cut to the range."""
        data = io.read(
            self.data[0] if len(self.data) == 1 else self.data,
            transpose=self.transpose,
            dataset=self.dataset,
            nucleus=self.nucleus,
        )
        return data.crop(*parse_range(self.range)) if self.range else data

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `ngmca.iterate`."""
        return {
            "method": self.method,
            "tau": self.tau,
            "n_iter": self.iterations,
            "refinement": self.refinement,
            "noise": self.noise,
            "seed": self.seed,
        }


def from_file(path: Path) -> tuple[Settings, dict[str, Any]]:
    """Settings in a TOML file, and the record of the run that wrote it, if any."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ReadError(f"{path} is not a TOML file: {error}.") from error
    table = content.get("separate")
    if not isinstance(table, dict):
        raise ReadError(f"{path} has no table [separate].")
    kinds = {part.name: part.type for part in fields(Settings)}
    for key, value in table.items():
        if key not in kinds:
            raise ReadError(f"{path}: [separate] knows no {key!r}, only {', '.join(kinds)}.")
        _check_kind(path, key, value, str(kinds[key]))
    if "data" in table:
        table["data"] = tuple(str(path.parent / Path(one)) for one in table["data"])
    return Settings(**table), content.get("record", {})


def _check_kind(path: Path, key: str, value: Any, kind: str) -> None:
    """Refuse a value of the wrong kind before it surfaces far away."""
    wanted: dict[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool, "tuple": list}
    words = re.findall(r"int|float|str|bool|tuple", kind.split("[")[0] if "tuple" in kind else kind)
    if not any(_is(value, wanted[word]) for word in words):
        raise ReadError(f"{path}: {key} = {value!r} in [separate] is of the wrong kind.")


def _is(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; true and false are no numbers."""
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def to_toml(settings: Settings, record: dict[str, Any]) -> str:
    """The text of run.toml."""
    table = {key: value for key, value in asdict(settings).items() if value is not None}
    table["data"] = [os.path.abspath(one) for one in settings.data]
    return HEADER + tomli_w.dumps({"separate": table, "record": record})


def provenance(settings: Settings) -> dict[str, Any]:
    """Versions, machine and a hash of the input."""
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return {
        **versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "command": " ".join(["ngmca", *sys.argv[1:]]),
        "sha256": io.fingerprint([Path(one) for one in settings.data]),
    }


def parse_range(text: str) -> tuple[float, float]:
    """Both ends of 0.5:9.5."""
    low, mark, high = text.partition(":")
    try:
        if not mark:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise ReadError(
            f"--range {text} is not two numbers with a colon between them: 0.5:9.5."
        ) from None
