"""A real browser, without a window, that reaches nothing but files."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

NAMES = (("chromium", "chromium-browser", "google-chrome"), ("chromedriver", "chromium.chromedriver"))
MISSING = "is not installed, and the page is tested in a real browser: `make browser` says how to get it"
QUIET = (
    *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking"),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"),
)


def program(names: tuple[str, ...]) -> str:
    """The first of these programs that is installed; fails the test where none is."""
    found = next(filter(None, map(shutil.which, names)), None)
    return found or pytest.fail(f"{names[0]} {MISSING}", pytrace=False)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    options = ChromeOptions()
    options.binary_location, driver = map(program, NAMES)
    for flag in (*QUIET, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options, ChromeService(driver))
    chrome.get("about:blank")
    yield chrome
    chrome.quit()


@pytest.fixture
def show(browser: Chrome) -> Callable[..., Chrome]:
    """Opens a file in a window of that width; what was logged before is forgotten."""

    def shown(file: Path, width: int = 1280) -> Chrome:
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(file.as_uri())
        return browser

    return shown


def requested(browser: Chrome) -> list[str]:
    """Every address that was asked for since the page was shown."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked: list[dict[str, Any]] = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [one["request"]["url"] for one in asked]
