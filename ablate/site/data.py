"""Write the data that pages load on demand, as scripts: the runs of an experiment, and what the
user's folder of runs has in addition.

The page of an experiment draws seeds and curves from the script of its runs. The page of its runs
has an address for each run: runs/<experiment>.html#<identity>. The results in the repository have
statistics of each sentence but no text. The folder of the user's runs has both, so that pages can
show the sentences that two runs translate most differently. W&B's local folders of runs have
pictures of attention maps.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ablate.config.labels import arm_label, level_label
from ablate.errors import UserError
from ablate.evidence.folder import Evidence
from ablate.evidence.gather import STATISTICS, read_rows
from ablate.evidence.sentence_scores import contributions
from ablate.evidence.types import Curve, Entry, Levels, Run, Verdict
from ablate.metric.table import metric_of
from ablate.record.label import value_text
from ablate.record.sealed import read_result
from ablate.report.marks import arm_colours
from ablate.report.selection import measured, shown
from ablate.site.source import Source
from ablate.verdict.decision import is_exact
from ablate.verdict.sides import has

SHOWN = 8  # number of sentences for a pair of runs
MEDIA = "runs/*/wandb/*run-*-*/files/media/images/attention/*.png"
NAME = re.compile(r"(?P<kind>\w+)_(?P<step>\d+)_\w+")  # the names that W&B gives to pictures
Kept = dict[str, dict[str, Path]]  # pictures, by identity of the run and kind of attention
Tests = dict[str, Path]  # folders of tests, by the identity of the test


def of_experiment(source: Source, page: str) -> str:
    """Return the runs of an experiment and the differences of its claims as a JavaScript file."""
    evidence = source.evidence
    assert evidence
    metrics, arms = shown(evidence, source.verdict), arm_names(evidence)
    drawn = [key for run in evidence.runs for curve in _curves(run) for key in curve]
    keys = dict.fromkeys([*metrics, *(key for key in drawn if key != "step")])
    content = {
        "colours": arm_colours([*dict.fromkeys(arms.values())]),
        "settings": settings(source.verdict),
        "metrics": {metric: metric_of(metric).axis for metric in keys},
        "columns": metrics,
        "runs": [_run(run, arms[run["arm"]], metrics) for run in evidence.runs],
        "claims": [{"seeds": [*_seeds(answer, evidence)]} for answer in source.answers],
    }
    return script(page, content)


def script(name: str, value: Any) -> str:
    """Return JavaScript that stores a value under a name; a page opened from disk can load it,
    unlike JSON.
    """
    text = json.dumps(value, separators=(",", ":"))
    return f"(window.ablate = window.ablate || {{}})[{json.dumps(name)}] = {text};\n"


def _curves(run: Run) -> list[Curve]:
    """Return the learning curve of a run on validation data and, if stored, on training data."""
    return [curve for curve in (run["curve"], run.get("training")) if curve]


def arm_names(evidence: Evidence) -> dict[str, str]:
    """Return the label of each arm; if two labels are equal, the config text of each arm."""
    labels = {run["arm"]: arm_label(run["levels"]) or run["arm"] for run in evidence.runs}
    alike = len({*labels.values()}) < len(labels)
    return {arm: arm for arm in labels} if alike else labels


def settings(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the settings that all runs of an experiment share, by readable names."""
    regime = verdict["regime"]
    parts = {
        "data": level_label("data", regime["data"]),
        "width": regime.get("d_model"),
        "layers": regime.get("n_layers"),
        "steps": regime.get("steps"),
        "tokens in a batch": regime.get("tokens_per_step"),
        "device": regime.get("device"),
        "precision": regime.get("precision"),
    }
    options = {
        group.rpartition("/")[2].replace("_", " "): level_label(group, option)
        for group, option in (verdict.get("components") or {}).items()
    }
    every = {**parts, **options}
    return [(name, str(value)) for name, value in every.items() if value not in (None, "")]


def _run(run: Run, arm: str, metrics: list[str]) -> dict[str, object]:
    tuned = run.get("tuned")
    return {
        "id": run["identity"],
        "arm": arm,
        "levels": [(key, value_text(level)) for key, level in run["levels"].items()],
        "tuned": level_label(tuned["key"], tuned["value"]) if tuned else "",
        "seed": run["seed"],
        "status": run["status"],
        "values": [metric_of(metric).say(measured(run, metric)) for metric in metrics],
        "seconds": round(run["seconds"], 1),
        "command": run["command"],
        "curves": [
            {key: [_short(value) for value in values] for key, values in curve.items()}
            for curve in _curves(run)
        ],
    }


