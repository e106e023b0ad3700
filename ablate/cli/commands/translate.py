"""Translate standard input to standard output with the model of a run.

Reads a sentence per line (UTF-8) and writes a translation per line, in the same order.

example:
  ablate translate checkpoint=results/runs/IDENTITY < sentences.txt > translations.txt
"""

import argparse
import sys
from typing import Any

from ablate.cli.parser import Kind, Parser, whole

FIRST = "loading the model"


def _plain(text: str) -> Any:
    """Return the value that a text would have in an override: a number, a list, a boolean or
    text.
    """
    import yaml
    from omegaconf import OmegaConf

    try:
        parsed: Any = OmegaConf.to_container(OmegaConf.from_dotlist([f"value={text}"]))
    except yaml.YAMLError as error:
        raise ValueError from error
    return parsed["value"]


SETTING = Kind("VALUE", "a value as in an override", _plain)


def add_arguments(parser: Parser) -> None:
    """Declare the run, the options of its decoding search, the device and the threads."""
    parser.add_keys_of_run()
    parser.add_key("batch", "number of sentences translated at a time", whole(1), 64)
    parser.add_key("search.", "settings of the search, such as search.size=5", SETTING)


def run(arguments: argparse.Namespace) -> None:
    """Translate lines until the input ends; on a terminal, each line is translated at once.

    Raises:
        UserError: the run cannot be used, a line is not UTF-8, or there is no input or output.
    """
    from ablate.train.restore import restore, translate_stream  # only now: it imports torch

    settings = (arguments.search, arguments.trust, arguments.device, arguments.threads)
    batch = 1 if sys.stdin.isatty() else arguments.batch
    restored = restore(arguments.checkpoint, *settings)
    translate_stream(restored, batch, sys.stdin.buffer, sys.stdout.buffer)
