"""The verdict about a result: green, amber or red, in one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from ngmca.answers.wording import Finding


@dataclass(frozen=True)
class Verdict:
    """Whether a result can be used.

    Attributes
    ----------
    colour : str
        ``"green"`` if nothing speaks against the result, ``"amber"`` if it needs care, ``"red"`` if it
        should not be used.
    text : str
        The verdict in words.
    findings : tuple of Finding
        The warnings behind it, the worst first.
    next_step : str or None
        The change that helps most and what it gained when it was tried; None if none was found.
    command : str or None
        The next step to copy: a command line if the result was made by the command, otherwise a line
        of Python. None if it is a change of the data.
    """

    colour: str
    text: str
    findings: tuple[Finding, ...] = ()
    next_step: str | None = None
    command: str | None = None


def verdict(
    findings: Sequence[Finding],
    passed: Sequence[str],
    next_step: str | None = None,
    command: str | None = None,
) -> Verdict:
    """Return the verdict; `passed` says what was checked, for a result without warnings."""
    serious = [one for one in findings if one.grade != "note"]
    if not serious:
        return Verdict("green", f"All checks passed: {', '.join(passed)}.", tuple(findings))
    worst, others = serious[0], len(serious) - 1
    verb = "is" if others == 1 else "are"
    more = f" There {verb} {others} more warning{'s' * (others > 1)}." if others else ""
    start = "Do not use this result" if worst.grade == "red" else "Usable with care"
    text = f"{start}: {_lower(worst.title)}.{more}"
    return Verdict(worst.grade, text, tuple(findings), next_step, command)


def _lower(title: str) -> str:
    """Return a title inside a sentence."""
    return title[:1].lower() + title[1:]
