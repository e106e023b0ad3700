"""Run the code listings that the documents print, and write a page with the results.

The texts of the documents are not part of this project.
"""

import argparse

from ablate.cli.parser import FOLDER, PATH, Parser
from lab.command import main

FIRST = "running the listings"


def add_arguments(parser: Parser) -> None:
    """Declare the folder of the documents' texts and the file of the page."""
    parser.add_key("documents", "the folder of the documents' texts", FOLDER, required=True)
    parser.add_key("to", "write the page there", PATH, required=True)


def run(arguments: argparse.Namespace) -> None:
    """Run all listings and write the page.

    Raises:
        UserError: a text is missing, or the page cannot be written.
    """
    from ablate.claims.listing.child import examine_listing
    from ablate.claims.listing.page import page
    from ablate.claims.listing.source import names, read
    from ablate.record.files import write_text

    listings = [read(name) for name in names()]
    results = {
        listing.name: examine_listing(listing, arguments.documents, draws=20, seed=0)
        for listing in listings
    }
    write_text(arguments.to, page(results, listings))


if __name__ == "__main__":
    main("lab.listings")
