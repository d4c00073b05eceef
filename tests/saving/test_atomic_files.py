"""Files that are written atomically."""

import os

import pytest

from ngmca._support.atomic_files import check_free, write_atomically


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        ("Ångström\n", "Ångström\n".encode()),
        ("s\udce9.csv", rb"s\udce9.csv"),  # the name of a file that is no UTF-8
        (b"\0\1", b"\0\1"),
        (lambda file: file.write(b"x"), b"x"),
    ],
)
def test_text_bytes_or_a_function(tmp_path, content, stored):
    path = tmp_path / "a.bin"
    path.write_text("before")
    write_atomically(path, content)
    assert path.read_bytes() == stored
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_an_error_changes_nothing(tmp_path, there):
    path = tmp_path / "a.bin"
    if there:
        path.write_text("before")

    def broken(file):
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, broken)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"] * there


def test_nothing_is_replaced_without_force(tmp_path):
    path = tmp_path / "a"
    check_free(path, force=False)
    path.write_text("before")
    check_free(path, force=True)
    with pytest.raises(FileExistsError, match="exists; force=True replaces it"):
        check_free(path, force=False)


def test_a_file_that_appeared_in_the_meantime_is_kept(tmp_path):
    path = tmp_path / "a.bin"

    def slow(file):
        file.write(b"ours")
        path.write_text("theirs")

    with pytest.raises(FileExistsError, match="was created by another program"):
        write_atomically(path, slow, replacing=False)
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_it_works_without_hard_links(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *a: (_ for _ in ()).throw(PermissionError(1, "no links")))
    write_atomically(tmp_path / "a", "x", replacing=False)
    assert (tmp_path / "a").read_text() == "x"
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "a", "y", replacing=False)
    assert os.listdir(tmp_path) == ["a"]


def test_only_plain_files_are_replaced(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path, what in ((tmp_path / "folder", "a folder"), (tmp_path / "pipe", "not a plain file")):
        with pytest.raises(FileExistsError, match=f"is {what}: choose the name of a file"):
            write_atomically(path, "x")
    (tmp_path / "null").symlink_to("/dev/null")
    with pytest.raises(FileExistsError, match="not a plain file"):
        write_atomically(tmp_path / "null", "x")
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "a")
    for text in ("first", "second"):
        write_atomically(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "far" / "a").read_text() == text


def test_names_of_the_user_are_left_alone(tmp_path):
    (tmp_path / "a.part").write_text("mine")
    write_atomically(tmp_path / "a", "x")
    assert (tmp_path / "a.part").read_text() == "mine"
    write_atomically(tmp_path / ("ä" * 127), "as long as names may be")
    assert len(os.listdir(tmp_path)) == 3


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "a"
    path.write_text("secret")
    path.chmod(0o600)
    write_atomically(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(FileExistsError, match="not a plain file"):
        write_atomically(tmp_path / "loop", "x", replacing=False)
    (tmp_path / "link").symlink_to(tmp_path / "no" / "a")
    with pytest.raises(FileNotFoundError, match="there is no such folder") as caught:
        write_atomically(tmp_path / "link", "x")
    assert caught.value.filename == str(tmp_path / "no")
