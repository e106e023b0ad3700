"""`python -m ablate.translate checkpoint=RUN`: sentences from standard input, translations out."""

import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ablate.errors import UserError

if TYPE_CHECKING:
    from ablate.restore import Translator

USAGE = """\
usage: python -m ablate.translate checkpoint=RUN [key=value ...] < sentences > translations

Reads one sentence a line (UTF-8) and writes one translation a line, in the same order.

  checkpoint=RUN     folder of a finished run: results/runs/...
  batch=64           sentences translated at a time
  threads=1          CPU threads
  device=cpu         or cuda, cuda:1, ...
  search.size=5      any setting of the run's own search
  trust=[package]    packages of your own whose components the run's config may name, or full
                     names of classes; their code will run
"""


@dataclass
class Options:
    """What the command line may set."""

    checkpoint: str = ""
    batch: int = 64
    threads: int = 1
    device: str = "cpu"
    trust: list[str] = field(default_factory=list)
    search: dict[str, Any] = field(default_factory=dict)


def parse(arguments: list[str]) -> Options:
    """Return the options that `key=value` arguments give.

    Raises:
        UserError: an unknown key, a value of the wrong type, or no checkpoint.
    """
    import yaml
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    from ablate.config_check import unknown

    names = [option.name for option in fields(Options)]
    try:
        given = OmegaConf.from_cli(arguments)
        for key in map(str, given):
            if key not in names:
                raise UserError(unknown(key, names))
        options = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Options), given))
    except (OmegaConfBaseException, yaml.YAMLError) as error:
        key = getattr(error, "full_key", None) or "the command line"
        raise UserError(f"{key}: {str(error).splitlines()[0]}") from None
    assert isinstance(options, Options)
    for key in ("batch", "threads"):
        if getattr(options, key) < 1:
            raise UserError(f"{key} is {getattr(options, key)}: it must be at least 1")
    if not options.checkpoint:
        raise UserError("checkpoint has no value: give the folder of a run, checkpoint=RUN")
    return options


def sentences(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of a stream.

    Raises:
        UserError: a line is not UTF-8.
    """
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise UserError(f"line {number} of standard input is not UTF-8") from None


def translate(translator: "Translator", batch: int, source: BinaryIO, target: BinaryIO) -> None:
    """Translate a stream line by line, `batch` lines at a time; a blank line stays blank."""
    lines = sentences(source)
    while chunk := list(islice(lines, batch)):
        target.write("".join(f"{line}\n" for line in translator(chunk)).encode())
        target.flush()


def main() -> None:
    """Command line: exit status 0 done, 2 the user's mistake."""
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(USAGE, end="")
        return
    logging.getLogger("hydra").setLevel(logging.CRITICAL)  # what it logs is said below, once
    try:
        options = parse(arguments)
        from ablate.restore import restore  # only now: it imports torch

        # At a terminal every line is answered at once.
        batch = 1 if sys.stdin.isatty() else options.batch
        settings = (options.search, options.trust, options.device, options.threads)
        translator = restore(Path(options.checkpoint).expanduser(), *settings)
        translate(translator, batch, sys.stdin.buffer, sys.stdout.buffer)
    except UserError as error:
        print(f"ablate.translate: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
