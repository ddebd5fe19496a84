"""The page in Chromium: every section filled, all switches work, nothing logged, nothing fetched."""

from collections.abc import Callable
from pathlib import Path

import pytest
from browser.conftest import requested
from pages import HOSTILE, page, write
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from mtbert.reporting import markdown

Show = Callable[..., Chrome]
DRAWN = {"losses": 3, "costs": 1, "distances": 5, "embeddings": 5}  # section: traces at first


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    file = root / "index.html"
    file.write_text(page(write(root / "build")), encoding="utf-8")
    return file


def scroll_to(chrome: Chrome, section: str) -> WebElement:
    """A section, on the screen."""
    found = chrome.find_element(By.ID, section)
    chrome.execute_script("arguments[0].scrollIntoView()", found)
    return found


def traces(chrome: Chrome, section: str, expression: str) -> list:
    """What `expression` says of each trace of a section's figure, once it is drawn."""
    scroll_to(chrome, section)
    script = f"return document.querySelector('#{section} .canvas').data?.map(trace => {expression})"
    return WebDriverWait(chrome, 20).until(lambda _: chrome.execute_script(script))


def choose(chrome: Chrome, section: str, number: int, value: str) -> None:
    """A value in a section's n-th select, as a reader would."""
    select = scroll_to(chrome, section).find_elements(By.CSS_SELECTOR, ".controls select")[number]
    select.find_element(By.CSS_SELECTOR, f"option[value='{value}']").click()


