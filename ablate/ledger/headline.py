"""Derive the headline of a claim: one word that combines all of its verdicts.

The dates of the verdicts have no effect. The rules are:

1. A claim that no run can decide is *not testable*, whatever was measured.
2. A reading is one of several meanings of a claim. A verdict on a reading that no document states
   is a remark. Remarks and exploratory verdicts do not count if there are other verdicts.
3. In a setting (corpus, size of the model, metric, compared arms) the longest budget decides.
4. If trained models were tested on real text and on an artificial language, real text decides.
   A claim about a property that only real text has is undecided without real text.
5. A claim that allows no exception (field `universal` of the claim) is refuted by one
   counterexample, which must hold after a correction for the number of tested settings.
6. If all verdicts are supported, or all refuted, so is the claim. Supported and refuted verdicts
   together are *mixed*. Decided and undecided verdicts together are *undecided*.
7. Missing evidence counts as undecided.
8. If the same setting was tested k times, a verdict that one of the tests reaches at alpha / k
   counts, unless another test contradicts it.

Verdicts are not pooled: budgets share runs, and a few settings cannot estimate the variance between
settings. docs/explanation/headlines.md explains each rule by an example.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from ablate.config.labels import arm_label, level_label, option_label
from ablate.config.location import option_files
from ablate.ledger.verdicts import Finding
from ablate.phrases import listed
from ablate.stats import at_most
from ablate.verdict import stored
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED

MIXED, UNDECIDED = "mixed", "undecided"
NOT_TESTABLE, NOT_TESTED = "not testable", "not tested"
HEADLINES = (SUPPORTED, REFUTED, MIXED, UNDECIDED, NOT_TESTABLE, NOT_TESTED)
ARTIFICIAL = "\n# text: artificial\n"  # comment in the YAML file of a corpus without real text

Counted = Sequence[tuple[Finding, str]]  # each verdict, with the verdict of its whole setting
READING, CONDITIONS = "the reading", "the conditions"
STEPS, MARGIN = "the number of steps", "the margin"
NOUNS = {
    "model/residual": "the residual connections (Pre-LN or Post-LN)",
    "initial": "the initial values",
    "probe.stack": "the stack",
    "tokenizer.vocab_size": "the size of the vocabulary",
}  # config keys whose last part is not a noun, in words


@dataclass(frozen=True)
class Headline:
    """The combined result of all verdicts on a claim.

    Args:
        word: one of HEADLINES.
        on: for a mixed result, the properties in which a supported and a refuted setting differ, or
            the factor of a trend that reverses; for a claim that is not testable, the kind of
            reason, such as "definition".
        deciding: the verdicts that determine the word: those at the longest budget of each setting.
        verdicts: for each verdict in `deciding`, the verdict of its setting, which combines all
            studies and replications in the setting.
        universal: whether one counterexample refuted the claim, although all verdicts together
            would give another word.
        real_text: why artificial languages alone do not decide the claim; "" if they do.
        missing: a sentence for each part of the claim that has no verdict yet, and for each
            experiment whose evidence on the claim is missing.
    """

    word: str
    on: str = ""
    deciding: tuple[Finding, ...] = ()
    verdicts: tuple[str, ...] = ()
    universal: bool = False
    real_text: str = ""
    missing: tuple[str, ...] = ()

    @property
    def artificial(self) -> bool:
        """Whether trained models decided the claim, all of them on artificial languages."""
        trained = [finding for finding in self.deciding if finding.trained]
        return bool(trained) and all(is_artificial(finding.data) for finding in trained)

    @property
    def exploratory(self) -> bool:
        """Whether all verdicts that count are exploratory, so that the claim is undecided."""
        return bool(self.deciding) and all(finding.exploratory for finding in self.deciding)

    def where(self, verdict: str) -> list[str]:
        """Return the settings in which the claim has the given verdict.

        Each setting is described by its differences from the other settings of the claim.

        Args:
            verdict: a verdict such as "supported".
        """
        judged = zip(self.deciding, _settings(self.deciding), self.verdicts, strict=True)
        chosen = [(finding, setting) for finding, setting, word in judged if word == verdict]
        names = (", ".join(filter(None, each.values())) or f.experiment for f, each in chosen)
        return [*dict.fromkeys(names)]


def headline(
    findings: Sequence[Finding],
    gone: Sequence[str] = (),
    *,
    universal: bool = False,
    real_text: str = "",
    unasked: Sequence[str] = (),
) -> Headline:
    """Return the headline of a claim that runs can decide, that is, the word that combines all
    verdicts on the claim.

    Args:
        findings: the verdicts on the claim.
        gone: a sentence for each experiment whose evidence on the claim is missing.
        universal: whether the claim allows no exception, so that one counterexample refutes it.
        real_text: why artificial languages alone do not decide the claim; "" if they do.
        unasked: a sentence for each part of the claim that has no verdict yet, which counts as
            undecided.
    """
    missing = (*unasked, *gone)
    if not findings:
        return Headline(UNDECIDED if gone else NOT_TESTED, missing=missing)
    if unasked and all(finding.remark for finding in findings):
        return Headline(NOT_TESTED, missing=missing)
    settings = _by_setting(_counting(findings))
    deciding = _real_text([_longest(setting) for setting in settings])
    counted = [(finding, _settled(setting)) for setting in deciding for finding in setting]
    chosen = tuple(finding for finding, _ in counted)
    verdicts = tuple(verdict for _, verdict in counted)
    word = _combined({*verdicts, *(INCONCLUSIVE for _ in missing)})
    # a trend is an average over all levels
    reversed_over = [_name(finding.arms) for finding in chosen if finding.reverses]
    word = MIXED if word == SUPPORTED and reversed_over else word
    final = REFUTED if universal and _has_counterexample(counted) else word
    result = Headline(
        word=final,
        on=_strongest_contrast(counted) or reversed_over[0] if final == MIXED else "",
        deciding=chosen,
        verdicts=verdicts,
        universal=final == REFUTED != word,
        real_text=real_text,
        missing=missing,
    )
    if (real_text and result.artificial) or result.exploratory:
        return replace(result, word=UNDECIDED, on="", universal=False)
    return result


def _combined(verdicts: set[str]) -> str:
    if {SUPPORTED, REFUTED} <= verdicts:
        return MIXED
    return UNDECIDED if INCONCLUSIVE in verdicts else next(iter(verdicts))


def _has_counterexample(counted: Counted) -> bool:
    """Return whether at least one verdict refutes the claim after Bonferroni's correction.

    The correction is for the number of all statistical verdicts, because each of them could refute
    the claim by chance. An exact verdict has no p-value and needs no correction. An exploratory
    verdict is no counterexample.

    Args:
        counted: the verdicts, each with the verdict of its whole setting.
    """
    tests = sum(bool(finding.p) for finding, _ in counted)
    return any(
        word == finding.verdict == REFUTED and not finding.exploratory and _holds(finding, tests)
        for finding, word in counted
    )


def _holds(finding: Finding, tests: int) -> bool:
    """Return whether a verdict holds after Bonferroni's correction; an exact verdict always does.

    Args:
        finding: the verdict.
        tests: number of tests for which to correct.
    """
    return not finding.p or at_most(finding.p[finding.verdict] * tests, finding.alpha)


def _settled(setting: Sequence[Finding]) -> str:
    """Return the verdict of one setting from all its tests: several studies, and replications.

    If some tests are undecided, the verdict of another test must hold after a correction for the
    number of tests, and its effect must agree with the undecided effects within chance.
    """
    tries = [*setting, *(finding.fresh for finding in setting if finding.fresh)]
    undecided = [finding for finding in tries if finding.verdict == INCONCLUSIVE]
    decided = [finding for finding in tries if finding.verdict != INCONCLUSIVE]
    words = {finding.verdict for finding in decided}
    if len(words) != 1:
        return INCONCLUSIVE
    holds = not undecided or any(
        _holds(finding, len(tries)) and all(_agree(finding, other) for other in undecided)
        for finding in decided
    )
    return words.pop() if holds else INCONCLUSIVE


def _agree(first: Finding, second: Finding) -> bool:
    """Return whether the effects of two verdicts differ by no more than chance."""
    return first.effect == second.effect or distance(first, second) <= 1


def _counting(findings: Sequence[Finding]) -> list[Finding]:
    """Return the verdicts that count, without remarks and without most exploratory verdicts.

    A remark is a verdict on one of several possible meanings of the claim, which no document
    states. If all verdicts are remarks, they count. An exploratory verdict counts only if its
    reading (meaning of the claim) has no other verdict.
    """
    stated = [finding for finding in findings if not finding.remark] or [*findings]
    registered = {finding.reading for finding in stated if not finding.exploratory}
    return [f for f in stated if not f.exploratory or f.reading not in registered]


def _by_setting(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return the verdicts in groups, one group for each setting.

    The number of training steps is not part of the setting. A component that a study does not vary
    is part of the setting only if the studies use different options of this component.
    """
    keys = _apart(findings)
    common = set.intersection(*({*finding.alike} for finding in findings))
    settings: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        alone = {k: x for k, x in finding.conditions.items() if k not in {*keys, *common}}
        setting = _properties(finding, keys) | {CONDITIONS: str(alone), STEPS: "", MARGIN: ""}
        settings.setdefault((finding.kind, *setting.values()), []).append(finding)
    return list(settings.values())


