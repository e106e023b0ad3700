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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from ablate.config import option_files
from ablate.config.labels import factor_label
from ablate.ledger.verdicts import Finding
from ablate.phrases import listed
from ablate.stats import at_most
from ablate.verdict.stored import agree
from ablate.verdict.types import INCONCLUSIVE, REFUTED, SUPPORTED, Entry

MIXED, UNDECIDED = "mixed", "undecided"
NOT_TESTABLE, NOT_TESTED = "not testable", "not tested"
HEADLINES = (SUPPORTED, REFUTED, MIXED, UNDECIDED, NOT_TESTABLE, NOT_TESTED)
COUNTEREXAMPLE = "one counterexample refutes a claim without exceptions"
ONLY_REAL = "only real text can decide the claim"
EXPLORATORY = "all verdicts that count are exploratory"
ARTIFICIAL = "\n# text: artificial\n"  # comment in the YAML file of a corpus without real text

Setting = tuple[tuple[str, str], ...]  # the properties of a setting by their names
NOUNS = {
    "data": "the corpus",
    "size": "the size of the model",
    "reading": "the meaning of the sentence",
    "arms": "what is compared",
    "model/residual": "the residual connections (Pre-LN or Post-LN)",
    "initial": "the initial values",
    "tokenizer.vocab_size": "the size of the vocabulary",
}  # names of properties in words, where the label of a factor is no noun


@dataclass(frozen=True)
class Headline:
    """The combined result of all verdicts on a claim.

    Args:
        word: one of HEADLINES.
        reason: for a mixed result, in which properties a supported and a refuted setting differ, or
            the factor of a trend that reverses; for a claim that is not testable, the kind of
            reason, such as "definition"; for a word that another rule changes, this rule; or "".
        deciding: the verdicts that determine the word: those at the longest budget of each setting.
        verdicts: for each verdict in `deciding`, the verdict of its setting, which combines all
            studies and replications in the setting.
        overruled: the verdicts on artificial languages that do not count beside real text.
        missing: a sentence for each part of the claim that has no verdict yet, for each experiment
            whose evidence on the claim is missing, and on why real text is needed.
    """

    word: str
    reason: str = ""
    deciding: tuple[Finding, ...] = ()
    verdicts: tuple[str, ...] = ()
    overruled: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def artificial(self) -> bool:
        """Whether trained models decided the claim, all of them on artificial languages."""
        trained = [finding for finding in self.deciding if finding.trained]
        return bool(trained) and all(is_artificial(finding.data) for finding in trained)


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
    if unasked and all(finding.is_unstated for finding in findings):
        return Headline(NOT_TESTED, missing=missing)
    counting = _counting(findings)
    tested = _by_setting(_real_text(counting))
    settled = {setting: _settled(group) for setting, group in tested.items()}
    counted = [(each, settled[setting]) for setting, group in tested.items() for each in group]
    deciding, verdicts = zip(*counted, strict=True)
    word = _combined({*verdicts, *(INCONCLUSIVE for _ in missing)})
    # a trend is an average over all levels
    trends = [finding.answer["over"] for finding in deciding if finding.reverses]
    word, reason = MIXED if word == SUPPORTED and trends else word, ""
    if universal and word != REFUTED and _has_counterexample(counted):
        word, reason = REFUTED, COUNTEREXAMPLE
    elif word == MIXED:
        reason = _contrast(tested, settled) or _differ(trends[:1])
    overruled = [finding for finding in counting if finding not in _real_text(counting)]
    result = Headline(word, reason, deciding, verdicts, (*overruled,), missing)
    if real_text and result.artificial:
        missing = (*missing, real_text)
        return replace(result, word=UNDECIDED, reason=ONLY_REAL, missing=missing)
    exploratory = all(finding.answer["exploratory"] for finding in deciding)
    return replace(result, word=UNDECIDED, reason=EXPLORATORY) if exploratory else result


def _combined(verdicts: set[str]) -> str:
    if {SUPPORTED, REFUTED} <= verdicts:
        return MIXED
    return UNDECIDED if INCONCLUSIVE in verdicts else next(iter(verdicts))


def _has_counterexample(counted: Sequence[tuple[Finding, str]]) -> bool:
    """Return whether at least one verdict refutes the claim after Bonferroni's correction.

    The correction is for the number of all statistical verdicts, because each of them could refute
    the claim by chance. An exact verdict has no p-value and needs no correction. An exploratory
    verdict is no counterexample.

    Args:
        counted: the verdicts, each with the verdict of its whole setting.
    """
    tests = sum(bool(finding.answer["p_look"]) for finding, _ in counted)
    return any(
        word == finding.verdict == REFUTED
        and not finding.answer["exploratory"]
        and _holds(finding.answer, tests)
        for finding, word in counted
    )


def _holds(answer: Entry, tests: int) -> bool:
    """Return whether a verdict holds after Bonferroni's correction; an exact verdict always does.

    Args:
        answer: the claim with its verdict.
        tests: number of tests for which to correct.
    """
    p = answer["p_look"]
    return not p or at_most(p[answer["verdict"]] * tests, answer["alpha"])


