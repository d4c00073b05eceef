"""Unusual and ambiguous forms of numbers in text."""

import re
from itertools import pairwise, zip_longest

from ngmca.io.axis_units import meaning
from ngmca.io.read_error import ReadError

DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
INTEGER_OR_COMMA = re.compile(rf"{DECIMAL_COMMA.pattern}|[+-]?\d+")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?|[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?")
POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
THOUSANDS_MARKS = "'\u2019\u00a0\u202f\u2009"  # used for nothing else
GROUPED = re.compile(rf"[+-]?\d{{1,3}}([{THOUSANDS_MARKS}]\d{{3}})+(\.\d*)?([eE][+-]?\d+)?")
BOTH_MARKS = {  # 1,234.5; and 1.234,5 if decimals have a comma
    False: re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+\.\d+"),
    True: re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+,\d+"),
}
OTHER_DECIMALS = re.compile(r"[+-]?(0?\.\d+|\d+\.(\d{1,2}|\d{4,}))([eE][+-]?\d+)?")  # no thousands
NOT_FINITE = re.compile(r"[+-]?\d\.#(QNAN|SNAN|IND|INF)0*", re.I)  # as old programs for Windows write it
FORTRAN = re.compile(r"([+-]?\d*\.\d*)[dD]([+-]?\d+)")
NUMERAL = re.compile(  # ~400, 1,000, 682*, 45.2%, 400 nm: texts that look like numbers
    r"[~<>\u2248(]*\s*[+-]?(\d{1,3}([.,' ]\d{3})+([.,]\d+)?|\d*[.,]?\d+)([eE][+-]?\d+)?"
    r"\s*(?P<rest>[^\d\s]\S{0,4})?"
)
NO_VALUE = {"nd", "n.d.", "na", "n/a", "n.a.", "#n/a", "#nv", "-", "--", "---", "ovr", "ovf", "over",
           "overflow", "ovrflw", "sat", "null", "none", "missing", "bdl", "lod", "<lod", "*", "***",
           "#div/0!", "#value!", "#ref!", "#num!", "?"}  # fmt: skip


# Cells that are missing entries. Others in NO_VALUE, such as OVR and ND, say more than that.
MISSING_CELLS = {
    "",
    "nan",
    "na",
    "n/a",
    "n.a.",
    "#n/a",
    "#nv",
    "-",
    "--",
    "null",
    "none",
    "missing",
    "?",
}


def is_missing(cell: str) -> bool:
    """Return whether a cell is empty or only says that there is no number."""
    return cell.lower() in MISSING_CELLS or bool(NOT_FINITE.fullmatch(cell))


def unusual_number(text: str, comma: bool = False) -> float | None:
    """Return a number with a Unicode minus, thousands marks or a Fortran exponent, else None.

    `comma` says whether decimals have a comma.
    """
    if NOT_FINITE.fullmatch(text):
        return float("nan")
    text = text.replace("\u2212", "-")
    if BOTH_MARKS[comma].fullmatch(text):
        text = text.replace("." if comma else ",", "")
    text = text.replace(",", ".") if comma else text
    if GROUPED.fullmatch(text):
        text = "".join(c for c in text if c not in THOUSANDS_MARKS)
    text = FORTRAN.sub(r"\1e\2", text) if FORTRAN.fullmatch(text) else text
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def seems_number(cell: str) -> bool:
    """Return whether a cell looks like a number but is not one, or says that a number is missing."""
    if cell.lower() in NO_VALUE:
        return True
    found = NUMERAL.fullmatch(cell.replace("\u2212", "-"))
    return found is not None and (
        found["rest"] in (None, "%", "*", ")") or meaning(found["rest"]) is not None
    )


def check_thousands(cells: list[str], where: str) -> None:
    """Raise an error for 1,234 beside numbers without a comma, and for 1.234 beside 5,6."""
    commas = [cell for cell in cells if "," in cell]
    dots = [cell for cell in cells if "." in cell and "," not in cell]
    plain = [cell for cell in cells if cell.lstrip("+-").isdigit()]
    for some, others in ((commas, dots or plain), (dots, commas)):
        if some and others and all(THOUSANDS.fullmatch(cell) for cell in some):
            raise ReadError(
                f"{where} has numbers such as {some[0]!r} and {others[0]!r}: are these decimals or "
                "thousands? Write all numbers with a decimal point and without thousands marks."
            )


def check_points(rows: list[list[str]], where: str) -> None:
    """Raise an error for a column with 1.234 and 987: the point may separate thousands."""
    rows = [row for row in rows if not _are_positions(row[1:])]
    if sum(bool(OTHER_DECIMALS.fullmatch(cell)) for row in rows for cell in row) >= len(rows):
        return  # 0.0123 in every line: points are decimal signs here
    for column in zip_longest(*rows, fillvalue=""):
        dots = [cell for cell in column if "." in cell]
        whole = [cell for cell in column if cell.isdigit() and len(cell) <= 3 and cell.strip("0")]
        few = len(dots) <= 2  # beside zeros and small counts they may be decimals
        whole = [cell for cell in whole if not few or len(cell) > 1]
        if dots and whole and all(POINT_GROUPS.fullmatch(cell) for cell in dots):
            raise ReadError(
                f"{where} has numbers such as {dots[0]!r} and {whole[0]!r} in one column: are these "
                "decimals or thousands? Write all numbers with a decimal point and without thousands "
                "marks."
            )


def _are_positions(cells: list[str]) -> bool:
    """Return whether cells are whole numbers that rise or fall, as positions above columns."""
    if len(cells) < 5 or not all(map(str.isdigit, cells)):
        return False
    steps = {int(b) > int(a) for a, b in pairwise(cells)}
    return len(steps) == 1


def check_commas(rows: list[list[str]], where: str) -> None:
    """Raise an error for 400,5,0,0123: commas may be decimal signs and delimiters."""
    cells = [cell for row in rows for cell in row]
    led = [cell for row in rows for cell in row[1:] if len(cell) > 1 and cell[0] == "0"]
    if led and all(cell.lstrip("+-").isdigit() for cell in cells if cell):
        raise ReadError(
            f"{where} has cells such as {led[0]!r} between commas and no decimal point: are commas "
            "decimal signs and delimiters? Write numbers with a decimal point, or separate cells with "
            "semicolons."
        )
