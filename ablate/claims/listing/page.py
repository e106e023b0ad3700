"""Write one Markdown page about all code listings: the results of each listing as printed, patched
to run, and repaired, with all patches.
"""

from collections.abc import Iterator

from ablate.claims.listing.child import Form
from ablate.claims.listing.source import FORMS, Listing

HEAD = """\
<!-- Made by `python -m lab.listings documents=FOLDER to=FILE`. -->
# Printed listings, run

Each as printed, with the smallest patches that make it run, and with those that make it compute its
formula. `gap` is the largest difference from the formula, `torch` that from torch's own function,
`masked_gap` the former with a mask; `hides` is the value of a mask that hides; `mates` is how far
other sentences of the batch move the output; `longest` is the longest input taken of 80, 81, 500
and 501 tokens; `sum` is the gap of a sub-layer with torch's norm in place of the printed one.
"""


def page(results: dict[str, dict[str, Form]], listings: list[Listing]) -> str:
    """Return a Markdown page about all code listings: the results of each listing as printed,
    patched so that it runs, and repaired, with the patches.

    Args:
        results: for each listing and form, the numbers that compare the code with this project's
            components, or the error that ended the code.
        listings: the descriptions of the listings.
    """
    return (
        HEAD
        + "\n"
        + "\n\n".join("\n\n".join(_listing(x, results[x.name])) for x in listings)
        + "\n"
    )


def _listing(listing: Listing, forms: dict[str, Form]) -> Iterator[str]:
    first, last = listing.lines
    yield f"## {listing.name}"
    yield f"{listing.document}, {listing.section}, lines {first} to {last}."
    numbers = [name for name in forms[FORMS[-1]] if name != "perturbed"]
    head = f"| form | {' | '.join(numbers)} |\n| --- |{' ---: |' * len(numbers)}"
    yield "\n".join([head, *(_row(form, forms[form], numbers) for form in FORMS)])
    if listing.patches:
        yield "\n".join(
            f"- line {patch.line}: {patch.why}{'' if patch.crash else ' (repair)'}"
            for patch in sorted(listing.patches, key=lambda patch: patch.line)
        )


def _row(form: str, result: Form, numbers: list[str]) -> str:
    name = form.replace("_", " ")
    if "error" in result:
        where = f", line {result['line']}" if result["line"] else ""
        return f"| {name} | {result['error'].replace('|', '/')}{where} |" + " |" * (
            len(numbers) - 1
        )
    shown = [f"{result[n]:.3g}" if n in result else "-" for n in numbers]
    return f"| {name} | {' | '.join(shown)} |"