def _settled(findings: Sequence[Finding]) -> str:
    """Return the verdict of one setting from all its tests: several studies, and replications.

    If some tests are undecided, the verdict of another test must hold after a correction for the
    number of tests, and its effect must agree with the undecided effects within chance.
    """
    tests = [answer for finding in findings for answer in finding.tested_results]
    undecided = [answer for answer in tests if answer["verdict"] == INCONCLUSIVE]
    decided = [answer for answer in tests if answer["verdict"] != INCONCLUSIVE]
    words = {answer["verdict"] for answer in decided}
    if len(words) != 1:
        return INCONCLUSIVE
    holds = not undecided or any(
        _holds(answer, len(tests))
        and all(answer["effect"] == x["effect"] or agree(answer, x) for x in undecided)
        for answer in decided
    )
    return words.pop() if holds else INCONCLUSIVE


def _counting(findings: Sequence[Finding]) -> list[Finding]:
    """Return the verdicts that count, without remarks and without most exploratory verdicts.

    A remark is a verdict on one of several possible meanings of the claim, which no document
    states. If all verdicts are remarks, they count. An exploratory verdict counts only if its
    reading (meaning of the claim) has no other verdict.
    """
    stated = [finding for finding in findings if not finding.is_unstated] or [*findings]
    registered = {finding.reading for finding in stated if not finding.answer["exploratory"]}
    return [f for f in stated if not f.answer["exploratory"] or f.reading not in registered]


def _real_text(findings: Sequence[Finding]) -> list[Finding]:
    """Return the given verdicts, without artificial languages where real text decides.

    A verdict on models that were trained on an artificial language is dropped if other models were
    trained on real text to test the same reading (meaning) of the claim.
    """
    real = {f.reading for f in findings if f.trained and not is_artificial(f.data)}
    return [
        finding
        for finding in findings
        if not (finding.trained and finding.reading in real and is_artificial(finding.data))
    ]


def _by_setting(findings: Sequence[Finding]) -> dict[Setting, list[Finding]]:
    """Return the verdicts of each setting at its largest number of training steps.

    This number is not part of the setting. A component that a study does not vary is part of the
    setting only if the studies use different options of this component.
    """
    every = [finding.components | finding.conditions for finding in findings]
    keys = {key: {levels.get(key) for levels in every} for levels in every for key in levels}
    varied = [key for key, levels in keys.items() if len(levels - {None}) > 1]
    settings: dict[Setting, list[Finding]] = {}
    for finding, levels in zip(findings, every, strict=True):
        alone = {k: x for k, x in finding.conditions.items() if keys[k] == {x, None}}
        properties = {key: levels.get(key, "") for key in varied}
        properties |= {"conditions": str(alone), "data": listed([*finding.data])}
        properties |= {"reading": finding.reading, **finding.setting}
        settings.setdefault((*properties.items(),), []).append(finding)
    return {setting: _longest(group) for setting, group in settings.items()}


def _longest(findings: Sequence[Finding]) -> list[Finding]:
    longest = max(max(finding.steps, default=0) for finding in findings)
    return [finding for finding in findings if max(finding.steps, default=0) == longest]


@cache
def _artificial_languages() -> frozenset[str]:
    files = option_files("data").items()
    texts = {name: "\n" + path.read_text(encoding="utf-8") for name, path in files}
    return frozenset(name for name, text in texts.items() if ARTIFICIAL in text)


def is_artificial(corpora: Iterable[str]) -> bool:
    """Return whether all corpora are artificial."""
    return {*corpora} <= _artificial_languages()


def _contrast(tested: Mapping[Setting, Sequence[Finding]], verdicts: Mapping[Setting, str]) -> str:
    """Return in which properties a supported and a refuted setting differ, as text; "" if no
    setting is refuted.

    The two settings with the fewest different properties are chosen. If they test different
    sentences in two readings (meanings) of the claim, only the reading is named.

    Args:
        tested: the verdicts of each setting.
        verdicts: the verdict of each setting, which combines its studies and replications.
    """
    supported = [setting for setting, verdict in verdicts.items() if verdict == SUPPORTED]
    refuted = [setting for setting, verdict in verdicts.items() if verdict == REFUTED]
    contrasts = []
    for pair in product(supported, refuted):
        names = [name for (name, x), (_, y) in zip(*pair, strict=True) if x != y]
        sentences = {tested[setting][0].answer["statement"] for setting in pair}
        if "reading" in names and len(sentences) > 1:
            names = ["reading"]
        contrasts.append([name for name in names if name != "reading"] or names)
    return _differ(min(contrasts, key=len)) if contrasts else ""


def _differ(keys: Sequence[str]) -> str:
    nouns = [NOUNS.get(key, f"the {factor_label(key)}") for key in keys]
    return f"the settings differ in {listed(nouns)}"
