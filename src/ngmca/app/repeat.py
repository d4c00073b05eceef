"""The command line and the lines of Python that repeat a run."""

import shlex

from ngmca.settings import Settings
from ngmca.settings.option_names import flag
from ngmca.settings.settings import METHOD_OPTIONS, READING, SELECTING
from ngmca.task.methods import OWN_METHODS

SAME_NAMES = ("domain", "robust", "n_init", "seed", "device", "posterior")
PLAIN = {  # settings that one call of `separate` takes; others need what the command does with files
    *("data", "sources", "method", "range", "noise", *SAME_NAMES, *METHOD_OPTIONS),
    *(name for name in READING if name not in SELECTING),
}


def command_line(settings: Settings, out: str = "result") -> str:
    """Return the command that repeats a run, with every option that was given."""
    words = ["ngmca", "separate", *settings.data]
    for setting, value in settings.given.items():
        if setting == "data":
            continue
        name = "-r" if setting == "sources" else flag(setting)
        if isinstance(value, bool):
            words.append(name if value else name.replace("--", "--no-"))
        else:
            words += [name, str(value)]
    return shlex.join([*words, "-o", out])


def python_lines(settings: Settings, r: int) -> str:
    """Return lines of Python that find the same sources, to the bit, for r sources."""
    simple = (
        settings.given.keys() <= PLAIN
        and settings.method in OWN_METHODS
        and settings.shared == "sources"
    )
    simple = simple and "noise" not in settings.files
    return _explicit(settings, r) if simple else _from_file(r)


def _explicit(settings: Settings, r: int) -> str:
    data = repr(settings.data[0] if len(settings.data) == 1 else list(settings.data))
    options = {name: getattr(settings, name) for name in READING if name not in SELECTING}
    read = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    lines = ["import ngmca", "", f"data = ngmca.io.read({data}{read})"]
    if settings.range:
        low, _, high = settings.range.partition(":")
        lines.append(f"data = data.crop({float(low):g}, {float(high):g})")
    words = [str(r)]
    if settings.method != "soft" or settings.method_options:
        own = ", ".join(f"{name}={value!r}" for name, value in settings.method_options.items())
        words.append(f"method=ngmca.{settings.method.capitalize()}({own})")
    if settings.noise is not None:
        words.append(f"noise={settings.noise!r}")
    words += [f"{name}={value!r}" for name, value in settings.given.items() if name in SAME_NAMES]
    lines.append(f"result = ngmca.separate(data, {', '.join(words)})")
    return "\n".join([*lines, 'ngmca.report.write("report.html", result, data)', ""])


def _from_file(r: int) -> str:
    """Return lines that take the settings from run.toml, where these name files or more."""
    return f"""from dataclasses import replace
from pathlib import Path

import ngmca
from ngmca.settings import from_file
from ngmca.settings.option_files import task_of

settings, _ = from_file(Path("run.toml"))
data = settings.read()
task = task_of(replace(settings, sources={r}), data)
result = ngmca.separate(
    data, task.r, method=task.method, domain=task.domain, noise=task.noise, robust=task.robust,
    constraints=task.constraints, n_init=task.n_init, posterior=task.posterior or False, seed=task.seed,
    device=task.device,
)
ngmca.report.write("report.html", result, data)
"""
