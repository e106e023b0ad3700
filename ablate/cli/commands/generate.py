"""Continue a prompt from standard input with a language model.

Reads the whole input as the prompt, and writes the prompt with its continuation. Without input, the
model generates a text without a prompt. In the continuation, a blank line marks the end of a
document. In the prompt, separate documents as the training text of the model does.

example:
  echo "ROMEO:" | ablate generate checkpoint=results/runs/IDENTITY tokens=500
"""

import argparse
import math
import sys

from ablate.cli.parser import Kind, Parser, whole

FIRST = "loading the model"


TEMPERATURE = Kind("NUMBER", "a number, at least 0", float, lambda number: 0 <= number < math.inf)


def add_arguments(parser: Parser) -> None:
    """Declare the run, the options of sampling, the device and the threads."""
    parser.add_keys_of_run()
    parser.add_key("tokens", "length of the continuation", whole(1), 500)
    parser.add_key("count", "number of continuations, separated by lines of dashes", whole(1), 1)
    parser.add_key("temperature", "divisor of the logits; 0: most likely", TEMPERATURE, 0.8)
    parser.add_key("top", "number of most likely tokens to sample from; default: all", whole(1))
    parser.add_key("seed", "seed of the sampling", whole(0, 2**64 - 1), 1)


def run(arguments: argparse.Namespace) -> None:
    """Read a prompt from standard input, and write it with each continuation to standard output.

    Raises:
        UserError: the run or the prompt cannot be used.
    """
    raw = sys.stdin.buffer.read()
    from ablate.search import Sampling  # only now: they import torch
    from ablate.train.apply import read_prompt
    from ablate.train.restore import restore, writer_of

    given = (arguments.trust, arguments.device, arguments.threads)
    writer = writer_of(restore(arguments.checkpoint, {}, *given))
    prompt = read_prompt(raw, writer)
    texts = writer(
        prompt,
        count=arguments.count,
        tokens=arguments.tokens,
        sampling=Sampling(arguments.temperature, arguments.top),
        seed=arguments.seed,
    )
    written = "\n----\n".join(f"{prompt}{text}" for text in texts)
    sys.stdout.buffer.write(f"{written}\n".encode())