def rows(table: WebElement, column: int) -> list[str]:
    return [row.find_elements(By.XPATH, "./*")[column].text for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")]


def test_every_section_is_filled_and_nothing_is_logged_or_fetched(file: Path, show: Show) -> None:
    chrome = show(file)
    for section, count in DRAWN.items():
        assert len(traces(chrome, section, "trace.type")) == count
    choose(chrome, "embeddings", 0, "sts")
    choose(chrome, "embeddings", 2, "3")
    assert all(traces(chrome, "embeddings", "trace.meta.z"))
    for section in chrome.find_elements(By.CSS_SELECTOR, "main > section"):
        shown = section.text.splitlines()
        assert len(shown) > 2, section.get_attribute("id")
    for section in ("confusions", "misses", "data", "runs", "tables", "claims", "summary"):
        assert chrome.find_elements(By.CSS_SELECTOR, f"#{section} table tbody tr"), section
    assert [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert {address for address in requested(chrome) if not address.startswith(("data:", "blob:"))} == {file.as_uri()}


def test_three_dimensions_turn_by_key_and_by_pointer(file: Path, show: Show) -> None:
    chrome = show(file)
    choose(chrome, "embeddings", 2, "3")
    canvas = chrome.find_element(By.CSS_SELECTOR, "#embeddings .canvas")
    first = x_of_embeddings(chrome)
    chrome.execute_script("arguments[0].focus()", canvas)
    ActionChains(chrome).send_keys(Keys.ARROW_RIGHT).perform()
    second = WebDriverWait(chrome, 10).until(lambda _: x_of_embeddings(chrome, but=first))
    ActionChains(chrome).drag_and_drop_by_offset(canvas, 40, 10).perform()
    assert WebDriverWait(chrome, 10).until(lambda _: x_of_embeddings(chrome, but=second)) != first
    choose(chrome, "embeddings", 2, "2")
    flat = x_of_embeddings(chrome)
    ActionChains(chrome).drag_and_drop_by_offset(canvas, 40, 10).perform()
    assert x_of_embeddings(chrome) == flat


def x_of_embeddings(chrome: Chrome, but: list | None = None) -> list | None:
    """Of the first trace; None as long as they are still the same."""
    found = traces(chrome, "embeddings", "trace.x")[0]
    return None if found == but else found


def test_the_policy_forbids_connections(file: Path, show: Show) -> None:
    chrome = show(file)
    attempt = "const done = arguments[0]; fetch('http://127.0.0.1:9/').then(() => done('sent'), () => done('refused'))"
    assert chrome.execute_async_script(attempt) == "refused"
    assert "Content Security Policy" in chrome.get_log("browser")[0]["message"]


def test_text_of_a_corpus_stays_text(file: Path, show: Show) -> None:
    chrome = show(file)
    assert chrome.title == "One BERT for several tasks: profile sample"
    choose(chrome, "misses", 0, "sts")
    assert HOSTILE in chrome.find_element(By.CSS_SELECTOR, "#misses tbody").text
    hover = "trace.text ? trace.text[0] : null"
    choose(chrome, "embeddings", 0, "qqp")
    choose(chrome, "embeddings", 1, "pals")
    assert "&lt;script&gt;" in traces(chrome, "embeddings", hover)[0]
    assert "another" in traces(chrome, "embeddings", hover)[0]
    assert chrome.find_elements(By.CSS_SELECTOR, "#misses script, #claims script") == []


def test_sorting_sorts_numbers_texts_and_times_and_leaves_empty_cells_last(file: Path, show: Show) -> None:
    chrome = show(file)
    table = chrome.find_element(By.CSS_SELECTOR, "#tables table")
    labels = rows(table, 0)
    paper, ours = table.find_elements(By.CSS_SELECTOR, "thead tr:last-child th")[1:3]
    paper.find_element(By.TAG_NAME, "button").click()
    numbers = [float(text) for text in rows(table, 1)]
    assert (numbers, paper.get_attribute("aria-sort")) == (sorted(numbers, reverse=True), "descending")
    paper.find_element(By.TAG_NAME, "button").click()
    assert ([float(text) for text in rows(table, 1)], paper.get_attribute("aria-sort")) == (numbers[::-1], "ascending")
    for _ in range(2):  # either way
        ours.find_element(By.TAG_NAME, "button").click()
        absent = [text == "not run" for text in rows(table, 2)]
        assert absent == sorted(absent)
        assert any(absent)
    assert paper.get_attribute("aria-sort") is None
    table.find_element(By.CSS_SELECTOR, "thead tr:last-child th button").click()
    assert rows(table, 0) == sorted(labels, key=str.lower)
    runs = chrome.find_element(By.CSS_SELECTOR, "#runs table")
    wall = runs.find_elements(By.CSS_SELECTOR, "thead th button")[3]
    wall.click()
    assert rows(runs, 3) == ["2 min 10 s"] * 5 + ["1 min 05 s"] * 5


def test_a_curve_can_be_hidden_by_keyboard_and_comes_back(file: Path, show: Show) -> None:
    chrome = show(file)
    visible = "[trace.name, trace.visible]"
    assert traces(chrome, "losses", visible) == [["bert-sst", True], ["pals", True], ["sbert-pals", True]]
    box = chrome.find_element(By.CSS_SELECTOR, "#variants input[value=pals]")
    box.send_keys(Keys.SPACE)
    assert traces(chrome, "losses", visible) == [["bert-sst", True], ["pals", False], ["sbert-pals", True]]
    lines = "return document.querySelectorAll('#losses .scatterlayer .trace').length"
    WebDriverWait(chrome, 5).until(lambda _: chrome.execute_script(lines) == 2)
    choose(chrome, "losses", 0, "sts")
    assert traces(chrome, "losses", visible) == [["bert-sts", True], ["pals", False], ["sbert-pals", True]]
    none, every = (chrome.find_element(By.CSS_SELECTOR, f"#variants button[data-all='{all}']") for all in ("", "yes"))
    none.click()
    assert traces(chrome, "losses", "trace.visible") == [False] * 3
    every.click()
    assert traces(chrome, "losses", "trace.visible") == [True] * 3


def test_choices_follow_one_another(file: Path, show: Show) -> None:
    chrome = show(file)
    choose(chrome, "confusions", 1, "sbert-pals")
    choose(chrome, "confusions", 0, "qqp")
    task, variant = chrome.find_elements(By.CSS_SELECTOR, "#confusions select")
    assert [option.text for option in variant.find_elements(By.TAG_NAME, "option")] == [
        "bert-qqp", "pals", "sbert-pals", "vote",
    ]  # fmt: skip
    assert (task.get_attribute("value"), variant.get_attribute("value")) == ("qqp", "sbert-pals")
    cells = chrome.find_elements(By.CSS_SELECTOR, "#confusions tbody td")
    counts = [int(cell.text.split("(")[1].rstrip(")")) for cell in cells]
    assert (len(counts), sum(counts)) == (4, 2 * 23)


def test_a_page_without_sentences_names_rows(file: Path, show: Show, tmp_path: Path) -> None:
    closed = tmp_path / "index.html"
    closed.write_text(page(write(tmp_path / "build", "data/official"), local=False), encoding="utf-8")
    chrome = show(closed)
    assert traces(chrome, "embeddings", "trace.text[0]")[0].startswith("row sst-")
    assert chrome.find_element(By.CSS_SELECTOR, "#misses tbody td:last-child").text.startswith("sst-")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_phone_needs_no_scrolling_to_the_side(file: Path, show: Show, mode: str) -> None:
    chrome = show(file, width=390, mode=mode)
    chrome.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    for section in DRAWN:
        traces(chrome, section, "trace.type")
    sizes = "const page = document.documentElement; return [page.scrollWidth, page.clientWidth, innerWidth]"
    assert chrome.execute_script(sizes) == [390, 390, 390]


@pytest.mark.parametrize("local", [True, False])
def test_no_table_hides_a_column_at_1400_pixels(show: Show, tmp_path: Path, local: bool) -> None:
    """The widest case: several seeds, so that spreads, intervals, p and a long row name stand in the tables."""
    wide = tmp_path / "index.html"
    build = write(tmp_path / "build", seeds=(1, 2))
    wide.write_text(page(build, local, baseline=True), encoding="utf-8")
    chrome = show(wide, width=1400)
    chrome.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    hidden = """return [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth)
                .map(one => [one.getAttribute('aria-label'), one.scrollWidth, one.clientWidth])"""
    assert chrome.execute_script(hidden) == []
    shown = chrome.find_element(By.CSS_SELECTOR, "#tables .beside").text
    for heading in (markdown.TIMES_BERT, "p", "seeds"):
        assert heading in shown


def test_every_point_of_the_costs_is_named(file: Path, show: Show) -> None:
    for width in (1400, 390):
        chrome = show(file, width=width)
        names = traces(chrome, "costs", "trace.text")[0]
        drawn = [one.text for one in chrome.find_elements(By.CSS_SELECTOR, "#costs .annotation-text")]
        assert sorted(drawn) == sorted(names)
        boxes = """return [...document.querySelectorAll('#costs .annotation-text')].map(one => {
                   const box = one.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom] })"""
        found = chrome.execute_script(boxes)
        for at, (left, right, top, bottom) in enumerate(found):
            assert left >= 0
            assert right <= width
            for other in found[:at]:
                assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top


def test_dark_mode_is_followed_while_the_page_is_open(file: Path, show: Show) -> None:
    chrome = show(file, mode="dark")
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "trace.line.color"
    dark = (chrome.execute_script(ground), traces(chrome, "losses", ink))
    light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    WebDriverWait(chrome, 10).until(lambda _: traces(chrome, "losses", ink) != dark[1])
    assert (dark[0], chrome.execute_script(ground)) == ("rgb(17, 22, 27)", "rgb(255, 255, 255)")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_its_ground(file: Path, show: Show, mode: str) -> None:
    """WCAG's contrast of 4.5, of every text that is shown outside the pictures."""
    chrome = show(file, mode=mode)
    chrome.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    assert chrome.execute_script(FAINT) == []


def test_tab_reaches_everything_that_can_be_pressed(file: Path, show: Show) -> None:
    chrome = show(file)
    reached = set()
    name = """const one = document.activeElement;
              return one.closest('section')?.id + ' ' + one.tagName + ' ' + (one.closest('th') ? 'sort' : '')"""
    for _ in range(400):
        ActionChains(chrome).send_keys(Keys.TAB).perform()
        place = chrome.execute_script(name)
        reached.add(place)
        if place.startswith("runs BUTTON"):
            break
    expected = {f"{section} SELECT " for section in ("losses", "costs", "confusions", "misses", "embeddings")}
    expected |= {f"{section} BUTTON sort" for section in ("summary", "tables", "data", "runs")}
    assert expected | {"losses INPUT ", "claims SUMMARY "} <= reached


FAINT = """
const numbers = text => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
function ground(element) {
  const layers = [];
  for (let one = element; one; one = one.parentElement) layers.push(numbers(getComputedStyle(one).backgroundColor));
  return layers.reverse().reduce((below, [r, g, b, a = 1]) =>
    [r, g, b].map((value, at) => a * value + (1 - a) * below[at]), [255, 255, 255]);
}
const faint = [];
for (const element of document.querySelectorAll("body *:not(script):not(style):not(.canvas *):not(option)")) {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
  if (!own || !element.getClientRects().length) continue;
  const ink = numbers(getComputedStyle(element).color).slice(0, 3), [a, b] = [light(ink), light(ground(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) faint.push([element.tagName, element.className, element.textContent.slice(0, 30), contrast]);
}
return faint;
"""
