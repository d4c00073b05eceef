"""Projects of Athena: real ones, and hostile or damaged ones, which are never run."""

import ast
import gzip
import json
import re

import numpy as np
import pytest
import real_data

from ngmca import io
from ngmca.io.isolated_reading import read_here

HEAD = "# Athena project file -- Demeter version 0.9.26\n"
X = np.array([7000.0, 7010, 7020, 7021, 7022, 7023, 7030, 7050])


def group(name="g", x=X, y=None, **args):
    """One group as Athena writes it."""
    y = np.arange(len(x)) / 8 if y is None else y
    told = ",".join(f"'{key}','{value}'" for key, value in ({"label": name} | args).items())
    x, y = (",".join(f"'{value:g}'" for value in values) for values in (x, y))
    lists = f"@x = ({x});\n@y = ({y});\n"
    return f"$old_group = '{name}';\n@args = ({told});\n{lists}[record]   # create object\n\n"


def written(tmp_path, text, head=HEAD):
    path = tmp_path / "a.prj"
    path.write_text(head + text + "@journal = ();\n\n1;\n", encoding="utf-8")
    return path


def test_a_real_project_has_the_numbers_of_its_text():
    path = real_data.athena_projects() / "fe_athena.prj"
    data = io.read(path)
    text = gzip.decompress(path.read_bytes()).decode()
    lists = [
        np.array(ast.literal_eval(one), float) for one in re.findall(r"^@[xy] = (\(.*\));$", text, re.M)
    ]
    assert data.names == tuple(re.findall(r"'label','([^']*)'", text))
    assert data.axis_label == "energy [eV]"
    low, high = max(x[0] for x in lists[::2]), min(x[-1] for x in lists[::2])
    assert low <= data.axis[0] < data.axis[-1] <= high
    for row, x, y in zip(data.Y, lists[::2], lists[1::2], strict=True):
        np.testing.assert_allclose(row, np.interp(data.axis, x, y))
    steps = np.diff(data.axis)
    assert steps.min() < 1 < 5 < steps.max()  # as fine at the edge as the measurement
    assert "mu(E) as stored: neither normalised nor flattened." in data.notes[-1]


@pytest.mark.parametrize(
    ("name", "rows", "words"),
    [
        ("json_unzipped", 4, "interpolated"),
        ("danger", 1, "shifted"),
        ("dispersive", 10, "against energy"),
        ("MoO3-tutorial", 4, "against k"),
        ("eutio3", 9, "left out: euti_015 covers"),
        ("zirconolite", 9, "3 of 9"),
    ],
)
def test_real_projects_of_all_kinds(name, rows, words):
    data = read_here(real_data.athena_projects() / "AthenaProjectFiles" / f"{name}.prj", {})
    assert len(data.Y) == rows
    assert np.isfinite(data.Y).all()
    assert words in " ".join(data.notes)


def test_shifts_escapes_and_lists_inside_lists(tmp_path):
    odd = (
        "@args = ('label',\"Fe \\x{2082}O\",'title','it\\'s; @x = (9);\n[record]\n','list',['a',[1]],"
        "'other',{'a' => 1, 'b' => undef},'bkg_eshift',-1.5);\n"
    )
    text = group("first") + re.sub(r"@args.*\n", odd.replace("\\", r"\\"), group(x=X + 1.5))
    data = read_here(written(tmp_path, "$xdi = bless( {'a' => {}}, 'Xray::XDI' );\n" + text), {})
    assert data.names == ("first", "Fe ₂O")
    np.testing.assert_array_equal(data.axis, X)
    np.testing.assert_array_equal(data.Y[0], data.Y[1])
    assert "1 of 2, by -1.5 to -1.5 eV" in " ".join(data.notes)


def test_equal_and_unsorted_energies_are_told(tmp_path):
    x, y = np.array([3.0, 1, 2, 2, 5, 6, 7, 8]), np.arange(8.0)
    data = read_here(written(tmp_path, group(x=x, y=y)), {})
    np.testing.assert_array_equal(data.axis, [1, 2, 3, 5, 6, 7, 8])
    np.testing.assert_array_equal(data.Y[0], [1, 2.5, 0, 4, 5, 6, 7])
    assert "averaged" in data.notes[0]


def test_json(tmp_path):
    one = {"args": {"label": "a"}, "x": [f"{x:g}" for x in X], "y": [*range(8)]}
    content = {"_____header1": HEAD.strip(), "_____order": ["g"], "g": one, "hidden": one}
    path = tmp_path / "a.prj"
    path.write_text(json.dumps(content))
    assert read_here(path, {}).names == ("a",)
    content["g"] = one | {"x": "12345678"}
    path.write_text(json.dumps(content))
    with pytest.raises(io.ReadError, match="no list of x and y"):
        read_here(path, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("system('touch {owned}');\n" + group(), None),
        ("@x = (`touch {owned}`);\n" + group(), "line 2: this is not what Athena writes"),
        (group() + "@args = ('a', 'b'", "ends within @args"),
        (group() + "$old_group = 'h';\n@x = (1,2);\n", "ends within a group"),
        (group().replace("@y", "@z"), "has no @y"),
        (group().replace("'g');", "'g','h');"), "argument without a value"),
        (group(y=[1, 2]), "8 energies and 2 values"),
        (group().replace("'7010'", "'nan'"), "not finite"),
        (group().replace("'7010'", "'__import__'"), "not numbers"),
        (group(bkg_eshift="abc"), "not numbers"),
        ("", "no group with data"),
        (group() + group(x=X + 500), "covers"),
    ],
)
def test_damaged_and_hostile_projects(tmp_path, text, words):
    owned = tmp_path / "owned"
    path = written(tmp_path, text.replace("{owned}", str(owned)))
    if words is None:
        assert len(read_here(path, {}).Y) == 1
    elif words == "covers":
        with pytest.raises(io.ReadError, match=r"hardly|overlap"):
            read_here(path, {})
    else:
        with pytest.raises(io.ReadError, match=words):
            read_here(path, {})
    assert not owned.exists()


def test_every_cut_is_an_error_or_has_whole_groups(tmp_path):
    whole = HEAD + group("a") + group("b", y=X)
    path = tmp_path / "a.prj"
    for end in range(len(HEAD), len(whole), 7):
        path.write_text(whole[:end])
        try:
            found = read_here(path, {})
        except io.ReadError:
            continue
        np.testing.assert_array_equal(found.Y[0], np.arange(8) / 8)
    path.write_bytes(gzip.compress(whole.encode())[:-9])
    with pytest.raises(io.ReadError, match="gzip"):
        read_here(path, {})


def test_the_suffix_alone_is_not_enough(tmp_path):
    path = tmp_path / "map.prj"
    path.write_text('GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137,298.257]]]')
    with pytest.raises(io.ReadError) as caught:
        io.read(path)
    assert "Athena writes" not in str(caught.value)
