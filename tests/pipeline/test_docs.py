"""The documentation as a site."""

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_site_is_whole_and_fetches_nothing_from_another_host(tmp_path: Path):
    """Strict: a dead link, or a docstring that names what is not there, fails."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "true"}
    built = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    told = [line for line in (built.stdout + built.stderr).splitlines() if not line.startswith("INFO ")]
    assert (built.returncode, told) == (0, [])
    start = (tmp_path / "index.html").read_text()
    pages = [file.stem for file in (REPOSITORY / "docs").glob("*.md")]
    assert [page for page in pages if f'href="{page}.html"' not in start] == []
    assert 'href="reports/laptop/index.html"' in (tmp_path / "course.html").read_text()
    assert "Stickland and Murray (2019)" in (tmp_path / "reference/mtbert.models.adapters.html").read_text()
    fetched = re.compile(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"')
    assert {url for page in tmp_path.rglob("*.html") for url in fetched.findall(page.read_text())} == set()
