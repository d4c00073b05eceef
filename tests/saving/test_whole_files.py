"""Files that are whole or not there."""

import pytest

from ngmca.saving.whole_files import check_free, write_whole


@pytest.mark.parametrize(
    ("content", "stored"),
    [("Ångström\n", "Ångström\n".encode()), (b"\0\1", b"\0\1"), (lambda file: file.write(b"x"), b"x")],
)
def test_text_bytes_or_a_function(tmp_path, content, stored):
    path = tmp_path / "a.bin"
    path.write_text("before")
    write_whole(path, content)
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
        write_whole(path, broken)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"] * there


def test_nothing_is_replaced_unasked(tmp_path):
    check_free(tmp_path / "a", force=False)
    check_free(tmp_path, force=True)
    with pytest.raises(FileExistsError, match="exists; force=True replaces it"):
        check_free(tmp_path, force=False)
