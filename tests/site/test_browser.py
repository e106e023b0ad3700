"""The pages in a real browser, opened from disk: `pip install ablate[browser]` and a Chromium."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
WIDTHS = (390, 1280, 1600)
PAGES = (
    "index.html",
    "documents.html",
    "experiments.html",
    "contradictions.html",
    "how-to-read.html",
    "claims/preln_solves_gradient_problem.html",
    "claims/pe_shift_linear.html",
    "documents/transformer-notes.html",
    "experiments/preln_vs_postln.html",
    "experiments/worked_examples-attention.html",
    "runs/preln_vs_postln.html",
)
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window."""
    playwright = pytest.importorskip("playwright.sync_api")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as tools:
        started = tools.chromium.launch(executable_path=executable, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def visit(browser, committed):
    """Open a page of the site; what goes wrong in it fails the test."""
    wrong, opened = [], []

    def visited(name, width=1280, scheme="light", site=committed):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("console", lambda message: message.type == "error" and wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: wrong.extend([asked.url][: asked.url[:5] != "file:"]))
        page.goto((site / name).as_uri())
        opened.append(page)
        return page

    yield visited
    for page in opened:
        page.close()
    assert not wrong


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_its_window(visit, name, width):
    page = visit(name, width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_opened_fits_its_window_and_keeps_to_the_rules(visit, translated, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit("experiments/preln_vs_postln-made.html", width, site=translated)
    page.locator("details.drill").nth(1).locator("summary").first.click()
    page.locator(".seeds button", has_text="seed 3").click()
    for title in ("Sentences that they", "What they attend to"):
        page.locator(".sentences summary", has_text=title).click()
    # as a model says it that goes on for ever
    page.locator(".sentences dd").first.evaluate("line => line.append('inin'.repeat(40))")
    page.locator("details.all summary").click()
    page.wait_for_selector(".runs table")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = axe.Axe().run(page, options={"preload": False}).response["violations"]
    assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_keep_to_the_rules_of_accessibility(visit, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(name, scheme=scheme)
    # without its own copies of the styles: a page that is opened from disk cannot fetch them
    violations = axe.Axe().run(page, options={"preload": False}).response["violations"]
    assert not [(rule["id"], rule["nodes"][0]["html"]) for rule in violations]


def test_filters_and_order_are_kept_in_the_address(visit):
    page = visit("index.html")
    page.locator("input[value=refuted]").check(force=True)
    page.locator("select[name=sort]").select_option("name")
    page.locator("input[name=text]").fill("position")
    assert page.url.endswith("#verdict=refuted&text=position&sort=name")
    rows = page.locator("tr.claim:visible")
    ids = rows.locator(".id").all_text_contents()
    assert ids == sorted(ids) and rows.count() > 0
    page.reload()
    assert page.locator("tr.claim:visible .id").all_text_contents() == ids
    page.locator("#filters button[type=reset]").click()
    page.wait_for_function("!location.hash")
    assert page.locator("tr.group:visible").count() > 5


def test_a_search_leaves_the_claims_and_questions_with_all_of_its_words(visit):
    page = visit("index.html")
    asked = page.locator("#questions > details")
    number = asked.count()
    counts = set()
    for text in ("warm up", "Warm-up", "warmup"):
        page.locator("#search input").fill(text)
        counts.add(page.locator("tr.claim:visible").count())
        assert 0 < page.locator("#questions > details:visible").count() < number
    assert len(counts) == 1 and counts.pop() > 0
    page.locator("#search input").fill("heads change parameters")
    assert page.locator("#questions > details:visible summary").all_text_contents() == [
        "Does the number of heads change the number of parameters?"
    ]
    page.locator("#search input").fill("zygote")
    assert not page.locator("#questions").is_visible() and page.locator("#nothing").is_visible()
    page.locator("#search input").fill("")
    assert page.locator("#questions > details:visible").count() == number


def test_from_an_effect_to_its_seeds_and_their_curves(visit):
    page = visit("experiments/preln_vs_postln.html")
    assert not page.evaluate("window.ablate")
    page.locator("details.drill").nth(1).locator("summary").click()
    page.wait_for_selector(".seeds button")
    assert page.locator(".seeds button").count() == 12
    page.locator(".seeds button", has_text="seed 3").click()
    assert page.locator("svg.curve:visible").count() == 2
    assert page.locator("svg.curve text.name").first.text_content() == "Pre-LN, no warm-up"
    page.locator("details.all summary").click()
    page.wait_for_selector(".runs table")
    assert page.locator(".runs tbody tr").count() == 48


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["preln_vs_postln", "label_smoothing"])
def test_no_name_of_a_curve_is_cut_and_no_letter_small(visit, name, width):
    page = visit(f"experiments/{name}.html", width)
    page.locator("details.drill").first.locator("summary").click()
    page.wait_for_selector("svg.curve")
    names = page.locator("svg.curve text.name")
    ends = names.evaluate_all("all => all.map(name => name.getBoundingClientRect().right)")
    assert len(ends) > 3 and max(ends) <= width
    scales = "all => all.map(one => one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
    assert min(page.locator("svg.curve").evaluate_all(scales)) > 0.99


def test_a_margin_can_be_moved_and_put_back(visit):
    page = visit("claims/preln_solves_gradient_problem.html")
    page.locator("#v1 > summary").click()
    moved = page.locator("#v1 .margins")
    line = page.locator('.bound[data-row="v1"]')
    before = line.get_attribute("x1")
    moved.locator("input").fill("990")
    assert "refuted, too small to matter" in moved.locator("output").text_content()
    assert line.get_attribute("x1") != before
    moved.locator(".back").click()
    assert "the study's own" in moved.locator("output").text_content()
    assert abs(float(line.get_attribute("x1")[:-1]) - float(before[:-1])) < 0.5


def test_every_margin_of_the_ledger_can_be_moved_at_once(visit):
    page = visit("index.html")
    slider, factor = page.locator("input[name=margins]"), page.locator("#factor")
    refuted = page.locator("output[data-count=refuted]")
    before = refuted.text_content()
    slider.fill("100")
    moved = page.locator("tr.claim:not([data-outside]) .found small", has_text="was ")
    assert factor.text_content() == f"times 10: {moved.count()} verdicts would be another"
    assert moved.count() > 5 and moved.first.text_content().startswith("was ")
    assert refuted.text_content() != before and page.url.endswith("#margins=100")
    page.locator("input[value=refuted]").check(force=True)
    assert page.locator("tr.claim:visible .found .verdict:not(.refuted)").count() == 0
    page.reload()
    assert factor.text_content().startswith("times 10")
    page.locator("#filters button[type=reset]").click()
    page.wait_for_function("!location.hash")
    assert refuted.text_content() == before and moved.count() == 0


def test_from_a_seed_to_the_sentences_that_its_runs_translate_differently(visit, translated):
    page = visit("experiments/preln_vs_postln-made.html", site=translated)
    page.locator("details.drill").nth(1).locator("summary").first.click()
    page.locator(".seeds button", has_text="seed 3").click()
    page.locator(".sentences summary", has_text="Sentences").click()
    first = page.locator(".sentences dl").first
    assert first.locator("dt").all_text_contents() == [
        *("line 2", "reference", "Pre-LN, no warm-up, better", "Post-LN, no warm-up")
    ]
    assert first.locator("mark").all_text_contents() == ["right", "wrong"]
    page.locator(".seeds button", has_text="seed 5").click()
    page.wait_for_selector("svg.curve")
    assert page.locator(".sentences").count() == 0


def test_from_a_seed_to_what_its_runs_attend_to(visit, translated):
    page = visit("experiments/preln_vs_postln-made.html", site=translated)
    page.locator("details.drill").nth(1).locator("summary").first.click()
    page.locator(".seeds button", has_text="seed 3").click()
    page.locator(".sentences summary", has_text="attend to").click()
    assert page.locator(".looks figcaption").all_text_contents() == [
        *("Pre-LN, no warm-up, encoder self", "Post-LN, no warm-up, encoder self")
    ]
    page.wait_for_function("[...document.images].filter(i => i.naturalWidth === 40).length === 2")


def test_the_command_of_a_run_can_be_copied(visit):
    page = visit("experiments/preln_vs_postln.html")
    page.locator("details.drill").first.locator("summary").first.click()
    page.locator(".again .copy").first.click()
    page.wait_for_function("document.querySelector('.again .copy').textContent != 'Copy'")
    assert "seed=" in page.locator(".again code").first.text_content()


def test_an_effect_is_opened_and_a_seed_is_chosen_by_keys_alone(visit):
    page = visit("experiments/preln_vs_postln.html")
    page.locator("details.drill summary").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".seeds button")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    pressed = page.locator(".seeds button[aria-pressed=true]")
    assert pressed.text_content() == page.locator(".seeds button").nth(1).text_content()


def test_the_first_key_offers_to_skip_the_navigation(visit):
    page = visit("index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.url.endswith("#main")


def test_a_word_explains_itself_to_the_mouse_and_to_a_touch(visit):
    page = visit("claims/preln_vs_postln_quality.html")
    word, tip = page.locator("a.term:visible").first, page.locator("#tip")
    word.hover()
    assert tip.is_visible() and len(tip.text_content().split()) > 5
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    word.click()
    assert tip.is_visible() and page.url.endswith(".html")


def test_experiments_are_filtered_and_sorted_and_the_address_keeps_it(visit):
    page = visit("experiments.html")
    rows = page.locator(".experiments > li:visible")
    total = rows.count()
    page.locator("select[name=corpus]").select_option("none")
    assert 0 < rows.count() < total and page.url.endswith("#corpus=none")
    page.locator("select[name=sort]").select_option("runs")
    runs = [int(row) for row in rows.evaluate_all("all => all.map(one => one.dataset.runs)")]
    assert runs == sorted(runs, reverse=True)
    page.reload()
    assert rows.count() == len(runs)


def test_the_address_of_a_run_shows_its_config_curves_and_command(visit):
    page = visit("runs/preln_vs_postln.html")
    page.locator("#list a").nth(2).click()
    page.wait_for_selector("#run svg.curve")
    shown = page.locator("#run").text_content()
    assert "seed=" in shown and "Config" in shown and "test BLEU" in shown
    page.reload()
    page.wait_for_selector("#run svg.curve")
    assert page.locator("#run").text_content() == shown
