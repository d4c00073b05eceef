"""Folders of results: what is taken for one, what is replaced, and what is left alone."""

import os
import shutil
from pathlib import Path

import pytest

from ngmca._support.atomic_files import write_atomically
from ngmca.saving import folder_claim as claims
from ngmca.saving.folder_claim import claimed
from ngmca.saving.result_folder import (
    CHECKPOINT,
    FILES,
    MARKER,
    RECORD,
    SEPARATED,
    SIGN,
    UnfinishedError,
    absolute,
    find,
    replaced,
    unfinished,
)


def result(folder, text="x"):
    """A folder as a run leaves it."""
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text(text)
    (folder / RECORD).write_text(f"{SIGN} separate\n{text}")
    return folder


def put(folder, *, force=False, meanwhile=lambda: None, text="new"):
    """A whole run for a folder."""
    with claimed(folder, force=force) as claim:
        claim.begin(f"{SIGN}\n{text}", resume=False)
        for name in FILES[:3]:
            write_atomically(claim.work / name, text)
        meanwhile()
        return claim.finish()


def texts(folder):
    return {name: (folder / name).read_text() for name in os.listdir(folder)}


def test_folders_with_names_close_to_ours_are_not_touched(tmp_path):
    mine = {}
    for name in ("out.previous", "out.unfinished", "out.ngmca", "out.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years of work")
        mine[name] = texts(tmp_path / name)
    assert put(tmp_path / "out") == tmp_path / "out"
    put(tmp_path / "out", force=True)
    assert {name: texts(tmp_path / name) for name in mine} == mine
    assert sorted(os.listdir(tmp_path)) == sorted([*mine, "out"])


def test_a_result_that_was_moved_stays_moved(tmp_path):
    put(tmp_path / "out", text="old")
    (tmp_path / "out").rename(tmp_path / "out.previous")
    put(tmp_path / "out")
    assert texts(tmp_path / "out.previous")["result.nc"] == "old"
    assert texts(tmp_path / "out")["result.nc"] == "new"


@pytest.mark.parametrize("force", [False, True])
def test_what_comes_into_being_meanwhile_is_kept(tmp_path, force):
    out = tmp_path / "out"

    def somebody():
        out.mkdir()
        (out / "thesis.txt").write_text("years of work")

    (tmp_path / "out-2").write_text("taken too")
    place = put(out, force=force, meanwhile=somebody)
    assert place == tmp_path / "out-3"
    assert texts(place)["result.nc"] == "new"
    assert texts(out) == {"thesis.txt": "years of work"}
    assert sorted(os.listdir(tmp_path)) == ["out", "out-2", "out-3"]


def test_another_run_that_ended_first_keeps_its_result(tmp_path):
    place = put(tmp_path / "out", meanwhile=lambda: result(tmp_path / "out", "theirs"))
    assert place == tmp_path / "out-2"
    assert texts(tmp_path / "out")["result.nc"] == "theirs"


def test_what_is_put_into_a_result_while_it_is_replaced_stays(tmp_path, monkeypatch):
    out = result(tmp_path / "out", "old")
    moved = claims._moved

    def disturbed(work, folder):
        (aside,) = replaced(folder)
        (aside / "thesis.txt").write_text("years of work")
        return moved(work, folder)

    monkeypatch.setattr(claims, "_moved", disturbed)
    assert put(out, force=True) == out
    (aside,) = replaced(out)
    assert texts(aside) == {"thesis.txt": "years of work"}


def test_a_link_is_followed(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "result")
    for force in (False, True):
        assert put(absolute(tmp_path / "out"), force=force) == tmp_path / "disk" / "result"
        assert find(tmp_path / "out").read_text() == "new"
    assert (tmp_path / "out").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["disk", "out"]
    assert os.listdir(tmp_path / "disk") == ["result"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda out: out.write_text("x"), "is not a folder"),
        (lambda out: out.symlink_to(out), "is not a folder"),
        (lambda out: result(out), "force=True replaces it"),
        (lambda out: (result(out) / "thesis.txt").write_text("x"), r"holds thesis\.txt"),
        (lambda out: (result(out) / "sub").mkdir(), "holds sub"),
        (lambda out: (result(out) / RECORD).write_text("[separate]"), r"has no run\.toml of ngmca"),
        (lambda out: (result(out) / RECORD).unlink(), r"has no run\.toml of ngmca"),
        (lambda out: unfinished(out).write_text("x"), "which ngmca did not write"),
        (lambda out: unfinished(out).symlink_to(out.parent), "which ngmca did not write"),
        (lambda out: (result(unfinished(out)) / "thesis.txt").write_text("x"), r"holds thesis\.txt"),
    ],
)
def test_all_that_is_wrong_is_told_before_anything_is_done(tmp_path, make, words):
    make(tmp_path / "out")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(FileExistsError, match=words), claimed(tmp_path / "out", force=False):
        pytest.fail("it began")
    assert sorted(os.listdir(tmp_path)) == before
    if "force=True" not in words:
        with pytest.raises(FileExistsError, match=words), claimed(tmp_path / "out", force=True):
            pytest.fail("it began")


