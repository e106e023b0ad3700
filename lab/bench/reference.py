"""Write a page about one long run on real text: its scores, published scores, translations.

    python -m ablate scale=reference logger=none
    python -m lab.bench.reference results/runs/IDENTITY experiments/reference_multi30k
        [--tried results/runs/IDENTITY ...]

`--tried` names the folders of short runs with which the settings were chosen. The page has a row
for each, with the config keys in which it differs from the first of them.
The page shows ten translations at equal distances in the test set, and the five translations with
the lowest chrF.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import sacrebleu
from omegaconf import DictConfig, OmegaConf

from ablate.config.construct import construct
from ablate.config.leaves import leaves
from ablate.config.trust import check_targets
from ablate.data.corpus import Corpus, Pairs
from ablate.errors import UserError
from ablate.record.files import write_text
from ablate.record.sealed import read_result
from ablate.report.draw.lines import draw_curves
from ablate.report.draw.style import svg

PUBLISHED = {  # arXiv:2105.14462, table 1, text alone: 4 + 4 layers of 128, test_2016_flickr
    "test/bleu_tokenised": 41.02
}
SETTING = (
    "Published: [arXiv:2105.14462](https://arxiv.org/abs/2105.14462), table 1, text alone: "
    "dropout 0.3, some 65 million target tokens, the average of ten checkpoints."
)
SHOWN = {
    "test/bleu_tokenised": "BLEU, lower-cased and tokenised",
    "test/bleu": "BLEU, cased, on raw references",
    "test/chrf": "chrF",
    "test/length_ratio": "length of translations to references",
}


class Finished(NamedTuple):
    """A run that was trained and tested."""

    folder: Path
    config: Any
    metrics: dict[str, float]  # metrics of training, validation and test
    signatures: dict[str, str]  # sacreBLEU's signature, by metric
    seconds: float  # duration of training
    text: Pairs  # sources and references of the test set
    translations: list[str]


def read(folder: Path) -> Finished:
    """Read a run and its newest test.

    Raises:
        UserError: the run was not trained or not tested, or a file was changed afterwards.
    """
    training = read_result(folder)
    tests = sorted(folder.glob("tests/*/result.json"), key=lambda path: path.stat().st_mtime)
    if training is None or not tests:
        raise UserError(f"{folder} is not the folder of a run that was trained and tested")
    test = read_result(tests[-1].parent)
    assert test is not None
    config = OmegaConf.load(folder / "config.yaml")
    check_targets({"data": OmegaConf.to_container(config.data)}, [])
    corpus: Corpus = construct(config.data)
    lines = (tests[-1].parent / "test.hyp").read_bytes().decode().split("\n")[:-1]
    every = training["metrics"] | test["metrics"]
    metrics = {key: value for key, value in every.items() if value is not None}
    seconds = training["seconds"]["training"]
    text = corpus.read("test")
    return Finished(folder, config, metrics, test["signatures"], seconds, text, lines)


def page(run: Finished, tried: Sequence[Path] = ()) -> Iterator[str]:
    """Yield the blocks of the page, in Markdown.

    Args:
        run: the run.
        tried: folders of the short runs.
    """
    source, target = run.config.data.source, run.config.data.target
    yield f"# The reference run: {source} to {target}"
    tokens = run.metrics["steps"] * run.config.batch.tokens / 1e6
    yield (
        f"`python -m ablate scale=reference`: {int(run.metrics['parameters']):,} parameters, "
        f"{int(run.metrics['steps']):,} steps of up to {run.config.batch.tokens:,} target "
        f"tokens, {tokens:.0f} million in all, {run.seconds / 60:.0f} minutes of training; tested "
        f"on {len(run.translations):,} sentences. This page is made by "
        "`python -m lab.bench.reference`."
    )
    yield "\n".join(
        ["| score | here | published | signature |", "|---|---:|---:|---|", *scores(run)]
    )
    yield SETTING
    yield "![validation nll and BLEU against steps](curve.svg)"
    if tried:
        yield "## What was tried before, in short runs"
        head = "| differs by | steps | val nll | val BLEU |\n|---|---:|---:|---:|"
        yield "\n".join([head, *trials(tried)])
    yield "## Ten translations, at equal distances through the test"
    every = len(run.translations) // 10
    yield from (sentence(run, i * every) for i in range(10))
    yield "## The five translations with the lowest chrF"
    chrf = [
        sacrebleu.sentence_chrf(line, [wanted]).score
        for line, wanted in zip(run.translations, run.text.tgt, strict=True)
    ]
    yield from (sentence(run, int(i)) for i in np.argsort(chrf, kind="stable")[:5])


def trials(tried: Sequence[Path]) -> Iterator[str]:
    """Yield a table row for every short run: the overrides, and the last validation in training.

    This validation uses the current weights, without an average over checkpoints.
    """
    configs = [leaves(cast(DictConfig, OmegaConf.load(run / "config.yaml"))) for run in tried]
    for run, config in zip(tried, configs, strict=True):
        own_keys = [
            setting(key, config[key]) for key in config if config[key] != configs[0].get(key)
        ]
        last = {key: values[-1] for key, values in curve(run).items()}
        figures = f"{last['step']:,} | {last['val/nll']:.2f} | {last['val/bleu']:.2f}"
        yield f"| {', '.join(own_keys) or 'nothing: the first'} | {figures} |"


def setting(key: str, value: Any) -> str:
    """Return "key=value"; for a `_target_`, the component's key and the name of its class."""
    component, _, last = key.rpartition(".")
    return f"{component}={value.rpartition('.')[2]}" if last == "_target_" else f"{key}={value}"


def scores(run: Finished) -> Iterator[str]:
    """Yield a table row for every score, with the published score if there is one."""
    for key, name in SHOWN.items():
        published = PUBLISHED.get(key)
        gap = f"{published} ({run.metrics[key] - published:+.2f})" if published else ""
        signature = run.signatures.get(key.rpartition("/")[2], "").replace("|", "\\|")
        yield f"| {name} | {run.metrics[key]:.2f} | {gap} | {signature} |"


def sentence(run: Finished, i: int) -> str:
    """Return sentence `i` as a Markdown quotation: its source, reference and translation."""
    texts = run.text.src[i], run.text.tgt[i], run.translations[i]
    names = ("source", "reference", "translation")
    return "\\\n".join(f"> {name} {i + 1}: {text}" for name, text in zip(names, texts, strict=True))


def curve(folder: Path) -> dict[str, list[Any]]:
    """Return the steps, nll and BLEU of the validations during training, by name.

    The validation of the tested weights, which follows at the last step, is left out.
    """
    lines = [
        json.loads(line)
        for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    by_step: dict[int, dict[str, Any]] = {}
    for line in lines:
        if "val/nll" in line:
            by_step.setdefault(line["step"], line)
    measurements = by_step.values()
    return {
        key: [line.get(key) for line in measurements] for key in ("step", "val/nll", "val/bleu")
    }


def main() -> None:
    """Write the page and its figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="folder of the run")
    parser.add_argument("to", type=Path, help="folder of the page")
    parser.add_argument("--tried", type=Path, nargs="+", default=[], help="folders of short runs")
    given = parser.parse_args()
    run = read(given.run)
    given.to.mkdir(parents=True, exist_ok=True)
    write_text(given.to / "README.md", "\n\n".join(page(run, given.tried)) + "\n")
    write_text(given.to / "curve.svg", svg(draw_curves({"": {0: curve(given.run)}})))


if __name__ == "__main__":
    main()
