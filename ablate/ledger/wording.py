"""Headlines in words, for the terminal and for pages."""

from ablate.ledger.headline import MIXED, NOT_TESTABLE, UNDECIDED, Headline
from ablate.report.marks import MARKS


def marked(headline: Headline) -> str:
    """Return a headline with its mark, and what a mixed result depends on."""
    return f"{MARKS[headline.word].letter} {headline.word}" + (
        f": {detail(headline)}" if headline.word == MIXED else ""
    )


def detail(headline: Headline) -> str:
    """Return what stands below the word: on what it depends, or why it is not testable."""
    if headline.word == MIXED:
        return f"it depends on {headline.on}"
    return headline.on if headline.word == NOT_TESTABLE else ""


def bounds(headline: Headline) -> list[str]:
    """Return the sentences that bound a headline: where it is decided, and on what it rests."""
    sentences = [*dict.fromkeys(map(str, headline.gone))]
    if headline.word in (MIXED, UNDECIDED):
        for verdict in ("supported", "refuted"):
            if places := headline.where(verdict):
                sentences.append(f"It is {verdict} here: {'; '.join(places)}.")
    if headline.universal:
        sentences.append(
            "One counterexample refutes a sentence without exceptions. It holds here: "
            f"{'; '.join(headline.where('supported'))}."
        )
    if headline.artificial:
        sentences.append("Only artificial languages were asked, not real text.")
    return sentences
