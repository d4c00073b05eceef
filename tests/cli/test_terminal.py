"""What reaches the terminal: nothing that steers it, and one line for whatever goes wrong."""

import json
import os
import subprocess
import sys
import tempfile
import unicodedata
import warnings
from unittest import mock

import numpy as np
import pytest
from command_line import NGMCA, run

from ngmca.cli import main
from ngmca.cli.commands import info
from ngmca.cli.console import MAX_CHARACTERS, note, one_line, say
from ngmca.cli.errors import fail
from ngmca.io import Dataset

STEERING = "\x1b[31m\x07\x9b2J\u202e\u2028"
WRITTEN = r"\x1b[31m\x07\x9b2J\u202e\u2028"


def told(*arguments, script=None, **options):
    """What a process of its own says: exit code, stdout and stderr in bytes."""
    environment = os.environ | options.pop("env", {})
    command = NGMCA if script is None else [sys.executable, "-c", script]
    done = subprocess.run(
        [*command, *arguments],
        env=environment,
        check=False,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options,
    )
    assert b"Traceback" not in (done.stderr or b"")
    return done.returncode, done.stdout, done.stderr


def told_here(*arguments, stdout=None, stderr=None, encoding="utf-8", env=()):
    """The same of `main` in this process, which takes a tenth of the time."""
    argv = ["ngmca", *map(os.fsdecode, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        streams = {
            "stdout": stdout if stdout == "closed" else stream(stdout or out, encoding, "strict"),
            "stderr": stream(stderr or err, encoding, "backslashreplace"),
        }
        here = {name: None if given == "closed" else given for name, given in streams.items()}
        with (
            mock.patch.multiple(sys, argv=argv, **here),
            mock.patch.dict(os.environ, dict(env)),
            warnings.catch_warnings(),
            pytest.raises(SystemExit) as end,
        ):
            main()
        for given in streams.values():
            if given != "closed":
                given.close()
        for file in (out, err):
            file.seek(0)
        return end.value.code, out.read(), err.read()


def stream(file, encoding, errors):
    """A stream to the file, as Python makes them when it starts."""
    return open(os.dup(file.fileno()), "w", encoding=encoding, errors=errors)


@pytest.mark.parametrize("speak", [say, note, lambda text: fail(text, 2)])
def test_text_out_of_the_data_does_not_steer_the_terminal(capsys, speak):
    speak(f"a{STEERING}b  c [red]d[/] :warning: e\n\n  f")
    shown = "".join(capsys.readouterr())
    assert f"a{WRITTEN}b  c [red]d[/] :warning: e f\n" in shown
    assert all(unicodedata.category(c) not in ("Cc", "Cf", "Zl") for c in shown.rstrip("\n"))


def test_plain_text_stays_as_it_is():
    for text in ("é ß 日本 █ … cm⁻¹", "two  spaces", "a\u00a0b"):
        assert one_line(text) == text


def test_names_in_data_and_files_are_written_out(tmp_path, monkeypatch):
    hostile = Dataset(
        np.eye(3),
        np.arange(3.0),
        axis_name=f"axis{STEERING}",
        row_names=(f"row{STEERING}", "b", "c"),
        meta={"format": f"format{STEERING}"},
        notes=(f"note{STEERING}",),
    )
    assert (
        f"no{WRITTEN}.csv does not exist" in run("info", tmp_path / f"no{STEERING}.csv", code=2).stderr
    )
    monkeypatch.setattr(info.Settings, "read", lambda self: hostile)
    shown = run("info", "any")
    for word in ("axis", "row", "format", "note"):
        assert word + WRITTEN in shown.output
    plain = run("info", "any", "--json").stdout
    assert plain.isascii()
    assert "\x1b" not in plain
    assert json.loads(plain)["notes"] == [f"note{STEERING}"]


def test_long_messages_are_cut_in_the_middle(capsys):
    fail(f"a.csv, line 3: {50_000_000 * 'x'} is no number: mend it.", 2)
    shown = capsys.readouterr().err
    assert len(shown) < MAX_CHARACTERS + 20
    assert shown.startswith("error: a.csv, line 3: xxx")
    assert shown.endswith("xxx is no number: mend it.\n")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            MemoryError("Unable to allocate 7 TiB"),
            2,
            "not enough memory for this. Unable to allocate 7 TiB",
        ),
        (KeyboardInterrupt(), 130, "stopped"),
        (ZeroDivisionError("a\nb"), 1, "internal error: ZeroDivisionError: a b. Please report it"),
        (
            UnicodeEncodeError("utf-8", 'x = "s\udce9.csv"', 6, 7, "surrogates not allowed"),
            2,
            r"s\udce9.csv",
        ),
    ],
)
def test_whatever_goes_wrong_is_one_line(monkeypatch, table, error, code, message):
    def broken(data):
        raise error

    monkeypatch.setattr(info, "examine", broken)
    shown = run("info", table, code=code).stderr
    assert message in shown
    assert shown.count("\n") == 1
    assert shown.startswith("error: ")


