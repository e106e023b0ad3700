"""Score the model of a run on another text or test set.

Choose the corpus as for training. One split of the corpus is scored with the vocabulary, the
batches and the decoding search of the run. Each of the last lines of the output is a metric and its
value.

example:
  ablate evaluate checkpoint=results/runs/IDENTITY data=text data.test=[letters.txt]
  ablate evaluate checkpoint=results/runs/IDENTITY data=multi30k split=validation
"""

import argparse

from ablate.cli.parser import TEXT, Parser
from ablate.errors import UserError

FIRST = "loading the model"
GROUPS = ("data", "paths")  # groups that an override may set


def add_arguments(parser: Parser) -> None:
    """Declare the run, the split, the device and the threads; the corpus is given by overrides."""
    parser.takes_overrides = True
    parser.add_keys_of_run()
    parser.add_key("split", "split of the corpus to score", TEXT, "test")


def run(arguments: argparse.Namespace) -> None:
    """Print the metrics of the run's model on one split of the corpus.

    Raises:
        UserError: the run, the corpus or their combination cannot be used.
    """
    if not any(word.startswith("data=") for word in arguments.overrides):
        raise UserError("data= is missing: give the corpus to score, such as data=multi30k")
    for word in arguments.overrides:
        if word.lstrip("+~").partition("=")[0].partition(".")[0] not in GROUPS:
            raise UserError(
                f"{word}: only data and paths can be set; everything else is taken from the run"
            )
    import hydra

    from ablate.config import CONF
    from ablate.config.check import check
    from ablate.config.construct import construct  # only now: they import torch
    from ablate.train.restore import restore, score

    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        config = hydra.compose("config", arguments.overrides)
        check(config)
    corpus = construct(config.data)
    given = (arguments.trust, arguments.device, arguments.threads)
    restored = restore(arguments.checkpoint, {}, *given)
    for name, value in score(restored, corpus, arguments.split, config.paths.cache).items():
        print(f"{arguments.split}/{name} {value:.6g}")
