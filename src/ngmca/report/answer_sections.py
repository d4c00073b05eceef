"""The sections about the answers: how many sources, which substances, how much of each."""

from collections.abc import Callable

from ngmca._support.messages import Option, rendered
from ngmca.answers.run import Run
from ngmca.report.answer_figures import calibrations, criteria, matches
from ngmca.report.answer_tables import amount_table, match_table, substance_table
from ngmca.report.section import Section, paragraph


def how_many(run: Run) -> list[Section]:
    """Return the section about the number of sources, if it was chosen from the data."""
    choice = run.answers.rank
    if choice is None:
        return []
    text = (
        f"{choice.advice} The right number of sources fulfils three criteria. Entries that were held "
        "out are predicted best. The next singular values are not larger than those of noise. All "
        "sources are found again in other measurements (stability 1 is perfect). The criteria can "
        "disagree. rank.csv has the numbers."
    )
    return [Section("rank", "How many", paragraph(text), criteria(choice), 3)]


def which(run: Run, show: Callable[[Option], str] = str) -> list[Section]:
    """Return the section about the best matches in the library, if there was one."""
    found = run.answers.identification
    if found is None:
        return []
    sentences = "".join(paragraph(rendered(sentence, show)) for sentence in found.words)
    meaning = paragraph(f"{found.chance_meaning} identification.csv has the table.")
    table = f"<details><summary>best matches of each source</summary>{match_table(found)}</details>"
    return [Section("which", "Which", sentences + meaning + table, matches(run), 2)]


def how_much(run: Run, show: Callable[[Option], str] = str) -> list[Section]:
    """Return the section about amounts, if anything gave a scale."""
    amounts = run.answers.amounts
    if amounts is None:
        return []
    first, *others = [paragraph(rendered(sentence, show)) for sentence in amounts.words]
    legend = paragraph(
        f"Brackets hold the {100 * amounts.level:.3g} % interval. An amount with ! is above all "
        "standards, where the calibration line was not checked. amounts.csv has all measurements."
    )
    details = (
        f"<details><summary>all results in words</summary>{''.join(others)}</details>" if others else ""
    )
    body = f"{first}{details}{substance_table(amounts)}{legend}{amount_table(amounts)}"
    return [Section("amounts", "How much", body, calibrations(amounts), 3)]