def test_no_folder_is_replaced_under_the_feet_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileExistsError, match="name a folder inside it"), claimed(tmp_path, force=True):
        pytest.fail("it began")
    mounted = Path("/dev/shm")  # as volumes are
    with pytest.raises(FileExistsError, match="name a folder inside it"), claimed(mounted, force=True):
        pytest.fail("it began")


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "out").mkdir()
    assert put(tmp_path / "out") == tmp_path / "out"


def test_a_second_run_is_refused(tmp_path):
    with claimed(tmp_path / "out", force=False) as claim:
        claim.begin(SIGN, resume=False)
        second = claimed(tmp_path / "out", force=True)
        with pytest.raises(FileExistsError, match="another run of ngmca is working"), second:
            pytest.fail("it began")
        assert (claim.work / RECORD).is_file()


def broken_run(out, *, force=False, kept=False):
    with claimed(out, force=force) as claim:
        claim.begin(SIGN, resume=False)
        assert not claim.complete
        (claim.work / "sources.csv").write_text("half")
        if kept:
            (claim.work / CHECKPOINT).write_text("x")
        raise ZeroDivisionError


def test_an_error_leaves_what_to_go_on_from_and_nothing_else(tmp_path):
    for kept in (False, True):
        with pytest.raises(ZeroDivisionError):
            broken_run(tmp_path / "out", kept=kept)
        assert os.listdir(tmp_path) == ["out.ngmca-unfinished"] * kept
    assert sorted(os.listdir(unfinished(tmp_path / "out"))) == [MARKER, CHECKPOINT, RECORD]
    with pytest.raises(UnfinishedError):
        find(tmp_path / "out")


def killed_before_the_move(out, monkeypatch):
    """A result of which all is written, in the folder where the run worked."""

    def died(work, folder):
        shutil.copytree(work, folder.with_name("copy"))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(claims, "_moved", died)
        with pytest.raises(KeyboardInterrupt):
            put(out)


def test_a_whole_result_that_was_not_put_in_place_is_not_lost(tmp_path, monkeypatch):
    out = tmp_path / "out"
    killed_before_the_move(out, monkeypatch)
    with pytest.raises(UnfinishedError):
        find(out)
    with pytest.raises(FileExistsError, match=r"`ngmca separate --resume` puts it in its place"):
        put(out, text="another")
    with claimed(out, force=False, resume=True) as claim:
        assert claim.complete
        assert claim.finish() == out
    assert texts(out)["result.nc"] == "new"
    assert MARKER not in texts(out)


def test_a_run_that_begins_anew_is_not_taken_for_whole(tmp_path, monkeypatch):
    out = tmp_path / "out"
    killed_before_the_move(out, monkeypatch)
    with pytest.raises(ZeroDivisionError):
        broken_run(out, force=True)
    assert not unfinished(out).exists()


@pytest.mark.parametrize("where", ["sync", "_mark", "clear", "_moved"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_error_while_it_is_put_in_place_costs_nothing(tmp_path, monkeypatch, where, error):
    def whole_run():
        with claimed(tmp_path / "out", force=False) as claim:
            claim.begin(SIGN, resume=False)
            for name in (*FILES[:3], SEPARATED):
                write_atomically(claim.work / name, "new")
            with monkeypatch.context() as patched:
                places = {"_mark": claims.Claim, "clear": claims.result_folder}
                place = places.get(where, claims)
                patched.setattr(place, where, lambda *a, **k: (_ for _ in ()).throw(error))
                claim.finish()

    with pytest.raises((KeyboardInterrupt, OSError)):
        whole_run()
    with claimed(tmp_path / "out", force=False, resume=True) as claim:
        assert claim.can_resume
        assert (claim.work / SEPARATED).is_file() or claim.complete
        if claim.complete:
            assert claim.finish() == tmp_path / "out"
            assert sorted(os.listdir(tmp_path / "out")) == sorted([*FILES[:3], RECORD])


def test_long_names_do_not_share_a_folder_to_work_in(tmp_path):
    names = [tmp_path / ("a" * 200 + str(i)) for i in range(2)]
    assert len({unfinished(name) for name in names}) == 2


def test_what_was_private_stays_private(tmp_path):
    out = tmp_path / "out"
    out.mkdir(mode=0o700)
    put(out)
    assert out.stat().st_mode & 0o777 == 0o700
    put(out, force=True)
    assert out.stat().st_mode & 0o777 == 0o700


def test_folders_made_on_the_way_go_with_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError):
        broken_run(tmp_path / "a" / "b" / "out")
    assert os.listdir(tmp_path) == []
    (tmp_path / "a").mkdir()
    with pytest.raises(ZeroDivisionError):
        broken_run(tmp_path / "a" / "b" / "out")
    assert os.listdir(tmp_path) == ["a"]


def test_no_room_is_told_before_the_work(tmp_path):
    claim = claimed(tmp_path / "out", force=False)
    with pytest.raises(OSError, match="MB are free and the result needs about"), claim as held:
        held.check_room(1e18)
    assert os.listdir(tmp_path) == []
