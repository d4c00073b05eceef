"""Pages of the reference have every public name and every package."""

import re
import tomllib
from pathlib import Path
from types import ModuleType

import ngmca

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"


def test_the_api_page_has_every_public_name():
    listed = set(re.findall(r"^   (\S+)$", (REFERENCE / "api.rst").read_text(encoding="utf-8"), re.M))
    names = {name for name in ngmca.__all__ if not isinstance(getattr(ngmca, name), ModuleType)}
    assert names <= listed
    for module in ("datasets", "io", "metrics", "nnqp", "report", "rivals", "simulate"):
        functions = [name for name in getattr(ngmca, module).__all__ if not name.isupper()]
        assert {f"{module}.{name}" for name in functions} <= listed


def test_the_page_of_stability_has_every_public_name():
    written = re.findall(r"`(\w+)`", (REFERENCE / "stability.md").read_text(encoding="utf-8"))
    assert set(ngmca.__all__) <= set(written)


def test_the_page_of_licences_has_every_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = (REFERENCE / "licences.md").read_text(encoding="utf-8").lower()
    needed = sum(project["optional-dependencies"].values(), project["dependencies"])
    packages = {re.match(r"[\w.-]+", line)[0].lower() for line in needed} - {"ngmca"}
    assert {name for name in packages if not re.search(rf"\| \**{name}\** \|", rows)} == set()
