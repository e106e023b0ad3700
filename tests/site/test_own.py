"""The user's sweeps on the site: beside the committed experiments, marked, and on own pages."""

import json
from pathlib import Path

import pytest

CLAIM = "preln_vs_postln_quality"
COMMITTED = "python -m ablate +experiment=preln_vs_postln -m"
OWN = "python -m ablate +experiment=preln_vs_postln budget.seeds=3 study.tune=null -m"


@pytest.fixture
def beside(experiment, build, pages, tmp_path):
    """The pages of a committed experiment with a sweep of three seeds beside it."""

    def swept(parts):
        parts["registration"]["command"] = OWN
        parts["runs"][:] = [run for run in parts["runs"] if run["seed"] < 3]
        verdict = parts["verdict"]
        verdict["registered"] += 1e6
        for number, claim in enumerate(verdict["claims"]):
            claim |= {"verdict": "inconclusive", "grade": "", "pairs": 3}
            claim |= {"headline": "Undecided. It.", "evidence": f"Own sentence {number}."}
            claim |= {"differences": claim["differences"][:3], "seeds": claim["seeds"][:3]}
        verdict["claims"].append({**verdict["claims"][0], "id": "mine"})
        parts["study"]["claims"].append({**parts["study"]["claims"][0], "id": "mine"})

    experiment("preln_vs_postln", folder="experiments/preln_vs_postln")
    experiment("preln_vs_postln", swept, "results/sweeps/preln_vs_postln/2026-11-25_07-49-28")

    def built(only=""):
        to = tmp_path / f"site{only}"
        assert build(tmp_path / "experiments", to, tmp_path / "results", only) == []
        return {str(path.relative_to(to)): page for path, page in pages(to).items()}

    return built


def articles(page):
    """The verdicts of a claim's page, each as its HTML."""
    return page.path.read_text().split('<details class="finding"')[1:]


def test_a_sweep_has_its_own_page_and_the_committed_one_stays(beside):
    pages = beside()
    committed = pages["experiments/preln_vs_postln.html"]
    sweep_page = pages["experiments/preln_vs_postln-2026-11-25_07-49-28.html"]
    assert "your sweep" in sweep_page.text and "your sweep" not in committed.text
    assert "Own sentence 0." in sweep_page.text and "Own sentence" not in committed.text
    cards = pages["experiments.html"].links
    assert {"experiments/" + page.path.name for page in (committed, sweep_page)} <= {*cards}


def test_each_verdict_has_the_command_that_makes_it(beside):
    committed, sweep_article = articles(beside()[f"claims/{CLAIM}.html"])
    for article, its, other in ((committed, COMMITTED, OWN), (sweep_article, OWN, COMMITTED)):
        assert f"<code>{its}</code>" in article and f"<code>{other}</code>" not in article
    assert "your sweep" in sweep_article and "your sweep" not in committed


def test_the_headline_and_the_example_are_made_of_committed_verdicts(beside):
    pages = beside()
    before = pages[f"claims/{CLAIM}.html"].path.read_text().split("<h2>")[0]
    assert before.index("Refuted in this setting") < before.index("your sweep")
    example = pages["how-to-read.html"].text
    assert "12 pairs of models" in example and "your sweep" not in example
    rows = pages["index.html"].path.read_text().split('<tr class="claim"')[1:]
    (row,) = [row for row in rows if f"claims/{CLAIM}.html" in row]
    assert 'data-verdict="undecided|tested"' in row and "your sweep" in row
    (mine,) = [row for row in rows if "claims/mine.html" in row]
    assert rows.index(mine) == 0  # the user's claims stand first


@pytest.mark.parametrize(("only", "name"), [("own", OWN), ("committed", COMMITTED)])
def test_one_kind_can_be_shown_alone(beside, only, name):
    pages = beside(only)
    (article,) = articles(pages[f"claims/{CLAIM}.html"])
    assert f"<code>{name}</code>" in article
    assert ("claims/mine.html" in pages) == (only == "own")
    assert len([page for page in pages if page.startswith("experiments/")]) == 1
    texts = [page for page in pages.values() if page.path.parent.name == "documents"]
    assert len(texts) == (1 if only == "own" else 6)
    for page in pages.values():
        assert all(page.target(link)[0].is_file() for link in page.links if "//" not in link)


@pytest.mark.parametrize(
    "name",
    [
        "precision",
        pytest.param("heads_param_count", marks=pytest.mark.slow),
        pytest.param("dot_products", marks=pytest.mark.slow),
    ],
)
def test_packaged_verdicts_are_shown_without_their_runs(build, pages, tmp_path, name):
    source = Path(__file__).parents[2] / "experiments" / name
    folder = tmp_path / "experiments" / name
    folder.mkdir(parents=True)
    for file in source.glob("*.json"):
        if file.name in ("verdict.json", "contest.json"):
            (folder / file.name).write_bytes(file.read_bytes())
    assert build(tmp_path / "experiments", tmp_path / "site") == []
    by_name = {page.path.stem: page for page in pages(tmp_path / "site").values()}
    for claim in json.loads((folder / "verdict.json").read_text())["claims"]:
        for page in (by_name[name], by_name[claim["id"]]):
            assert claim["evidence"] in page.text
        numbers = claim["kind"] != "exact"
        assert ('<figure class="forest"' in by_name[claim["id"]].path.read_text()) == numbers
        assert "of one worker" not in by_name[claim["id"]].text
