"""The documentation as a site."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; strict: a dead link, or a docstring that names what is not there, fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "true"}
    built = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    told = [line for line in (built.stdout + built.stderr).splitlines() if not line.startswith("INFO ")]
    assert (built.returncode, told) == (0, [])
    return folder


def test_every_page_of_docs_is_in_the_navigation(site: Path):
    start = (site / "index.html").read_text()
    pages = [file.stem for file in (REPOSITORY / "docs").glob("*.md")]
    assert [page for page in pages if f'href="{page}.html"' not in start] == []


def test_the_report_on_real_data_is_in_the_site(site: Path):
    for page in ("index", "reports"):
        assert 'href="reports/laptop/index.html"' in (site / f"{page}.html").read_text()
    assert (site / "reports/laptop/index.html").read_bytes() == (REPOSITORY / "reports/laptop/index.html").read_bytes()


def test_the_reference_has_the_docstrings(site: Path):
    assert "Stickland and Murray (2019)" in (site / "reference/mtbert.models.adapters.html").read_text()


def test_no_page_fetches_anything_from_another_host(site: Path):
    fetched = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"')
    assert {url for page in site.rglob("*.html") for url in fetched.findall(page.read_text())} == set()
