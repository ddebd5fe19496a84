"""The page in Chromium: nothing logged, nothing fetched, contents that lead to sections, tables that sort."""

from collections.abc import Callable
from pathlib import Path

import made
import pytest
from browser.conftest import requested
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from mtbert import judge
from mtbert.report import write

Show = Callable[..., Chrome]
HOSTILE = '<script>alert("row")</script> | `x`'


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page") / "laptop"
    predicted = {("pals", 1): {"sst": [0, 1, 2, 0]}, ("constructor", 1): {"sst": [0, 1, 2, 3]}}
    results = made.results(predicted, {"constructor": {"paper": None, "row": HOSTILE}})
    write.write(judge.judge(judge.Scoreboard(results)), folder)
    return folder / "index.html"


def column(chrome: Chrome, at: int) -> list[str]:
    return [
        row.find_elements(By.CSS_SELECTOR, "td")[at].text
        for row in chrome.find_elements(By.CSS_SELECTOR, "#costs tbody tr")
    ]


def test_nothing_is_logged_or_fetched_and_a_hostile_name_is_text(file: Path, show: Show) -> None:
    chrome = show(file)
    chrome.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true")
    chrome.execute_script("for (const image of document.images) image.loading = 'eager'")
    WebDriverWait(chrome, 10).until(
        lambda _: chrome.execute_script("return [...document.images].every(i => i.complete)")
    )
    assert [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"] == []
    assert {address for address in requested(chrome) if not address.startswith("data:")} == {file.as_uri()}
    assert HOSTILE.replace("`", "") in chrome.find_element(By.ID, "tables").text.replace("`", "")
    assert all(image.get_property("naturalWidth") for image in chrome.find_elements(By.TAG_NAME, "img"))


def test_the_contents_lead_to_every_section(file: Path, show: Show) -> None:
    chrome = show(file)
    links = [link.get_attribute("href") for link in chrome.find_elements(By.CSS_SELECTOR, "nav a")]
    sections = [one.get_attribute("id") for one in chrome.find_elements(By.CSS_SELECTOR, "main > section")]
    assert [str(link).partition("#")[2] for link in links] == sections
    chrome.find_element(By.CSS_SELECTOR, "nav a[href='#costs']").click()
    opened = [one.get_attribute("id") for one in chrome.find_elements(By.CSS_SELECTOR, "section:has(> details[open])")]
    assert opened == ["costs"]


def test_a_phone_scrolls_sideways_in_boxes_alone(file: Path, show: Show) -> None:
    chrome = show(file, 390)
    chrome.execute_script("for (const fold of document.querySelectorAll('details')) fold.open = true")
    assert chrome.execute_script("return document.documentElement.scrollWidth") == 390


def test_a_table_sorts_by_the_column_that_is_clicked_both_ways(file: Path, show: Show) -> None:
    chrome = show(file)
    chrome.execute_script("document.querySelector('#costs details').open = true")
    head = chrome.find_elements(By.CSS_SELECTOR, "#costs th")[1]
    button = head.find_element(By.TAG_NAME, "button")
    chrome.execute_script("arguments[0].click()", button)
    assert (column(chrome, 1), head.get_attribute("aria-sort")) == (["0.750", "1.000"], "ascending")
    chrome.execute_script("arguments[0].click()", button)
    assert (column(chrome, 1), head.get_attribute("aria-sort")) == (["1.000", "0.750"], "descending")
