"""The site: whole, small, linked, and nothing else than what the evidence says."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from ablate.ledger.claims import read_claims
from ablate.site.forest import Axis, Row
from ablate.site.front import experiments
from ablate.site.model import names
from ablate.site.source import read as read_source
from ablate.site.view import changes

pytestmark = pytest.mark.xdist_group("site")  # one process builds it
LARGEST = 520_000  # bytes of a page, and of a script that is loaded
EXPERIMENTS = Path(__file__).parents[2] / "experiments"
CLAIM = "preln_solves_gradient_problem"
HARM = '"><script>alert(1)</script><img src=x onerror=alert(1)></script>{{ 7 * 7 }}'


@pytest.fixture(scope="session")
def read(committed, pages):
    return pages(committed)


def test_every_claim_document_and_experiment_has_its_page(committed, read):
    claims = {path.stem for path in (committed / "claims").glob("*.html")}
    assert {claim.id for claim in read_claims()} <= claims
    assert len([*(committed / "documents").glob("*.html")]) == 6
    for verdict in (Path(__file__).parents[2] / "experiments").glob("*/verdict.json"):
        page = committed / "experiments" / f"{verdict.parent.name}.html"
        assert json.loads(verdict.read_text())["claims"][0]["statement"] in read[page].text


def test_links_lead_to_what_is_there_and_never_to_markdown(committed, read):
    for page in read.values():
        for link in page.links:
            if not link.startswith("https://arxiv.org/"):
                path, place = page.target(link)
                assert path.is_relative_to(committed.resolve()), link
                assert path.suffix in (".html", ".svg", ".js"), link
                assert path.is_file(), (page.path.name, link)
                assert not place or "=" in place or place in read[path].ids, (page.path, link)


def test_pages_load_files_of_the_site_alone(committed, read):
    for page in read.values():
        assert len(set(page.ids)) == len(page.ids), page.path.name
        assert not page.acts
        for name in page.loads:
            assert page.target(name)[0].is_file(), (page.path.name, name)
    for path in committed.glob("*.*s"):  # style and scripts
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|@import|fetch\(|innerHTML", path.read_text()
        )


def test_everything_is_small(committed):
    for path in committed.rglob("*"):
        assert not path.is_file() or path.stat().st_size < LARGEST, path.name


def test_the_first_page_names_the_experiments_that_decide_a_claim_and_counts_the_rest(site):
    partly = 0
    for entry in site.entries:
        named, rest = experiments(entry, site)
        pages = {page for page, _, _ in named}
        deciding = {site.experiments[f.folder] for f in entry.headline.deciding}
        tested = {site.experiments[f.folder] for f in entry.findings}
        assert pages == (deciding or tested)
        assert rest == len(tested - pages)
        partly += rest > 0
    assert partly > 10


def test_an_axis_of_equalities_alone_has_no_direction(committed):
    """precision asks two, of one metric each, and preln_vs_postln both kinds of one metric."""
    sided = {
        name: "; right of 0 favours" in (committed / "experiments" / f"{name}.html").read_text()
        for name in ("precision", "preln_vs_postln")
    }
    assert sided == {"precision": False, "preln_vs_postln": True}


def test_a_limit_for_a_value_of_trained_models_has_no_direction_and_no_margin(committed):
    """An LSTM reaches a skill of 0.985 where at most 0.9 is claimed: right of 0 refutes it."""
    page = (committed / "experiments" / "long_range_longer.html").read_text()
    (axis,) = [line for line in page.splitlines() if "grey area" in line and "0 is chance" in line]
    assert axis.startswith('<p class="soft">the skill ') and "favours" not in axis
    assert "The grey area ends at the limit that the claim states." in axis
    claim = (committed / "claims" / "lstm_cannot_long_range.html").read_text()
    assert "the grey area ends at this limit" in claim and "fall of the skill" not in claim


def test_a_mixed_claim_says_in_what_its_settings_differ(committed, read):
    page = read[(committed / "claims" / "emb_scale_balances_pe.html").resolve()]
    assert "the settings differ in" in re.sub(r"\s+", " ", page.text)


def test_a_claim_has_its_verdicts_its_effects_and_what_would_change_them(committed, read):
    page = read[(committed / "claims" / f"{CLAIM}.html").resolve()]
    words = re.sub(r"\s+", " ", page.text)
    assert "No document states this reading." in words
    assert "section 4.1, order of Add & Norm, in our words: Pre-LN solves" in words
    assert "+12.65 [+9.69, +20.21]" in page.text and "too small to matter" in page.text
    assert "python -m ablate +experiment=preln_vs_postln -m" in page.text
    assert "../experiments/preln_vs_postln.html" in page.links
    written = page.path.read_text()
    assert re.findall(r'class="band (\w+)"', written)[:3] == ["supported", "supported", "refuted"]


def test_an_experiment_with_two_budgets_says_after_how_many_steps_each_answer_holds(committed):
    page = (committed / "experiments" / "preln_vs_postln_2.html").read_text()
    answers = page.split('<ul class="answers">')[1].split("</ul>")[0].split("<li ")[1:]
    verdict = json.loads((EXPERIMENTS / "preln_vs_postln_2" / "verdict.json").read_text())
    tags = [
        f"after {answer['steps']:,} steps"
        for claim in verdict["claims"]
        for answer in (claim, claim["short"])
    ]
    assert len(answers) == len(tags)
    assert all(tag in answer for tag, answer in zip(tags, answers, strict=True))
    late = [answer for tag, answer in zip(tags, answers, strict=True) if "2,400" in tag]
    improving = [answer for answer in answers if "still improving" in answer]
    assert improving and {*improving} <= {*late}


def test_every_verdict_of_claims_at_several_budgets_has_its_numbers(site):
    findings = [
        finding
        for entry in site.entries
        for finding in entry.findings
        if finding.experiment in ("decoding_ends", "batch_norm_small_batches")
    ]
    assert len(findings) == 9
    assert all(site.answer(finding) for finding in findings)


def test_an_open_question_says_what_would_decide_it(site):
    """Runs, and their time; or why no number of seeds would."""
    names = {claim.id for claim in read_claims()}
    open_ = [
        (source, answer)
        for source in site.sources.values()
        for answer in source.answers
        if answer["verdict"] == "inconclusive" and answer["id"] in names
    ]
    assert len(open_) > 20
    for source, answer in open_:
        text = " ".join([*changes(answer, source.per_seed(answer)), answer["evidence"]])
        remedies = r"on one processor core\)|no number of seeds|\d seeds would|longer training"
        none = "interval narrower|nothing was learned|without a spread between seeds"
        assert re.search(f"{remedies}|{none}", text, re.IGNORECASE), (source.name, answer["id"])


def test_more_seeds_are_told_with_the_time_of_all_arms_of_a_claim(experiment):
    def slow(parts):
        for run in parts["runs"]:
            run["seconds"] = 60.0 if run["levels"]["schedule"] == "noam" else 1e6
            run["short"]["seconds"] = 6.0

    source = read_source(experiment("preln_vs_postln_2", slow), [])
    late, early = source.answers[:2]
    assert (late["steps"], early["steps"]) == (2400, 600)
    assert source.per_seed(late) == 120.0  # of two arms, the tuning left out by the fixture
    assert source.per_seed(early) == 12.0
    (sentence,) = [text for text in changes(late, 120.0) if "seeds" in text]
    assert sentence.startswith("30 seeds in all (50 minutes more on one processor core) would show")


def test_what_fresh_seeds_said_stands_beside_the_verdict_with_its_rule(committed, read):
    for name, count in (("claims/softmax_saturation", 1), ("experiments/dot_products", 2)):
        page = read[(committed / f"{name}.html").resolve()]
        assert page.text.count("Fresh seeds: reproduced") == count
        assert "Not reproduced: every other outcome." in page.text
        assert page.path.read_text().count('href="#mark-reproduced"') == count
    other = read[(committed / "experiments" / "head_cost.html").resolve()]
    assert "resh seeds:" not in other.text and "Not reproduced" not in other.text


def test_contradictions_stand_side_by_side(committed, read):
    page = read[(committed / "contradictions.html").resolve()]
    assert page.path.read_text().count('class="sides"') == 10
    claim_page = read[(committed / "claims" / "pad_mask_dispensable.html").resolve()]
    assert "Contradicted by" in claim_page.text and "unmasked_pads_harmful.html" in claim_page.links


def test_a_document_is_read_in_the_order_of_its_text(committed, read):
    page = read[(committed / "documents" / "transformer-notes.html").resolve()]
    places = [page.text.index(f"{name} ") for name in ("section 1", "section 2.1", "section 4.3")]
    assert places == sorted(places)
    counts = re.search(r"makes (\d+) claims: (\d+) supported, (\d+) refuted", page.text)
    assert int(counts[1]) >= int(counts[2]) + int(counts[3]) > 0


def test_runs_are_data_that_a_script_can_read(committed):
    text = (committed / "data" / "preln_vs_postln.js").read_text()
    data = json.loads(text.partition("] = ")[2].removesuffix(";\n"))
    first = data["claims"][1]["seeds"][0]
    treatment, baseline = (data["runs"][numbers[0]] for numbers in first["runs"])
    assert (treatment["arm"], baseline["arm"]) == ("Pre-LN, no warm-up", "Post-LN, no warm-up")
    bleu = data["columns"].index("test/bleu")
    difference = float(treatment["values"][bleu]) - float(baseline["values"][bleu])
    assert difference == pytest.approx(first["value"], abs=0.011)
    (validated,) = treatment["curves"]  # evidence of before batches were kept
    assert len(validated["step"]) == len(validated["val/nll"]) > 2


def test_the_curves_of_a_run_are_of_validation_and_of_training(committed):
    text = (committed / "data" / "decoder_only.js").read_text()
    data = json.loads(text.partition("] = ")[2].removesuffix(";\n"))
    validated, trained = data["runs"][0]["curves"]
    assert len(trained["step"]) == len(trained["train/nll"]) > len(validated["step"])
    assert data["metrics"]["train/nll"] == "training nll (nats per token)"


def test_margins_that_grow_move_verdicts_and_their_own_factor_moves_none(site):
    from ablate.report.selection import bound
    from ablate.site.claim import turns

    judged = [
        answer for entry in site.entries for answer in map(site.answer, entry.findings) if answer
    ]
    unmoved = [
        answer for answer in judged if bound(answer)[0] == "margin" and not answer["sensitivity"]
    ]
    assert unmoved  # nothing was learned there, and no margin would decide it
    thresholds = [(entry, turns(entry, site)) for entry in site.entries]
    moving = [(entry, turned) for entry, turned in thresholds if turned]
    assert 20 < len(moving) < len(thresholds)
    for entry, turned in moving:
        assert [turn.word for turn in turned if turn.factor <= 1][-1] == entry.verdict
        assert [turn.factor for turn in turned] == sorted({turn.factor for turn in turned})
        assert all(0.1 < turn.factor < 10 for turn in turned[1:])


def test_sentences_that_two_runs_translate_differently(translated):
    text = (translated / "data" / "preln_vs_postln-made-sentences.js").read_text()
    claims = json.loads(text.partition("] = ")[2].removesuffix(";\n"))["claims"]
    comparison = claims[1]["3"]
    assert comparison["arms"] == ["Pre-LN, no warm-up", "Post-LN, no warm-up"]
    (row,) = comparison["rows"]
    assert (row["line"], row["better"]) == (2, 0)
    assert row["said"] == ["it is right", "it is wrong"]
    assert row["source"] and row["reference"] != row["source"]
    assert "data-sentences" in (translated / "experiments/preln_vs_postln-made.html").read_text()


def test_attention_that_two_runs_have_kept_lies_beside_their_sentences(translated):
    text = (translated / "data" / "preln_vs_postln-made-sentences.js").read_text()
    comparison = json.loads(text.partition("] = ")[2].removesuffix(";\n"))["claims"][1]["3"]
    (attention,) = comparison["attention"]
    assert attention["kind"] == "encoder self"
    for file in attention["files"]:  # the latest of each run
        identity = file.removeprefix("attention/").partition("-")[0]
        with Image.open(translated / "data" / file) as kept:
            assert kept.text["of"] == f"encoder_self_12_cd34 {identity}"
    assert len({*attention["files"]}) == 2


def test_without_translations_no_page_offers_them(committed):
    assert not [*committed.glob("data/*-sentences.js")]
    assert "data-sentences" not in (committed / "experiments/preln_vs_postln.html").read_text()


@pytest.fixture
def shown(translated, write_run, build, tmp_path):
    """What the site shows of sentences when the runs say that they were of other data."""

    def rebuild(data, fingerprint):
        for path in tmp_path.glob("results/runs/*/result.json"):
            path.unlink()
            write_run(path.parent, data, fingerprint)
        build(tmp_path / "experiments", tmp_path / "site", tmp_path / "results")
        return (translated / "data" / "preln_vs_postln-made-sentences.js").read_text()

    return rebuild


def test_a_corpus_that_is_not_trusted_is_not_built(shown, tmp_path):
    text = shown({"_target_": "os.mkdir", "path": str(tmp_path / "made")}, "it")
    assert "it is right" in text and "reference" not in text
    assert not (tmp_path / "made").exists()


def test_a_run_does_not_have_the_site_show_a_file_that_it_names(shown, tmp_path):
    (tmp_path / "key").write_text("private one\nprivate two\nprivate three\n")
    data = {"_target_": "ablate.data.language.Language", "language": "en"}
    data |= {name: str(tmp_path / "key") for name in ("train", "validation", "test")}
    text = shown(data, "unknown")
    assert "it is right" in text and "private" not in text


def test_the_site_asks_no_network_for_a_corpus(shown, tmp_path, monkeypatch):
    monkeypatch.setattr("ablate.data.multi30k.download", lambda *asked: 1 / 0)
    data = {"_target_": "ablate.data.multi30k.Multi30k", "source": "de", "target": "en"}
    data |= {"root": None, "download_to": str(tmp_path), "url": "http://localhost:9"}
    assert "reference" not in shown(data, "any")


def test_hostile_text_is_shown_and_nothing_else(experiment, build, pages, tmp_path):
    def spoil(parts):
        claim, verdict = parts["study"]["claims"][1], parts["verdict"]
        verdict["claims"][1] |= {
            "id": HARM,
            "statement": HARM,
            "evidence": HARM,
            "margin_reason": HARM,
        }
        claim |= {"id": HARM, "statement": HARM}
        verdict |= {
            "experiment": HARM,
            "caveats": [{"code": "stated", "values": {"text": HARM}, "claims": []}],
        }
        parts["registration"]["command"] = HARM
        for run in parts["runs"]:
            run |= {"command": HARM, "arm": f"{HARM} {run['arm']}"}

    folder = experiment("preln_vs_postln", spoil, "experiments/javascript:alert(1)")
    entry = json.loads((folder / "verdict.json").read_text())["claims"][1]
    again = {"id": HARM, "reading": "", "statement": HARM, "exploratory": True}
    again |= {"replication": "reproduced", "first": entry, "fresh": {**entry, "evidence": HARM}}
    (folder / "contest.json").write_text(json.dumps({"claims": [again]}))
    assert build(tmp_path / "experiments", tmp_path / "site") == []
    site_pages = pages(tmp_path / "site")
    assert sum(HARM in page.text for page in site_pages.values()) >= 4
    assert sum("Fresh seeds: reproduced" in page.text for page in site_pages.values()) == 2
    for page in site_pages.values():
        assert not page.acts and "img" not in page.tags and "alert(1)" not in "".join(page.loads)
        assert not any(link.startswith("javascript:") for link in page.links)
        assert page.path.name == re.sub(r"[^\w.+=-]", "", page.path.name)
    scripts = [*(tmp_path / "site" / "data").glob("*.js")]
    assert len(scripts) == 1 and "\\u" not in scripts[0].name


def test_evidence_that_was_changed_is_not_drawn(experiment, build, pages, tmp_path):
    folder = experiment("preln_vs_postln")
    text = (folder / "runs.jsonl").read_text()
    (folder / "runs.jsonl").write_text(text.replace('"test/bleu":5', '"test/bleu":6', 1))
    (warning,) = build(tmp_path / "experiments", tmp_path / "site")
    assert "runs.jsonl" in warning and "verdicts alone" in warning
    page = pages(tmp_path / "site" / "experiments")[
        (tmp_path / "site" / "experiments" / "preln_vs_postln-made.html").resolve()
    ]
    assert "drill" not in page.ids and "Pre-LN" in page.text


def test_names_are_plain_and_told_apart_whatever_the_case():
    file_names = names(["plain_1", "Plain_1", "a/b", "a b", "../x", "ü"])
    assert file_names["plain_1"] == "plain_1"
    assert len({name.casefold() for name in file_names.values()}) == 6
    assert all(re.fullmatch(r"[\w+=-][\w.+=-]*", name, re.ASCII) for name in file_names.values())


def test_an_axis_has_a_few_round_ticks_in_its_width():
    for low, high, log in ((-0.3, 0.71, False), (-1e-7, 3e-7, False), (1e-18, 10.0, True)):
        axis = Axis(low, high, log, "")
        assert 3 <= len(axis.ticks) <= 8
        assert all(0 <= place <= 100 for place, _ in axis.ticks)
    assert Axis(-1.0, 1.0, False, "").place(0.0) == 50
    tiny = [text for _, text in Axis(-1e-13, 4e-13, False, "").ticks]
    assert tiny == ["-1e-13", "0", "1e-13", "2e-13", "3e-13", "4e-13"]


def test_the_command_says_where_the_site_is(command, pages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("experiments", "results"):
        (tmp_path / name).mkdir()
    status, out, _ = command("site", "to=pages", "experiments=experiments")
    assert status == 0 and "pages/index.html" in out
    page = pages(tmp_path / "pages")[(tmp_path / "pages/claims/pe_unique.html").resolve()]
    assert "No experiment has tested it yet" in page.text
    (tmp_path / "file").touch()
    status, _, error = command("site", "to=file")
    assert status == 2 and "cannot be written" in error


def test_an_exponent_has_no_unit():
    claim = {
        **{"kind": "trend", "scale": "log_log", "metric": "test/bleu", "verdict": "inconclusive"},
        **{"effect": 1.5, "interval": [1.25, 1.75], "pairs": 3, "better": "higher"},
        **{"seeds_needed": {"supported": {"effect": 0.125, "seeds": 9}}},
        **{"sensitivity": [], "tolerance": None},
    }
    (sentence,) = [text for text in changes(claim, 0.0) if "seeds" in text]
    assert "if the true exponent is 0.125." in sentence
    assert Row(claim).text == "+1.500 [+1.250, +1.750]"
