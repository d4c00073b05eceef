"""Imports inside io form no circle, and its examples are right."""

import ast
import doctest
import importlib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from ngmca import io

ROOT = Path(io.__file__).parent
FILES = {
    ".".join(("ngmca", "io", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in ROOT.rglob("*.py")
}


def imported(path):
    """Modules of io that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{name.name}" for name in node.names]
            yield from (one if one in FILES else node.module for one in full)


def test_imports_form_no_circle():
    graph = {name: {one for one in imported(path) if one in FILES} for name, path in FILES.items()}
    assert sum(map(len, graph.values())) > 100
    assert len(list(TopologicalSorter(graph).static_order())) == len(FILES)


def test_io_knows_no_room_above():
    rooms = {one for path in FILES.values() for one in imported(path) if one.startswith("ngmca")}
    assert {name.split(".")[1] for name in rooms} == {"io", "_support"}


def test_no_folder_is_crowded():
    folders = [ROOT, *(path for path in ROOT.iterdir() if path.is_dir())]
    assert max(len(list(folder.glob("*.py"))) for folder in folders) <= 20


@pytest.mark.parametrize(
    "name", ["conversion", "csv_writing", "dataset", "file_hash", "read_error", "reading"]
)
def test_examples(name):
    tried = doctest.testmod(importlib.import_module(f"ngmca.io.{name}"))
    assert tried.attempted >= 1
    assert not tried.failed


@pytest.mark.parametrize("name", io.__all__)
def test_public_names_explain_themselves(name):
    text = getattr(io, name).__doc__
    assert "Examples\n" in text
    assert "Parameters\n" in text or "Attributes\n" in text
