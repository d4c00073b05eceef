"""Numbers in the compressed forms of JCAMP-DX (ASDF): signs and first digits are one letter."""

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ngmca.io.read_error import ReadError

VALUES = {letter: str(n - 9) for n, letter in enumerate("ihgfedcba@ABCDEFGHI")}  # a18793: -118793
STEPS = {letter: str(n - 9) for n, letter in enumerate("rqponmlkj%JKLMNOPQR")}  # from the number before
REPEATS = {letter: str(n + 1) for n, letter in enumerate("STUVWXYZs")}  # how often a number stands
POSITION = re.compile(r"\s*[+-]?\d+\.?\d*")  # at the start of a line
TOKEN = re.compile(r"([@%A-Za-s]?)([+-]?\d*\.?\d*)")


def decoded(lines: Iterable[str], path: object) -> NDArray:
    """Return the numbers in the lines of a table (X++(Y..Y)).

    A line that ends with a step is followed by its last number again: raise an error if it is another.
    """
    found: list[float] = []
    check = False
    for line in lines:
        start = POSITION.match(line)
        if start is None:
            continue
        values, steps = _line(line[start.end() :], found[-1] if found else 0.0)
        if check and values and values[0] != found[-1]:
            raise ReadError(f"{path}: the check of a line failed, {line[:30]!r}: it is damaged.")
        found += values[1:] if check else values
        check = steps
    return np.array(found)


def _line(text: str, last: float) -> tuple[list[float], bool]:
    """Return the numbers of a line after its position, and whether the last one was a step."""
    values: list[float] = []
    step, stepped = 0.0, False
    for letter, digits in TOKEN.findall(text.replace(",", " ")):
        if not letter and not digits:
            continue
        if letter in REPEATS and letter:
            for _ in range(int(REPEATS[letter] + digits) - 1):
                last = last + step if stepped else last
                values.append(last)
            continue
        stepped = letter in STEPS and bool(letter)
        number = float((STEPS if stepped else VALUES).get(letter, "") + digits)
        step = number if stepped else 0.0
        last = last + step if stepped else number
        values.append(last)
    return values, stepped