def test_where_an_internal_error_is_can_be_shown(monkeypatch, table):
    monkeypatch.setattr(info, "examine", lambda data: 1 / 0)
    assert "Traceback" not in run("info", table, code=1).stderr
    monkeypatch.setenv("NGMCA_TRACEBACK", "1")
    assert "Traceback" in run("info", table, code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([b"--no\x1b[31m"], rb"No such option: --no\x1b[31m. See `ngmca --help`."),
        ([b"info", b"x", b"--\xe9"], rb"No such option: --\udce9. See `ngmca info --help`."),
        ([b"separate", b"x", b"-r", b"many"], b"Give a number, as -r 4, or -r auto to choose it."),
        ([b"info", b"no\xe9.csv"], b"csv does not exist."),
        ([b"info"], b"Missing argument"),
    ],
)
def test_wrong_calls_are_told_in_one_line(arguments, message):
    code, out, err = told_here(*arguments)
    assert (code, out) == (2, b"")
    assert message in err
    assert err.count(b"\n") == 1
    assert b"\x1b" not in err
    assert b"\xe9" not in err


def test_a_call_without_a_command_shows_the_help():
    code, out, err = told_here()
    assert code in (0, 2)
    assert b"separate" in out + err
    assert b"error" not in err


def test_names_that_are_not_utf_8_are_names(tmp_path, table):
    data = tmp_path / "s\udce9.csv"
    data.write_bytes(table.read_bytes())
    assert told("info", os.fsencode(data))[0] == 0
    options = ("-r", "3", "--iterations", "5", "-o")
    assert told_here("separate", os.fsencode(data), *options, tmp_path / "a")[0] == 0
    again = told_here("separate", "--config", tmp_path / "a" / "run.toml", "-o", tmp_path / "b")
    assert again[0] == 0
    assert (tmp_path / "a" / "sources.csv").read_bytes() == (tmp_path / "b" / "sources.csv").read_bytes()


POOR = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}


@pytest.mark.parametrize(
    ("encoding", "env"),
    [
        ("latin-1", {}),
        ("cp1252", {}),
        ("ascii", {}),
        (None, POOR),
        ("utf-8", {"COLUMNS": "0", "LINES": "0"}),
        ("utf-8", {"COLUMNS": "1"}),
        ("utf-8", {"COLUMNS": "abc", "TERM": "dumb"}),
    ],
    ids=str,
)
def test_poor_terminals(table, encoding, env):
    def asked(*arguments):
        if encoding is None:  # Python decides
            return told(*arguments, env=env)
        return told_here(*arguments, encoding=encoding, env=env)

    code, out, err = asked("info", table)
    assert code == 0
    assert err.startswith(b"note: the first column of tubes.csv is the axis, 9 to 1")
    assert err.count(b"\n") == 1
    assert b"3 singular values are above the noise" in out
    bar = "█".encode() if encoding == "utf-8" else b"#"
    assert b"   1 " + 40 * bar in out
    assert env.get("COLUMNS") or asked("info", "--help")[0] == 0


@pytest.mark.parametrize("command", [["info"], ["info", "--json"], ["--help"]], ids=" ".join)
def test_results_that_do_not_arrive_are_a_failure(table, command):
    asked = told if command == ["info"] else told_here  # once with all that Python does at its end
    closed = (
        {"stdout": None, "preexec_fn": lambda: os.close(1)} if asked is told else {"stdout": "closed"}
    )
    command = [*command, str(table)] if command[0] == "info" else command
    with open("/dev/full", "wb") as full:
        code, _, err = asked(*command, stdout=full)
    assert (code, err.splitlines()[-1]) == (1, b"error: No space left on device.")
    reading, writing = os.pipe()
    os.close(reading)  # as `head`, which has seen enough
    with os.fdopen(writing, "wb") as pipe:
        code, _, err = asked(*command, stdout=pipe)
    assert code == 1
    assert b"error" not in err
    code, _, err = asked(*command, **closed)
    assert code == 1
    assert b"stdout is closed" in err


def test_a_full_stderr_stops_nothing(table):
    with open("/dev/full", "wb") as full:
        code, out, _ = told_here("info", table, stderr=full)
        noting = "from ngmca.cli import console, main; console.note('x'); main()"
        noted, _, _ = told("info", table, script=noting, stderr=full)
        failed, _, _ = told_here("info", "nowhere.csv", stderr=full)
    assert (code, noted, failed) == (0, 0, 2)
    assert b"3 singular values" in out


INTERRUPTED = """
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == {when!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
from ngmca.cli import main
main()
"""


@pytest.mark.parametrize("when", ["numpy", "typer", "scipy.linalg", "ngmca.cli.commands"])
def test_ctrl_c_while_libraries_load(when):
    assert told("info", "x", script=INTERRUPTED.format(when=when)) == (130, b"", b"")


def test_a_library_that_cannot_be_loaded_is_told_in_one_line():
    script = "import sys; sys.modules['rich'] = None; from ngmca.cli import main; main()"
    code, out, err = told("info", "x", script=script)
    assert (code, out) == (1, b"")
    assert err.startswith(b"error: ngmca cannot start: ")
    assert err.count(b"\n") == 1
