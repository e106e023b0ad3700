"""Show the sentences that two runs translate most differently, if their translations are available.

The results in the repository have statistics of each sentence but no text. The folder of the user's
runs has both.
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

SHOWN = 8  # number of sentences for a pair of runs
Tests = dict[str, Path]  # folders of tests, by the identity of the test


def tests(results: Path) -> Tests:
    """Return the folders of all tests below a results folder, by the identity of the test.

    A test is an evaluation of a trained model on test data. The name of its folder is its identity,
    a digest.
    """
    return {path.name: path for path in results.glob("runs/*/tests/*/")}


def data(
    evidence: Evidence, answers: list[ReportedClaim], tests_by_id: Tests, attention: Kept, page: str
) -> str:
    """Return translated sentences and attention pictures, by claim and seed, as a JavaScript file;
    "" if there are none.
    """
    claims = [dict(_claim(claim, evidence, tests_by_id, attention)) for claim in answers]
    if not any(claims):
        return ""
    return script(f"{page} sentences", {"claims": claims})


def of_runs(evidence: Evidence, tests_by_id: Tests, page: str) -> str:
    """Return the config and some translations of every run whose files are available, as
    JavaScript; "" if none.
    """
    details_by_run = {}
    for run in evidence.runs:
        folder = tests_by_id.get(run["identity"])
        if folder and (details := _of_run(folder)):
            details_by_run[run["identity"]] = details
    return script(f"{page} runs", details_by_run) if details_by_run else ""


def _of_run(folder: Path) -> dict[str, object]:
    """Return the config of a run and its first translations; {} if its files are incomplete."""
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
    claim: ReportedClaim, evidence: Evidence, tests_by_id: Tests, attention: Kept
) -> Iterator[tuple[str, Any]]:
    """Yield each seed of a claim with the sentences that the runs of the two compared arms
    translate most differently, and with the attention pictures of these two runs.

    A seed is left out if the two runs have neither translations nor pictures to compare.
    """
    split, names = claim["metric"].partition("/")[0], arm_names(evidence)
    if not (by_seed(claim) and claim["treatment"]):
        return
    for seed in claim["seeds"]:
        sides = [claim["where"] | claim[side] for side in ("treatment", "baseline")]
        pair = [numbers(levels, seed, evidence) for levels in sides]
        if all(len(run_numbers) == 1 for run_numbers in pair):
            runs = [evidence.runs[run_numbers[0]] for run_numbers in pair]
            rows, looks = _differing(runs, split, tests_by_id), of_pair(runs, attention)
            if rows or looks:
                arms = [names[run["arm"]] for run in runs]
                yield str(seed), {"arms": arms, "rows": rows, "attention": looks}


def _differing(runs: list[Run], split: str, tests_by_id: Tests) -> list[dict[str, object]]:
    """Return the sentences that contribute most to the difference in BLEU of two runs, in either
    direction.
    """
    folders = [tests_by_id[run["identity"]] for run in runs if run["identity"] in tests_by_id]
    read = [_read(folder, split) for folder in folders]
    if len(read) != 2 or any(first_scores is None for first_scores in read):
        return []
    (first, first_scores), (second, second_scores) = (
        translations for translations in read if translations
    )
    if len(first) != len(second):
        return []
    gains = first_scores - second_scores
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
    """Return the translations of a split, and how much each contributes to BLEU; None if they are
    missing.
    """
    path, statistics = folder / f"{split}.hyp", folder / f"{split}{STATISTICS}"
    if not (_whole(folder) and path.exists() and statistics.exists()):
        return None
    lines, rows = path.read_bytes().decode().split("\n")[:-1], read_rows(statistics)
    if rows is None or len(rows) != len(lines):
        return None
    return lines, contributions(rows)


def _text(folder: Path, split: str) -> tuple[list[str], list[str]] | None:
    """Return source and reference texts of a split; None if the corpus is not available."""
    run = folder.parents[1]
    if not _whole(run):
        return None
    config = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    identity = json.loads((run / "identity.json").read_text(encoding="utf-8"))
    tested = folder / "identity.json"  # older records have no fingerprint of the test
    text = json.loads(tested.read_text(encoding="utf-8")) if tested.exists() else {}
    fingerprints = identity["data"], text.get("data", {}).get(split, "")
    return _corpus(json.dumps(config["data"]), fingerprints, split)


def _whole(folder: Path) -> bool:
    """Return whether a run or a test has ended, and its files have not changed since."""
    try:
        return read_result(folder) is not None
    except UserError:
        return False


@functools.lru_cache(maxsize=8)
def _corpus(
    described: str, fingerprints: tuple[str, str], split: str
) -> tuple[list[str], list[str]] | None:
    """Return source and reference texts of a split if the corpus has the given fingerprints; else
    None.

    Nothing is downloaded. The fingerprints protect files of this machine: a config from elsewhere
    could name any file, but it cannot know the file's content.

    Args:
        described: the corpus as text of its config.
        fingerprints: digests of the corpus and the split.
        split: name of the split.
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
