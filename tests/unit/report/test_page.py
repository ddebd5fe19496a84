"""The page: what a phone sees of a picture, and intervals that no line breaks."""

from pathlib import Path

from matplotlib.figure import Figure

from mtbert.report import page
from mtbert.report.page import PageSection
from mtbert.report.pictures import drawing


def test_a_phone_sees_the_narrow_form_of_a_picture_if_there_is_one(tmp_path: Path):
    texts = [drawing.put(Figure((1, 1)), tmp_path, name, "", name) for name in ("one", "two")]
    drawing.put_narrow(Figure((1, 2)), tmp_path, "one")
    html = page.render([PageSection("first", "First", "\n\n".join(texts))], tmp_path)
    assert html.count("<picture><source media=") == 1
    one, two = html.index('alt="one"'), html.index('alt="two"')
    assert html.index("<picture>") < one < html.index("</picture>") < two


def test_an_interval_is_not_broken_into_lines(tmp_path: Path):
    html = page.render([PageSection("first", "First", "| a |\n|---|\n| 0.5 [0.4, +0.6] |")], tmp_path)
    assert "0.5 [0.4,&nbsp;+0.6]" in html
