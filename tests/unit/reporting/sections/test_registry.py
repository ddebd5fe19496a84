"""The sections of the report as a whole, and a new one, as CONTRIBUTING.md tells to write it."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from mtbert.reporting import report
from mtbert.reporting.sections import SECTIONS
from mtbert.reporting.sections.base import Report, Section, once

ROOT = Path(__file__).parents[4]
Make = Callable[..., Path]


def test_dvc_yaml_names_the_files_that_dvc_shows() -> None:
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["report"]
    named = [name for output in [*stage["outs"], *stage["metrics"]] for name in output]
    shown = [f"reports/{numbers.name}" for section in SECTIONS for numbers in section.numbers if numbers.for_dvc]
    assert sorted(named) == sorted(["build/submissions", *shown])


def test_no_two_sections_write_the_same_file() -> None:
    names = [section.name for section in SECTIONS]
    files = [numbers.name for section in SECTIONS for numbers in section.numbers]
    assert (len(set(names)), len(set(files))) == (len(names), len(files))
    assert {section.inside for section in SECTIONS} <= {"", *names}


@pytest.fixture
def epochs() -> Section:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walk = text[text.index("## A walk: add a section of the report") :]
    module = ModuleType("epochs")
    exec(re.findall(r"^```python\n(.*?)^```$", walk, flags=re.MULTILINE | re.DOTALL)[0], vars(module))
    return vars(module)["SECTION"]


def test_a_new_section_is_one_object(make_build: Make, monkeypatch: pytest.MonkeyPatch, epochs: Section) -> None:
    build = make_build()
    monkeypatch.setattr(report, "SECTIONS", (*SECTIONS, epochs))
    out = build.parent / "reports" / "sample"
    report.write(build, out, build / "submissions")
    assert (out / "epochs.csv").read_text().splitlines()[:2] == ["variant,seed,epoch", "bert-qqp,1,1"]
    assert (out / "details/epochs.md").read_text() == (
        "# Kept epochs\n\n|   epoch |   runs |\n|--------:|-------:|\n|       1 |      4 |\n"
    )
    readme = (out / "README.md").read_text()
    assert "[what ran where](details/runs.md), [which epochs were kept](details/epochs.md)." in readme
    assert "[runs.csv](runs.csv), [epochs.csv](epochs.csv), [claims.csv](claims.csv)" in readme
    html = (out / "index.html").read_text()
    assert '<li><a href="#epochs">Kept epochs</a></li>' in html
    assert '<section id="epochs" aria-label="Kept epochs" class="prose">' in html


def test_what_a_section_needs_in_several_places_is_made_once_for_each_report(make_build: Make) -> None:
    made: list[Report] = []
    number = once(lambda of: made.append(of) or len(made))
    build = make_build()
    one, other = Report.read(build, ()), Report.read(build, ())
    assert [number(one), number(one), number(other), number(one)] == [1, 1, 2, 1]
