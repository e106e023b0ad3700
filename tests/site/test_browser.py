"""The pages in a real browser, opened from disk: `pip install ablate[browser]` and a Chromium."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
PAGES = (
    *("index.html", "documents.html", "experiments.html", "how-to-read.html"),
    *("claims/preln_solves_gradient_problem.html", "documents/transformer-notes.html"),
    *("experiments/preln_vs_postln.html", "experiments/worked_examples.html"),
)
EXECUTABLE = next(filter(None, map(shutil.which, BROWSERS)), None)
playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("site"),
    pytest.mark.skipif(EXECUTABLE is None, reason="no Chromium is installed"),
]


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window."""
    with playwright.sync_playwright() as tools:
        started = tools.chromium.launch(executable_path=EXECUTABLE, args=FLAGS)
        yield started
        started.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_their_window_and_keep_to_the_rules_of_accessibility(browser, committed, scheme):
    wrong = []
    page = browser.new_page(viewport={"width": 390, "height": 900}, color_scheme=scheme)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: wrong.extend([asked.url][: asked.url[:5] != "file:"]))
    for name in PAGES:
        page.goto((committed / name).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        # without its own copies of the styles: a page opened from disk cannot fetch them
        violations = axe.Axe().run(page, options={"preload": False}).response["violations"]
        assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in violations], name
        assert not wrong, name
    page.close()


def test_a_search_leaves_the_claims_and_questions_with_all_of_its_words(browser, committed):
    page = browser.new_page()
    page.goto((committed / "index.html").as_uri())
    counts = set()
    for text in ("warm up", "Warm-up", "warmup"):
        page.locator("#search input").fill(text)
        counts.add(page.locator("tr.item:visible").count())
    assert len(counts) == 1 and counts.pop() > 0
    page.reload()
    assert page.locator("tr.item:visible").count() > 0 and "text=warmup" in page.url
    page.locator("#search input").fill("zygote")
    assert page.locator("#nothing").is_visible()
    page.close()