def _longest(findings: list[Finding]) -> list[Finding]:
    """Return the verdicts of a setting at its largest number of steps."""
    longest = max(max(finding.steps, default=0) for finding in findings)
    return [finding for finding in findings if max(finding.steps, default=0) == longest]


def _real_text(settings: list[list[Finding]]) -> list[list[Finding]]:
    """Return the given groups of verdicts, without artificial languages where real text decides.

    A group whose models were trained on an artificial language is dropped if other models were
    trained on real text to test the same reading (meaning) of the claim. All other groups are kept.
    """
    trained = [group for group in settings if group[0].trained]
    artificial = [group for group in trained if is_artificial(group[0].data)]
    real = {group[0].reading for group in trained if group not in artificial}
    return [g for g in settings if g not in artificial or g[0].reading not in real]


@cache
def _artificial_languages() -> frozenset[str]:
    files = option_files("data").items()
    texts = {name: "\n" + path.read_text(encoding="utf-8") for name, path in files}
    return frozenset(name for name, text in texts.items() if ARTIFICIAL in text)


def is_artificial(corpora: Iterable[str]) -> bool:
    """Return whether all corpora are artificial."""
    return {*corpora} <= _artificial_languages()


def _properties(finding: Finding, keys: Iterable[str]) -> dict[str, str]:
    """Return the setting of a verdict in words, by the name of each property, in the order in which
    a headline names them.

    Args:
        finding: the verdict.
        keys: the config keys whose levels differ between verdicts.
    """
    steps, levels = finding.steps_text, finding.alike
    conditions = {_name(k): level_label(k, levels[k]) if k in levels else "" for k in keys}
    return {
        READING: finding.reading,
        "the corpus": listed([option_label("data", corpus) for corpus in finding.data]),
        "the size of the model": finding.size,
        "the device": finding.device,
        **(conditions or {CONDITIONS: arm_label(finding.conditions)}),
        "what is compared": finding.arms,
        "the metric": finding.metric,
        STEPS: steps and f"{steps} steps",
        MARGIN: f"a margin of {finding.margin:g}" if finding.margin else "",
    }


