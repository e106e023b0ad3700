"""The sentences that two runs translate most differently, where their translations are at hand.

Committed evidence has statistics of sentences and no text; the folder of results has both.
"""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import STATISTICS, read_rows
from ablate.evidence.sentence_scores import contributions
from ablate.evidence.types import ReportedClaim, Run
from ablate.record.sealed import read_result
from ablate.site.attention import Kept, of_pair
from ablate.site.runs import arm_names, by_seed, numbers, script

SHOWN = 8  # sentences of two runs
Tests = dict[str, Path]  # the folder of each test of a run, by its identity


def tests(results: Path) -> Tests:
    """Every test that a folder of results has."""
    return {path.name: path for path in results.glob("runs/*/tests/*/")}


def data(
    evidence: Evidence, answers: list[ReportedClaim], known: Tests, attention: Kept, page: str
) -> str:
    """Sentences and attention of every claim and seed as a script; "" where there are none."""
    claims = [dict(_claim(told, evidence, known, attention)) for told in answers]
    if not any(claims):
        return ""
    return script(f"{page} sentences", {"claims": claims})


def of_runs(evidence: Evidence, known: Tests, page: str) -> str:
    """Config and translations of every run whose files are at hand, as a script; "" for none."""
    found = {}
    for run in evidence.runs:
        folder = known.get(run["identity"])
        if folder and (details := _of_run(folder)):
            found[run["identity"]] = details
    return script(f"{page} runs", found) if found else ""


def _of_run(folder: Path) -> dict[str, Any]:
    """The config of a run, and its first translations; empty where its record is not whole."""
    config, read = folder.parents[1] / "config.yaml", _read(folder, "test")
    if not (_whole(folder.parents[1]) and config.exists()):
        return {}
    lines, text = (read[0] if read else []), _text(folder, "test")
    return {
        "config": config.read_text(encoding="utf-8"),
        "samples": [
            [line, *([text[0][i], text[1][i]] if text else [])]
            for i, line in enumerate(lines[:SHOWN])
        ],
    }


def _claim(
    told: ReportedClaim, evidence: Evidence, known: Tests, attention: Kept
) -> Iterator[tuple[str, Any]]:
    """The sentences of each seed whose two runs have their translations, or their attention."""
    split, names = told["metric"].partition("/")[0], arm_names(evidence)
    if not (by_seed(told) and told["treatment"]):
        return
    for seed in told["seeds"]:
        sides = [told["where"] | told[side] for side in ("treatment", "baseline")]
        pair = [numbers(levels, seed, evidence) for levels in sides]
        if all(len(found) == 1 for found in pair):
            runs = [evidence.runs[found[0]] for found in pair]
            rows, looks = _differing(runs, split, known), of_pair(runs, attention)
            if rows or looks:
                arms = [names[run["arm"]] for run in runs]
                yield str(seed), {"arms": arms, "rows": rows, "attention": looks}


def _differing(runs: list[Run], split: str, known: Tests) -> list[dict[str, object]]:
    """Those that add most to the difference in BLEU, whichever of the two is the better."""
    folders = [known[run["identity"]] for run in runs if run["identity"] in known]
    read = [_read(folder, split) for folder in folders]
    if len(read) != 2 or any(one is None for one in read):
        return []
    (first, one), (second, other) = (found for found in read if found)
    if len(first) != len(second):
        return []
    gains = one - other
    text = _text(folders[0], split)
    return [
        {
            "line": int(i) + 1,
            "better": int(gains[i] < 0),
            "said": [first[i], second[i]],
            **({"source": text[0][i], "reference": text[1][i]} if text else {}),
        }
        for i in np.argsort(-np.abs(gains), kind="stable")[:SHOWN]
        if first[i] != second[i]
    ]


@functools.lru_cache(maxsize=64)
def _read(folder: Path, split: str) -> tuple[list[str], np.ndarray] | None:
    """Translations, and what each contributes to BLEU; None where they are not there."""
    path, statistics = folder / f"{split}.hyp", folder / f"{split}{STATISTICS}"
    if not (_whole(folder) and path.exists() and statistics.exists()):
        return None
    lines, rows = path.read_bytes().decode().split("\n")[:-1], read_rows(statistics)
    if rows is None or len(rows) != len(lines):
        return None
    return lines, contributions(rows)


def _text(folder: Path, split: str) -> tuple[list[str], list[str]] | None:
    """Sources and references of a split; None where the corpus is not to be had."""
    run = folder.parents[1]
    if not _whole(run):
        return None
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    identity = json.loads((run / "identity.json").read_text(encoding="utf-8"))
    tested = folder / "identity.json"  # records of before have none of the test's text
    text = json.loads(tested.read_text(encoding="utf-8")) if tested.exists() else {}
    fingerprints = identity["data"], text.get("data", {}).get(split, "")
    return _corpus(json.dumps(config["data"]), fingerprints, split)


def _whole(folder: Path) -> bool:
    """Whether a run or a test has ended, and its files are as they were written."""
    try:
        return read_result(folder) is not None
    except UserError:
        return False


@functools.lru_cache(maxsize=8)
def _corpus(
    described: str, fingerprints: tuple[str, str], split: str
) -> tuple[list[str], list[str]] | None:
    """Text of these fingerprints alone, of training and of the test, and nothing from a network.

    A run from elsewhere can name any file of this machine, but not know what is in it.
    """
    from omegaconf import OmegaConf

    from ablate.config.construct import construct
    from ablate.config.trust import check_targets
    from ablate.data.pairs import Corpus, fingerprint_of_test

    config = json.loads(described)
    try:
        check_targets({"data": config}, [])
        if "download_to" in config:
            config["root"] = config["root"] or config["download_to"]
        corpus: Corpus = construct(OmegaConf.create(config))
        if (corpus.fingerprint(), fingerprint_of_test(corpus, split)) != fingerprints:
            return None
        pairs = corpus.read(split)
    except UserError:
        return None
    return list(pairs.src), list(pairs.tgt)
