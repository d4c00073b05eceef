"""Arguments of the library as options of the command line."""

from dataclasses import fields

import pytest
from command_line import run

import ngmca
from ngmca import rules
from ngmca._support.messages import message, option, rendered
from ngmca.cli.console import MAX_CHARACTERS
from ngmca.cli.errors import fail
from ngmca.settings.option_names import as_flag, flag_of
from ngmca.settings.settings import Settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            message("{} must be at least 0, got {}.", option("tau"), -1.0),
            "--tau must be at least 0, got -1.0.",
        ),
        (message("{} must be an integer.", option("n_iter")), "--iterations must be an integer."),
        (message("{} must be real.", option("noise")), "--noise must be real."),
        (message("{} must be at least 1, got {}.", option("r"), 0), "-r must be at least 1, got 0."),
        (
            message("{} has no meaning for {}.", option("tau"), option("method", "anls")),
            "--tau has no meaning for --method anls.",
        ),
        (
            message("some sources explain noise, or a larger {}.", option("tau")),
            "some sources explain noise, or a larger --tau.",
        ),
        (
            message("Give it, for instance {}.", option("noise", 0.12)),
            "Give it, for instance --noise 0.12.",
        ),
        (message("choose one by {}: a, b.", option("dataset")), "choose one by --dataset: a, b."),
        (message("leave it out ({}).", option("Dataset.crop")), "leave it out (--range)."),
        (message("use {} if not.", option("transpose", True)), "use --transpose if not."),
        (message("leave out {}.", option("transpose", False)), "leave out --no-transpose."),
        (
            message("choose with {}.", option("dataset", "/scan/data")),
            "choose with --dataset /scan/data.",
        ),
        (message("a exists; {} replaces it", option("force", True)), "a exists; --force replaces it"),
        (
            message("{} and {}", option("KnownSources"), option("Unimodal")),
            "--known-sources and --profiles",
        ),
        (message("a {}", message("larger {}", option("n_samples", 9))), "a larger --samples 9"),
        # arguments without an option
        (message("{} is ignored.", option("mask")), "mask is ignored."),
        (message("{} is ignored.", option("ZeroSources", ...)), "ZeroSources is ignored."),
        (message("{} was given.", option("start", 1)), "start=1 was given."),
        # text that only looks like an argument
        ("the noise of method A", "the noise of method A"),
        ("/data/tau/n_iter.csv does not exist.", "/data/tau/n_iter.csv does not exist."),
        ("--tau 2 is not --method soft", "--tau 2 is not --method soft"),
    ],
)
def test_arguments_become_options(text, expected):
    assert rendered(text, as_flag) == expected


def test_every_option_that_messages_name_exists():
    help_of = " ".join(run(command, "--help").stdout for command in ("separate", "rank", "simulate"))
    names = {part.name for part in fields(Settings)} - {"data", "sources"}
    names |= {"r", "n_iter", "n_samples", "Dataset.crop", "max_rank", "force", "snr"}
    for record in (ngmca.Closure, ngmca.KnownSources, ngmca.KnownMixing, ngmca.Unimodal, ngmca.Baseline):
        names.add(record.__name__)
    flags = {flag_of(name) for name in names}
    assert None not in flags
    assert [flag for flag in flags if flag not in help_of] == []


def test_rules_name_options_of_the_command_line():
    for name in ("robust", "KnownSources", "Closure", "posterior", "n_init"):
        shown = as_flag(rules.written([name])[name])
        assert shown.startswith("--"), (name, shown)


def test_an_error_is_one_line_of_readable_length(capsys):
    assert fail("begin\n\x1b[31m" + 5000 * "x" + "end", 2).exit_code == 2
    told = capsys.readouterr().err
    assert told.startswith("error: begin \\x1b[31mxxx")
    assert told.endswith("xend\n")
    assert told.count("\n") == 1
    assert len(told) < MAX_CHARACTERS + 20
