"""The plan of the package: layers, cycles, sizes of folders and doors, one table of rules."""

import ast
import inspect
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import ngmca
from ngmca import rules
from ngmca.engines import protocol

ROOT = Path(ngmca.__file__).parent

# A room may import from rooms in earlier layers of this list.
LAYERS = [
    {"_support"},
    {"rules", "nnqp", "simulate", "io"},
    {"plotting", "datasets"},
    {"result"},
    {"domains", "engines", "metrics"},
    {"algorithms"},
    {"constraints"},
    {"rotations"},
    {"rivals", "sampling"},
    {"task"},
    {"separation"},
    {"answers"},
    {"estimator", "saving"},
    {"settings"},
    {"report", "tools"},
    {"paper"},
    {"app"},
    {"cli"},
    {"__main__"},
]
# Libraries that take long to load, or are optional, and the rooms that may use them.
HEAVY = {
    "sklearn": {"estimator"},
    "numba": {"_support"},
    "rich": {"_support", "cli"},
    "nmrsim": {"simulate"},
    "matplotlib": {"plotting", "paper"},
    "pandas": {"plotting", "paper", "io", "answers"},
    "plotly": {"report", "app"},
    "starlette": {"app"},
    "uvicorn": {"app"},
    "jinja2": {"app"},
    "typer": {"cli"},
    "xarray": {"io", "plotting", "tools"},
    "hyperspy": {"tools"},
    "Orange": {"tools"},
    "anywidget": {"plotting"},
    "traitlets": {"plotting"},
    "h5py": {"io", "saving"},
    "h5netcdf": {"io"},
    "zarr": {"io", "result"},
    "dask": {"engines"},
    "distributed": {"engines"},
    "cupy": {"engines"},
    "cupyx": {"engines"},
}
MODULES = {path: path.relative_to(ROOT) for path in sorted(ROOT.rglob("*.py"))}


def room_of(path):
    return MODULES[path].parts[0].removesuffix(".py")


def module_name(path):
    parts = ("ngmca", *MODULES[path].with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path):
    """Every import of a file, in functions too; those for types alone are not executed."""
    tree = ast.parse(path.read_text())
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            skipped |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_room_has_a_layer_and_imports_point_down():
    level = {room: i for i, layer in enumerate(LAYERS) for room in layer}
    rooms = {room_of(path) for path in MODULES} - {"__init__"}
    assert rooms == set(level)
    for path in MODULES:
        for name in imports_of(path):
            package, _, inside = name.partition(".")
            if package == "ngmca" and room_of(path) != "__init__":
                room, target = room_of(path), inside.split(".")[0]
                assert target == room or level[target] < level[room], f"{path} imports {name}"
            elif package in HEAVY:
                assert room_of(path) in HEAVY[package], f"{path} imports {name}"


def test_no_import_cycle():
    names = {module_name(path): path for path in MODULES}
    graph = defaultdict(set)
    for name, path in names.items():
        for target in imports_of(path):
            while target and target not in names:
                target = target.rpartition(".")[0]
            if target and target not in (name, "ngmca") and name != "ngmca":
                graph[name].add(target)
    for name in list(graph):  # a package is loaded with the modules that its __init__ imports
        graph[name] -= {name.rpartition(".")[0]}
    done, way = set(), []

    def visit(name):
        assert name not in way, " -> ".join([*way[way.index(name) :], name])
        if name in done:
            return
        way.append(name)
        for target in sorted(graph[name]):
            visit(target)
        way.pop()
        done.add(name)

    for name in sorted(graph):
        visit(name)


def test_no_folder_is_too_full():
    counts = Counter(path.parent for path in MODULES)
    assert {str(folder): count for folder, count in counts.items() if count > 20} == {}


def test_files_and_functions_are_short():
    """A docstring does not count as lines of its function."""
    for path in MODULES:
        text = path.read_text()
        assert text.count("\n") <= 460, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[ast.get_docstring(node) is not None :] or node.body
                assert node.end_lineno - body[0].lineno < 70, f"{path}: {node.name}"


def test_few_files_share_a_name():
    counts = Counter(path.name for path in MODULES if path.name != "__init__.py")
    shared = sorted(name for name, count in counts.items() if count > 1)
    assert len(shared) <= 8, shared


@pytest.mark.parametrize(
    ("door", "most"),
    [(ngmca.separate, 20), (ngmca.iterate, 6), (ngmca.NGMCA, 20), (ngmca.posterior, 16)],
)
def test_doors_have_few_parameters(door, most):
    assert len(inspect.signature(door).parameters) <= most


def test_an_engine_answers_few_questions():
    questions = [
        name
        for name, value in vars(protocol.Engine).items()
        if inspect.isfunction(value) and not name.startswith("_")
    ]
    assert 5 <= len(questions) <= 15, questions


def test_nobody_outside_asks_which_engine_it_is():
    engines = [
        node.name
        for path in MODULES
        if room_of(path) == "engines"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name.endswith("Engine") and node.name != "Engine"
    ]
    assert len(engines) >= 5
    for path in MODULES:
        if room_of(path) != "engines":
            text = path.read_text()
            assert not [name for name in engines if name in text], path


def test_one_door_to_the_data():
    """Only engines read Y in blocks of their own size, and divide it by its unit."""
    words = ("unit_for(", "as_strided", "BLOCK_BYTES", "column_blocks(", "check_unit(", "Source.of(")
    for path in MODULES:
        if room_of(path) != "engines":
            text = path.read_text()
            assert not [word for word in words if word in text], path


def test_rules_are_in_one_place():
    """What cannot be combined is said by the table, nowhere else."""
    for path in MODULES:
        text = path.read_text()
        if room_of(path) != "rules":
            assert "{} cannot be combined" not in text, path
            assert "has no meaning for" not in text, path
            assert "do not go together" not in text, path


def test_no_regular_expression_reads_messages():
    for path in (ROOT / "cli").rglob("*.py"):
        assert "re" not in set(imports_of(path)), path


def test_features_of_rules_are_known():
    for rule in rules.RULES:
        assert {*rule.ones, *rule.others} <= set(rules.FEATURES)


def test_the_documentation_shows_the_table():
    page = Path(__file__).parents[1] / "docs" / "reference" / "constraints.md"
    assert rules.markdown() in page.read_text(encoding="utf-8")
