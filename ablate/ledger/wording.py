"""Write headlines in words, for the terminal and for pages.

A headline combines all verdicts on a claim in a word, such as "supported" or "mixed".
"""

from collections.abc import Iterator

from ablate.ledger.headline import INCONCLUSIVE, MIXED, NOT_TESTABLE, UNDECIDED, Headline
from ablate.report.marks import MARKS


def marked(headline: Headline) -> str:
    """Return the word that combines all verdicts on a claim, preceded by the symbol of this word,
    as in "● supported".

    For a mixed result, the properties follow in which its settings differ.
    """
    return f"{MARKS[headline.word].letter} {headline.word}" + (
        f": {detail(headline)}" if headline.word == MIXED else ""
    )


def detail(headline: Headline) -> str:
    """Return the properties in which the supported and the refuted settings of a mixed result
    differ, or why a claim is not testable.

    The result is "" for any other headline.
    """
    if headline.word == MIXED:
        return f"the settings differ in {headline.on}"
    return headline.on if headline.word == NOT_TESTABLE else ""


def bounds(headline: Headline) -> list[str]:
    """Return sentences on the settings in which a claim is supported or refuted, and on the limits
    of these verdicts.
    """
    decided = (
        f"It is {verdict} here: {'; '.join(places)}."
        for verdict, places in settings(headline).items()
    )
    return [*decided, *limits(headline)]


def settings(headline: Headline) -> dict[str, list[str]]:
    """Return the settings in which a mixed or undecided claim is supported, and in which it is
    refuted.

    Returns:
        descriptions of settings, by "supported" and "refuted".
    """
    if headline.word not in (MIXED, UNDECIDED):
        return {}
    places = {verdict: headline.where(verdict) for verdict in ("supported", "refuted")}
    return {verdict: names for verdict, names in places.items() if names}


def _other_tries(headline: Headline) -> Iterator[str]:
    """Yield a sentence for each verdict that other tests of the same setting, such as a replication
    with new seeds, change: a decided verdict that they do not confirm, or an undecided verdict that
    they decide.
    """
    for finding, word in zip(headline.deciding, headline.verdicts, strict=True):
        if finding.verdict != word and word == INCONCLUSIVE:
            yield (
                f"The verdict of {finding.experiment} ({finding.verdict}) counts as undecided: "
                "fresh seeds of the same setting do not confirm it."
            )
        elif finding.verdict != word:
            yield (
                f"The experiment {finding.experiment} left its setting undecided. Fresh seeds "
                f"decide it: {word}, after a correction for testing twice."
            )


def limits(headline: Headline) -> list[str]:
    """Return sentences on parts of a claim without a verdict, on missing evidence, on verdicts that
    replications change, on counterexamples, and on tests without real text.
    """
    sentences = [*headline.unasked, *map(str, headline.gone), *_other_tries(headline)]
    sentences = [*dict.fromkeys(sentences)]
    if headline.universal:
        sentences.append(
            "One counterexample refutes a sentence without exceptions. It holds here: "
            f"{'; '.join(headline.where('supported'))}."
        )
    if headline.artificial:
        sentences.append("Only artificial languages were tested, not real text.")
    if headline.artificial and headline.real_text:
        sentences.append(f"They do not decide it: {headline.real_text}")
    return sentences