def _settings(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Return the properties in which verdicts differ, such as "the corpus", for each verdict.

    Levels that both arms share are named by their config keys. Verdicts on two readings (meanings)
    of a claim differ in many properties. For such verdicts only the reading is named, or, if they
    test the same sentence, only the config keys whose levels differ.
    """
    keys = _apart(findings)
    every = [_properties(finding, keys) for finding in findings]
    names = [n for n in next(iter(every), {}) if len({of_one[n] for of_one in every}) > 1]
    if READING in names:
        same = len({finding.statement for finding in findings}) == 1
        names = [*map(_name, keys)] if same and keys else [READING]
    return [{name: of_one[name] for name in names} for of_one in every]


def _apart(findings: Sequence[Finding]) -> list[str]:
    """Return the config keys of options and levels that differ between verdicts."""
    levels: dict[str, set[str]] = {}
    for key, level in (pair for finding in findings for pair in finding.alike.items()):
        levels.setdefault(key, set()).add(level)
    return [key for key in levels if len(levels[key]) > 1]


def _name(key: str) -> str:
    return NOUNS.get(key, f"the {key.rpartition('/')[2]}")


def _strongest_contrast(counted: Counted) -> str:
    """Return the properties in which a supported and a refuted verdict differ, as text; "" if no
    verdict is refuted.

    The pair with the most different effects is chosen.
    """
    supported = [finding for finding, word in counted if word == SUPPORTED]
    refuted = [finding for finding, word in counted if word == REFUTED]
    if not refuted:
        return ""
    pair = max(product(supported, refuted), key=lambda pair: distance(*pair))
    return listed([*_settings(pair)[0]]) or "the experiment"


def distance(first: Finding, second: Finding) -> float:
    """Return the difference of two effects, divided by the half-width of the difference's interval.

    Exact verdicts are infinitely far apart, because nothing in them is random. Effects in different
    metrics have distance 0.
    """
    if first.kind == second.kind == "exact" and not (first.interval or second.interval):
        return math.inf
    if first.metric != second.metric or not (first.interval and second.interval):
        return 0.0
    assert first.effect is not None and second.effect is not None  # an interval has an effect
    return stored.distance((first.effect, first.interval), (second.effect, second.interval))
