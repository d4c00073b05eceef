"""An error names its arguments as data, also when it comes from another process."""

import pickle

import h5py
import numpy as np
import pytest

from ngmca._support.messages import Message, from_plain, message, option, to_plain
from ngmca.io import ReadError, read


def flag(found):
    name = f"--{found.name}"
    return f"{name} {found.value}" if found.has_value else name


def test_the_arguments_are_data():
    error = ReadError(
        "{} has {:g} axes: give {} or {}.", "a", 2.0, option("axis", "none"), option("skip")
    )
    assert str(error) == "a has 2 axes: give axis='none' or skip."
    assert error.message.render(flag) == "a has 2 axes: give --axis none or --skip."
    assert isinstance(error, ValueError)


def test_it_survives_pickling():
    error = ReadError("{}: {}", "a {}", message("give {}.", option("transpose", True)))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ReadError
    assert str(again) == str(error) == "a {}: give transpose=True."
    assert again.message.render(flag) == "a {}: give --transpose True."


def test_braces_control_characters_and_long_parts_do_no_harm():
    assert str(ReadError("{x} is {y}.")) == "{x} is {y}."
    assert str(ReadError("{}\x1b: {}", "\x1b{}", option("axis"))) == "\\x1b{}\\x1b: axis"
    error = ReadError("{} and {}.", "x" * 5000, option("axis"))
    assert len(str(error)) < 1000
    assert error.message.names == ("axis",)
    assert len(str(ReadError("x" * 5000))) <= 1000


def test_messages_travel_as_plain_values():
    text = message("{:.1f} {} of {}: {}.", 1.25, option("header", 0), "a\x1fb", option("columns"))
    pieces = to_plain(text)
    assert pieces == ["1.2 ", ["header", 0], " of a\x1fb: ", ["columns"], "."]
    again = from_plain(pieces)
    assert isinstance(again, Message)
    assert (again, again.names, again.render(flag)) == (text, text.names, text.render(flag))
    assert from_plain(to_plain("plain {text}")) == "plain {text}"


def test_an_error_of_another_process_names_its_arguments(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["one"], file["two"] = np.ones((3, 5)), np.ones((3, 5))
    with pytest.raises(
        ReadError, match=r"Choose one: dataset='one' \(3x5\), dataset='two' \(3x5\)"
    ) as caught:
        read(tmp_path / "d.h5")
    assert caught.value.message.names == ("dataset", "dataset")
    assert "Choose one: --dataset one (3x5)" in caught.value.message.render(flag)


def test_a_note_of_another_process_names_its_arguments(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["data"], file["wavelength"] = np.ones((5, 5)), np.arange(5.0)
    (note,) = read(tmp_path / "d.h5").notes
    assert isinstance(note, Message)
    assert note.names == ("transpose",)


def test_an_error_about_a_table_names_the_option_for_each_reading(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(f"{i / 2 + 0.5},{i},{i * i}" for i in range(40)))
    with pytest.raises(ReadError) as caught:
        read(path)
    assert set(caught.value.message.names) <= {"axis", "columns", "transpose"}
    assert caught.value.message.names