def _short(value: int | float | None) -> int | float | None:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _seeds(claim: Entry, evidence: Evidence) -> Iterator[dict[str, object]]:
    """Yield a dictionary for every seed of a claim, with the difference between the compared arms
    and the indices of the runs of each arm.
    """
    sides = [claim["treatment"], claim["baseline"]] if claim["treatment"] else [{}]
    if not by_seed(claim):
        return
    for seed, value in zip(claim["seeds"], claim["differences"], strict=True):
        yield {
            "seed": seed,
            "value": value,
            "said": metric_of(claim["metric"]).say(value, sign=True),
            "runs": [numbers(claim["where"] | side, seed, evidence) for side in sides],
        }


def by_seed(claim: Entry) -> bool:
    """Return whether a claim has a difference for each seed."""
    differences = [value for value in claim["differences"] if value is not None]
    return not is_exact(claim) and len(claim["seeds"]) == len(differences) > 0


def numbers(levels: Levels, seed: int, evidence: Evidence) -> list[int]:
    """Return the indices, in the evidence, of the runs with these factor levels and this seed."""
    return [
        number
        for number, run in enumerate(evidence.runs)
        if run["seed"] == seed and has(run, levels)
    ]


def tests(results: Path) -> Tests:
    """Return the folders of all tests below a results folder, by the identity of the test.

    A test is an evaluation of a trained model on test data. The name of its folder is its identity,
    a digest.
    """
    return {path.name: path for path in results.glob("runs/*/tests/*/")}


def of_seeds(source: Source, tests_by_id: Tests, attention: Kept, page: str) -> str:
    """Return translated sentences and attention pictures, by claim and seed, as a JavaScript file;
    "" if there are none.
    """
    claims = [
        dict(_translated(claim, source.evidence, tests_by_id, attention))
        for claim in source.answers
        if source.evidence
    ]
    return script(f"{page} sentences", {"claims": claims}) if any(claims) else ""


def of_runs(source: Source, tests_by_id: Tests, page: str) -> str:
    """Return the config and some translations of every run whose files are available, as
    JavaScript; "" if none.
    """
    runs = source.evidence.runs if source.evidence else []
    folders = {run["identity"]: tests_by_id.get(run["identity"]) for run in runs}
    by_run = {
        identity: details
        for identity, folder in folders.items()
        if folder and (details := _of_run(folder))
    }
    return script(f"{page} runs", by_run) if by_run else ""


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


def _translated(
    claim: Entry, evidence: Evidence, tests_by_id: Tests, attention: Kept
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
    read = [translations for folder in folders if (translations := _read(folder, split))]
    if len(read) != 2 or len(read[0][0]) != len(read[1][0]):
        return []
    (first, first_scores), (second, second_scores) = read
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


@lru_cache(maxsize=64)
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


@lru_cache(maxsize=8)
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


def kept(results: Path) -> Kept:
    """Return the newest picture of each kind of attention for every run that logged pictures to
    W&B, by the identity of the run and then by the kind of attention.
    """
    latest: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in sorted(results.glob(MEDIA)):
        if named := NAME.fullmatch(path.stem):
            key = path.parents[4].name.rpartition("-")[2], named["kind"]
            step = int(named["step"])
            latest[key] = max(latest.get(key, (-1, path)), (step, path))
    by_run: Kept = {}
    for (identity, kind), (_, path) in sorted(latest.items()):
        by_run.setdefault(identity, {})[kind] = path
    return by_run


def of_pair(runs: list[Run], pictures: Kept) -> list[dict[str, object]]:
    """Return a dictionary for each kind of attention for which both runs have a picture.

    The key `kind` has the kind in words, and `files` has the two file names.
    """
    first, second = (pictures.get(run["identity"], {}) for run in runs)
    return [
        {"kind": kind.replace("_", " "), "files": [file_name(run, kind) for run in runs]}
        for kind in first
        if kind in second
    ]


def file_name(run: Run, kind: str) -> str:
    """Return the file name of an attention picture in the data folder of the site."""
    return f"attention/{run['identity']}-{kind}.png"


def files(runs: list[Run], pictures: Kept) -> dict[str, Path]:
    """Return the paths of the attention pictures of runs, by their file names on the site."""
    return {
        file_name(run, kind): path
        for run in runs
        for kind, path in pictures.get(run["identity"], {}).items()
    }
