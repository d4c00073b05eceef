"""The settings as a form: groups of fields, values from what a person wrote, and what is greyed out."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from ngmca._support.messages import Message, Option, rendered
from ngmca.app.places import Places
from ngmca.app.sessions import Session
from ngmca.io import ReadError
from ngmca.settings.features import conflict
from ngmca.settings.option_names import flag, flag_of, setting_of
from ngmca.settings.settings import AUTO, WORDS_FOR_FILES, Settings

GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("reading", "How the file is read", (
        "transpose", "axis", "dataset", "axes", "axis_name", "axis_unit", "axis_direction", "rows",
        "header", "skip", "columns", "missing", "nucleus", "shared")),
    ("part", "Which part is used", ("range", "leave_out", "leave_rows")),
    ("background", "Background, shifts, spikes and noise", (
        "baseline", "align", "robust", "noise", "gain", "readout")),
    ("number", "How many sources", ("sources",)),
    ("known", "What do you know about them?", (
        "known_sources", "known_scale", "known_mixing", "known_mixing_sd", "closure", "closure_kind",
        "profiles", "trilinear", "kinetics", "kinetics_start", "times")),
    ("questions", "Which substances, and how much", (
        "standards", "responses", "library", "tolerance", "detect")),
    ("sure", "How sure", ("posterior", "samples", "ambiguity")),
    ("method", "Method", (
        "method", "tau", "iterations", "refinement", "penalised", "domain", "n_init", "seed", "device")),
)  # fmt: skip
LABELS = {
    "sources": "Number of sources", "axis": "Where the axis is", "axes": "Dimensions of the array",
    "rows": "Time or another coordinate", "dataset": "Data set in the file", "header": "Line of names",
    "skip": "Lines to skip", "range": "Range of the axis", "leave_out": "Left-out parts of the axis",
    "leave_rows": "Left-out measurements", "robust": "Ignore spikes", "known_sources": "Known spectra",
    "known_scale": "Scale of known spectra", "known_mixing": "Known amounts",
    "known_mixing_sd": "Standard deviation of known amounts", "closure": "Total of the amounts",
    "closure_kind": "The sum is", "profiles": "Shape of the amounts",
    "trilinear": "The same profiles in all files", "kinetics": "Rate law",
    "kinetics_start": "Amounts at time 0", "library": "Reference library", "detect": "Detect",
    "standards": "Standards", "responses": "Responses of pure substances", "posterior": "Error bars",
    "ambiguity": "Other mixtures that fit", "n_init": "First guesses", "tau": "Final threshold",
    "shared": "Several files share", "penalised": "Sparse factor", "domain": "Domain",
    "transpose": "Rows of the file are channels", "align": "Align measurements",
}  # fmt: skip
TABLES = ("standards", "known_mixing", "known_mixing_sd", "known_sources", "responses", "closure",
          "times", "rows")  # settings that can be pasted from a spreadsheet  # fmt: skip
WORDS_OF_CHOICES = {
    ("axis", "first-row"): "The first row is the axis",
    ("axis", "first-column"): "The first column is the axis",
    ("axis", "none"): "There is no axis: all numbers are measurements",
    ("transpose", "True"): "Each row is a channel",
    ("transpose", "False"): "Each row is a measurement",
}
MAX_PASTED = 20_000_000  # letters
_FIELDS = {one.name: one for one in fields(Settings) if one.metadata}
_TYPES = get_type_hints(Settings)


def label(name: str) -> str:
    """Return how the page calls a setting."""
    return LABELS.get(name) or name.replace("_", " ").capitalize()


def in_words(text: str, files: Iterable[str] = ()) -> str:
    """Return a message with the names of fields instead of options, and without folders of files."""
    text = rendered(text, _shown)
    for folder in sorted({str(Path(one).parent) for one in files}, key=len, reverse=True):
        text = text.replace(f"{folder.rstrip(os.sep)}{os.sep}", "") if len(folder) > 1 else text
    for name in sorted(_FIELDS, key=len, reverse=True):
        text = text.replace(flag(name), f"“{label(name)}”")
    number = f"“{label('sources')}” "
    return text.replace(" -r ", f" {number}") if not text.startswith("-r ") else number + text[3:]


def choices_in(text: Message) -> list[dict[str, str]]:
    """Return the settings that a message offers, each with its value."""
    found: list[dict[str, str]] = []

    def note(one: Option) -> str:
        name = setting_of(one.name)
        if name in _FIELDS and one.has_value:
            value = str(one.value)
            words = WORDS_OF_CHOICES.get((name, value), f"{label(name)}: {value}")
            found.append({"name": name, "value": value, "words": words})
        return ""

    text.render(note)
    return found


def settings_in(text: str) -> list[dict[str, str]]:
    """Return the settings that an error of the command names, with what the page calls them."""
    named = [name for name in _FIELDS if re.search(rf"(?<![\w-]){flag(name)}(?![\w-])", text)]
    named += ["sources"] if re.search(r"(?<!\S)-r\b", text) and "sources" not in named else []
    return [{"name": name, "label": label(name)} for name in named]


def _shown(one: Option) -> str:
    if flag_of(one.name) is None or setting_of(one.name) not in _FIELDS:
        return str(one)
    words = WORDS_OF_CHOICES.get((setting_of(one.name), str(one.value)))
    if words is not None:
        return f"“{words}”"
    name = f"“{label(setting_of(one.name))}”"
    return name if not one.has_value or one.value is True else f"{name} {one.value}"


@dataclass(frozen=True)
class Field:
    """A setting as a template draws it."""

    name: str
    label: str
    hint: str
    value: str
    kind: str  # "choice", "switch", "text"
    choices: tuple[tuple[str, str], ...]  # of a choice: value, and why it cannot be chosen
    reason: str  # why the field cannot be used, or ""
    pasted: bool
    file: bool


def form(settings: Settings) -> Iterator[tuple[str, str, list[Field], list[str]]]:
    """Yield name, heading, fields, and the values that were given in words, of each group."""
    for name, heading, names in GROUPS:
        made = [field_of(settings, one) for one in names]
        given = [f"{one.label}: {_short(one.value)}" for one in made if _is_given(settings, one.name)]
        yield name, heading, made, given


def steps_of(session: Session) -> list[dict[str, Any]]:
    """Return everything that was given, in the order of the form, also what is switched off."""
    given, off = session.settings.given, session.off
    names = [name for _, _, names in GROUPS for name in names if name in given or name in off]
    return [
        {"name": name, "label": label(name), "on": name in given, "can_be_off": name != "sources",
         "value": _short(str(given.get(name, off.get(name))))}
        for name in names
    ]  # fmt: skip


def _short(value: str) -> str:
    shown = value.rpartition("/")[2]
    return {"True": "yes", "False": "no"}.get(value, shown if len(shown) < 40 else shown[:39] + "…")


def _is_given(settings: Settings, name: str) -> bool:
    return name in settings.given


def field_of(settings: Settings, name: str) -> Field:
    """Return one setting with its value, and what rules say against it."""
    facts = _FIELDS[name].metadata
    value = getattr(settings, name)
    is_file = name in WORDS_FOR_FILES or name == "rows"
    words: tuple[str, ...] = () if is_file else facts["choices"]
    kind = "switch" if _TYPES[name] is bool else "choice" if words or name == "transpose" else "text"
    words = ("True", "False") if name == "transpose" else words
    choices = tuple((one, _reason(settings, name, one)) for one in words)
    trial = True if kind == "switch" else "1" if name == "closure" else "?"
    off = "" if kind == "choice" or _is_given(settings, name) else _reason(settings, name, trial)
    hint = in_words(facts["words"])
    shown = "" if value is None else str(value)
    return Field(name, label(name), hint, shown, kind, choices, off, name in TABLES, is_file)


def _reason(settings: Settings, name: str, value: object) -> str:
    """Return why a value does not go with the other settings, or ""."""
    if name in ("transpose", "sources"):
        return ""
    rule = conflict(settings, name, value)
    return "" if rule is None else f"{rule.reason}. {in_words(rule.instead)}"


def reasons(settings: Settings) -> dict[str, Any]:
    """Return for each field, and for each of its choices, why it cannot be used now."""
    made = [one for _, _, group, _ in form(settings) for one in group]
    return {one.name: {"off": one.reason, "choices": dict(one.choices)} for one in made}


def settings_from(
    given: Mapping[str, Any], session: Session, places: Places, *, keep: bool = True
) -> Settings:
    """Return the settings of a session with the fields of a form; pasted tables become files."""
    changed: dict[str, Any] = {}
    for name in _FIELDS:
        pasted = str(given.get(f"{name}.pasted", "")).strip()
        if pasted:
            if len(pasted) > MAX_PASTED:
                raise ReadError(f"“{label(name)}”: the pasted table is too large. Use a file.")
            changed[name] = str(session.paste(name, pasted)) if keep else "pasted"
        elif f"{name}.there" in given:  # a switch, which a form leaves out when it is off
            changed[name] = name in given
        elif name in given:
            changed[name] = _value(name, str(given[name]).strip(), places)
    settings = replace(session.settings, **changed)
    if keep:
        places.check(settings)
    return settings


def _value(name: str, text: str, places: Places) -> Any:
    """Return the value of a setting from what a person wrote."""
    facts = _FIELDS[name].metadata
    if not text:
        return _FIELDS[name].default
    if name == "transpose" or _TYPES[name] is bool:
        return text == "True"
    if facts["read"] is not None:
        value = facts["read"](text)
    else:
        kinds = get_args(_TYPES[name]) or (_TYPES[name],)
        number = int if int in kinds else float if float in kinds else None
        value = text if number is None or text == AUTO else _number(text, name, number)
    is_file = name in WORDS_FOR_FILES or name == "rows"
    if is_file and isinstance(value, str) and value not in WORDS_FOR_FILES.get(name, ()):
        return places.absolute(value)
    return value


def _number(text: str, name: str, kind: type) -> Any:
    try:
        return kind(text.replace(",", "."))
    except ValueError:
        whole = "a whole number" if kind is int else "a number"
        raise ReadError(f"“{label(name)}”: {text[:40]!r} is not {whole}.") from None
